/* The ledger of late and lost blocks: causes of made-up blocks, then of real ones on the device
 * null. A busy machine adds causes of its own, so each test looks for the one it made. */
#include "base/monotonic.h"
#include "chain/chain.h"
#include "live/live.h"
#include "live/session/ledger.h"
#include "live_rig.h"
#include "sanitizer.h"
#include "stream.h"
#include "suite.h"

#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RATE = LIVE_RIG_RATE };

#define MS INT64_C(1000000)
static const int64_t PERIOD = 10 * MS, BEGIN = 1000 * MS;

/* ---- made-up blocks ---- */

static struct ledger make_ledger(void)
{
    struct ledger ledger;
    ck_assert_int_eq(ledger_init(&ledger, RATE), STATUS_OK);
    ledger.slack = 50 * MS;
    return ledger;
}

START_TEST(causes_of_late_blocks)
{
    static const struct {
        struct block_time time;
        bool switching;
        enum outage_cause cause;
    } cases[] = {
        {{.ns = 25 * MS, .used = {.cpu_ns = 24 * MS, .preempted = 3}}, false, OUTAGE_TOO_LONG},
        {{.ns = 25 * MS, .used = {.cpu_ns = 24 * MS}}, true, OUTAGE_MASK_CHANGE},
        {{.ns = 25 * MS, .used = {.cpu_ns = 9 * MS, .preempted = 3}}, true, OUTAGE_PREEMPTED},
        {{.ns = 25 * MS, .used = {.cpu_ns = 9 * MS}, .lost = true}, false, OUTAGE_PREEMPTED},
        {{.ns = 25 * MS, .used = {.cpu_ns = 24 * MS}, .held_up = FILTER_GPU_LATE},
         false,
         OUTAGE_GPU},
        {{.ns = 25 * MS, .used = {.cpu_ns = 24 * MS}, .held_up = FILTER_WORKER_LATE},
         false,
         OUTAGE_WORKER},
        {{.ns = 25 * MS, .used = {.cpu_ns = 9 * MS}, .held_up = FILTER_WORKER_LATE},
         false,
         OUTAGE_WORKER},
        {{.ns = 25 * MS, .used = {.cpu_ns = 9 * MS, .major = 1}}, false, OUTAGE_PAGE_FAULTS},
        {{.ns = 12 * MS, .used = {.cpu_ns = 12 * MS, .faults = 3000}}, false, OUTAGE_PAGE_FAULTS},
        {{.ns = 12 * MS, .used = {.cpu_ns = 12 * MS, .faults = 30}}, false, OUTAGE_TOO_LONG},
        {{.ns = 10 * MS + 1000, .used = {.cpu_ns = 10 * MS + 900, .processor = 1}},
         false,
         OUTAGE_MIGRATED},
        {{.ns = 25 * MS, .used = {.cpu_ns = 24 * MS, .processor = 1}}, false, OUTAGE_TOO_LONG},
        {{.ns = MS, .idle = 9 * MS, .lost = true}, false, OUTAGE_XRUN},
        {{.ns = MS, .idle = 70 * MS}, false, OUTAGE_CALLED_LATE},
        {{.ns = MS, .idle = 40 * MS}, false, OUTAGE_CAUSES}, /* within the slack */
        {{.ns = 9 * MS}, true, OUTAGE_CAUSES},
    };
    struct ledger ledger = make_ledger();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct block_time time = cases[i].time;
        time.begin = BEGIN;
        time.lasts = PERIOD;
        ledger.switching = cases[i].switching;
        const struct outage *outage = ledger_add(&ledger, &time);
        enum outage_cause cause = outage ? outage->cause : OUTAGE_CAUSES;
        ck_assert_msg(cause == cases[i].cause, "case %zu has cause %d", i, cause);
    }
    ck_assert_uint_eq(ledger_total(&ledger), sizeof cases / sizeof *cases - 2);
    ck_assert_uint_eq(ledger.lost, 2);
    ck_assert_uint_eq(ledger.late, ledger_total(&ledger) - 1);
    ledger_free(&ledger);
}

/* ---- what a late step used ---- */

