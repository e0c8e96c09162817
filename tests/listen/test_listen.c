/* halo listen: what it plays; and its blind tests, which a discriminating listener
 * passes, a guesser does not, and whose key cannot be found out. */
#include "command.h"
#include "ear.h"
#include "live_rig.h"
#include "signal/audio.h"
#include "sound.h"
#include "suite.h"

#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RATE = 48000, LOOP = RATE / 2, LOOK = 2048, SETTLED = RATE / 3 };
enum { FLOAT_WAV = SF_FORMAT_WAV | SF_FORMAT_FLOAT };

/* The device null, at twice real time. */
#define PLAYED "--device null:pace=2,period=256 "
#define RECORDED "--device null:pace=2,period=256,out=ear.wav "

static const char choices[] = "--mask bright.txt --or --mask dull.txt";

/* A file is matched as it is written, from silence on, and a loop as it sounds later. */
static const char unmatched[] = "--mask bright.txt --or --mask dull.txt --match none --no-align";

static pid_t start(const char *format, ...) __attribute__((format(printf, 1, 2)));
static pid_t start(const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    pid_t process = live_rig_launch("listen", text);
    live_rig_wait("0."); /* a line of the status, or its JSON */
    return process;
}

static struct command_result finish_well(pid_t process)
{
    struct command_result result = live_rig_end(process);
    ck_assert_msg(result.code == 0, "exit code %d\n%s", result.code, result.err);
    return result;
}

/* ---- the sound, its masks, and the output ---- */

static struct sound noise;

static void prepare(void)
{
    command_clean();
    noise = sound_noise("noise.wav", 7, FLOAT_WAV, RATE, 1, LOOP);
    sound_text("bright.txt", "0.5\n-0.5\n");
    sound_text("dull.txt", "0.5\n0.5\n");
}

/* The loop as played through A or B, after its first pass. */
static struct sound loop_through(char choice)
{
    command_done("\"$HALO\" listen noise.wav %s --to-file pass.wav --force --seconds 1 "
                 "--script 0:%c",
                 unmatched, choice);
    struct sound pass = sound_load("pass.wav");
    ck_assert_uint_eq(pass.block.frames, 2 * LOOP);
    return pass;
}

/* The difference between the last frames recorded and those at this place of the loop. */
static double distance(const float *output, const struct sound *pass, size_t place)
{
    double error = 0;
    for (size_t i = 0; i < LOOK; i++) {
        size_t at = LOOP + (place + i) % LOOP;
        error = fmax(error, fabs((double)output[i] - (double)pass->block.data[0][at]));
    }
    return error;
}

/* The position in the loop of frame 0 of the recording. */
static size_t find_place(struct ear *ear, const struct sound *pass)
{
    size_t end = ear_wait(ear, SETTLED) - LOOK;
    const float *output = ear_channel(ear, 0) + end;
    for (size_t place = 0; place < LOOP; place++)
        if (fabs((double)output[0] - (double)pass->block.data[0][LOOP + place]) < 1e-4 &&
            distance(output, pass, place) < 1e-4)
            return (place + LOOP - end % LOOP) % LOOP;
    ck_abort_msg("the output is not the loop through mask A");
}

/* Of the last frames, of which no other mask was a part: 0 or 1; the other one clearly differs. 2:
 * neither, such as a fade. */
static size_t what_sounds(struct ear *ear, const struct sound passes[2], size_t place)
{
    size_t end = ear_frames(ear) - LOOK;
    const float *output = ear_channel(ear, 0) + end;
    double errors[2];
    for (size_t i = 0; i < 2; i++)
        errors[i] = distance(output, &passes[i], (place + end) % LOOP);
    size_t nearer = errors[1] < errors[0];
    return errors[nearer] < 1e-5 && errors[1 - nearer] > 0.01 ? nearer : 2;
}

static size_t which_sounds(struct ear *ear, const struct sound passes[2], size_t place)
{
    ear_wait(ear, SETTLED);
    size_t sounds = what_sounds(ear, passes, place);
    ck_assert_msg(sounds < 2, "neither sounds");
    return sounds;
}

/* Until a key has been heard, which a busy machine handles late; and it stays so. */
static void wait_for_sound(struct ear *ear, const struct sound passes[2], size_t place,
                           size_t expected)
{
    while (what_sounds(ear, passes, place) != expected)
        ear_wait(ear, LOOK); /* fails at the end of the ear's capacity */
    ck_assert_uint_eq(which_sounds(ear, passes, place), expected);
}

/* Silences of at least 5 ms from frame `from` on. */
static size_t count_gaps(const struct ear *ear, size_t from)
{
    const float *output = ear_channel(ear, 0);
    size_t gaps = 0, run = 0, end = ear_frames(ear);
    for (size_t i = from; i < end; i++) {
        run = output[i] == 0 ? run + 1 : 0;
        gaps += run == RATE / 200;
    }
    return gaps;
}

static void wait_for_gap(struct ear *ear, size_t from)
{
    while (count_gaps(ear, from) == 0)
        ear_wait(ear, LOOK);
}

/* ---- blind tests ---- */

