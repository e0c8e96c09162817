/* halo batch: the bytes of single renders; what is done is not done again, however a run ended; a
 * bad job fails alone; shards and runs at once; manifests. */
#include "batch/batch_journal.h"
#include "batch/batch_list.h"
#include "batch/lines_read.h"
#include "command.h"
#include "sanitizer.h"
#include "sound.h"
#include "suite.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WAV16 = SF_FORMAT_WAV | SF_FORMAT_PCM_16, FILES = 12, KILLS = 20 };

static void begin(void)
{
    command_clean();
    command_done("mkdir in");
    for (int i = 0; i < FILES; i++) {
        char name[32];
        snprintf(name, sizeof name, "in/s%02d.wav", i);
        sound_noise_file(name, (uint64_t)i + 1, WAV16, 16000, i % 3 ? 1 : 2,
                         (size_t)(30000 + 3001 * i));
    }
    sound_noise_file("a.wav", 20, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 16000, 1, 3000);
    sound_noise_file("b.wav", 21, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 1, 5000);
    command_done(
        "for i in 00 01 02 03 04 05 06 07 08 09 10 11; do case $i in *[02468]) m=a ;; *) m=b ;; "
        "esac; echo '{\"id\": \"j'$i'\", \"in\": \"in/s'$i'.wav\", \"out\": \"x/'$i'.wav\", "
        "\"mask\": \"'$m'.wav,gain=-30\"}'; done > jobs.jsonl");
}

/* The outputs of one quiet run, in `want`. */
static void make_truth(void)
{
    command_done(
        "for i in 00 01 02 03 04 05 06 07 08 09 10 11; do case $i in *[02468]) m=a ;; *) m=b ;; "
        "esac; $HALO render -q -O want/x --name $i.wav in/s$i.wav --mask "
        "$m.wav,gain=-30 || exit 1; done");
}

static void expect_outputs(const char *folder)
{
    command_done("test \"$(ls -A %s/x)\" = \"$(ls -A want/x)\" && for f in want/x/*; do cmp $f "
                 "%s/x/${f##*/} || exit 1; done",
                 folder, folder);
}

static size_t lines_of(const char *what, const char *file)
{
    return (size_t)atoi(command_done("cat %s | grep -c '%s' || true", file, what).out);
}

START_TEST(the_bytes_are_those_of_renders)
{
    begin();
    make_truth();
    command_done("$HALO batch jobs.jsonl -O D --threads 3 -q");
    expect_outputs("D");
    command_done("gzip -k jobs.jsonl && $HALO batch jobs.jsonl.gz -O E --threads 1 -q");
    expect_outputs("E");
    command_done("$HALO batch - -O F -q < jobs.jsonl");
    expect_outputs("F");
}

START_TEST(only_what_is_missing_or_changed_is_made)
{
    begin();
    command_done("$HALO batch jobs.jsonl -O D -q");
    struct command_result result = command_done("$HALO batch jobs.jsonl -O D --json -q");
    ck_assert_double_eq(command_number(result.out, "made"), 0);
    ck_assert_double_eq(command_number(result.out, "kept"), FILES);
    command_done("rm D/x/03.wav; echo more >> in/s05.wav; touch -d 2001-01-01 a.wav; "
                 "sed -i 's/b.wav,gain=-30/b.wav,gain=-31/;5q' jobs.jsonl; "
                 "echo '{\"in\": \"in/s11.wav\", \"out\": \"y.wav\"}' >> jobs.jsonl");
    result = command_done("$HALO batch jobs.jsonl -O D --json -q"); /* all of the five */
    ck_assert_double_eq(command_number(result.out, "made"), 6);
    result = command_done("$HALO batch jobs.jsonl -O D --json -q");
    ck_assert_double_eq(command_number(result.out, "kept"), 6);
    result = command_done("$HALO batch jobs.jsonl -O D --json -q --tail none");
    ck_assert_double_eq(command_number(result.out, "made"), 6);
    result = command_done("$HALO batch status D --json");
    ck_assert_double_eq(command_number(result.out, "done"), 6);
    ck_assert_double_eq(command_number(result.out, "others"), FILES - 5);
    command_refused(1, "has no journal", "$HALO batch status in");
}

START_TEST(a_bad_job_fails_alone)
{
    begin();
    command_done(
        "mkdir -p D/x; echo mine > D/x/04.wav; echo none > in/s07.wav; rm in/s08.wav; "
        "echo '{\"in\": \"in/s00.wav\", \"out\": \"z.wav\", \"gain\": \"loud\"}' >> jobs.jsonl");
    struct command_result result = command_run("$HALO batch jobs.jsonl -O D -q --report rep");
    ck_assert_int_eq(result.code, 3);
    ck_assert_uint_eq(command_lines(result.err), 5);
    command_expect(result.err, "4 of 13 jobs failed");
    command_expect(result.err, "not a sound file");
    command_expect(result.err, "j08: cannot open in/s08.wav");
    command_expect(result.err, "D/x/04.wav exists; --force replaces it");
    command_expect(result.err, "z.wav: --gain must be");
    command_done("grep -qx mine D/x/04.wav && test $(ls -A D/x | wc -l) = 10");
    ck_assert_uint_eq(lines_of("\"result\":\"failed\"", "rep"), 4);
    result = command_run("$HALO batch - -O E -q --json < jobs.jsonl");
    ck_assert_int_eq(result.code, 3);
    ck_assert_uint_eq(command_lines(result.err), 4);
    command_expect(result.out, "\"message\":\"3 of 13 jobs failed\"");
    command_expect(result.err, "not a sound file");
    command_done("echo '{\"id\": \"8\", \"in\": \"in/s08.wav\", \"gain\": 0}' > list");
    command_expect(command_run("$HALO batch list -O F -q").err, "halo: 8: cannot open in/s08.wav");
    command_expect(command_done("tail -n 1 rep").out, "\"failed\":4");
    command_done("cp in/s06.wav in/s07.wav; cp in/s06.wav in/s08.wav; sed -i '$d' jobs.jsonl");
    result = command_done("$HALO batch jobs.jsonl -O D -q -f --json");
    ck_assert_double_eq(command_number(result.out, "made"), 3);
}