/* Computes for that long, however long it takes on a busy machine. */
static void compute(int64_t ns)
{
    const int64_t until = thread_usage_now().cpu_ns + ns;
    while (thread_usage_now().cpu_ns < until)
        continue;
}

static void rest(int64_t ns)
{
    monotonic_sleep_until(monotonic_ns() + ns);
}

/* Steps in time, and what is done between them, which is no part of the late one. */
static void run_in_time(struct step_usage *usage, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        step_usage_begin(usage);
        int64_t begin = monotonic_ns();
        compute(MS);
        step_usage_end(usage, monotonic_ns() - begin);
        compute(MS);
    }
}

static struct thread_usage run_late(struct step_usage *usage, int64_t computes, int64_t rests)
{
    step_usage_begin(usage);
    int64_t begin = monotonic_ns();
    compute(computes);
    rest(rests);
    return step_usage_late(usage, monotonic_ns() - begin);
}

/* Steps in time are taken to have computed for as long as they took, which on a busy machine may be
 * too much: so a late one is only known to have computed less. */
START_TEST(a_late_step_that_rests_computes_little)
{
    struct step_usage usage = {0};
    for (size_t before = 0; before <= 2 * STEP_USAGE_BLOCKS; before++) {
        run_in_time(&usage, 2 * STEP_USAGE_BLOCKS + before);
        const struct thread_usage used = run_late(&usage, MS, 40 * MS);
        ck_assert_msg(used.cpu_ns < 20 * MS, "%zu before: %lld ns", before, (long long)used.cpu_ns);
    }
}

/* Right after one that was late, all is known. */
START_TEST(a_late_step_that_computes_does_so)
{
    struct step_usage usage = {0};
    run_in_time(&usage, STEP_USAGE_BLOCKS + 3);
    (void)run_late(&usage, MS, 0);
    const struct thread_usage used = run_late(&usage, 40 * MS, 0);
    ck_assert_msg(used.cpu_ns >= 40 * MS && used.cpu_ns < 50 * MS, "%lld ns",
                  (long long)used.cpu_ns);
}

/* What the ledger says of a call that comes 400 ms late, after a pause of the control thread. */
static enum outage_cause cause_after(struct ledger_sight then, struct block_time time)
{
    struct ledger ledger = make_ledger();
    ledger_see(&ledger, &(struct ledger_sight){.now = BEGIN - 420 * MS});
    ledger_see(&ledger, &then);
    const struct outage *outage = ledger_add(&ledger, &time);
    enum outage_cause cause = outage ? outage->cause : OUTAGE_CAUSES;
    ledger_free(&ledger);
    return cause;
}

START_TEST(a_stop_is_neither_work_nor_waiting)
{
    const struct block_time called_late = {
        .begin = BEGIN, .ns = MS, .lasts = PERIOD, .idle = 400 * MS};
    const struct block_time in_step = {.begin = BEGIN - 400 * MS,
                                       .ns = 400 * MS,
                                       .lasts = PERIOD,
                                       .used = {.cpu_ns = MS, .preempted = 1}};
    const struct block_time in_time = {.begin = BEGIN, .ns = MS, .lasts = PERIOD, .idle = 9 * MS};
    const struct block_time busy = {
        .begin = BEGIN - 400 * MS, .ns = 400 * MS, .lasts = PERIOD, .used = {.cpu_ns = 399 * MS}};
    const struct ledger_sight slept = {.now = BEGIN - 310 * MS}; /* as it does */
    const struct ledger_sight stopped = {.now = BEGIN}, waited = {.now = BEGIN, .waited = 390 * MS},
                              worked = {.now = BEGIN, .cpu = 390 * MS};
    ck_assert_int_eq(cause_after(stopped, called_late), OUTAGE_STOPPED);
    ck_assert_int_eq(cause_after(stopped, in_step), OUTAGE_STOPPED);
    ck_assert_int_eq(cause_after(stopped, in_time), OUTAGE_CAUSES); /* the control thread alone */
    ck_assert_int_eq(cause_after(stopped, busy), OUTAGE_TOO_LONG);
    ck_assert_int_eq(cause_after(waited, in_step), OUTAGE_PREEMPTED);
    ck_assert_int_eq(cause_after(slept, in_step), OUTAGE_PREEMPTED);
    ck_assert_int_eq(cause_after(worked, called_late), OUTAGE_CALLED_LATE);
}