START_TEST(keys_switch_and_nothing_else_changes)
{
    prepare();
    struct ear *ear = ear_open(60 * RATE);
    struct sound passes[2] = {loop_through('A'), loop_through('B')};
    pid_t process = start("noise.wav %s " RECORDED "--plain", unmatched);
    ear_wait(ear, RATE); /* it fades in */
    size_t place = find_place(ear, &passes[0]);
    static const struct {
        const char *key;
        size_t output;
    } steps[] = {{"2", 1}, {"1", 0}, {"2", 1}, {"2", 1}, {"9", 1}, {"1", 0}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        live_rig_keys(steps[i].key);
        wait_for_sound(ear, passes, place, steps[i].output);
    }
    live_rig_wait("there is no mask 9");
    live_rig_keys("0");
    live_rig_wait("0 dry");
    ear_wait(ear, SETTLED);
    size_t end = ear_frames(ear) - LOOK;
    for (size_t i = 0; i < LOOK; i++)
        ck_assert_double_eq_tol((double)ear_channel(ear, 1)[end + i],
                                (double)noise.block.data[0][(place + end + i) % LOOP], 1e-6);
    live_rig_keys("q");
    struct command_result result = finish_well(process);
    ck_assert_msg(strstr(result.err, "halo: B: ") != NULL, "%s", result.err);
    ck_assert_msg(strstr(result.err, "blocks of 256 frames at 48000 Hz") != NULL, "%s", result.err);
    ear_close(ear);
}

/* Nothing shown before the test's end reveals the key. */
/* One mask is 20 dB softer and 92 ms later than the other and the dry sound. */
START_TEST(the_dry_sound_is_matched_like_a_mask)
{
    static const char masks[] = "--mask late.txt --or --mask one.txt";
    char taps[3 * 4416 + 8] = "";
    prepare();
    for (size_t i = 0; i < 4416; i++)
        memcpy(taps + 2 * i, "0\n", 3);
    sound_text("late.txt", strcat(taps, "0.1\n"));
    sound_text("one.txt", "1\n");
    command_done("\"$HALO\" listen noise.wav %s --to-file pass.wav --force --seconds 1", masks);
    struct sound pass = sound_load("pass.wav");
    struct ear *ear = ear_open(60 * RATE);
    pid_t process = start("noise.wav %s " RECORDED "--plain", masks);
    ear_wait(ear, RATE); /* it fades in */
    size_t place = find_place(ear, &pass);
    static const char *const keys[][2] = {{"2", "2 one.txt"},
                                          {"0", "0 dry"},
                                          {" ", "2 one.txt"},
                                          {" ", "0 dry"},
                                          {"1", "1 late.txt"}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        size_t from = ear_frames(ear);
        live_rig_keys(keys[i][0]);
        live_rig_wait_answer(keys[i][1]);
        size_t end = ear_wait(ear, SETTLED);
        for (; from + LOOK <= end; from += LOOK)
            ck_assert_double_lt(distance(ear_channel(ear, 0) + from, &pass, (place + from) % LOOP),
                                1e-4);
    }
    live_rig_keys("q");
    struct command_result result = finish_well(process);
    ck_assert_msg(strstr(result.err, "halo: dry: -20.0 dB, 92.0 ms earlier, aligned\n") != NULL,
                  "%s", result.err);
    ear_close(ear);
}

static void expect_nothing_reported(const char *out)
{
    const char *end = strstr(out, "\"event\":\"result\"");
    ck_assert_msg(end != NULL, "no result: %s", out);
    static const char *const expected[] = {"\"chosen\":0",       "\"chosen\":1",     "\"chosen\":2",
                                           "\"out\":[",          "\"hidden\":false", "\"draws\"",
                                           "\"switching\":true", "\"load_now\":0",   "\"seed\""};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const char *found = strstr(out, expected[i]);
        ck_assert_msg(!found || found > end, "%s is revealed before the end", expected[i]);
    }
}

static json_t *result_of(const char *out)
{
    const char *at = strstr(out, "{\"event\":\"result\"");
    ck_assert_ptr_nonnull(at);
    json_t *result = json_loads(at, JSON_DISABLE_EOF_CHECK, NULL);
    ck_assert_ptr_nonnull(result);
    return result;
}

static double number_in(const json_t *result, const char *key)
{
    return json_number_value(json_object_get(json_object_get(result, "result"), key));
}

/* The commitment shown at the start is the one of the log, which fits. */
static void expect_committed(const char *out, const json_t *result)
{
    char shown[128];
    const char *commitment = json_string_value(json_object_get(result, "commitment"));
    snprintf(shown, sizeof shown, "SHA-256 of key, choices and settings: %s", commitment);
    ck_assert_ptr_nonnull(strstr(out, shown));
    ck_assert(strstr(out, shown) < strstr(out, "\"event\":\"result\""));
    struct command_result verified = command_done("\"$HALO\" listen --verify log.json");
    command_expect(verified.out, commitment);
    command_expect(verified.out, json_string_value(json_object_get(result, "head")));
    json_t *root = command_json(command_done("\"$HALO\" listen --verify --json log.json").out);
    ck_assert_str_eq(json_string_value(json_object_get(root, "commitment")), commitment);
    ck_assert_str_eq(json_string_value(json_object_get(root, "head")),
                     json_string_value(json_object_get(result, "head")));
    ck_assert(json_equal(json_object_get(root, "trials"), json_object_get(root, "planned")));
}

