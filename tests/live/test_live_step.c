/* The live step as called by a device's thread: no allocation and no system call in 10,000 steps
 * with every feature active; and blocks of another length than the device's. */
#include "allocations.h"
#include "base/monotonic.h"
#include "base/realtime.h"
#include "command.h"
#include "convolve/convolver.h"
#include "live/live.h"
#include "live/live_chain.h"
#include "plugin/scan/plugin_catalog.h"
#include "sound/reblock.h"
#include "stream.h"
#include "suite.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

enum { RATE = 48000, STEPS = 10000, WINDOW = 100 };
enum { WORKER_TAPS = 1920000 }; /* too many for the step alone */

/* ---- a thread without system calls ---- */

static atomic_size_t calls; /* except for those that follow */
static atomic_size_t naps;
static atomic_int last_call;

/* The call is not executed; it is counted. */
static void count_call(int number, siginfo_t *about, void *context)
{
    (void)number;
    ucontext_t *thread = context;
    atomic_fetch_add(about->si_syscall == SYS_clock_nanosleep ? &naps : &calls, 1);
    atomic_store(&last_call, about->si_syscall);
#if defined(__x86_64__)
    thread->uc_mcontext.gregs[REG_RAX] = -ENOSYS;
#elif defined(__aarch64__)
    thread->uc_mcontext.regs[0] = (unsigned long long)-ENOSYS;
#endif
}

#define LET_NUMBER(number)                                                                         \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define LET(name) LET_NUMBER(SYS_##name)

/* Except for reading the clock and what the thread used, which never block, and what a thread needs
 * to end; and for waiting for a plugin's process, if it `waits`. */
static bool forbid_calls(bool waits)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        LET_NUMBER(waits ? SYS_futex : SYS_exit),
        LET_NUMBER(waits ? SYS_sched_yield : SYS_exit),
        LET_NUMBER(waits ? SYS_sched_getaffinity : SYS_exit),
        LET_NUMBER(waits ? SYS_sched_setaffinity : SYS_exit),
        LET(clock_gettime),
        LET(getrusage),
        LET(rt_sigreturn),
        LET(rt_sigprocmask),
        LET(madvise),
        LET(munmap),
        LET(nanosleep),
        LET(exit),
        LET(exit_group),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
    };
    const struct sock_fprog program = {.len = sizeof rules / sizeof *rules, .filter = rules};
    const struct sigaction action = {.sa_sigaction = count_call, .sa_flags = SA_SIGINFO};
    return sigaction(SIGSYS, &action, NULL) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void *try_a_call(void *argument)
{
    bool *counts = argument;
    if (!forbid_calls(false))
        return NULL;
    syscall(SYS_getppid);
    *counts = atomic_load(&calls) == 1 && atomic_load(&last_call) == SYS_getppid;
    return NULL;
}

static bool can_count_calls(void)
{
    pthread_t thread;
    bool counts = false;
    if (pthread_create(&thread, NULL, try_a_call, &counts) == 0)
        pthread_join(thread, NULL);
    atomic_store(&calls, 0);
    return counts;
}

/* ---- every feature active ---- */

struct stage_set {
    struct chain_options options;
    char first[256], second[256];
    const char *others[1];
    struct live_chain chain;
    struct recorder *recorder, *recorder_dry;
    struct live *live;
    size_t period; /* of the device */
    size_t steps;
    bool paced;    /* in real time, at real-time priority */
    bool realtime; /* that was granted */
    bool isolated; /* plugins */
    atomic_bool done;
    size_t allocations;
    size_t quiet; /* windows of WINDOW steps in which no step slept */
};

static const struct {
    const char *kind, *id;
} plugins[] = {{"lv2", "http://lv2plug.in/plugins/eg-amp"}, {"ladspa", "amp:amp_stereo"}};

/* Without one silently: other suites test plugins. */
static bool is_there(const char *kind, const char *id)
{
    char why[300];
    struct plugin_info *info = NULL;
    log_capture(why, sizeof why);
    bool there = plugin_describe_isolated(plugin_kind_named(kind), id, &info) == STATUS_OK;
    log_capture(NULL, 0);
    plugin_info_destroy(info);
    return there;
}

