/* Gathering stretches of many jobs into batches, on a device that convolves on the CPU: results,
 * what forms a batch, bounds, and devices that fail. */
#include "convolve/gather_state.h"
#include "gather_cpu.h"
#include "mask/mask_share.h"
#include "suite.h"
#include "truth.h"

#include <math.h>
#include <pthread.h>
#include <unistd.h>

enum { JOBS_MOST = 64, MASKS = 5 };

struct job {
    struct gather *gather;
    const struct mask *mask;
    size_t frames, before;
    float *in, *out; /* in: with the history */
    bool done;
    pthread_t thread;
};

static struct mask *masks[MASKS];

static void make_masks(void)
{
    static const size_t taps[MASKS] = {1, 7, 33, 100, 190};
    for (size_t m = 0; m < MASKS; m++)
        masks[m] = truth_noise_mask(m + 1, 1, taps[m]);
}

static void job_init(struct job *job, struct gather *gather, uint64_t seed)
{
    *job = (struct job){
        .gather = gather, .mask = masks[seed % MASKS], .frames = 50 + (size_t)(seed * 977 % 3000)};
    job->before = seed % 3 ? 0 : job->mask->taps - 1;
    job->in = calloc(job->before + job->frames, sizeof *job->in);
    job->out = calloc(job->frames, sizeof *job->out);
    truth_noise(seed + 100, job->in, job->before + job->frames);
}

static void job_free(struct job *job)
{
    free(job->in);
    free(job->out);
}

static void *job_run(void *context)
{
    struct job *job = context;
    struct gather_mask *mask = NULL;
    if (gather_mask_take(job->gather, job->mask, &mask) != STATUS_OK)
        return NULL; /* not done */
    const float *history[] = {job->in}, *in[] = {job->in + job->before};
    float *out[] = {job->out};
    const struct gather_work work = {.mask = mask,
                                     .inputs = 1,
                                     .outputs = 1,
                                     .history = history,
                                     .in = in,
                                     .out = out,
                                     .before = job->before,
                                     .frames = job->frames};
    job->done = gather_convolve(job->gather, &work);
    gather_mask_give_back(mask);
    return NULL;
}

static void job_start(struct job *job)
{
    ck_assert_int_eq(pthread_create(&job->thread, NULL, job_run, job), 0);
}

static void expect_right(const struct job *job)
{
    size_t all = job->before + job->frames;
    double **rows = truth_render(job->mask, (float *const[]){job->in}, all);
    double worst = 0, loudest = 0;
    for (size_t i = 0; i < job->frames; i++) {
        double right = rows[0][job->before + i];
        worst = fmax(worst, fabs((double)job->out[i] - right));
        loudest = fmax(loudest, fabs(right));
    }
    ck_assert_msg(worst <= 1e-6 * loudest, "%g of %g", worst, loudest);
}

static struct gather *make(size_t devices, size_t mask_bytes)
{
    static const int numbers[] = {0, 1, 2};
    const struct gather_settings settings = {&gather_cpu_kind, devices, numbers, mask_bytes};
    struct gather *gather = NULL;
    ck_assert_int_eq(gather_create(&settings, &gather), STATUS_OK);
    return gather;
}

/* All jobs that were handed over and are not in a batch that the device has. */
static size_t count_packed(struct gather *gather)
{
    size_t packed = 0;
    pthread_mutex_lock(&gather->lock);
    for (size_t w = 0; w < gather->worker_count; w++)
        for (size_t s = 0; s < GATHER_BATCHES; s++) {
            const struct gather_slot *slot = &gather->workers[w].slots[s];
            if (slot->stage == GATHER_OPEN || slot->stage == GATHER_CLOSED)
                packed += slot->packed;
        }
    pthread_mutex_unlock(&gather->lock);
    return packed;
}

static size_t count_running(struct gather *gather)
{
    size_t running = 0;
    pthread_mutex_lock(&gather->lock);
    for (size_t w = 0; w < gather->worker_count; w++)
        running += gather->workers[w].running;
    pthread_mutex_unlock(&gather->lock);
    return running;
}

static void wait_until(size_t (*count)(struct gather *gather), struct gather *gather, size_t wanted)
{
    while (count(gather) < wanted)
        usleep(500);
}

static void expect_clean(void)
{
    ck_assert(!gather_cpu.wrong);
    ck_assert_uint_eq(gather_cpu.forms, 0);
    ck_assert_uint_le(gather_cpu.floats_most, GATHER_FLOATS_MOST);
}