/* A trial whose first sound has begun: the others, the answer, and its confirmation, each when the
 * program asks for it. */
static void judge(int trial, int trials, char said)
{
    static const char *const asked[] = {"hear B, X", "hear X", "is X A or B?"};
    const char *const keys[] = {"b", "x", said == 'A' ? "1" : "2"};
    char text[64];
    for (size_t i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "trial %d of %d: %s", trial, trials, asked[i]);
        live_rig_wait(text);
        live_rig_keys(keys[i]);
    }
    snprintf(text, sizeof text, "trial %d of %d: X is %c; Enter", trial, trials, said);
    live_rig_wait(text);
    live_rig_keys("\n");
}

START_TEST(a_discriminating_listener_passes_abx)
{
    enum { TRIALS = 8 };
    prepare();
    struct ear *ear = ear_open(120 * RATE);
    struct sound passes[2] = {loop_through('A'), loop_through('B')};
    pid_t process =
        start("noise.wav %s " RECORDED "--json --abx %d --log log.json", unmatched, TRIALS);
    ear_wait(ear, RATE);
    size_t place = find_place(ear, &passes[0]);
    char output[TRIALS + 1] = "";
    for (size_t trial = 0; trial < TRIALS; trial++) {
        ck_assert_uint_eq(which_sounds(ear, passes, place), 0);
        size_t from = ear_frames(ear);
        live_rig_keys("b");
        wait_for_gap(ear, from);
        ck_assert_uint_eq(which_sounds(ear, passes, place), 1);
        from = ear_frames(ear);
        live_rig_keys("x");
        wait_for_gap(ear, from);
        output[trial] = "AB"[which_sounds(ear, passes, place)];
        /* Whether X is what played before or not, the switch sounds the same. */
        ck_assert_uint_eq(count_gaps(ear, from), 1);
        from = ear_frames(ear);
        live_rig_keys(output[trial] == 'A' ? "1\n" : "2\n");
        if (trial + 1 < TRIALS)
            wait_for_gap(ear, from);
    }
    struct command_result result = finish_well(process);
    expect_nothing_reported(result.out);
    json_t *reported = result_of(result.out);
    expect_committed(result.out, reported);
    ck_assert_double_eq(number_in(reported, "hits"), TRIALS);
    ck_assert_double_eq_tol(number_in(reported, "p_value"), pow(0.5, TRIALS), 1e-12);
    ck_assert_str_eq(json_string_value(json_object_get(json_object_get(reported, "key"), "draws")),
                     output);
    json_decref(reported);
    command_done("{ printf '\\357\\273\\277'; cat log.json; } >marked.json && \"$HALO\" listen "
                 "--verify marked.json log.json");
    command_done("sed 's/\"hits\": 8/\"hits\": 7/' log.json >wrong.json && ! cmp -s log.json "
                 "wrong.json");
    command_refused(1, "hits does not follow", "\"$HALO\" listen --verify log.json wrong.json");
    command_refused(1, "hits does not follow", "\"$HALO\" listen --verify wrong.json log.json");
    ear_close(ear);
}

START_TEST(a_guesser_scores_by_the_key)
{
    static const char guesses[] = "ABBABAAB";
    enum { TRIALS = sizeof guesses - 1 };
    prepare();
    pid_t process = start("noise.wav %s " PLAYED "--json --meter-interval 0.05 --abx %d --feedback",
                          choices, TRIALS);
    for (int i = 0; i < TRIALS; i++)
        judge(i + 1, TRIALS, guesses[i]);
    struct command_result result = finish_well(process);
    json_t *reported = result_of(result.out);
    const char *draws =
        json_string_value(json_object_get(json_object_get(reported, "key"), "draws"));
    size_t hits = 0, right = 0;
    for (size_t i = 0; i < TRIALS; i++)
        hits += draws[i] == guesses[i];
    for (const char *at = result.out; (at = strstr(at, " was right")) != NULL; at++)
        right++;
    ck_assert_double_eq(number_in(reported, "hits"), (double)hits);
    ck_assert_uint_eq(right, hits); /* the feedback option */
    json_decref(reported);
}

