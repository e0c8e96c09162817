/* halo batch: which outputs it replaces and makes again, and what it says of them. */
#include "base/noise.h"
#include "batch/batch_journal.h"
#include "command.h"
#include "sound.h"
#include "suite.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WAV16 = SF_FORMAT_WAV | SF_FORMAT_PCM_16 };

static void begin(void)
{
    command_done("mkdir in");
    sound_noise_file("in/s01.wav", 2, WAV16, 16000, 1, 33001);
    sound_noise_file("in/s02.wav", 3, WAV16, 16000, 1, 36002);
    sound_noise_file("a.wav", 20, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 16000, 1, 3000);
}

/* Of the report, with a member of that name. */
static int lines_with(const char *member)
{
    return atoi(command_done("grep -c '\"%s\":' rep || true", member).out);
}

START_TEST(only_files_of_a_batch_are_replaced)
{
    begin();
    command_done("echo '{\"id\": \"a\", \"in\": \"in/s01.wav\", \"out\": \"x.wav\"}' > list; "
                 "$HALO batch list -O D -q --gain 0; echo mine > D/y.wav; sed s/x.wav/y.wav/ list "
                 "> moved; cp -p D/x.wav kept.wav");
    struct command_result result = command_run("$HALO batch moved -O D -q --gain 0");
    ck_assert_int_eq(result.code, 3);
    command_expect(result.err, "D/y.wav exists; --force replaces it");
    command_done("echo mine > D/x.wav");
    result = command_run("$HALO batch list -O D -q --gain 1");
    ck_assert_int_eq(result.code, 3);
    command_expect(result.err, "D/x.wav exists; --force replaces it");
    command_done("grep -qx mine D/x.wav && grep -qx mine D/y.wav");
    /* That of an earlier line of the journal, as a killed run leaves it. */
    command_done("$HALO batch list -O D -q --gain 2 -f && cp -p kept.wav D/x.wav && $HALO batch "
                 "list -O D -q --gain 3 && ! cmp -s kept.wav D/x.wav");
}

/* A shard reads of the others' lines in the journal those about its own outputs: here they are of
 * jobs that had other ids, most of them of other shards. */
START_TEST(outputs_of_renamed_jobs_are_replaced)
{
    enum { JOBS = 24, SHARDS = 3 };
    size_t made = 0;
    begin();
    command_done("for i in $(seq 1 %d); do echo '{\"id\": \"a'$i'\", \"in\": \"in/s01.wav\", "
                 "\"out\": \"x/'$i'.wav\"}'; done > list; sed "
                 "'s/\"a\\([0-9]*\\)\"/\"b\\1\"/' list > renamed",
                 JOBS);
    command_done(
        "$HALO batch list -O D -q --gain -1; $HALO render -q in/s01.wav want.wav --gain -2");
    for (int k = 1; k <= SHARDS; k++) {
        struct command_result result =
            command_done("$HALO batch renamed -O D -q --gain -2 --json --shard %d/%d", k, SHARDS);
        made += (size_t)command_number(result.out, "made");
        result =
            command_done("$HALO batch renamed -O D -q --gain -2 --json --shard %d/%d", k, SHARDS);
        ck_assert_double_eq(command_number(result.out, "made"), 0);
    }
    ck_assert_uint_eq(made, JOBS);
    command_done("for i in $(seq 1 %d); do cmp D/x/$i.wav want.wav || exit 1; done", JOBS);
    command_done("echo mine > D/x/7.wav");
    int refused = 0;
    for (int k = 1; k <= SHARDS; k++)
        refused += command_run("$HALO batch list -O D -q --gain -3 --shard %d/%d", k, SHARDS).code;
    ck_assert_int_eq(refused, 3);
    command_done("grep -qx mine D/x/7.wav");
}

/* Of another number of shards, as a scheduler leaves them that is given the list once more: the run
 * that waits for its first input has read the journals before the others begin. */