/* Whatever their names are, and what is suggested. */
/* Once, and by its id where that is no part of its path. */
START_TEST(a_failed_file_is_named)
{
    begin();
    command_done("mkdir -p in/b && head -c 9000 in/s01.wav >in/b/s.wav && "
                 "echo '{\"id\": \"night\", \"in\": \"in/b/s.wav\"}' >list");
    command_expect(command_run("$HALO batch in -O D --gain -3").err,
                   "halo: in/b/s.wav is truncated");
    command_expect(command_run("$HALO batch list -O E").err,
                   "halo: night: in/b/s.wav is truncated");
}

START_TEST(failures_are_counted_by_what_failed)
{
    begin();
    command_done(
        "for i in 1 2 3; do echo '{\"in\": \"in/s0'$i'x.wav\", \"out\": \"'$i'.wav\"}'; "
        "echo '{\"in\": \"in/s0'$i'.wav\", \"out\": \"m'$i'.wav\", \"mask\": "
        "\"aa'$i'.wav\"}'; echo '{\"in\": \"in/s0'$i'.wav\", \"out\": \"g'$i'.wav\", "
        "\"gain\": \"x'$i'\"}'; done >list; echo '{\"in\": \"far away\", \"out\": "
        "\"o.wav\"}' >>list; echo text >in/s09.wav; echo '{\"in\": \"in/s09.wav\"}' >>list");
    struct command_result result = command_run("$HALO batch list -O D -q --report rep --retries 0");
    ck_assert_int_eq(result.code, 3);
    command_expect(result.err, "did you mean in/s0"); /* of some, and another for each */
    json_t *last = command_json(command_done("tail -n 1 rep").out);
    const json_t *kinds = json_object_get(json_object_get(last, "summary"), "failures");
    ck_assert_msg(json_object_size(kinds) == 4, "%s", json_dumps(kinds, 0));
    ck_assert_int_eq(json_integer_value(json_object_get(kinds, "missing: cannot open")), 4);
    ck_assert_int_eq(json_integer_value(json_object_get(kinds, "missing: cannot open mask")), 3);
}

START_TEST(wrong_usage_is_refused_before_anything_is_written)
{
    const struct {
        const char *expected, *job, *arguments;
    } rows[] = {
        {"-O DIR", "{\"in\": \"in/s00.wav\"}", ""},
        {"not JSON", "{\"in\": ", "-O D"},
        {"line 1", "[]", "-O D"},
        {"\"in\"", "{\"id\": \"a\"}", "-O D"},
        {"not a file within", "{\"in\": \"in/s00.wav\", \"out\": \"../x.wav\"}", "-O D"},
        {"not a file within", "{\"in\": \"in/s00.wav\", \"out\": \"/x.wav\"}", "-O D"},
        {"same output", "{\"in\": \"in/s00.wav\"}\n{\"in\": \"x/s00.wav\"}", "-O D"},
        {"same output",
         "{\"in\": \"a.wav\", \"out\": \"o.wav\"}\n{\"in\": \"a.wav\", \"out\": \".//o.wav\"}",
         "-O D"},
        {"not a file within", "{\"in\": \"a.wav\", \"out\": \"o/.\"}", "-O D"},
        {"replace the input",
         "{\"in\": \"a.wav\", \"out\": \"s05.wav\"}\n{\"in\": \"in/../in/s05.wav\"}",
         "-O in --name {stem}-x.wav -f"},
        {"the output of line 1 would replace the input of line 1", "{\"in\": \"a.wav\"}",
         "-O . -f"},
        {"the output of line 1 would replace the input of line 2", /* which is not there yet */
         "{\"in\": \"a.wav\", \"out\": \"x/y.wav\"}\n{\"in\": \"./D//x/./y.wav\"}", "-O D"},
        {"the output of line 1 would replace what the stages of line 2 read",
         "{\"in\": \"in/s00.wav\"}\n{\"in\": \"in/s01.wav\", \"noise\": \"D/s00.wav,snr=3\"}",
         "-O D"},
        {"the output of line 2 would replace what the stages of line 1 read",
         "{\"in\": \"in/s00.wav\", \"stages\": [{\"gain\": 1}, {\"mask\": [\"a.wav\", "
         "\".//D/x.wav,gain=3\"]}]}\n{\"in\": \"in/s01.wav\", \"out\": \"x.wav\"}",
         "-O D"},
        {"the output of line 1 would replace what the stages of line 1 read",
         "{\"in\": \"in/s00.wav\", \"chain\": \"D/s00.wav\"}", "-O D"},
        {"the output of line 1 would replace what the stages of all jobs read",
         "{\"in\": \"in/s00.wav\"}", "-O D --mask a.wav --mask D/s00.wav,gain=-3"},
        {"the output of line 1 would replace what the stages of all jobs read",
         "{\"in\": \"in/s00.wav\"}", "-O D --masks masks"},
        {"lines 1 and 3 have the same output", "{\"in\": \"a.wav\"}\n\n{\"in\": \"b/a.wav\"}",
         "-O D"},
        {"lines 1 and 2 have the same \"id\"",
         "{\"id\": \"a\", \"in\": \"a.wav\"}\n{\"id\": \"a\", \"in\": \"b.wav\"}", "-O D"},
        {"--shard", "{\"in\": \"in/s00.wav\"}", "-O D --shard 3/2"},
        {"which of them", "{\"in\": \"in/s00.wav\"}", "-O D --shard 4"},
        {"--backend", "{\"in\": \"in/s00.wav\"}", "-O D --backend cuda --reproducible"},
        {"--format is one of", "{\"in\": \"in/s00.wav\"}", "-O D --format pcm17"},
        {"container 'vav'; did you mean wav", "{\"in\": \"in/s00.wav\"}", "-O D --container vav"},
        {"'sterio'", "{\"in\": \"in/s00.wav\"}", "-O D --layout sterio"},
        {"--dither", "{\"in\": \"in/s00.wav\"}", "-O D --dither some"},
        {"--quality", "{\"in\": \"in/s00.wav\"}", "-O D --quality 11"},
        {"--tail", "{\"in\": \"in/s00.wav\"}", "-O D --tail long"},
    };
    begin();
    command_done("echo D/s00.wav >masks && echo '{' >tags.json");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        command_done("printf '%%s\\n' '%s' > list", rows[i].job);
        command_refused(2, rows[i].expected, "$HALO batch list %s", rows[i].arguments);
        command_done("test ! -e D");
    }
    command_refused(1, "halo: cannot use tags.json: line 2",
                    "$HALO batch list -O D --metadata tags.json");
    command_done("test ! -e D && mkdir other && cp in/s00.wav other");
    command_refused(2, "files 1 and 5 have the same output",
                    "$HALO batch --glob '[io]*/s0[0-3]*.wav' -O D");
    command_refused(2, "needs a LIST", "$HALO batch -O D");
    command_refused(2, "--output", "$HALO batch list -O D --output E.wav");
}