START_TEST(stopping_early_is_confirmed_and_reported)
{
    prepare();
    pid_t process = start("noise.wav %s " PLAYED "--plain --abx 5 --log log.json", choices);
    live_rig_keys("2\n");
    live_rig_wait("not heard yet: ");
    live_rig_wait("no answer yet");
    judge(1, 5, 'A');
    judge(2, 5, 'B');
    live_rig_wait("trial 3 of 5: hear B, X");
    live_rig_keys("B"); /* Caps Lock: no answer */
    live_rig_wait("trial 3 of 5: hear X");
    live_rig_keys("q");
    live_rig_wait("stop the test early?");
    live_rig_keys("n");
    live_rig_keys("X");
    live_rig_wait("trial 3 of 5: is X A or B?");
    live_rig_keys("1");
    live_rig_wait("trial 3 of 5: X is A; Enter");
    live_rig_keys("2");
    live_rig_wait("trial 3 of 5: X is B; Enter");
    live_rig_keys("\n");
    live_rig_wait("trial 4 of 5");
    live_rig_keys("qy");
    struct command_result result = finish_well(process);
    ck_assert_msg(strstr(result.out, "over the 3 answered of 5 planned trials; not valid") != NULL,
                  "%s", result.out);
    command_done(
        "grep -q '\"stopped_early\": true' log.json && \"$HALO\" listen --verify log.json");
    command_refused(1, "exists", "\"$HALO\" listen noise.wav %s --abx 5 --log log.json", choices);
    command_refused(1, "/nowhere", "\"$HALO\" listen noise.wav %s --abx 5 --log /nowhere/x",
                    choices);
    command_refused(1, "nope.wav", "\"$HALO\" listen nope.wav %s", choices);
    command_refused(1, "directory", "\"$HALO\" listen . %s", choices);

    /* The same for an end by a signal. */
    process = start("noise.wav %s " PLAYED "--plain --abx 5 --log log2.json", choices);
    judge(1, 5, 'A');
    live_rig_wait("trial 2 of 5");
    kill(process, SIGINT);
    ck_assert_int_eq(live_rig_end(process).code, 128 + SIGINT);
    command_done("\"$HALO\" listen --verify log2.json");
}

/* What was answered before a kill counts, and the order stays. */
START_TEST(a_killed_test_goes_on)
{
    prepare();
    pid_t process =
        start("noise.wav %s " PLAYED "--plain --abx 3 --log log.json --listener Eve", choices);
    judge(1, 3, 'A');
    live_rig_wait("trial 2 of 3: hear B");
    command_refused(1, "its test is running",
                    "\"$HALO\" listen noise.wav %s --abx 3 --resume log.json --device null",
                    choices);
    command_refused(1, "its test is running",
                    "\"$HALO\" listen noise.wav %s --abx 3 --log log.json -f --device null",
                    choices);
    kill(process, SIGKILL);
    ck_assert_int_eq(live_rig_end(process).code, 128 + SIGKILL);
    command_refused(1, "incomplete: 1 of 3 trials", "\"$HALO\" listen --verify log.json");
    static const struct {
        int code;
        const char *expected, *arguments;
    } others[] = {
        {2, "it is of --abx 3", "noise.wav --mask bright.txt --or --mask dull.txt --abx 4"},
        {1, "'sound' was another", "other.wav --mask bright.txt --or --mask dull.txt --abx 3"},
        {1, "the choices", "noise.wav --mask dull.txt --or --mask bright.txt --abx 3"},
        {1, "'align' was another",
         "noise.wav --mask bright.txt --or --mask dull.txt --abx 3 --no-align"},
        {1, "another listener",
         "noise.wav --mask bright.txt --or --mask dull.txt --abx 3 --listener Ann"},
    };
    command_done("cp noise.wav other.wav && cp log.json before.json");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        command_refused(others[i].code, others[i].expected,
                        "\"$HALO\" listen %s --resume log.json --device null --quiet",
                        others[i].arguments);
    command_done("cmp log.json before.json");
    process = start("noise.wav %s " PLAYED "--plain --abx 3 --resume log.json", choices);
    judge(2, 3, 'B');
    judge(3, 3, 'B');
    struct command_result result = finish_well(process);
    command_expect(result.out, "over all 3 planned trials");
    command_done("\"$HALO\" listen --verify log.json && grep -q '\"listener\": \"Eve\"' log.json");
    result =
        command_done("\"$HALO\" listen --collect log.json --csv trials.csv && "
                     "[ $(grep -c '^\"Eve\",\"log.json\",[123],[AB],[AB],[01],' trials.csv) = 3 ]");
    command_expect(result.out, "Eve: ");
    command_refused(1, "its test is over",
                    "\"$HALO\" listen noise.wav %s --abx 3 --resume log.json --device null",
                    choices);
}

static void wait_in_trial(int trial, const char *question)
{
    char line[64];
    snprintf(line, sizeof line, "trial %d of 2: %s", trial, question);
    live_rig_wait(line);
}

START_TEST(a_killed_preference_test_goes_on)
{
    prepare();
    pid_t process = start("noise.wav %s " PLAYED "--plain --prefer 2 --log log.json", choices);
    for (int trial = 1; trial <= 2; trial++) {
        wait_in_trial(trial, "hear B");
        live_rig_keys("b");
        wait_in_trial(trial, "A or B?");
        live_rig_keys("1");
        wait_in_trial(trial, "A is better; Enter");
        if (trial == 2)
            break;
        live_rig_keys("\n");
        live_rig_wait("trial 2 of 2: hear B");
        kill(process, SIGKILL);
        ck_assert_int_eq(live_rig_end(process).code, 128 + SIGKILL);
        static const char *const others[] = {"--prefer 1", "--abx 2", "--blind 2"};
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            command_refused(2, "it is of --prefer 2",
                            "\"$HALO\" listen noise.wav %s %s --resume log.json --device null",
                            choices, others[i]);
        process = start("noise.wav %s " PLAYED "--plain --prefer 2 --resume log.json", choices);
    }
    live_rig_keys("\n");
    struct command_result result = finish_well(process);
    command_expect(result.out, "over all 2 planned trials");
    command_expect(result.out, "1, neither: 0; p = 1\n"); /* A was each mask once */
    command_done("\"$HALO\" listen --verify log.json");
}