START_TEST(shards_that_overlap_share_the_work)
{
    enum { JOBS = 12 };
    begin();
    command_done("mkfifo go; for i in $(seq 1 %d); do echo \"u$i in/s01.wav\"; done >wav.scp; "
                 "(echo 'gate touch begun; exec cat go |'; cat wav.scp) >gated.scp",
                 JOBS);
    pid_t whole = command_start("exec $HALO batch --from kaldi gated.scp --allow-commands -O D -q "
                                "--threads 1 --gain -1");
    command_done("while [ ! -e begun ]; do sleep 0.02; done");
    for (int k = 1; k <= 2; k++)
        command_done("$HALO batch --from kaldi wav.scp -O D -q --gain -1 --shard %d/2", k);
    command_done("cat in/s02.wav >go");
    struct command_result result = command_wait(whole);
    ck_assert_int_eq(result.code, 0);
    ck_assert_str_eq(result.err, "");
    result = command_done("cat D/.halo-batch/*.jsonl | grep -c digest");
    ck_assert_int_eq(atoi(result.out), JOBS + 1);
}

/* Lines of the journal are of a time to come, as after a clock was set back. */
START_TEST(what_is_done_does_not_depend_on_the_clock)
{
    begin();
    command_done("echo '{\"id\": \"a\", \"in\": \"in/s01.wav\"}' >list; $HALO batch list -O D -q "
                 "--gain 0 && sed -i 's/\"at_ms\":[0-9]*/\"at_ms\":4102444800000/' "
                 "D/.halo-batch/1-of-1.jsonl");
    for (int made = 1; made >= 0; made--) {
        struct command_result result = command_done("$HALO batch list -O D -q --gain -1 --json");
        ck_assert_double_eq(command_number(result.out, "made"), made);
    }
    ck_assert_int_eq(command_run("$HALO batch list -O D -q --mask missing.wav").code, 3);
    command_expect(command_done("$HALO batch status D").out, "0 of 1 job done, 1 failed");
}

START_TEST(what_is_kept_has_not_failed)
{
    begin();
    command_done("echo '{\"id\": \"a\", \"in\": \"in/s01.wav\"}' >list; $HALO batch list -O D -q "
                 "--gain 0");
    ck_assert_int_eq(command_run("$HALO batch list -O D -q --mask missing.wav").code, 3);
    command_expect(command_done("$HALO batch status D --failed").out, "a: cannot open mask");
    struct command_result result = command_done("$HALO batch list -O D -q --gain 0 --json");
    ck_assert_double_eq(command_number(result.out, "kept"), 1);
    ck_assert_str_eq(command_done("$HALO batch status D --failed").out,
                     "1 of 1 job done, 0 failed; 1 of 1 shard begun, 0 not ended\n");
}

/* Each of which decides about the output. */
START_TEST(changed_options_make_the_output_again)
{
    static const char *const options[] = {
        "--metadata none",    "--layout mono", "--metadata tags.json",
        "--precision single", "--prove",       "--prove=-100"};
    begin();
    command_done("echo '{\"in\": \"in/s01.wav\", \"mask\": \"a.wav,gain=-30\"}' > list; echo "
                 "'{\"tags\": {\"TITLE\": \"one\"}}' > tags.json; $HALO batch list -O D -q");
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        struct command_result result =
            command_done("$HALO batch list -O D -q --json %s", options[i]);
        ck_assert_double_eq(command_number(result.out, "made"), 1);
        result = command_done("$HALO batch list -O D -q --json %s", options[i]);
        ck_assert_double_eq(command_number(result.out, "kept"), 1);
    }
    command_done(
        "$HALO batch list -O D -q --metadata tags.json; echo '{\"tags\": {\"TITLE\": \"another\"}}' > "
        "tags.json");
    struct command_result result =
        command_done("$HALO batch list -O D -q --json --metadata tags.json");
    ck_assert_double_eq(command_number(result.out, "made"), 1);
}