START_TEST(the_verdict_is_the_most_frequent_cause)
{
    struct ledger ledger = make_ledger();
    char text[256];
    ck_assert_int_eq(ledger_verdict(&ledger, 0, text, sizeof text), OUTAGE_CAUSES);
    ledger.count[OUTAGE_XRUN] = 9;
    ck_assert_int_eq(ledger_verdict(&ledger, 60, text, sizeof text), OUTAGE_XRUN);
    ck_assert_ptr_nonnull(strstr(text, "--latency"));
    ledger.count[OUTAGE_MIGRATED] = 1; /* explains more than an xrun */
    ledger.count[OUTAGE_PREEMPTED] = 2;
    ck_assert_int_eq(ledger_verdict(&ledger, 60, text, sizeof text), OUTAGE_PREEMPTED);
    ck_assert_ptr_null(strstr(text, "rtprio"));
    ck_assert_int_eq(ledger_verdict(&ledger, 0, text, sizeof text), OUTAGE_PREEMPTED);
    ck_assert_ptr_nonnull(strstr(text, "rtprio"));
    ledger_free(&ledger);
}

START_TEST(more_than_it_keeps_is_counted)
{
    struct ledger ledger = make_ledger();
    const struct block_time late = {
        .begin = BEGIN, .ns = 2 * PERIOD, .lasts = PERIOD, .used.cpu_ns = 2 * PERIOD};
    for (size_t i = 0; i < LEDGER_MOST + 5; i++)
        ck_assert_int_eq(ledger_add(&ledger, &late) != NULL, i < LEDGER_MOST);
    ck_assert_uint_eq(ledger_total(&ledger), LEDGER_MOST + 5);
    json_t *array = ledger_json(&ledger);
    ck_assert_uint_eq(json_array_size(array), LEDGER_MOST);
    json_decref(array);
    ledger_free(&ledger);
}

/* Nobody reads the times. */
START_TEST(dropped_times_are_counted)
{
    struct filter *chain;
    struct live *live;
    struct block in = {0};
    ck_assert_int_eq(chain_create(1, 16, &chain), STATUS_OK);
    in = stream_block(2, 16);
    const struct live_settings settings = {
        .rate = RATE, .ceiling = 1, .gain = 1, .device_outputs = 1};
    ck_assert_int_eq(live_create(&settings, chain, NULL, NULL, &live), STATUS_OK);
    size_t steps = 20000, read = 0;
    for (size_t i = 0; i < steps; i++)
        live_step(live, (const float *const *)in.data, in.data + 1, 16, false);
    for (struct block_time time; live_read_time(live, &time); read++)
        ck_assert_uint_eq(time.frame, 16 * read);
    ck_assert_uint_gt(live_dropped_times(live), 0);
    ck_assert_uint_eq(live_dropped_times(live) + read, steps);
    live_destroy(live);
    filter_destroy(chain);
}

/* The device's block counts, however long those of the chain are. */
START_TEST(a_call_is_one_block)
{
    static const size_t calls[][2] = {{2048, 128}, {16, 1}, {40, 0}, {8, 0}, {8, 0}, {4096, 0}};
    struct filter *chain;
    struct live *live;
    struct block in = {0};
    struct block_time time;
    ck_assert_int_eq(chain_create(1, 16, &chain), STATUS_OK);
    in = stream_block(2, 4096);
    const struct live_settings settings = {
        .rate = RATE, .ceiling = 1, .gain = 1, .device_outputs = 1};
    ck_assert_int_eq(live_create(&settings, chain, NULL, NULL, &live), STATUS_OK);
    uint64_t before = 0;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        size_t frames = calls[i][0];
        live_step(live, (const float *const *)in.data, in.data + 1, frames, i == 3);
        uint64_t ran = live_frames(live) - before;
        ck_assert(live_read_time(live, &time) == (ran > 0));
        if (calls[i][1])
            ck_assert_uint_eq(ran, 16 * calls[i][1]);
        if (ran == 0)
            continue;
        ck_assert_uint_eq(time.frame, before);
        ck_assert_int_eq(time.lasts, (int64_t)(1e9 * (double)(ran > frames ? ran : frames) / RATE));
        ck_assert(!live_read_time(live, &time));
        before += ran;
    }
    live_destroy(live);
    filter_destroy(chain);
}