/* Neither the key nor a result, where the log is not what was answered: removed, or written to. */
START_TEST(a_lost_log_gives_no_result)
{
    for (int written = 0; written < 2; written++) {
        prepare();
        pid_t process = start("noise.wav %s " PLAYED "--plain --abx 2 --log log.json", choices);
        while (access(command_path("log.json"), F_OK) != 0)
            usleep(20000);
        if (written)
            sound_text("log.json", "{}\n");
        else
            ck_assert_int_eq(unlink(command_path("log.json")), 0);
        judge(1, 2, 'A');
        struct command_result result = live_rig_end(process);
        ck_assert_int_eq(result.code, 1);
        command_expect(result.err, "log.json was removed, replaced or written by another program");
        ck_assert_ptr_null(strstr(result.out, "key:"));
        ck_assert_ptr_null(strstr(result.err, "log.json: the log"));
    }
}

/* Digests that sha256sum gives, of all files that are heard, and what else tells the tests of two
 * days apart. */
START_TEST(the_log_says_what_was_compared)
{
    prepare();
    pid_t process =
        start("noise.wav %s --gain -2 " PLAYED "--plain --abx 1 --log log.json", choices);
    live_rig_keys("<");
    judge(1, 1, 'B');
    finish_well(process);
    json_t *root = json_load_file(command_path("log.json"), 0, NULL);
    ck_assert_ptr_nonnull(root);
    const json_t *settings = json_object_get(root, "settings");
    const json_t *files = json_object_get(settings, "files_sha256");
    static const char *const names[] = {"noise.wav", "bright.txt", "dull.txt"};
    for (size_t i = 0; i < 3; i++) {
        struct command_result sum = command_done("sha256sum %s", names[i]);
        const char *digest = json_string_value(json_object_get(files, names[i]));
        ck_assert_msg(digest && strncmp(sum.out, digest, 64) == 0, "%s", names[i]);
    }
    static const char *const members[] = {"version", "date", "listener", "device"};
    for (size_t i = 0; i < 4; i++)
        ck_assert_ptr_nonnull(json_object_get(root, members[i]));
    const json_t *gain = json_array_get(json_object_get(settings, "stages"), 1);
    ck_assert_str_eq(json_string_value(json_array_get(gain, 0)), "gain");
    ck_assert_str_eq(json_string_value(json_array_get(gain, 1)), "-2");
    static const char *const each[] = {"spec", "taps_sha256", "gain_db", "level", "delay"};
    for (size_t i = 0; i < 10; i++)
        ck_assert_ptr_nonnull(
            json_object_get(json_array_get(json_object_get(root, "choices"), i % 2), each[i / 2]));
    size_t index, answer = SIZE_MAX;
    json_t *event;
    bool softer = false, outages = false;
    json_array_foreach(json_object_get(root, "events"), index, event)
    {
        const json_t *trial = json_array_get(json_object_get(event, "trials"), 0);
        softer |= json_number_value(json_object_get(event, "gain_db")) < 0;
        outages |= json_object_get(trial, "late") && json_object_get(trial, "lost");
        answer = json_object_get(event, "answer") ? index : answer;
        ck_assert(!json_object_get(event, "late")); /* not before the end */
        ck_assert(!trial || index > answer);
    }
    ck_assert(softer && outages);
    json_decref(root);
}

/* The sound keeps its pitch, with the mask that was chosen. */
/* Keys set the ends of the loop, also in a test, whose log has them. */
START_TEST(keys_set_the_loop)
{
    prepare();
    command_done("\"$HALO\" render noise.wav long.wav --mask bright.txt --tail 20s");
    pid_t process =
        start("long.wav %s --abx 1 " PLAYED "--json --meter-interval 0.02 --log log.json", choices);
    live_rig_wait("long.wav 0:01.");
    live_rig_keys("[]"); /* both in one step, however slow the machine is */
    live_rig_wait("a loop shorter than 0.1 s is not played");
    live_rig_wait("long.wav 0:02.");
    live_rig_keys("]");
    live_rig_wait("0:20.5, loop 0:0"); /* the sound's end, then the loop's ends */
    live_rig_keys("|");
    live_rig_wait("the loop is 0:00.0 to 0:20.5");
    judge(1, 1, 'B');
    finish_well(process);
    command_done("grep -c '\"event\": \"loop\"' log.json | grep -x 3");
    command_done("\"$HALO\" listen --verify log.json");
    /* Free comparison can restart at each switch. */
    process = start("long.wav %s " PLAYED "--json --meter-interval 0.02", choices);
    live_rig_wait("long.wav 0:03.");
    live_rig_keys("r");
    live_rig_wait("each switch restarts the loop");
    live_rig_keys("2");
    live_rig_wait("long.wav 0:00.");
    live_rig_keys("rq");
    command_expect(finish_well(process).out, "the sound goes on at switches");
    process = start("--live-input %s --device null:in=noise.wav,pace=2 --json", choices);
    live_rig_keys("[q");
    command_expect(finish_well(process).out, "a live input has no loop");
}