START_TEST(clipping_and_lost_metadata_are_reported)
{
    begin();
    command_done(
        "echo '{\"tags\": {\"TITLE\": \"one\", \"MOOD\": \"calm\"}}' > tags.json; $HALO render "
        "-q in/s01.wav t.flac --gain 0 --metadata tags.json; echo '{\"in\": \"t.flac\", "
        "\"out\": \"t.au\"}' > list; echo '{\"in\": \"in/s02.wav\", \"gain\": 40}' >> list");
    struct command_result result =
        command_done("$HALO batch list -O D --json --report rep --gain 0");
    ck_assert_double_eq(command_number(result.out, "clipped"), 1);
    ck_assert_double_eq(command_number(result.out, "metadata_lost"), 1);
    command_expect(result.err, "1 of 2 outputs clipped");
    command_expect(result.err, "1 of 2 outputs made without some of the metadata");
    ck_assert_int_eq(lines_with("layout"), 2);
    ck_assert_int_eq(lines_with("what"), 1);
}

START_TEST(a_stopped_run_says_so)
{
    command_done("mkdir in");
    for (int i = 0; i < 4; i++) {
        char name[32];
        snprintf(name, sizeof name, "in/s%d.wav", i);
        sound_sparse(name, 48000, 2, 48000 * 900);
    }
    pid_t halo = command_start("exec $HALO batch --glob 'in/*.wav' -O D -q --json --threads 2 "
                               "--mask lowpass:100");
    for (int i = 0; i < 1500 && command_run("grep -q begun D/.halo-batch/1-of-1.jsonl").code != 0;
         i++)
        command_run("sleep 0.02");
    command_done("kill -INT %d", (int)halo);
    struct command_result result = command_wait(halo);
    ck_assert_int_eq(result.code, 128 + SIGINT);
    command_expect(result.err, "stopped; the same command does the rest");
    command_expect(result.out, "\"cause\":\"interrupted\"");
}

START_TEST(a_report_replaces_no_sound)
{
    sound_noise_file("a.wav", 1, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 48000, 1, 5000);
    sound_noise_file("m.wav", 2, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 1, 50);
    command_done(
        "cp a.wav b.wav; cp a.wav want.wav; cp m.wav want_m.wav; ln -s a.wav soft.wav; mkdir "
        "D; printf '%%s\\n' '{\"in\": \"a.wav\", \"out\": \"1.wav\"}' '{\"in\": \"b.wav\", "
        "\"mask\": \"m.wav\", \"out\": \"x/2.wav\"}' >list");
    static const char *const reports[][2] = {
        {"a.wav", "the input of line 1"},
        {"D/../b.wav", "the input of line 2"},
        {"soft.wav", "the input of line 1"},
        {"$PWD/a.wav", "the input of line 1"},
        {"m.wav", "what the stages of line 2 read"},
        {"D/1.wav", "the output of line 1"},
        {"./D//x/2.wav", "the output of line 2"},
        {"D/.halo-batch/1-of-1.jsonl", "the folder of a journal"}};
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
        struct command_result result =
            command_run("$HALO batch list -O D -f -q --report %s", reports[i][0]);
        ck_assert_int_eq(result.code, 2);
        command_expect(result.err, reports[i][1]);
        ck_assert_str_eq(command_done("ls -A D").out, "");
    }
    command_done("echo '{\"in\": \"a.wav\", \"out\": \".halo-batch//1-of-1.jsonl\"}' >journal");
    command_refused(2, "'.halo-batch/1-of-1.jsonl' is in the folder of a journal",
                    "$HALO batch journal -O D -f --container wav");
    command_expect(command_run("$HALO batch --glob '?.wav' -O D -q --report b.wav").err,
                   "would replace the input of file 2");
    command_expect(
        command_run("$HALO batch list -O D -q --mask want_m.wav --report want_m.wav").err,
        "would replace what the stages of all jobs read");
    /* Under another name: when the report is complete. */
    command_done("sed -i 's/a.wav/soft.wav/' list");
    struct command_result result = command_run("$HALO batch list -O D -q --report a.wav");
    ck_assert_msg(result.code == 1, "%d: %s", result.code, result.err);
    command_expect(result.err, "cannot write a.wav: this command reads it");
    command_done("rm -r D");
    command_done("cmp a.wav want.wav && cmp b.wav want.wav && cmp m.wav want_m.wav");
    command_done("$HALO batch list -O D -q --report r && $HALO batch list -O D -q --report r");
}