/* ---- real ones ---- */

/* The report, the last line. */
static json_t *read_report(void)
{
    static char line[1 << 20];
    json_t *report = NULL;
    FILE *file = fopen(command_path(".out"), "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file))
        report = command_json(line);
    fclose(file);
    return report;
}

static size_t count_of(const json_t *report, const char *cause)
{
    size_t count = 0, i;
    const json_t *outage;
    json_array_foreach(json_object_get(report, "ledger"), i, outage)
    {
        count += strcmp(command_json_string(outage, "cause"), cause) == 0;
    }
    return count;
}

static json_t *end(pid_t process)
{
    live_rig_keys("q");
    struct command_result result = live_rig_end(process);
    ck_assert_msg(result.code == 0, "%s", result.err);
    return read_report();
}

static void expect_cause(const json_t *report, const char *cause)
{
    char *text = json_dumps(json_object_get(report, "ledger"), JSON_INDENT(0));
    ck_assert_msg(count_of(report, cause) > 0, "no %s in: %.2000s", cause, text);
    ck_assert(json_is_object(json_object_get(report, "verdict")));
    free(text);
}

static double longest_gap(const json_t *report, const char *cause)
{
    double longest = 0;
    size_t i;
    const json_t *outage;
    json_array_foreach(json_object_get(report, "ledger"), i, outage)
    {
        double gap = command_json_number(outage, "gap_ms");
        if (strcmp(command_json_string(outage, "cause"), cause) == 0 && gap > longest)
            longest = gap;
    }
    return longest;
}

#define SHORT_MASK "--mask \"$FILTERS/plate.wav\" "

/* Its log says so as well, and still replays. */
START_TEST(a_stopped_process)
{
    pid_t process = live_rig_start("--json --device null:pace=1.001 --block 256 " SHORT_MASK
                                   "--record rec.wav --record-dry dry.wav");
    live_rig_rest(300);
    ck_assert_int_eq(kill(process, SIGSTOP), 0);
    live_rig_rest(500);
    ck_assert_int_eq(kill(process, SIGCONT), 0);
    live_rig_rest(300);
    json_t *report = end(process);
    expect_cause(report, "stopped");
    double gap = longest_gap(report, "stopped");
    ck_assert_msg(gap > 400, "a gap of %g ms", gap);
    command_done("grep -q '\"cause\":\"stopped\".*\"event\":\"outage\"' rec.wav.log && "
                 "\"$HALO\" render dry.wav again.wav --replay rec.wav.log");
}

/* Some 19 ms of computing for 1.3 ms of sound; ThreadSanitizer makes it fifty times slower. */
#define HEAVY "--device null:channels=8,pace=4 --block 64 --backend direct --fade 20ms "
#if SANITIZER_THREAD
#define HEAVY_MASK "lowpass:1000,taps=8001 "
#define BUSY_MASK "lowpass:1000,taps=401 "
#else
#define HEAVY_MASK "lowpass:1000,taps=400001 "
#define BUSY_MASK "lowpass:1000,taps=20001 "
#endif

START_TEST(a_step_that_is_too_long)
{
    pid_t process = live_rig_start("--json " HEAVY "--mask " HEAVY_MASK);
    live_rig_rest(200);
    json_t *report = end(process);
    expect_cause(report, "too_long");
    ck_assert(command_json_number(report, "late") > 0);
    struct command_result result =
        command_done("\"$HALO\" live --plain --no-feedback-guard " HEAVY "--seconds 0.02 "
                     "--mask " HEAVY_MASK);
    const char *verdict = strstr(result.err, ": the step computed for longer than a block lasts; ");
    ck_assert_msg(verdict != NULL, "%s", result.err);
}

START_TEST(a_change_of_mask)
{
    pid_t process = live_rig_start("--json " HEAVY "--mask " HEAVY_MASK "--or --mask " HEAVY_MASK);
    live_rig_keys("2");
    live_rig_rest(700);
    json_t *report = end(process);
    expect_cause(report, "mask_change");
}

START_TEST(lost_sound)
{
    command_done(
        "\"$HALO\" live --json --device null:pace=4,xrun=4800 --block 256 --seconds 0.5 " SHORT_MASK);
    json_t *report = read_report();
    size_t i, lost = 0;
    const json_t *outage;
    json_array_foreach(json_object_get(report, "ledger"), i, outage)
    {
        bool is_lost = json_is_true(json_object_get(outage, "lost"));
        lost += is_lost;
        if (is_lost)
            ck_assert(command_json_number(outage, "frame") == 4864); /* the first block after */
    }
    ck_assert_uint_eq(lost, 1);
}

START_TEST(a_lost_device)
{
    pid_t process = live_rig_start("--json --device null:pace=4,lose=24000,back=2 --block 256 "
                                   "--reconnect " SHORT_MASK);
    live_rig_wait("the device is back");
    json_t *report = end(process);
    expect_cause(report, "device_lost");
    ck_assert(longest_gap(report, "device_lost") > 300);
}

/* ---- other programs on the same processor ---- */

/* Bind all threads of a process to one processor, and give those of a name a tenth of the weight of
 * others. */
static void bind_threads(pid_t process, const cpu_set_t *to, const char *humble)
{
    char path[300], name[32];
    struct dirent *entry;
    snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    DIR *folder = opendir(path);
    ck_assert_ptr_nonnull(folder);
    while ((entry = readdir(folder)) != NULL) {
        pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);
        if (thread == 0)
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%d/comm", (int)process, (int)thread);
        FILE *file = fopen(path, "r");
        bool named =
            file && fgets(name, sizeof name, file) && strncmp(name, humble, strlen(humble)) == 0;
        if (file)
            fclose(file);
        ck_assert_int_eq(sched_setaffinity(thread, sizeof *to, to), 0);
        if (named)
            ck_assert_int_eq(setpriority(PRIO_PROCESS, (id_t)thread, 10), 0);
    }
    closedir(folder);
}