/* `count` jobs at once on `devices`; whether each was done. */
static void run_jobs(size_t devices, size_t count, size_t mask_bytes, bool all_done)
{
    struct job jobs[JOBS_MOST];
    struct gather *gather = make(devices, mask_bytes);
    make_masks();
    for (size_t j = 0; j < count; j++)
        job_init(&jobs[j], gather, j);
    for (size_t j = 0; j < count; j++)
        job_start(&jobs[j]);
    for (size_t j = 0; j < count; j++) {
        pthread_join(jobs[j].thread, NULL);
        ck_assert(jobs[j].done || !all_done);
        if (jobs[j].done)
            expect_right(&jobs[j]);
        job_free(&jobs[j]);
    }
    gather_destroy(gather);
}

START_TEST(jobs_of_any_lengths_and_masks_are_right)
{
    for (size_t devices = 1; devices <= 3; devices++) {
        gather_cpu_reset(devices);
        run_jobs(devices, JOBS_MOST, 0, true);
        expect_clean();
    }
}

START_TEST(what_comes_while_a_batch_runs_is_the_next_one)
{
    enum { COUNT = 20 };
    struct job jobs[COUNT + 1];
    gather_cpu_reset(1);
    struct gather *gather = make(1, 0);
    make_masks();
    gather_cpu_hold();
    for (size_t j = 0; j <= COUNT; j++)
        job_init(&jobs[j], gather, j);
    job_start(&jobs[0]);
    wait_until(count_running, gather, 1);
    for (size_t j = 1; j <= COUNT; j++)
        job_start(&jobs[j]);
    wait_until(count_packed, gather, COUNT);
    gather_cpu_let_on();
    for (size_t j = 0; j <= COUNT; j++) {
        pthread_join(jobs[j].thread, NULL);
        ck_assert(jobs[j].done);
        expect_right(&jobs[j]);
        job_free(&jobs[j]);
    }
    ck_assert_uint_eq(gather_cpu.batches[0], 2);
    ck_assert_uint_eq(gather_cpu.items[0][0], 1);
    ck_assert_uint_eq(gather_cpu.items[0][1], COUNT);
    gather_destroy(gather);
    expect_clean();
}

/* Of the first mask, one tap: the test is about room. */
START_TEST(a_full_batch_takes_no_more)
{
    enum { COUNT = 8, FRAMES = GATHER_FLOATS_MOST / 2 - 4096 };
    struct job jobs[COUNT];
    gather_cpu_reset(1);
    struct gather *gather = make(1, 0);
    float gain = 0;
    make_masks();
    for (size_t p = 0; p < masks[0]->path_count; p++)
        gain += (float)masks[0]->coefficients[masks[0]->paths[p].column];
    gather_cpu_hold();
    for (size_t j = 0; j < COUNT; j++) {
        jobs[j] = (struct job){.gather = gather, .mask = masks[0], .frames = FRAMES};
        jobs[j].in = calloc(FRAMES, sizeof(float));
        jobs[j].out = calloc(FRAMES, sizeof(float));
        truth_noise(j, jobs[j].in, FRAMES);
        job_start(&jobs[j]);
        if (j == 0)
            wait_until(count_running, gather, 1);
    }
    wait_until(count_packed, gather,
               COUNT - 1); /* full batches of two, and one with the last job */
    gather_cpu_let_on();
    for (size_t j = 0; j < COUNT; j++) {
        pthread_join(jobs[j].thread, NULL);
        ck_assert(jobs[j].done);
        for (size_t i = 0; i < FRAMES; i += 1001)
            ck_assert_float_eq_tol(jobs[j].out[i], jobs[j].in[i] * gain, 1e-5f);
        job_free(&jobs[j]);
    }
    ck_assert_uint_eq(gather_cpu.batches[0], 5);
    for (size_t b = 0; b < 5; b++)
        ck_assert_uint_eq(gather_cpu.items[0][b], b % 4 ? 2 : 1);
    gather_destroy(gather);
    expect_clean();
}