START_TEST(options_of_jobs_are_those_of_render)
{
    begin();
    command_done(
        "echo '{\"in\": \"in/s01.wav\", \"out\": \"o.flac\", \"stages\": [{\"mask\": \"a.wav\"}, "
        "{\"gain\": -31.5}], \"tail\": \"none\", \"format\": \"pcm24\", \"normalize\": -3}' > list");
    command_done("$HALO batch list -O D -q --gain 3");
    command_done("$HALO render -q in/s01.wav o.flac --mask a.wav --gain -31.5 --tail "
                 "none --format pcm24 --normalize -3 && cmp o.flac D/o.flac");
    command_done("echo '{\"in\": \"in/s01.wav\", \"threads\": 2}' > list");
    struct command_result result = command_run("$HALO batch list -O D -q");
    ck_assert_int_eq(result.code, 3);
    command_expect(result.err, "\"threads\" is for the whole batch");
    command_done("echo '{\"in\": \"in/s01.wav\", \"output\": \"y.wav\"}' > list");
    command_expect(command_run("$HALO batch list -O D -q").err,
                   "\"output\" is for the whole batch");
    command_done("test ! -e y.wav");
    command_done("echo '{\"in\": \"in/s01.wav\", \"tial\": 2}' > list");
    command_expect(command_run("$HALO batch list -O D -q").err, "\"tial\" is not an option");
}

START_TEST(shards_are_together_the_whole)
{
    begin();
    make_truth();
    command_done(
        "for k in 1 2 3 4 5; do $HALO batch jobs.jsonl -O D -q --shard $k/5 || exit 1; done");
    expect_outputs("D");
    struct command_result result = command_done("$HALO batch jobs.jsonl -O D -q --json");
    ck_assert_double_eq(command_number(result.out, "kept"), FILES);
}

/* Lines with returns, and what is not in order in the rest of a line, which its own shard finds. */
START_TEST(a_shard_reads_names_alone_of_the_others)
{
    begin();
    make_truth();
    command_done("sed -i 's/$/\\r/' jobs.jsonl; for k in 1 2 3; do $HALO batch jobs.jsonl -O D -q "
                 "--shard $k/3 || exit 1; done");
    expect_outputs("D");
    command_done("sed -i 's/\"j03\"/\"j03\", \"gain\": 01/' jobs.jsonl");
    size_t refused = 0;
    for (int k = 1; k <= 4; k++) {
        struct command_result result =
            command_run("$HALO batch jobs.jsonl -O E -q --shard %d/4", k);
        ck_assert_msg(result.code == 0 || strstr(result.err, "jobs.jsonl line 4: not JSON"), "%s",
                      result.err);
        refused += result.code != 0;
    }
    ck_assert_uint_eq(refused, 1);
}