static void make(struct stage_set *set, size_t block, size_t threads)
{
    command_clean();
    set->options = (struct chain_options)CHAIN_OPTIONS_DEFAULTS;
    set->options.threads = threads;
    set->options.settings.isolate = set->isolated ? ISOLATE_ON : ISOLATE_OFF;
    snprintf(set->first, sizeof set->first, "%s/hall.wav", getenv("FILTERS"));
    snprintf(set->second, sizeof set->second, "%s/plate.wav", getenv("FILTERS"));
    set->others[0] = set->second;
    ck_assert_int_eq(
        stage_list_add(&set->options.stages, stage_ops_named("mask"), set->first, NULL), STATUS_OK);
    ck_assert_int_eq(
        stage_list_add(&set->options.stages, stage_ops_named("gain"), "-3,@mix=0.7", NULL),
        STATUS_OK);
    for (size_t i = 0; i < 2; i++)
        if (is_there(plugins[i].kind, plugins[i].id))
            ck_assert_int_eq(stage_list_add(&set->options.stages, stage_ops_named(plugins[i].kind),
                                            plugins[i].id, NULL),
                             STATUS_OK);
    const struct live_chain_request request = {.options = &set->options,
                                               .others = set->others,
                                               .other_count = 1,
                                               .format = {.rate = RATE, .channels = 2},
                                               .block = block,
                                               .capacity = threads > 1 ? WORKER_TAPS : 0,
                                               .priority = set->paced ? REALTIME_PRIORITY : 0,
                                               .live = true};
    ck_assert_int_eq(live_chain_init(&set->chain, &request), STATUS_OK);
    const char *algorithm = convolver_algorithm(live_chain_convolver(&set->chain));
    ck_assert_msg((threads > 1) == (strstr(algorithm, "with a worker") != NULL), "%s", algorithm);
    const struct live_settings settings = {.rate = RATE,
                                           .ceiling = 0.5,
                                           .gain = 1,
                                           .guard = true,
                                           .stages = &set->chain.stages,
                                           .device_outputs = 4,
                                           .history = 1 << 16,
                                           .heard = 1 << 16};
    char path[128];
    snprintf(path, sizeof path, "%s/rec.wav", command_folder());
    ck_assert_int_eq(recorder_open(path, true, &request.format, 10, &set->recorder), STATUS_OK);
    snprintf(path, sizeof path, "%s/dry.wav", command_folder());
    ck_assert_int_eq(recorder_open(path, true, &request.format, 10, &set->recorder_dry), STATUS_OK);
    ck_assert_int_eq(
        live_create(&settings, set->chain.filter, set->recorder, set->recorder_dry, &set->live),
        STATUS_OK);
}

static void unmake(struct stage_set *set)
{
    struct recording recording;
    ck_assert_int_eq(recorder_close(set->recorder, &recording), STATUS_OK);
    ck_assert_int_eq(recorder_close(set->recorder_dry, &recording), STATUS_OK);
    live_destroy(set->live);
    live_chain_free(&set->chain);
    chain_options_free(&set->options);
}

static void run_step(struct stage_set *set, size_t step, const struct block *in,
                     const struct block *out, int64_t begin)
{
    int64_t due = begin + (int64_t)((double)(step * set->period) * 1e9 / RATE);
    while (set->paced && monotonic_ns() < due) {
        const struct timespec pause = {.tv_nsec = 50000};
        syscall(SYS_nanosleep, &pause, NULL); /* a call other than the step's own sleep */
    }
    live_step(set->live, (const float *const *)in->data, out->data, set->period, step % 1000 == 0);
}

/* The device's thread. Its input contains a NaN and loud noise. */
static void *run_steps(void *argument)
{
    struct stage_set *set = argument;
    struct block in = stream_noise(5, 2, set->period), out = stream_noise(6, 4, set->period);
    in.data[1][set->period / 2] = NAN;
    struct realtime_before ordinary;
    set->realtime = set->paced && realtime_raise(REALTIME_PRIORITY, &ordinary);
    size_t before = allocations_of_thread();
    int64_t begin = monotonic_ns();
    if (!forbid_calls(set->isolated))
        atomic_store(&calls, SIZE_MAX);
    for (size_t step = 0, napped = 0; step < set->steps; step++) {
        run_step(set, step, &in, &out, begin);
        if (step % WINDOW == WINDOW - 1) {
            set->quiet += atomic_load(&naps) == napped;
            napped = atomic_load(&naps);
        }
    }
    set->allocations = allocations_of_thread() - before;
    atomic_store(&set->done, true);
    return NULL; /* its blocks are not freed: that might need a system call */
}

/* Some control of some stage goes to some value. */
static void change_a_control(struct stage_set *set, size_t turn)
{
    struct stage_control control;
    size_t count = 0;
    while (stage_controls_at(&set->chain.stages, count, &control))
        count++;
    ck_assert(stage_controls_at(&set->chain.stages, turn % count, &control));
    const struct live_event event = {.what = LIVE_STAGE_CONTROL,
                                     .value = (double)(turn % 11) / 10,
                                     .stage = control.stage,
                                     .kind = control.kind,
                                     .port = control.port_index};
    live_send(set->live, &event);
}

/* The control thread's part, as often as possible. Returns the number of switches that ended. */
static size_t steer(struct stage_set *set)
{
    const struct timespec pause = {.tv_nsec = 500000};
    const struct choices_way way = {.frames = RATE / 50};
    struct meter_reading in[2], out[2];
    struct live_event event;
    struct block_time time;
    size_t switches = 0, choice;
    uint64_t at;
    for (size_t turn = 0; !atomic_load(&set->done); turn++) {
        static const enum live_control what[] = {LIVE_GAIN, LIVE_DRY, LIVE_MUTE, LIVE_RISE};
        event = (struct live_event){.what = what[turn % 4], .value = turn / 4 % 2 ? 1 : 0};
        live_send(set->live, &event);
        change_a_control(set, turn);
        if (!choices_are_switching(set->chain.choices))
            choices_ask(set->chain.choices, turn % 2, 0, &way);
        while (choices_poll(set->chain.choices, &choice, &at))
            switches++;
        while (live_receive(set->live, &event) || live_read_time(set->live, &time))
            ;
        live_read_meters(set->live, in, out);
        nanosleep(&pause, NULL);
    }
    return switches;
}