/* A test of two sounds: its log has the digest of both, and goes on with the same ones alone. */
START_TEST(two_sounds_are_tested)
{
    prepare();
    command_done("\"$HALO\" render noise.wav low.wav --mask dull.txt --tail none");
    pid_t process = start("noise.wav --or low.wav " PLAYED "--plain --abx 3 --log log.json");
    live_rig_keys(" 0p9"); /* no dry sound, plot or ninth sound: a test goes on */
    judge(1, 3, 'A');
    live_rig_wait("trial 2 of 3");
    kill(process, SIGKILL);
    ck_assert_int_eq(live_rig_end(process).code, 128 + SIGKILL);
    command_done("grep -q \"$(sha256sum low.wav | cut -c 1-64)\" log.json && "
                 "grep -q \"$(sha256sum noise.wav | cut -c 1-64)\" log.json");
    command_refused(1, "the choices",
                    "\"$HALO\" listen low.wav --or noise.wav --abx 3 --resume log.json --device "
                    "null --quiet");
    command_done("! grep -q delay:0 log.json"); /* no stage that the user did not give */
    command_done("cp noise.wav low.wav");
    command_refused(1, "cannot go on with log.json",
                    "\"$HALO\" listen noise.wav --or low.wav --abx 3 --resume log.json --device "
                    "null --quiet");
}

START_TEST(the_rate_of_the_device_is_followed)
{
    enum { TO = 44100, TONE = 1000, COMPARED = TO / 2 };
    sound_text("half.txt", "0.5\n");
    struct sound tone = sound_create(FLOAT_WAV, RATE, 1, 10 * RATE);
    for (size_t i = 0; i < tone.block.frames; i++)
        tone.block.data[0][i] = (float)(0.2 * sin(2 * M_PI * TONE * (double)i / RATE));
    sound_save(&tone, "tone.wav");
    struct ear *ear = ear_open(60 * RATE);
    pid_t process = start("tone.wav --plain --match none --mask half.txt --or --mask "
                          "half.txt,gain=-6 --device null:out=ear.wav,turn=96000,to=44100,pace=2");
    live_rig_keys("2");
    live_rig_wait("mask 2 ");
    live_rig_wait("the rate is 44100 Hz now, no longer 48000");
    const float *heard = ear_channel(ear, 0) + ear_wait(ear, 4 * TO) - 2 * COMPARED;
    live_rig_keys("q");
    (void)finish_well(process);
    size_t crossings = 0;
    double peak = 0;
    for (size_t i = 1; i <= COMPARED; i++) {
        crossings += (heard[i - 1] < 0) != (heard[i] < 0);
        peak = fmax(peak, fabs((double)heard[i]));
    }
    ck_assert_uint_ge(crossings, TONE - 3); /* in half a second; 919 at the old rate */
    ck_assert_uint_le(crossings, TONE + 3);
    ck_assert_double_eq_tol(peak, 0.2 * 0.5 * 0.501, 0.002);
    ear_close(ear);
}

/* A test cannot go on at another rate, nor can a pipe be read again. */
START_TEST(what_cannot_follow_a_rate_ends)
{
    prepare();
    pid_t process =
        start("noise.wav %s --plain --abx 4 --device null:turn=24000,to=44100", choices);
    struct command_result result = live_rig_end(process);
    ck_assert_int_eq(result.code, 1);
    command_expect(result.err, "the test ends: the device's rate is 44100 Hz now");
    result = command_run("\"$HALO\" listen - --plain --mask dull.txt --device "
                         "null:turn=24000,to=44100 <noise.wav");
    ck_assert_int_eq(result.code, 1);
    command_expect(result.err,
                   "the device's rate is 44100 Hz now, no longer 48000, and - cannot be "
                   "read again");
}

/* A mask that the new rate does not admit, with a sound and a live input. What was is reported. */
START_TEST(a_rate_that_no_mask_allows_ends)
{
    const char *const sounds[] = {"noise.wav", "--live-input"};
    prepare();
    for (size_t i = 0; i < 2; i++) {
        struct command_result result =
            command_run("\"$HALO\" listen %s --mask lowpass:10000 --or --mask dull.txt --json "
                        "--seconds 20 --device null:turn=48000,to=16000 >lines; "
                        "code=$?; tail -n 2 lines | head -n 1; exit $code",
                        sounds[i]);
        ck_assert_msg(result.code == 2, "exit code %d\n%s", result.code, result.err);
        command_expect(result.err, "at most half the rate of the mask");
        json_t *report = command_json(result.out);
        ck_assert_uint_eq(json_array_size(json_object_get(report, "choices")), 2);
        ck_assert_double_eq_tol(command_json_number(report, "seconds"),
                                command_json_number(report, "frames") / RATE, 1e-9);
    }
}

