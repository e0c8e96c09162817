/* halo render -O: many inputs in one process. The files are those of single renders, to the byte; a
 * file that fails fails alone; nothing is written where names collide. */
#include "base/progress.h"
#include "chain/mask_cache.h"
#include "command.h"
#include "sound.h"
#include "suite.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WAV16 = SF_FORMAT_WAV | SF_FORMAT_PCM_16, FILES = 6 };

static void begin(void)
{
    command_done("mkdir in in/deep");
    for (int i = 0; i < FILES; i++) {
        char name[32];
        snprintf(name, sizeof name, "in/s%d.wav", i);
        sound_noise_file(name, (uint64_t)i + 1, WAV16, i % 2 ? 16000 : 48000, i % 3 ? 1 : 2,
                         (size_t)(20000 + 7001 * i));
    }
    sound_noise_file("hall.wav", 20, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 1, 3000);
}

START_TEST(the_bytes_are_those_of_single_renders)
{
    static const char *const ways[] = {"--threads 1",
                                       "--threads 2",
                                       "--threads 5",
                                       "--threads 16",
                                       "--threads 2 --normalize -3",
                                       "--threads 2 --edge reflect",
                                       "--threads 3 --precision double"};
    begin();
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        command_done(
            "rm -rf out && $HALO render -q -O out/ --name '{stem}-hall.wav' --mask hall.wav "
            "--gain -3 %s in/*.wav",
            ways[w]);
        for (int i = 0; i < FILES; i++)
            command_done("$HALO render -q -f in/s%d.wav one.wav --mask hall.wav --gain -3 "
                         "%s && cmp one.wav out/s%d-hall.wav",
                         i, ways[w], i);
    }
}

struct made {
    atomic_int count;
    size_t taps;
};

static enum status make_mask(void *context, struct mask **mask)
{
    struct made *made = context;
    atomic_fetch_add(&made->count, 1);
    usleep(20000); /* others want it meanwhile */
    if (made->taps == 0)
        return fail(CAUSE_OTHER, "no taps");
    return mask_create("made", 1, made->taps, mask);
}

struct taker {
    struct mask_cache *cache;
    struct made *made;
    struct mask *mask;
};

static void *take_one(void *context)
{
    struct taker *taker = context;
    ck_assert_int_eq(mask_cache_take(taker->cache, "a", make_mask, taker->made, &taker->mask),
                     STATUS_OK);
    return NULL;
}

START_TEST(a_mask_is_made_once_and_kept_within_its_memory)
{
    enum { TAKERS = 8, TAPS = 1000 };
    struct mask_cache *cache;
    struct made made = {.taps = TAPS}, other = {.taps = TAPS}, none = {0};
    struct taker takers[TAKERS];
    pthread_t threads[TAKERS];
    struct mask *mask;
    ck_assert_int_eq(mask_cache_create(TAPS * sizeof(double) * 3 / 2, &cache), STATUS_OK);
    for (size_t i = 0; i < TAKERS; i++) {
        takers[i] = (struct taker){cache, &made, NULL};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, take_one, &takers[i]), 0);
    }
    for (size_t i = 0; i < TAKERS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(made.count, 1);
    for (size_t i = 0; i < TAKERS; i++) {
        ck_assert_ptr_eq(takers[i].mask, takers[0].mask);
        mask_destroy(takers[i].mask);
    }
    /* It stays without users, until another takes its place. */
    ck_assert_int_eq(mask_cache_take(cache, "a", make_mask, &made, &mask), STATUS_OK);
    mask_destroy(mask);
    ck_assert_int_eq(made.count, 1);
    ck_assert_int_eq(mask_cache_take(cache, "b", make_mask, &other, &mask), STATUS_OK);
    mask_destroy(mask);
    ck_assert_int_eq(mask_cache_take(cache, "b", make_mask, &other, &mask), STATUS_OK);
    mask_destroy(mask);
    ck_assert_int_eq(other.count, 1);
    ck_assert_int_eq(mask_cache_take(cache, "a", make_mask, &made, &mask), STATUS_OK);
    mask_destroy(mask);
    ck_assert_int_eq(made.count, 2);
    /* What cannot be made is tried again. */
    for (int i = 1; i <= 2; i++) {
        ck_assert_int_eq(mask_cache_take(cache, "c", make_mask, &none, &mask), STATUS_FAILED);
        ck_assert_int_eq(none.count, i);
    }
    mask_cache_destroy(cache);
}

