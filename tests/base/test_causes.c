/* Why halo fails, as programs read it: --json, the report of a batch, its retries and exit code. */
#include "command.h"
#include "sound.h"
#include "suite.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WAV16 = SF_FORMAT_WAV | SF_FORMAT_PCM_16, ERRORS = 134 };

static void begin(void)
{
    sound_noise_file("in.wav", 1, WAV16, 16000, 1, 4000);
}

/* Of the last line of what was printed. */
static void expect_error(const struct command_result *result, const char *line, int code,
                         const char *cause)
{
    const char *last = result->out;
    for (const char *at = last; (at = strchr(at, '\n')) && at[1];)
        last = ++at;
    json_t *root = command_json(last), *error = json_object_get(root, "error");
    ck_assert_msg(error != NULL, "%s: %s%s", line, result->out, result->err);
    const char *named = json_string_value(json_object_get(error, "cause"));
    ck_assert_msg(named && strcmp(named, cause) == 0 && result->code == code, "%s: %d, %s%s", line,
                  result->code, result->out, result->err);
    ck_assert_int_eq((int)command_json_number(error, "code"), code);
    ck_assert_msg(strstr(result->err, command_json_string(error, "message")) != NULL, "%s: %s",
                  line, result->err);
    ck_assert_uint_eq(json_object_size(error), 3);
}

START_TEST(json_has_the_cause)
{
    static const struct {
        int code;
        const char *cause, *line;
    } cells[] = {
        {2, "usage", "render in.wav out.wav --gian 3"},
        {2, "usage", "render in.wav out.wav --gain loud"},
        {1, "missing", "render 'No space left on device.wav' out.wav"},
        {1, "missing", "render in.wav out.wav --mask 'not enough memory.wav'"},
        {1, "missing", "render in.wav 'no folder/out.wav'"},
        {1, "missing", "chain check 'damaged.yml'"},
        {1, "missing", "render in.wav out.wav --ladspa 'Permission denied:1'"},
        {1, "missing", "render in.wav out.wav --mask lost.conf"},
        {1, "exists", "render in.wav old.wav"},
        {1, "exists", "render in.wav in.wav --force"},
        {1, "damaged", "render cut.wav out.wav"},
        {1, "damaged", "render nan.wav out.wav"},
        {1, "damaged", "render in.wav out.wav --mask nan.txt"},
        {1, "damaged", "render in.wav out.wav --mask odd.conf"},
        {1, "damaged", "chain check odd.yml"},
        {1, "unsupported", "render text.wav out.wav"},
        {1, "unsupported", "render movie.mp4 out.wav"},
        {1, "unsupported", "render folder out.wav"},
        {1, "unsupported", "render in.wav folder"},
        {1, "unsupported", "chain check new.yml"},
        {1, "no space", "render in.wav /dev/full"},
    };
    begin();
    command_done(
        "echo old >old.wav; mkdir folder; head -c 30 in.wav >cut.wav; echo text >text.wav;"
        "printf 'halo-chain: 1\\nstages: [' >odd.yml; printf 'halo-chain: 1000\\nstages: []' >new.yml;"
        "printf '1\\nnan\\n' >nan.txt;"
        "printf '\\000\\000\\000\\030ftypmp42\\000\\000\\000\\000mp42isom' >movie.mp4;"
        "echo 'Convolution: lost.wav' >lost.conf;"
        "echo 'Convolution: cut.wav' >odd.conf");
    SF_INFO info = {.samplerate = 16000, .channels = 1, .format = SF_FORMAT_WAV | SF_FORMAT_FLOAT};
    const float samples[2] = {0, (float)NAN};
    SNDFILE *file = sf_open(command_path("nan.wav"), SFM_WRITE, &info);
    ck_assert_int_eq(sf_write_float(file, samples, 2), 2);
    sf_close(file);
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        struct command_result result = command_run("\"$HALO\" %s --json", cells[i].line);
        expect_error(&result, cells[i].line, cells[i].code, cells[i].cause);
    }
}

/* The system says so. */
START_TEST(the_cause_is_that_of_the_system)
{
    static const struct {
        const char *cause, *fault;
        int error;
    } cells[] = {
        {"no space", "write (deleted) 1", ENOSPC},  {"no space", "link out.wav 1", EDQUOT},
        {"read-only", "link out.wav 1", EROFS},     {"not permitted", "open in.wav 1", EACCES},
        {"not permitted", "open m.txt 1", EPERM},   {"temporary", "open in.wav 1", EMFILE},
        {"temporary", "read in.wav 1", EIO},        {"temporary", "link out.wav 1", EIO},
        {"no memory", "open m.txt 1", ENOMEM},      {"unsupported", "write (deleted) 1", EFBIG},
        {"temporary", "open libsndfile 1", EMFILE},
    };
    begin();
    sound_text("m.txt", "1\n0.5\n");
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        struct command_result result =
            command_run("FAULT='%s %d' LD_PRELOAD=" FAULTS
                        " \"$HALO\" render in.wav out.wav --mask m.txt --json",
                        cells[i].fault, cells[i].error);
        expect_error(&result, cells[i].fault, 1, cells[i].cause);
        ck_assert_int_ne(access(command_path("out.wav"), F_OK), 0);
    }
}