static void check_steps(struct stage_set *set, size_t block, size_t threads)
{
    pthread_t thread;
    make(set, block, threads);
    atomic_store(&naps, 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, run_steps, set), 0);
    size_t switches = steer(set);
    pthread_join(thread, NULL);
    ck_assert_msg(atomic_load(&calls) == 0, "%zu system calls, the last one of number %d",
                  atomic_load(&calls), atomic_load(&last_call));
    ck_assert_uint_eq(set->allocations, 0);
    ck_assert_uint_ge(live_frames(set->live), (uint64_t)set->steps * set->period - block);
    ck_assert_uint_ge(switches, 2);
    unmake(set);
}

START_TEST(steps_allocate_nothing_and_call_nothing)
{
    static const struct {
        size_t block, period;
    } cases[] = {{64, 64}, {64, 100}, {1024, 1024}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stage_set set = {.period = cases[i].period, .steps = STEPS};
        check_steps(&set, cases[i].block, 1);
        ck_assert_uint_eq(atomic_load(&naps), 0);
    }
}

/* At real pace, to give the worker its time, and at the priorities of live sound. The step sleeps
 * where the worker was preempted at a bad moment: where no such priority is granted, and beside
 * others that have one, for as long as these run. A worker that is late by itself is late in
 * every window. */
START_TEST(steps_with_a_worker_allocate_nothing_and_call_nothing)
{
    struct stage_set set = {
        .period = 64, .steps = getenv("HALO_TEST_FULL") ? STEPS : STEPS / 5, .paced = true};
    check_steps(&set, 64, 2);
    if (set.realtime)
        ck_assert_msg(set.quiet >= set.steps / WINDOW / 4, "%zu naps, %zu windows without",
                      atomic_load(&naps), set.quiet);
    else
        puts("naps were not counted: no real-time priority");
}

/* It waits for their process, and calls nothing else. */
START_TEST(steps_with_isolated_plugins_only_wait)
{
    struct stage_set set = {.period = 64, .steps = STEPS / 5, .paced = true, .isolated = true};
    check_steps(&set, 64, 1);
}

/* ---- blocks of another length ---- */

enum { FRAMES = 256 * 441, CHANNELS = 3 };

/* A filter with this block length: it reverses each block. */
struct turner {
    size_t block;
};

static void turn_round(void *context, const float *const *in, float *const *out)
{
    const struct turner *turner = context;
    for (size_t c = 0; c < CHANNELS; c++)
        for (size_t i = 0; i < turner->block; i++)
            out[c][i] = in[c][turner->block - 1 - i];
}

static void check_reblock(size_t block, size_t first, size_t most, size_t delay)
{
    struct turner turner = {block};
    struct reblock reblock;
    ck_assert_int_eq(reblock_init(&reblock, CHANNELS, CHANNELS, block), STATUS_OK);
    struct block in = stream_noise(7, CHANNELS, FRAMES), out;
    out = stream_block(CHANNELS, FRAMES);
    uint64_t state = block;
    size_t frames = first, from = 0;
    for (size_t at = 0; at < FRAMES; at += frames) {
        const float *now[CHANNELS];
        float *to[CHANNELS];
        if (most && at > 4 * block) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            frames = (size_t)(state >> 33) % most + 1;
            from = from ? from : at; /* whole blocks up to here: no delay */
        }
        frames = frames < FRAMES - at ? frames : FRAMES - at;
        for (size_t c = 0; c < CHANNELS; c++) {
            now[c] = in.data[c] + at;
            to[c] = out.data[c] + at;
        }
        reblock_process(&reblock, now, to, frames, turn_round, &turner);
    }
    ck_assert_int_eq(reblock.adapts, delay > 0);
    for (size_t c = 0; c < CHANNELS; c++)
        for (size_t i = 0; i < FRAMES - FRAMES % block; i++) {
            size_t late = i >= from ? delay : 0;
            size_t of = i - late, begin = of / block * block;
            float wanted = i < from + late ? 0 : in.data[c][begin + block - 1 - (of - begin)];
            if (late == 0)
                wanted = in.data[c][begin + block - 1 - (of - begin)];
            ck_assert_msg(out.data[c][i] == wanted, "blocks of %zu, frame %zu", block, i);
        }
    reblock_free(&reblock);
}

START_TEST(other_block_lengths_cost_a_block)
{
    check_reblock(64, 64, 0, 0);
    check_reblock(64, 256, 0, 0);
    check_reblock(64, 100, 0, 64);
    check_reblock(64, 1, 0, 64);
    check_reblock(441, 512, 0, 441);
    check_reblock(64, 128, 300, 64); /* whole blocks at first */
}

int main(void)
{
    if (!allocations_are_counted() || !can_count_calls()) {
        puts("skipped: a sanitizer is in the way, or the system has no seccomp filters");
        return 77;
    }
    return suite_run();
}