/* What two shards would write, or one would write and another reads, both refuse. */
START_TEST(clashes_of_shards_are_refused_by_all)
{
    static const struct {
        const char *expected, *second;
    } rows[] = {
        {"same output", "\"id\": \"bN\", \"in\": \"in/s01.wav\", \"out\": \"o.wav\""},
        {"same output", "\"id\": \"bN\", \"in\": \"in/s01.wav\", \"out\": \".//o.wav\""},
        {"replace the input", "\"id\": \"bN\", \"in\": \"D/o.wav\", \"out\": \"p.wav\""},
    };
    begin();
    command_done("mkdir D");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        command_done("for n in 1 2 3 4 5 6 7 8; do echo '{\"id\": \"a\", \"in\": \"in/s00.wav\", "
                     "\"out\": \"o.wav\"}' > $n; echo '{%s}' | sed s/N/$n/ >> $n; done",
                     rows[i].second);
        for (int n = 1; n <= 8; n++)
            for (int k = 1; k <= 2; k++)
                command_refused(2, rows[i].expected, "$HALO batch %d -O D --shard %d/2", n, k);
    }
    command_done("tac 1 > both");
    command_refused(2, "replace the input", "$HALO batch both -O D --shard 1/2");
}

/* Notes, or the failure, of batch_shard_choose where these are all variables. */
static const char *choose_shard(enum status expected, const char *environment, const char *text)
{
    static char said[512];
    char line[256], *rest = line, *variables[8] = {0}, **before = environ;
    struct batch_shard shard;
    snprintf(line, sizeof line, "%s", environment);
    for (size_t count = 0; (variables[count] = strtok_r(rest, " ", &rest)); count++)
        ;
    environ = variables;
    log_capture(said, sizeof said);
    log_capture_notes(said, sizeof said);
    enum status status = batch_shard_choose(text, &shard);
    log_capture_notes(NULL, 0);
    log_capture(NULL, 0);
    environ = before;
    ck_assert_msg(status == expected, "%s: status %d: %s", environment, (int)status, said);
    return said;
}

#define ARRAY "SLURM_ARRAY_TASK_MIN=5 SLURM_ARRAY_TASK_MAX=9 SLURM_ARRAY_TASK_COUNT="