START_TEST(names_are_made_by_a_pattern)
{
    begin();
    command_done(
        "cp in/s1.wav in/deep/s1.wav && $HALO render -q -O out --name '{dir}/{index}_{stem}.{ext}' "
        "--gain 0 in/s0.wav in/deep/s1.wav && test -f out/in/1_s0.wav && test -f "
        "out/in/deep/2_s1.wav");
    command_done("$HALO render -q -O out2 --gain 0 in/s0.wav && test -f out2/s0.wav");
    command_done("$HALO render -q -O out3 --name '{{{stem}.flac' --gain 0 in/s0.wav && test -f "
                 "'out3/{s0.flac'");
    const struct {
        const char *expected, *arguments;
    } rows[] = {
        {"--name has", "-O out9 --name '{stm}.wav' in/s0.wav"},
        {"--name has", "-O out9 --name '{stem' in/s0.wav"},
        {"is not a file within", "-O out9 --name '../{name}' in/s0.wav"},
        {"is not a file within", "-O out9 --name '{dir}/{name}' ../x/s0.wav"},
        {"is not a file within", "-O out9 --name '/{name}' in/s0.wav"},
        {"both be written", "-O out9 --name x.wav in/s0.wav in/s1.wav"},
        {"both be written", "-O out9 in/s1.wav in/deep/s1.wav"},
        {"would replace the input", "-O in in/s0.wav in/s1.wav"},
        {"would replace the input", "-O in/deep/.. -f in/s0.wav in/s1.wav"},
        {"standard input", "-O out9 - in/s1.wav"},
        {"--name needs -O", "in/s1.wav out9.wav --name x"},
        {"-O DIR renders many", "in/s0.wav out9.wav in/s1.wav"},
        {"cannot be used", "-O out9 in/s0.wav --save-chain c.yml"},
        {"-O cannot be used with -o", "-O out9 in/s0.wav -o in/s1.wav"},
        {"IN and OUT", "-O out9"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        command_refused(2, rows[i].expected, "$HALO render %s --gain 0", rows[i].arguments);
    command_done("test ! -e out9 && test ! -e out9.wav");
}

START_TEST(a_bad_file_fails_alone)
{
    begin();
    command_done("echo no sound > in/bad.wav; mkdir out; cp in/s1.wav out/s1.wav");
    struct command_result result = command_run("$HALO render -q --json --threads 2 -O out --mask "
                                               "hall.wav,gain=-40 in/*.wav in/absent.wav");
    ck_assert_int_eq(result.code, 1);
    ck_assert_uint_eq(command_lines(result.err), 4);
    command_expect(result.err, "in/bad.wav: it is not a sound file");
    command_expect(result.err, "cannot open in/absent.wav");
    command_expect(result.err, "out/s1.wav exists; --force replaces it");
    command_expect(result.err, "3 of 8 files failed");
    ck_assert_uint_eq(command_lines(result.out), FILES + 3); /* the command's failure last */
    size_t failures = 0;
    for (char *line = strtok(result.out, "\n"); line; line = strtok(NULL, "\n")) {
        json_t *object = command_json(line);
        bool is_last = strstr(line, "3 of 8 files failed");
        failures += json_object_get(object, "error") != NULL;
        ck_assert(is_last || command_json_string(object, "input") != NULL);
    }
    ck_assert_uint_eq(failures, 4);
    result = command_run("cp in/s2.wav a.wav; $HALO render -q -O o --mask in/a.wav a.wav");
    command_expect(result.err, "halo: a.wav: ");
    command_done("cmp in/s1.wav out/s1.wav && test $(ls -A out | wc -l) = %d", FILES);
    command_done(
        "$HALO render -q -f -O out --mask hall.wav in/s1.wav && ! cmp -s in/s1.wav out/s1.wav");
}

/* BL is the fifth channel of one and the third of the other. */
START_TEST(masks_by_name_follow_each_layout)
{
    sound_noise_file("six.wav", 1, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 6, 4800);
    command_done("mkdir in && $HALO render -q six.wav in/a.wav --layout 5.1 --gain 0 && "
                 "$HALO render -q six.wav in/b.wav --layout hexagonal --gain 0");
    command_done("$HALO render -q --threads 1 -O out in/a.wav in/b.wav "
                 "--mask lowpass:1000,map=BL:1");
    command_done("for f in a b; do $HALO render -q in/$f.wav $f.wav --threads 1 "
                 "--mask lowpass:1000,map=BL:1 && cmp $f.wav out/$f*.wav || exit 1; done");
}

START_TEST(folders_keep_their_folders)
{
    begin();
    command_done("mkdir -p in/deep/er in/.hid && cp in/s0.wav in/deep/er/x.wav && cp in/s1.wav "
                 "in/deep/y.WAV && cp in/s2.wav in/.hid/z.wav && echo no >in/notes.txt && "
                 "$HALO render -q in/s0.wav right.wav --gain -3");
    struct command_result result = command_done("$HALO render -O out in --gain -3 in/s0.wav --name "
                                                "'{stem}-{index}.wav'");
    command_expect(result.err, "in: 8 sound files");
    command_done(
        "cmp out/deep/er/x-1.wav right.wav && test -e out/deep/y-2.wav && cmp out/s0-9.wav "
        "right.wav && test $(find out -type f | wc -l) = 9");
    command_done("rm -r out && $HALO render -q -O in/out in --gain -3 && cmp in/out/deep/er/x.wav "
                 "right.wav && test $(find in/out -type f | wc -l) = 8");
    result = command_run("$HALO render -q -O in/out in --gain -3");
    ck_assert_int_eq(result.code, 1);
    command_expect(result.err, "8 of 8 files failed");
    command_expect(command_run("$HALO render -O in/out in --gain -3").err,
                   "halo batch resumes: it renders");
    command_done(
        "$HALO batch in -O done --gain -3 -q && test $(find done -type f -name '*.[wW]*' | wc -l) = "
        "16 && cmp done/deep/er/x.wav right.wav && rm done/deep/y.WAV");
    result = command_done("$HALO batch in/ -O done --gain -3 --json");
    ck_assert_double_eq(command_number(result.out, "made"), 1);
    command_done("mkdir empty");
    command_refused(1, "no sound files", "$HALO render -O none empty");
    command_refused(1, "no sound files", "$HALO batch empty -O none --gain 0");
}

START_TEST(the_progress_moves_within_a_file)
{
    struct progress_of_many progress;
    double moved = 0;
    progress_of_many_begin(&progress, 2, 40, false);
    progress.shown = true;
    progress.next = INFINITY; /* prints nothing */
    progress_of_many_move(&progress, &moved, 30, 500, 1000);
    ck_assert_double_eq(progress.weight_done, 15);
    progress_of_many_move(&progress, &moved, 30, 100, 1000); /* a second pass */
    progress_of_many_move(&progress, &moved, 30, 100, -1);
    ck_assert_double_eq(progress.weight_done, 15);
    progress_of_many_move(&progress, &moved, 30, 2000, 1000);
    progress_of_many_add(&progress, 30 - moved, false);
    ck_assert_double_eq(progress.weight_done, 30);
    ck_assert_uint_eq(progress.done, 1);
    progress_of_many_end(&progress);
}

START_TEST(warnings_name_their_file)
{
    begin();
    struct command_result result =
        command_done("$HALO render -q -O out --gain 20 in/s0.wav in/s1.wav in/s2.wav");
    command_expect(result.err, "in/s0.wav: ");
    command_expect(result.err, "in/s2.wav: ");
}

START_TEST(a_signal_stops_all_without_litter)
{
    command_done("mkdir in; for i in 1 2 3 4; do :; done");
    for (int i = 0; i < 4; i++) {
        char name[32];
        snprintf(name, sizeof name, "in/s%d.wav", i);
        sound_sparse(name, 48000, 2, 48000 * 900);
    }
    pid_t halo =
        command_start("exec $HALO render -q -O out --threads 2 --mask lowpass:100 in/*.wav");
    for (int i = 0; i < 1500 && command_run("test -d out").code != 0; i++)
        command_run("sleep 0.02");
    command_done("kill -INT %d", (int)halo);
    struct command_result result = command_wait(halo);
    ck_assert_int_eq(result.code, 128 + 2);
    command_done("for f in out/* out/.[!.]*; do case $f in out/s?.wav|'out/*'|'out/.[!.]*') ;; *) "
                 "exit 1 ;; esac; done");
}

/* Each thread waits for the writer of a FIFO: until it comes, or a signal. */
START_TEST(waits_for_other_programs_end_with_a_signal)
{
    begin();
    command_done("mkfifo f0 f1 f2 && cp in/s0.wav f.wav && $HALO render -q f.wav right.wav");
    command_done("for f in f0 f1 f2; do cat f.wav >$f & done; $HALO render -q -O out --name "
                 "'{name}.wav' --threads 3 f0 f1 f2 && for f in f0 f1 f2; do cmp out/$f.wav "
                 "right.wav || exit 1; done; wait");
    for (int begun = 0; begun < 2; begun++) {
        const char *writers =
            begun
                ? "for f in f0 f1 f2; do { head -c 20000 f.wav; while kill -0 $$; do sleep 0.1; done; } >$f 2>$f.err & done; "
                : "";
        pid_t halo = command_start(
            "%s exec $HALO render -q -O none --name '{name}.wav' --threads 3 f0 f1 f2", writers);
        command_done("sleep 0.5; kill -INT %d", (int)halo);
        struct command_result result = command_wait(halo);
        ck_assert_msg(result.code == 130, "exit code %d: %s", result.code, result.err);
        ck_assert_str_eq(command_done("ls -A none | wc -l").out, "0\n");
    }
}