START_TEST(a_test_without_answers_is_an_error)
{
    prepare();
    struct command_result result =
        command_run("\"$HALO\" listen noise.wav %s --abx 5 --device null </dev/null", choices);
    ck_assert_int_eq(result.code, 1);
    command_expect(result.err,
                   "halo: nothing was judged: the input of keys ended before the first");
}

/* Selects A until its sound is one of the passes. Returns the place, as find_place. */
static size_t find_place_of_a(struct ear *ear, const struct sound *passes)
{
    live_rig_keys("a");
    size_t end = ear_wait(ear, SETTLED) - LOOK;
    const float *output = ear_channel(ear, 0) + end;
    for (size_t p = 0; p < 2 * LOOP; p++)
        if (distance(output, &passes[p / LOOP], p % LOOP) < 1e-4)
            return (p % LOOP + LOOP - end % LOOP) % LOOP;
    ck_abort_msg("A is none of the masks");
}

/* The mask under a letter is played, and rated by its identity. */
START_TEST(a_ranking_rates_the_playing_mask)
{
    enum { TRIALS = 3 };
    prepare();
    struct ear *ear = ear_open(30 * RATE);
    struct sound passes[2] = {loop_through('A'), loop_through('B')};
    pid_t process =
        start("noise.wav %s " RECORDED "--json --blind %d --log log.json", unmatched, TRIALS);
    ear_wait(ear, RATE);
    const size_t place = find_place_of_a(ear, passes);
    for (size_t trial = 0; trial < TRIALS; trial++) {
        for (size_t letter = 0; letter < 2; letter++) {
            live_rig_keys(letter == 0 ? "a" : "b");
            live_rig_keys(which_sounds(ear, passes, place) == 0 ? "5" : "2");
            if (letter == 0)
                live_rig_keys("\n"); /* not yet */
        }
        live_rig_keys("\n");
    }
    struct command_result result = finish_well(process);
    ck_assert_ptr_nonnull(strstr(result.out, "not all are rated yet"));
    expect_nothing_reported(result.out);
    json_t *reported = result_of(result.out);
    expect_committed(result.out, reported);
    const json_t *scores = json_object_get(json_object_get(reported, "result"), "scores");
    for (size_t mask = 0; mask < 2; mask++)
        ck_assert_double_eq(
            json_number_value(json_object_get(json_array_get(scores, mask), "mean")),
            mask == 0 ? 5 : 2);
    json_decref(reported);
    *strstr(result.out, "\"event\":\"result\"") = '\0';
    ck_assert_ptr_null(strstr(result.out, "bright"));
    ck_assert_ptr_null(strstr(result.out, "dull"));
    ck_assert_ptr_null(strstr(result.err, "bright"));
    ck_assert_ptr_null(strstr(result.err, "dull"));
    ear_close(ear);
}

/* The preferred mask is the one that plays, under either letter; then a trial without preference. */
START_TEST(a_preference_is_of_the_playing_mask)
{
    enum { TRIALS = 4 };
    prepare();
    struct ear *ear = ear_open(30 * RATE);
    struct sound passes[2] = {loop_through('A'), loop_through('B')};
    pid_t process =
        start("noise.wav %s " RECORDED "--json --prefer %d --log log.json", unmatched, TRIALS);
    ear_wait(ear, RATE);
    const size_t place = find_place_of_a(ear, passes);
    for (size_t trial = 0; trial < TRIALS; trial++) {
        live_rig_keys("a");
        bool a_is_bright = which_sounds(ear, passes, place) == 0;
        live_rig_keys(trial == 0 ? "1\n" : ""); /* B is not heard, nothing is judged */
        live_rig_keys("b");
        ck_assert_uint_eq(which_sounds(ear, passes, place), a_is_bright);
        live_rig_keys(trial == 3 ? "0\n" : a_is_bright ? "1\n" : "2\n");
    }
    struct command_result result = finish_well(process);
    ck_assert_ptr_nonnull(strstr(result.out, "not heard yet: B"));
    ck_assert_ptr_nonnull(strstr(result.out, "no answer yet"));
    expect_nothing_reported(result.out);
    json_t *reported = result_of(result.out);
    expect_committed(result.out, reported);
    const json_t *pairs = json_object_get(json_object_get(reported, "result"), "pairs");
    const json_t *pair = json_array_get(pairs, 0), *preferred = json_object_get(pair, "preferred");
    ck_assert_int_eq(json_integer_value(json_array_get(preferred, 0)), TRIALS - 1);
    ck_assert_int_eq(json_integer_value(json_array_get(preferred, 1)), 0);
    ck_assert_int_eq(json_integer_value(json_object_get(pair, "ties")), 1);
    json_decref(reported);
    *strstr(result.out, "\"event\":\"result\"") = '\0';
    ck_assert_ptr_null(strstr(result.out, "bright"));
    ck_assert_ptr_null(strstr(result.err, "bright"));
    command_done("\"$HALO\" listen --verify log.json");
    command_done("\"$HALO\" listen --collect log.json");
    ear_close(ear);
}