START_TEST(a_full_disk_is_no_space)
{
    begin();
    command_done("mkdir disk");
    if (command_run("unshare -rm mount -t tmpfs -o size=16k tmpfs disk").code != 0) {
        puts("not run: a_full_disk_is_no_space, for want of the right to mount");
        return;
    }
    static const char line[] =
        "unshare -rm sh -c 'mount -t tmpfs -o size=16k tmpfs disk && \"$HALO\" render in.wav "
        "disk/out.wav --format float --tail 5s --json'";
    struct command_result result = command_run("%s", line);
    expect_error(&result, line, 1, "no space");
    /* Of three outputs of 200 KB the first one fits. */
    command_done(
        "for i in 1 2 3; do echo '{\"in\": \"in.wav\", \"out\": \"'$i'.wav\"}'; done >list");
    result = command_run("unshare -rm sh -c 'mount -t tmpfs -o size=320k tmpfs disk && \"$HALO\" "
                         "batch list -O disk/out --tail 6s -q --gain 0 --threads 1 --json'");
    ck_assert_msg(result.code == 4, "%d: %s", result.code, result.err);
    command_expect(result.out, "\"made\": 1,");
    command_expect(result.out, "\"left\": 2,");
    expect_error(&result, "batch", 4, "no space");
}

START_TEST(what_one_may_not_read_is_not_permitted)
{
    begin();
    if (geteuid() != 0) {
        puts("not run: what_one_may_not_read_is_not_permitted, since it needs root");
        return;
    }
    static const char line[] = "setpriv --reuid 1234 --regid 1234 --clear-groups \"$HALO\" "
                               "render damaged.wav out.wav --json";
    command_done("chmod 777 .; mv in.wav damaged.wav; chmod 600 damaged.wav");
    struct command_result result = command_run("%s", line);
    expect_error(&result, line, 1, "not permitted");
}

/* ---- of a batch ---- */

/* Each name is what the system says of an error, or what halo does. */
START_TEST(a_name_is_no_cause)
{
    begin();
    FILE *list = fopen(command_path("jobs.jsonl"), "w");
    size_t count = 0;
    for (int error = 1; error < ERRORS; error++) {
        fprintf(list, "{\"in\": \"%s.wav\", \"out\": \"o%d.wav\"}\n", strerror(error), error);
        fprintf(list, "{\"in\": \"in.wav\", \"mask\": \"%s.wav\", \"out\": \"m%d.wav\"}\n",
                strerror(error), error);
        count += 2;
    }
    fprintf(list, "{\"in\": \"not enough memory\", \"out\": \"n.wav\"}\n{\"in\": \"in.wav\"}\n");
    fclose(list);
    struct command_result result =
        command_run("\"$HALO\" batch jobs.jsonl -O out --report rep -q --threads 1");
    ck_assert_msg(result.code == 3, "%d: %s", result.code, result.err);
    ck_assert_int_eq(access(command_path("out/in.wav"), F_OK), 0);
    json_t *last = command_json(command_done("tail -n 1 rep").out);
    const json_t *kinds = json_object_get(json_object_get(last, "summary"), "failures");
    ck_assert_msg(json_object_size(kinds) == 2, "%s", json_dumps(kinds, 0));
    ck_assert_int_eq(json_integer_value(json_object_get(kinds, "missing: cannot open")),
                     (json_int_t)count / 2 + 1);
    ck_assert_int_eq(json_integer_value(json_object_get(kinds, "missing: cannot open mask")),
                     (json_int_t)count / 2);
    ck_assert_int_eq(atoi(command_done("grep -c '\"cause\":\"missing\"' rep").out), (int)count + 1);
}

/* The first time only. */
START_TEST(what_may_pass_is_tried_again)
{
    static const struct {
        int error, code;
    } cells[] = {{EIO, 0}, {EMFILE, 0}, {ENOMEM, 0}, {EACCES, 3}, {ENOENT, 3}, {EINVAL, 3}};
    begin();
    sound_text("m.txt", "1\n0.5\n");
    command_done("echo '{\"in\": \"in.wav\", \"mask\": \"m.txt\"}' >jobs.jsonl");
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        struct command_result result =
            command_run("FAULT='open m.txt 1 %d' LD_PRELOAD=" FAULTS
                        " \"$HALO\" batch jobs.jsonl -O out%zu -q --threads 1 --backend cpu",
                        cells[i].error, i);
        ck_assert_msg(result.code == cells[i].code, "%s: %d %s", strerror(cells[i].error),
                      result.code, result.err);
    }
}

/* The jobs after it are left, and not failed. */
START_TEST(a_full_disk_ends_a_batch)
{
    static const int errors[] = {ENOSPC, EDQUOT, EROFS};
    begin();
    command_done(
        "for i in 1 2 3; do cp in.wav s$i.wav; echo '{\"in\": \"s'$i'.wav\"}'; done >jobs.jsonl");
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        struct command_result result =
            command_run("FAULT='link s2.wav 1 %d' LD_PRELOAD=" FAULTS
                        " \"$HALO\" batch jobs.jsonl -O out%zu -q --threads 1 --gain -1 --json",
                        errors[i], i);
        ck_assert_msg(result.code == 4, "%s: %d %s", strerror(errors[i]), result.code, result.err);
        command_expect(result.out, "\"made\": 1,");
        command_expect(result.out, "\"left\": 2,");
        expect_error(&result, "batch", 4, errors[i] == EROFS ? "read-only" : "no space");
    }
}