/* Nobody writes to the FIFO, and a job that waited for that would hold its thread for ever. */
START_TEST(a_report_without_room_costs_nothing_else)
{
    begin();
    command_done("echo 'u1 in/s01.wav' >wav.scp");
    struct command_result result = command_run(
        "FAULT='link what-became 1 %d' LD_PRELOAD=" FAULTS
        " $HALO batch --from kaldi wav.scp -O D -q --gain -1 --report what-became --json",
        ENOSPC);
    ck_assert_int_eq(result.code, 4);
    command_expect(result.out, "\"made\": 1,");
    command_expect(result.err, "cannot write what-became: No space left on device");
    command_done("! test -e what-became && grep -qx 'u1 D/u1.wav' D/wav.scp && rm D/wav.scp");
    result = command_run("FAULT='link wav.scp 1 %d' LD_PRELOAD=" FAULTS
                         " $HALO batch --from kaldi wav.scp -O D -q --gain -1 --report what-became",
                         ENOSPC);
    ck_assert_int_eq(result.code, 4);
    command_expect(result.err, "cannot write D/wav.scp: No space left on device");
    command_done(
        "test -s what-became && $HALO batch --from kaldi wav.scp -O D -q --gain -1 --report what-became");
    command_done("test -s D/wav.scp");
}

/* Nothing is wrong with the jobs then, and it is found out once, not for each. */
START_TEST(a_run_without_a_journal_stops)
{
    static const char *const calls[] = {"fsync", "write"};
    begin();
    command_done("for i in $(seq 1 9); do echo \"u$i in/s01.wav\"; done >wav.scp");
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct command_result result = command_run(
            "FAULT='%s 1-of-1 %zu %d' LD_PRELOAD=" FAULTS
            " $HALO batch --from kaldi wav.scp -O D%zu --gain -1 --threads 1 --retries 0",
            calls[i], i + 1, EIO, i); /* the first line is that of the run's beginning */
        ck_assert_int_eq(result.code, 1);
        command_expect(result.err, "u1: cannot write the journal: Input/output error\n");
        command_expect(result.err, "9 jobs: 0 made, 0 were done, 0 failed, 9 left\n");
        ck_assert_uint_eq(command_lines(result.err), 2);
        command_done("$HALO batch --from kaldi wav.scp -O D%zu -q --gain -1", i);
        command_expect(command_done("$HALO batch status D%zu", i).out, "9 of 9 jobs done");
    }
}

START_TEST(what_is_no_file_is_refused_at_once)
{
    sound_noise_file("a.wav", 1, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 48000, 1, 5000);
    command_done("mkfifo f && ln -s f link.wav && python3 -c 'import socket; "
                 "socket.socket(socket.AF_UNIX).bind(\"s\")'");
    command_done("for in in f link.wav s /dev/zero /dev/stdin -; do echo '{\"in\": \"'$in'\", "
                 "\"out\": \"'${in##*/}'.au\"}'; done >list; echo '{\"in\": \"a.wav\", \"out\": "
                 "\"n.wav\", \"noise\": \"f,snr=10\"}\n{\"in\": \"a.wav\"}' >>list");
    struct command_result result = command_run("sleep 1 | $HALO batch list -O D --threads 2");
    ck_assert_int_eq(result.code, 3);
    for (const char *const *name =
             (const char *const[]){"f", "link.wav", "s", "/dev/zero", "/dev/stdin", NULL};
         *name; name++) {
        char line[80];
        snprintf(line, sizeof line, "cannot open %s: it is not a regular file; save it to one",
                 *name);
        command_expect(result.err, line);
    }
    command_expect(result.err, "-.au: a job reads a file, not standard input");
    command_expect(result.err, "n.wav: cannot open f: it is not a regular file");
    command_expect(result.err, "8 jobs: 1 made, 0 were done, 7 failed, 0 left");
    command_refused(1, "cannot open f: it is not a regular file",
                    "$HALO render a.wav out.wav --noise f,snr=10");
}