/* Shared masks stay from job to job, as far as there is memory. */
START_TEST(masks_on_a_device_are_bounded)
{
    enum { ROUNDS = 4 };
    const size_t two = 2 * 512 * sizeof(float);
    gather_cpu_reset(1);
    struct gather *gather = make(1, two);
    for (size_t m = 0; m < MASKS; m++)
        masks[m] = truth_noise_mask(m + 1, 1, 150 + m);
    for (size_t m = 0; m < MASKS; m++)
        ck_assert_int_eq(mask_share_begin(masks[m], NULL, NULL), STATUS_OK);
    for (size_t r = 0; r < ROUNDS * MASKS; r++) {
        struct job job;
        job_init(&job, gather, r / 2 * MASKS + (r / 2) % MASKS); /* each twice in a row */
        job_run(&job);
        ck_assert(job.done);
        expect_right(&job);
        job_free(&job);
    }
    struct gather_count count;
    ck_assert(gather_count_of(gather, 0, &count));
    ck_assert(!gather_count_of(gather, 1, &count));
    ck_assert_uint_eq(count.items, ROUNDS * MASKS);
    ck_assert_uint_eq(count.masks_sent, ROUNDS * MASKS / 2);
    ck_assert_uint_le(gather_cpu.form_bytes_most, two);
    for (size_t m = 0; m < MASKS; m++)
        mask_share_end(masks[m]);
    gather_destroy(gather);
    expect_clean();
}

START_TEST(a_lost_device_costs_nothing)
{
    for (size_t round = 0; round < 12; round++) {
        gather_cpu_reset(2);
        if (round % 2)
            gather_cpu.fails[0].begin = round / 2;
        else
            gather_cpu.fails[0].end = round / 2;
        run_jobs(2, 40, 0, true);
        ck_assert(!gather_cpu.wrong);
    }
}

/* A place that no other thread of this process is bound to: one processor. */
static void enter_one(int number, struct numa_before *before)
{
    struct numa_place place = {.node = 0};
    cpu_set_t all;
    size_t cpu = 0;
    (void)number;
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        abort();
    while (!CPU_ISSET(cpu, &all))
        cpu++;
    CPU_ZERO(&place.cpus);
    CPU_SET(cpu, &place.cpus);
    numa_enter(&place, before);
}

static int processors_here(void)
{
    cpu_set_t now;
    return sched_getaffinity(0, sizeof now, &now) == 0 ? CPU_COUNT(&now) : 0;
}

static struct gather_device_kind beside; /* gather_cpu_kind with places */
static atomic_uint elsewhere, begun;

static enum status open_beside(int number, struct gather_device **device)
{
    enum status status = gather_cpu_kind.open(number, device);
    if (status == STATUS_OK)
        (*device)->kind = &beside;
    return status;
}

static enum status open_here(struct gather_device *device, struct gather_batch *batch)
{
    elsewhere += processors_here() != 1;
    return gather_cpu_kind.batch_open(device, batch);
}

static const char *begin_here(struct gather_device *device, struct gather_batch *batch)
{
    elsewhere += processors_here() != 1;
    begun++;
    return gather_cpu_kind.begin(device, batch);
}

/* A device's batches are made beside it, its thread stays there, and nobody else does. */
START_TEST(what_serves_a_device_is_beside_it)
{
    static const int numbers[] = {0, 1};
    const struct gather_settings settings = {&beside, 2, numbers, 0};
    struct gather *gather = NULL;
    struct job job;
    int before = processors_here();
    beside = gather_cpu_kind;
    beside.enter = enter_one;
    beside.open = open_beside;
    beside.batch_open = open_here;
    beside.begin = begin_here;
    gather_cpu_reset(2);
    ck_assert_int_eq(gather_create(&settings, &gather), STATUS_OK);
    ck_assert_int_eq(processors_here(), before);
    make_masks();
    for (size_t j = 0; j < 4; j++) {
        job_init(&job, gather, j);
        job_run(&job);
        ck_assert(job.done);
        expect_right(&job);
        job_free(&job);
    }
    gather_destroy(gather);
    ck_assert_uint_eq(elsewhere, 0);
    ck_assert_uint_eq(begun, 4);
}

/* All of them: each job says so, and what was done before is right. */
START_TEST(without_devices_jobs_say_so)
{
    for (size_t round = 0; round < 6; round++) {
        gather_cpu_reset(2);
        gather_cpu.fails[0].end = round % 3;
        gather_cpu.fails[1].begin = round / 2;
        run_jobs(2, 40, 0, false);
        ck_assert(!gather_cpu.wrong);
    }
    gather_cpu_reset(1);
    gather_cpu.fails[0].begin = 0;
    struct gather *gather = make(1, 0);
    struct job job;
    struct gather_count count;
    make_masks();
    job_init(&job, gather, 4);
    job_run(&job);
    ck_assert(!job.done);
    ck_assert_str_eq(gather_loss(gather), "made to fail at the beginning");
    ck_assert(gather_count_of(gather, 0, &count));
    ck_assert_str_eq(count.loss, "made to fail at the beginning");
    ck_assert_uint_eq(count.lost_items, 1);
    job_free(&job);
    gather_destroy(gather);
}