static double level(const struct ear *ear, size_t end)
{
    double sum = 0;
    for (size_t i = end - LOOP; i < end; i++)
        sum += pow((double)ear_channel(ear, 0)[i], 2);
    return 10 * log10(sum / LOOP);
}

static double noise_level(void)
{
    double sum = 0;
    for (size_t i = 0; i < LOOP; i++)
        sum += pow((double)noise.block.data[0][i], 2);
    return 10 * log10(sum / LOOP);
}

#define LIVE_INPUT                                                                                 \
    "--live-input --mask plain.txt --or --mask loud.txt --plain "                                  \
    "--device null:in=input.wav,pace=4,period=256"

static double loudness_of(const struct ear *ear, size_t from, size_t end)
{
    struct sound part = sound_create(FLOAT_WAV, RATE, 1, end - from);
    memcpy(part.block.data[0], ear_channel(ear, 0) + from, (end - from) * sizeof(float));
    double level = sound_libebur128_loudness(&part);
    return level;
}

/* Bursts in a short loop: blocks of loudness lie anywhere in it. Where the first one lies decides
 * on 0.08 LU here, since those at the edges of a burst are at the gate. */
START_TEST(a_loop_is_equally_loud)
{
    enum { LONG = 2 * 302400 + 14400 }; /* twice all places of blocks of 400 ms in the loop */
    prepare();
    struct ear *ear = ear_open(300 * RATE);
    struct sound bursts = sound_create(FLOAT_WAV, RATE, 1, 63 * RATE / 100);
    for (size_t i = 0; i < RATE / 7; i++)
        bursts.block.data[0][RATE / 3 + i] = noise.block.data[0][i] / 4;
    sound_save(&bursts, "bursts.wav");
    double levels[2];
    pid_t process = start("bursts.wav --mask dull.txt --or --mask \"$FILTERS/slap-echo.wav\" "
                          "--plain --device null:pace=5,period=256,out=ear.wav");
    for (size_t i = 0; i < 2; i++) {
        live_rig_keys(i == 0 ? "1" : "2");
        size_t from = ear_wait(ear, 2 * RATE), end = ear_wait(ear, LONG);
        levels[i] = loudness_of(ear, from, end);
    }
    ck_assert_msg(fabs(levels[0] - levels[1]) < 0.15, "%.3f and %.3f LUFS", levels[0], levels[1]);
    live_rig_keys("q");
    finish_well(process);
    ear_close(ear);
}

/* A live input is measured while it arrives. */
START_TEST(a_live_input_is_matched_too)
{
    prepare();
    struct ear *ear = ear_open(30 * RATE);
    struct sound input = sound_create(FLOAT_WAV, RATE, 1, 60 * RATE);
    for (size_t i = 0; i < input.block.frames; i++)
        input.block.data[0][i] = noise.block.data[0][i % LOOP];
    sound_save(&input, "input.wav");
    sound_text("plain.txt", "0.25\n");
    sound_text("loud.txt", "1\n");
    pid_t process = start(LIVE_INPUT ",out=ear.wav --fade 5ms");
    ear_wait(ear, RATE);
    live_rig_keys("2");
    live_rig_wait("B: -12.0 dB");
    live_rig_wait_answer("mask 2 ");
    double after = level(ear, ear_wait(ear, 2 * RATE));
    live_rig_keys("1");
    live_rig_wait_answer("mask 1 ");
    double other = level(ear, ear_wait(ear, 2 * RATE));
    ck_assert_double_eq_tol(noise_level() - after, 12.04, 0.2); /* that of the mask without it */
    ck_assert_double_eq_tol(other, after, 0.1);
    live_rig_keys("q");
    finish_well(process);
    ear_close(ear);

    process = start(LIVE_INPUT " --abx 2");
    live_rig_wait("measuring the input");
    judge(1, 2, 'A');
    judge(2, 2, 'B');
    struct command_result result = finish_well(process);
    ck_assert_msg(strstr(result.out, " of 2 right") != NULL, "%s", result.out);

    process = start(LIVE_INPUT " --abx 1 --match none"); /* nothing waits */
    judge(1, 1, 'A');
    result = finish_well(process);
    ck_assert_msg(strstr(result.out, " of 1 right") != NULL, "%s", result.out);
}

START_TEST(a_lost_device_ends_the_test_and_keeps_the_log)
{
    prepare();
    pid_t process = start("noise.wav %s --device null:pace=2,lose=%d --plain --abx 5 "
                          "--log log.json",
                          choices, 12 * RATE);
    judge(1, 5, 'A');
    live_rig_wait("trial 2 of 5");
    struct command_result result = live_rig_end(process);
    ck_assert_int_eq(result.code, 1);
    ck_assert_msg(strstr(result.err, "is lost") != NULL, "%s", result.err);
    command_done("\"$HALO\" listen --verify log.json");
}