/* Halo alone gets the signal, and the command would go on for ever. */
START_TEST(a_command_that_hangs_is_stopped)
{
    command_done("for i in 1 2 3; do echo \"$i touch begun$i; exec cat hung |\"; done >wav.scp; "
                 "mkfifo hung");
    pid_t halo = command_start("exec 3<>hung; exec $HALO batch --from kaldi wav.scp "
                               "--allow-commands -O D -q --threads 3 3>&-");
    command_done("for i in 1 2 3; do while [ ! -e begun$i ]; do sleep 0.02; done; done; sleep 0.3");
    command_done("kill -TERM %d", (int)halo);
    struct command_result result = command_wait(halo);
    ck_assert_int_eq(result.code, 128 + SIGTERM);
    command_expect(result.err, "stopped; the same command does the rest");
    ck_assert_uint_eq(command_lines(result.err), 1);
    command_done(": >hung"); /* ends the commands */
}

/* ---- the journal ---- */

enum { RUNS = 3, LINES = 200 };

struct journal_line {
    char id[32], name[32], path[32];
    struct batch_job job;
};

/* A job whose output is there. */
static void make_line(struct journal_line *line, uint64_t number)
{
    snprintf(line->id, sizeof line->id, "job%" PRIu64, number);
    snprintf(line->name, sizeof line->name, "%" PRIu64 ".wav", number);
    snprintf(line->path, sizeof line->path, "D/%s", line->name);
    line->job = (struct batch_job){.id = line->id, .name = line->name, .output = line->path};
    snprintf(line->job.digest, BATCH_DIGEST, "%016" PRIx64 "%016" PRIx64, noise_hash(number),
             noise_hash(~number));
    FILE *file = fopen(line->path, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "%" PRIu64, number);
    fclose(file);
}

static void expect_done(struct batch_journal *const *runs, const struct batch_job *job)
{
    for (size_t r = 0; r < RUNS; r++) {
        batch_journal_refresh(runs[r]);
        ck_assert_int_eq(batch_journal_state(runs[r], job), BATCH_DONE);
    }
}

/* Runs of one shard write by turns, at random, some lines before the others look, and a foreign
 * hand puts lines between them. */
START_TEST(no_run_misses_a_line_of_another)
{
    static struct journal_line lines[LINES];
    struct batch_journal *runs[RUNS];
    const struct batch_shard whole = {1, 1};
    const struct sum_set none = {0};
    ck_assert_int_eq(chdir(command_folder()), 0);
    command_done("mkdir D");
    for (size_t r = 0; r < RUNS; r++)
        ck_assert_int_eq(batch_journal_open("D", &whole, &none, &runs[r]), STATUS_OK);
    for (uint64_t i = 0; i < LINES; i++) {
        uint64_t random = noise_hash(i);
        struct batch_journal *run = runs[random % RUNS];
        struct stat about;
        make_line(&lines[i], i);
        ck_assert_int_eq(stat(lines[i].path, &about), 0);
        if (random >> 8 & 1)
            batch_journal_note(run, json_pack("{s:s}", "run", "a note"));
        if ((random >> 9 & 15) == 0)
            command_done("echo 'no line of ours' >>D/.halo-batch/1-of-1.jsonl");
        ck_assert_int_eq(batch_journal_add(run, &lines[i].job, &about), STATUS_OK);
        if (random >> 16 & 1)
            expect_done(runs, &lines[i].job);
    }
    for (size_t i = 0; i < LINES; i++)
        expect_done(runs, &lines[i].job);
    for (size_t r = 0; r < RUNS; r++)
        batch_journal_close(runs[r]);
}