static pid_t start_busy_loop(const cpu_set_t *on)
{
    pid_t process = fork();
    ck_assert_int_ge(process, 0);
    if (process > 0)
        return process;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sched_setaffinity(0, sizeof *on, on);
    for (;;)
        ;
}

/* A step of some 8 ms within 42 ms, which gets a twentieth of the processor; not for so long that
 * the device counts as lost. */
/* Whether each late step would have been late alone, as under a sanitizer on a slow machine. */
static bool always_computes_longer_than(const json_t *report, double ms)
{
    double least = INFINITY;
    size_t i;
    const json_t *outage;
    json_array_foreach(json_object_get(report, "ledger"), i, outage)
    {
        least = fmin(least, json_number_value(json_object_get(outage, "cpu_ms")));
    }
    return isfinite(least) && least > ms;
}

START_TEST(a_busy_loop_on_its_processor)
{
    cpu_set_t mine, one;
    ck_assert_int_eq(sched_getaffinity(0, sizeof mine, &mine), 0);
    size_t processor = 0;
    while (!CPU_ISSET(processor, &mine))
        processor++;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    command_clean();
    pid_t process = live_rig_start("--json --device null:period=2048,pace=1.001 --backend direct "
                                   "--mask " BUSY_MASK);
    bind_threads(process, &one, "halo null");
    pid_t loops[] = {start_busy_loop(&one), start_busy_loop(&one)};
    live_rig_rest(1000);
    for (size_t i = 0; i < 2; i++) {
        kill(loops[i], SIGKILL);
        waitpid(loops[i], NULL, 0);
    }
    json_t *report = end(process);
    if (always_computes_longer_than(report, 1e3 * 2048 / 48000))
        printf("the machine is too slow to show what preempts a step\n");
    else
        expect_cause(report, "preempted");
}