START_TEST(schedulers_say_which_shard)
{
    static const struct {
        const char *environment, *shard, *said;
    } rows[] = {
        {ARRAY "5 SLURM_ARRAY_TASK_ID=7", NULL, "shard 3 of 5, by SLURM_ARRAY_TASK_ID"},
        {ARRAY "5 SLURM_ARRAY_TASK_ID=9", "5", "shard 5 of 5, by SLURM_ARRAY_TASK_ID"},
        {ARRAY "3 SLURM_ARRAY_TASK_STEP=2 SLURM_ARRAY_TASK_ID=7", NULL, "shard 2 of 3, by SLURM"},
        {ARRAY "5 SLURM_ARRAY_TASK_ID=5 JOB_COMPLETION_INDEX=3", NULL, "shard 1 of 5, by SLURM"},
        {"JOB_COMPLETION_INDEX=4 SLURM_ARRAY_TASK_ID=", "5",
         "shard 5 of 5, by JOB_COMPLETION_INDEX"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        command_expect(choose_shard(STATUS_OK, rows[i].environment, rows[i].shard), rows[i].said);
    ck_assert_str_eq(choose_shard(STATUS_OK, "SLURM_ARRAY_TASK_ID=x", "1/1"), "");
    begin();
    command_expect(command_done("%s $HALO batch jobs.jsonl -O D", rows[0].environment).err,
                   rows[0].said);
}

START_TEST(nonsense_of_schedulers_is_refused)
{
    static const struct {
        const char *environment, *shard, *expected;
    } rows[] = {
        {"SLURM_ARRAY_TASK_ID=abc", NULL, "SLURM_ARRAY_TASK_ID= takes a number"},
        {"SLURM_ARRAY_TASK_ID=-1", NULL, "SLURM_ARRAY_TASK_ID= takes a number"},
        {"SLURM_ARRAY_TASK_ID=7x", "8", "SLURM_ARRAY_TASK_ID= takes a number"},
        {"SLURM_ARRAY_TASK_ID=4294967296", NULL, "SLURM_ARRAY_TASK_ID= takes a number"},
        {"SLURM_ARRAY_TASK_ID=3", NULL, "without SLURM_ARRAY_TASK_MIN"},
        {"SLURM_ARRAY_TASK_ID=3", "8", "without SLURM_ARRAY_TASK_MIN"},
        {ARRAY "5 SLURM_ARRAY_TASK_ID=4", NULL, "but the tasks are 5 to 9"},
        {ARRAY "5 SLURM_ARRAY_TASK_ID=10", NULL, "but the tasks are 5 to 9"},
        {ARRAY "3 SLURM_ARRAY_TASK_STEP=2 SLURM_ARRAY_TASK_ID=6", NULL, "but the tasks are 5 to 9"},
        {ARRAY "3 SLURM_ARRAY_TASK_ID=7", NULL, "has gaps"},
        {ARRAY "5 SLURM_ARRAY_TASK_STEP=0 SLURM_ARRAY_TASK_ID=7", NULL, "has gaps"},
        {ARRAY "nan SLURM_ARRAY_TASK_ID=7", NULL, "SLURM_ARRAY_TASK_COUNT= takes a number"},
        {ARRAY "0 SLURM_ARRAY_TASK_ID=7", NULL, "without SLURM_ARRAY_TASK_MIN"},
        {ARRAY "5 SLURM_ARRAY_TASK_ID=7", "16", "array has 5 tasks"},
        {"JOB_COMPLETION_INDEX=4", NULL, "--shard N"},
        {"JOB_COMPLETION_INDEX=4", "4", "it is 0 to 3"},
        {"JOB_COMPLETION_INDEX=1e1", "40", "JOB_COMPLETION_INDEX= takes a number"},
        {"JOB_COMPLETION_INDEX=99999999999999999999", "4", "takes a number"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        command_expect(choose_shard(STATUS_USAGE, rows[i].environment, rows[i].shard),
                       rows[i].expected);
    begin();
    command_refused(2, rows[0].expected, "%s $HALO batch jobs.jsonl -O D", rows[0].environment);
}

/* What has not begun counts, too; what failed once and is done now is no failure. */
START_TEST(the_status_knows_what_is_missing)
{
    begin();
    command_done("mv in/s07.wav in/s10.wav .; echo none > in/s07.wav; echo none > in/s10.wav");
    command_run("$HALO batch jobs.jsonl -O D -q --shard 2/3");
    struct command_result result = command_done("$HALO batch status D");
    command_expect(result.out, " of 12 jobs done");
    command_expect(result.out, "1 of 3 shards begun, 0 not ended");
    for (int k = 1; k <= 3; k++)
        command_run("$HALO batch jobs.jsonl -O D -q --shard %d/3", k);
    result = command_done("$HALO batch status D --failed");
    command_expect(result.out, "10 of 12 jobs done, 2 failed; 3 of 3 shards begun, 0 not ended\n");
    command_expect(result.out, "\nj07: ");
    command_expect(result.out, "\nj10: ");
    ck_assert_uint_eq(command_lines(result.out), 3);
    command_done("mv s07.wav in/; ! $HALO batch jobs.jsonl -O D -q");
    result = command_done("$HALO batch status D --failed");
    command_expect(result.out, "11 of 12 jobs done, 1 failed; 1 of 1 shard begun, 0 not ended\n");
    command_expect(result.out, "\nj10: ");
    ck_assert_uint_eq(command_lines(result.out), 2);
    json_t *report = command_json(command_done("$HALO batch status D --json --failed").out);
    ck_assert_double_eq(command_json_number(report, "shards_begun"), 1);
    ck_assert_uint_eq(json_object_size(json_object_get(report, "failures")), 1);
    command_expect(command_json_string(json_object_get(report, "failures"), "j10"), "in/s10.wav");
}

/* Of a list that has fewer jobs than the one before. */
START_TEST(the_status_is_that_of_the_last_list)
{
    begin();
    command_done("mv in/s03.wav in/s10.wav .; ! $HALO batch jobs.jsonl -O D -q; sed -n '1,4p' "
                 "jobs.jsonl >few");
    command_expect(command_done("$HALO batch status D").out, "10 of 12 jobs done, 2 failed");
    for (int k = 2; k > 0; k--)
        command_run("$HALO batch few -O D -q --shard %d/2", k);
    struct command_result result = command_done("$HALO batch status D --failed");
    command_expect(result.out, "3 of 4 jobs done, 1 failed; 2 of 2 shards begun, 0 not ended; 8 "
                               "jobs of earlier lists\nj03: ");
    ck_assert_uint_eq(command_lines(result.out), 2);
    json_t *report = command_json(command_done("$HALO batch status D --json --failed").out);
    ck_assert_double_eq(command_json_number(report, "done"), 3);
    ck_assert_double_eq(command_json_number(report, "others"), 8);
    ck_assert_uint_eq(json_object_size(json_object_get(report, "failures")), 1);
    /* Without what it knows of lists it counts all. */
    command_done("rm D/.halo-batch/*.jobs");
    command_expect(command_done("$HALO batch status D").out, "10 of 4 jobs done, 2 failed");
    command_done(": >none; $HALO batch none -O D -q");
    command_expect(command_done("$HALO batch status D").out, "0 of 0 jobs done, 0 failed");
}

/* And only those, but for that of a run that hangs in its job, until it ends or dies. */
START_TEST(jobs_of_old_lists_are_removed)
{
    static const char sets[] = "cd D/.halo-batch && echo $(ls | grep -c '[.]jobs$')";
    begin();
    command_done("for i in 1 2 3; do head -n $i jobs.jsonl >$i; done; mkfifo hung; "
                 "echo 'a touch begun; exec cat hung |' >wav.scp; mkdir -p D/.halo-batch; cd "
                 "D/.halo-batch; touch mine.jobs 0123456789abcdeg.jobs 0123456789abcdef0.jobs");
    for (int i = 1; i <= 3; i++) {
        command_done("$HALO batch %d -O D -q", i);
        ck_assert_str_eq(command_done(sets).out, "4\n");
    }
    for (int is_killed = 0; is_killed < 2; is_killed++) {
        pid_t halo =
            command_start("exec $HALO batch --from kaldi wav.scp --allow-commands -O D -q");
        command_done("until [ -e begun ]; do sleep 0.02; done; rm begun");
        ck_assert_str_eq(command_done(sets).out, "4\n");
        command_done("$HALO batch 2 -O D -q");
        ck_assert_str_eq(command_done(sets).out, "5\n");
        command_expect(command_done("$HALO batch status D").out, "2 of 2 jobs done");
        command_done("kill -%s %d", is_killed ? "KILL" : "INT", (int)halo);
        command_wait(halo);
        command_expect(command_done("$HALO batch status D").out,
                       is_killed ? "2 of 2 jobs done" : "0 of 1 job done");
        command_done("$HALO batch 3 -O D -q");
        ck_assert_str_eq(command_done(sets).out, "4\n");
        command_done(": >hung");
    }
}

/* Whichever of them ends last, what its list has is there. */
START_TEST(runs_at_once_keep_their_lists)
{
    begin();
    command_done("for i in 1 2 3 4; do head -n $i jobs.jsonl >$i; done; $HALO batch 4 -O D -q");
    for (int round = 0; round < 10; round++) {
        command_done("for i in 1 2 3 4; do { $HALO batch $i -O D -q || touch failed; } & done; "
                     "wait; [ ! -e failed ]");
        const char *status = command_done("$HALO batch status D --json").out;
        ck_assert_msg(command_number(status, "done") == command_number(status, "jobs"), "%s",
                      status);
    }
    command_done("$HALO batch 1 -O D -q && [ $(ls D/.halo-batch/*.jobs | wc -l) = 1 ]");
}

/* At random moments, then once to the end: the bytes of a quiet run, and nothing else. What had its
 * name when a run was killed has not been made again. */
START_TEST(killed_runs_lose_nothing_and_leave_nothing)
{
    begin();
    make_truth();
    srand(7);
    command_done("mkdir -p D/x && touch times");
    for (int k = 0; k < KILLS; k++) {
        pid_t halo = command_start("exec $HALO batch jobs.jsonl -O D -q --threads 2");
        usleep((useconds_t)(rand() % 150000));
        kill(halo, SIGKILL);
        command_wait(halo);
        command_done(
            "cd D/x; for f in *.wav; do test ! -e $f || stat -c '%%n %%i %%y' $f; done > "
            "../../now; cd ../..; grep -vxFf now times > lost; test ! -s lost; mv now times");
        if (k % 5 == 4) /* so that there is always something left to do */
            command_done("rm -rf D/x/*.wav times; touch times");
    }
    command_done("$HALO batch jobs.jsonl -O D -q");
    command_done(
        "cd D/x; stat -c '%%n %%i %%y' *.wav > ../../now; cd ../..; grep -vxFf now times > lost; "
        "test ! -s lost");
    expect_outputs("D");
    ck_assert_str_eq(command_done("ls -A D; ls -A D/.halo-batch | grep -v [.]jobs$").out,
                     ".halo-batch\nx\n1-of-1.jsonl\nlocks\n");
}

START_TEST(runs_at_once_share_the_work)
{
    begin();
    make_truth();
    pid_t first = command_start("exec $HALO batch jobs.jsonl -O D -q --threads 2");
    pid_t second = command_start("exec $HALO batch jobs.jsonl -O D -q --threads 2");
    ck_assert_int_eq(command_wait(first).code, 0);
    ck_assert_int_eq(command_wait(second).code, 0);
    expect_outputs("D");
    ck_assert_uint_eq(lines_of("\"digest\"", "D/.halo-batch/1-of-1.jsonl"), FILES);
}

START_TEST(manifests_come_back_as_their_kind)
{
    begin();
    command_done(
        "printf 'u1 in/s01.wav\\nu2 in/s02.wav\\n' > wav.scp; printf 'r1 a.wav,gain=-30\\nr2 "
        "b.wav,gain=-30\\n' > rirs.scp");
    command_done("$HALO batch --from kaldi wav.scp --masks rirs.scp --seed 4 -O K -q --tail none");
    ck_assert_str_eq(command_done("cat K/wav.scp").out, "u1 K/u1.wav\nu2 K/u2.wav\n");
    command_done(
        "$HALO batch --from kaldi wav.scp --masks rirs.scp --seed 4 -O K2 -q --tail none && cmp "
        "K/u1.wav K2/u1.wav");
    command_done(
        "(echo '  u1  in/s01.wav '; printf '\\n\\t\\r\\n\\tu2\\tin/s02.wav\\r\\n') >spaced.scp && $HALO "
        "batch --from kaldi spaced.scp --masks rirs.scp --seed 4 -O K -q --tail none");
    ck_assert_str_eq(command_done("cat K/wav.scp").out, "u1 K/u1.wav\nu2 K/u2.wav\n");
    command_done("echo 'u3 cat in/s03.wav |' >> wav.scp");
    command_refused(2, "--allow-commands", "$HALO batch --from kaldi wav.scp -O K3 --gain 0");
    command_done(
        "$HALO batch --from kaldi wav.scp --allow-commands -O K3 --gain 0 -q && test -s K3/u3.wav");
    command_done("echo 'u4 cat in/s03.wav; false |' > wav.scp");
    struct command_result result =
        command_run("$HALO batch --from kaldi wav.scp --allow-commands -O K4 --gain 0 -q");
    ck_assert_int_eq(result.code, 3);
    command_expect(result.err, "failed with exit status 1");
    command_done("test ! -e K4/u4.wav");

    command_done(
        "echo '{\"audio_filepath\": \"in/s04.wav\", \"duration\": 1.0, \"text\": \"hello\"}' > m.json"
        " && $HALO batch --from nemo m.json -O N -q --mask a.wav,gain=-30");
    json_t *line = command_json(command_done("cat N/manifest.json").out);
    ck_assert_str_eq(command_json_string(line, "audio_filepath"), "N/s04.wav");
    ck_assert_str_eq(command_json_string(line, "text"), "hello");
    ck_assert_double_eq_tol(command_json_number(line, "duration"), (16000 + 2999) / 16000.0, 1e-9);

    command_done(
        "echo '{\"id\": \"c1\", \"start\": 0, \"duration\": 2.8, \"channel\": 0, \"supervisions\": "
        "[], \"recording\": {\"id\": \"r\", \"sources\": [{\"type\": \"file\", \"channels\": [0], "
        "\"source\": \"in/s05.wav\"}], \"sampling_rate\": 16000, \"num_samples\": 45005, "
        "\"duration\": 2.8}, \"type\": \"MonoCut\"}' | gzip > cuts.jsonl.gz; "
        "$HALO batch --from lhotse cuts.jsonl.gz -O L -q --mask a.wav,gain=-30 --tail none");
    line = command_json(command_done("gzip -dc L/cuts.jsonl.gz").out);
    ck_assert_str_eq(command_json_string(line, "id"), "c1");
    json_t *recording = json_object_get(line, "recording");
    ck_assert_double_eq(command_json_number(recording, "num_samples"), 45005);
    ck_assert_str_eq(
        command_json_string(json_array_get(json_object_get(recording, "sources"), 0), "source"),
        "L/c1.wav");
    command_done(
        "$HALO batch --glob 'in/s0[0-3].wav' -O G --gain 0 -q && test $(ls G | wc -l) = 4");
    command_refused(1, "no such files", "$HALO batch --glob 'in/none*' -O G9 --gain 0");
}

/* What a room means for speech: the output begins with its direct sound and is as long as the
 * input. */
/* Each job has the stages of the command line in their order, one of --masks among them; the report
 * has them, and they make the same job again. */
START_TEST(masks_stand_among_the_other_stages)
{
    static const char *const orders[] = {
        "--masks rirs --noise in/s03.wav,channel=1,snr=0..9 --gain -6..0",
        "--noise in/s03.wav,channel=1,snr=3 --masks rirs",
        "--gain -3 --chain c.yml --masks rirs --mask b.wav,gain=-20",
        "--lv2 http://lv2plug.in/plugins/eg-amp,gain=-6 --masks rirs"};
    begin();
    command_done(
        "printf 'r1 a.wav,gain=-30\\nr2 b.wav,gain=-30\\n' >rirs; printf 'halo-chain: 1\\nstages: [{gain: "
        "-20}]\\n' >c.yml");
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        command_done(
            "rm -rf D E; $HALO batch --glob 'in/s0[012].wav' -O D -q --tail none --seed %zu "
            "--report rep %s",
            i, orders[i]);
        command_done("grep -c '\"mask\":\"[ab].wav,gain=-30\"' rep | grep -x 3");
        command_done(
            "sed -n 's/^{\"id\":\"\\(s0.\\).wav\".*\\(\"stages\":.*\\]\\).*/{\"in\":\"in\\/\\1.wav\","
            "\\2}/p' rep >again; grep -c stages again | grep -x 3; $HALO batch again -O E -q --tail none");
        command_done("for f in s00 s01 s02; do cmp D/$f.wav E/$f.wav || exit 1; done");
    }
    /* By hand, in the order of the options. */
    command_done(
        "rm -rf D; $HALO batch --glob in/s00.wav -O D -q --tail none --report rep --noise "
        "in/s03.wav,channel=1,snr=3,start=0 --masks rirs --gain -3 && m=$(grep -o '[ab].wav,gain=-30' rep) && "
        "$HALO render in/s00.wav hand.wav --tail none --noise in/s03.wav,channel=1,snr=3,start=0 --mask "
        "$m --gain -3 && cmp hand.wav D/s00.wav");
    /* Stages of a job stand in their place, which is said. */
    command_done("echo '{\"in\": \"in/s00.wav\", \"gain\": -1}' >own");
    command_expect(
        command_done("$HALO batch own -O E --masks rirs --noise in/s03.wav,channel=1,snr=3").err,
        "1 of 1 job has stages of its own, not the stages of the command line");
}

START_TEST(a_room_begins_at_its_direct_sound)
{
    static const float whole[] = {-1, 0.5F, 0.25F, 0.125F}, early[] = {-1, 0.5F, 0, 0};
    static const struct {
        const char *option;
        const float *expected;
    } rows[] = {
        {"align=peak", whole}, {"align=peak,early=1", early}, {"early=1,align=peak", early}};
    sound_text("room.txt", "0\n0.1\n-1\n0.5\n0.25\n0.125\n");
    struct sound impulse = sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, 16000, 1, 4);
    impulse.block.data[0][0] = 1;
    sound_save(&impulse, "in.wav");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        command_done(
            "echo '{\"in\": \"in.wav\", \"mask\": \"room.txt,%s\"}' > list; $HALO batch list -O D "
            "-q --tail none",
            rows[i].option);
        struct sound out = sound_load("D/in.wav");
        ck_assert_uint_eq(out.block.frames, 4);
        for (size_t k = 0; k < 4; k++)
            ck_assert_float_eq_tol(out.block.data[0][k], rows[i].expected[k], 1e-6F);
    }
    command_refused(2, "align=", "$HALO render in.wav out.wav --mask room.txt,align=foot");
    command_refused(2, "at least one tap", "$HALO render in.wav out.wav --mask room.txt,early=0");
}

/* Without options, with a GPU or without one. */
START_TEST(a_missing_gpu_is_not_mentioned)
{
    begin();
    struct command_result result = command_done("$HALO batch jobs.jsonl -O D");
    ck_assert_msg(!strstr(result.err, "GPU") && !strstr(result.err, "driver"), "%s", result.err);
    command_done("[ -e /dev/nvidiactl ] || [ -e /dev/dxg ] || ! $HALO render in/s00.wav o.wav -v "
                 "--json --mask a.wav,gain=-30 2>&1 | grep -v gpu_failures | grep -i gpu");
}

START_TEST(seeds_are_whole_numbers)
{
    begin();
    command_done(
        "for s in 7 '\"7\"'; do echo '{\"id\": \"a\", \"in\": \"in/s00.wav\", \"out\": "
        "\"a.wav\", \"gain\": \"-6..0\", \"seed\": '$s'}' > j; $HALO batch j -q -O D$s; done; "
        "cmp D7/a.wav 'D\"7\"/a.wav'");
    static const char *const wrong[] = {"7.0", "true", "null", "-1", "\"x\"", "\"\"", "4294967296"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        command_done("echo '{\"in\": \"in/s00.wav\", \"seed\": %s}' > j", wrong[i]);
        struct command_result result = command_run("$HALO batch j -O E");
        ck_assert_int_eq(result.code, 3);
        ck_assert_msg(strstr(result.err, "\"seed\" is a whole number"), "%s", result.err);
    }
}

/* kB; AddressSanitizer keeps for a while what was freed. */
#if SANITIZER_ADDRESS
enum { MEMORY_MOST = 400000 };
#else
enum { MEMORY_MOST = 200000 };
#endif

/* The bytes of a name that are no text: the others are done. */
START_TEST(names_that_are_no_text_fail_alone)
{
    begin();
    command_done("mkdir g && cp in/s00.wav g/a.wav && cp in/s01.wav g/z.wav && cp in/s02.wav "
                 "\"g/$(printf 'm\\377')\" && cp in/s02.wav \"g/$(printf 'm\\376')\"");
    for (int run = 0; run < 2; run++) {
        struct command_result result = command_run("$HALO batch --glob 'g/*' -O D");
        ck_assert_int_eq(result.code, 3);
        command_expect(result.err, "m\\xff: its name is not UTF-8");
        command_expect(result.err, "m\\xfe: its name is not UTF-8");
        command_expect(result.err, "2 of 4 jobs failed");
        ck_assert_str_eq(command_done("ls D").out, "a.wav\nz.wav\n");
    }
}

/* As editors of Windows save files. */
START_TEST(byte_order_marks_are_skipped)
{
    begin();
    command_done(
        "m=$(printf '\\357\\273\\277'); echo \"$m{\\\"in\\\": \\\"in/s00.wav\\\"}\" >list; "
        "echo \"${m}one in/s00.wav\" >scp; echo \"${m}part one 0 0.1\" >segments; "
        "echo \"$m{\\\"audio_filepath\\\": \\\"in/s00.wav\\\", \\\"duration\\\": 1}\" >nemo; "
        "echo \"${m}a.wav\" >masks; gzip -k list");
    command_done("$HALO batch list -O D -q && $HALO batch list.gz -O E -q --masks masks && test -e "
                 "D/s00.wav -a -e E/s00.wav");
    command_done("$HALO batch scp --from kaldi -O F -q && test -e F/one.wav");
    command_done("$HALO batch scp --from kaldi --segments segments -O G -q && test -e G/part.wav");
    command_done("$HALO batch nemo --from nemo -O H -q && test -e H/s00.wav");
}

START_TEST(damaged_lists_are_refused)
{
    begin();
    command_done(
        "gzip -k jobs.jsonl; head -c 100 jobs.jsonl.gz > cut.gz; (head -c 60 jobs.jsonl.gz; head "
        "-c 200 in/s00.wav) > bad.gz");
    command_refused(1, "cut", "$HALO batch cut.gz -O D");
    command_refused(1, "damaged", "$HALO batch bad.gz -O D");
    command_done("cp in/s00.wav list && : >empty.flac");
    command_refused(1, "it is not text", "$HALO batch list -O D");
    command_refused(2, "in/s00.wav is a sound: ", "$HALO batch in/s00.wav -O D");
    command_refused(2, "empty.flac is a sound: ", "$HALO batch empty.flac -O D");
    command_done("cat jobs.jsonl.gz jobs.jsonl >half.gz; head -c 70000 /dev/zero >zeros; cat "
                 "jobs.jsonl.gz zeros jobs.jsonl >later.gz");
    command_refused(1, "follows one that is not", "$HALO batch half.gz -O D");
    command_refused(1, "follows one that is not", "$HALO batch later.gz -O D");
    command_done(
        "(head -n 3 jobs.jsonl | gzip; cat zeros; gzip </dev/null; tail -n +4 jobs.jsonl | "
        "gzip; cat zeros) >tape.gz; head -c -70001 tape.gz >cut.gz");
    command_refused(1, "cut off", "$HALO batch cut.gz -O D");
    struct command_result result = command_done("$HALO batch tape.gz -O D -q --gain -1 --json");
    ck_assert_double_eq(command_number(result.out, "made"), FILES);
    command_done("head -c 5000000 /dev/zero | tr '\\0' x > long.jsonl");
    command_refused(1, "longer than 4 MiB", "$HALO batch long.jsonl -O D");
    command_done("head -c 300000000 /dev/zero | tr '\\0' x | gzip -1 > bomb.gz");
    ck_assert_int_lt(command_memory("$HALO batch bomb.gz -O D 2>/dev/null || true"), MEMORY_MOST);
}