/* Of a folder, --name means the same to halo render -O and to halo batch. */
START_TEST(names_of_a_folder_are_those_of_render)
{
    static const char *const patterns[] = {"{stem}-x.wav", "{dir}/{stem}.flac", "all/{dir}/{name}",
                                           "{name}", "{ext}.wav"};
    command_done("mkdir -p in/a/b in/c; for f in top a/one a/b/one c/one; do "
                 "cp $WAV/click.wav in/$f.wav; done");
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        command_done("for in in in \"$PWD/in\"; do rm -rf r b; "
                     "$HALO render -q $in -O r --gain -3 --name '%s' && "
                     "$HALO batch -q $in -O b --gain -3 --name '%s' && rm -r b/.halo-batch && "
                     "(cd r; find . -type f | sort) >r.txt; (cd b; find . -type f | sort) >b.txt; "
                     "cmp r.txt b.txt && [ $(wc -l <r.txt) = 4 ] || exit 1; done",
                     patterns[i], patterns[i]);
    command_done("$HALO batch -q in -O ids --gain -3 --name '{id}' && test -s ids/a/b/one.wav");
    command_refused(2, "{index} is for halo render",
                    "$HALO batch in -O n --gain -3 --name '{index}.wav'");
    command_done(
        "cp in/top.wav in/top.flac; rm -rf r b; "
        "for c in render batch; do $HALO $c -q in -O $c --gain -3 --name '{stem}.wav' "
        "2>err; [ $? = 2 ] && [ $(wc -l <err) = 1 ] && [ ! -e $c/top.wav ] || exit 1; done");
}

/* Their files have a random number; the sound is that of halo render. */
START_TEST(ogg_and_opus_are_written)
{
    command_done("mkdir in; cp $WAV/click.wav in/; for e in ogg opus; do "
                 "$HALO batch -q in -O b --gain -3 --name \"{stem}.$e\" && "
                 "$HALO render -q in -O r --gain -3 --name \"{stem}.$e\" && "
                 "$HALO render -q b/click.$e b.wav -f --gain 0 --format float && "
                 "$HALO render -q r/click.$e r.wav -f --gain 0 --format float && "
                 "cmp b.wav r.wav || exit 1; done");
    struct command_result result =
        command_run("$HALO batch -q in -O p --gain -3 --name '{stem}.ogg' --reproducible");
    ck_assert_int_eq(result.code, 3);
    command_expect(result.err, "--reproducible: each file in the container");
}

/* --rate comes first: what is added and drawn is that of a sound which has the rate already. */
START_TEST(a_rate_comes_before_noise)
{
    command_done(
        "mkdir in at16; cp $WAV/voice.wav $WAV/guitar.wav in/; for f in voice guitar; do "
        "$HALO render -q in/$f.wav at16/$f.wav --rate 16000 --format float; done; "
        "common=\"--seed 3 --format float --tail none --noise $WAV/pink-noise.wav,channel=1,snr=10\"; "
        "$HALO batch -q in -O a --rate 16000 $common; $HALO batch -q at16 -O b $common; "
        "for f in voice guitar; do cmp a/$f.wav b/$f.wav || exit 1; done; "
        "echo '{\"in\": \"in/voice.wav\", \"out\": \"v.wav\", \"rate\": 8000}' >l; "
        "$HALO batch -q l -O c --gain -3; "
        "$HALO render -q in/voice.wav v.wav --rate 8000 --gain -3; "
        "cmp c/v.wav v.wav");
}
