#include "base/monotonic.h"
#include "base/realtime.h"
#include "base/simd.h"
#include "base/thread.h"
#include "convolve/prover_state.h"

#include <math.h>
#include <stdlib.h>

/* Which stretches of a sound are compared. A stretch of L frames costs transforms of about L + taps
 * - 1 frames. So many short stretches cost more than few long ones, but see more of the sound. */

enum {
    SECONDS_LEAST = 10,
    LENGTH_LEAST = 4096, /* frames */
    COUNT_LEAST = 3,     /* the beginning, the end and a place between them */
    USUAL_RATE = 48000,
    UNKNOWN_PERIOD = 50, /* stretches, of which one is compared: 2 % if the length is unknown */
};
static const double SHARE_LEAST = 0.01;
static const double AFFORDABLE = 0.08; /* part of the sound's frames that may be transformed */
static const double REPEATED = 0.25;   /* part of the compared frames; as much history is allowed */

/* A random number below `places`; the same in each run. */
HALO_REALTIME static uint64_t random_place(uint64_t index, uint64_t places)
{
    uint64_t z = (index + 1) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (z ^ (z >> 31)) % places;
}

/* The largest number of stretches that is affordable. */
static uint64_t count_for(double frames, double wanted, double taps)
{
    double before = fmax(AFFORDABLE * frames - wanted, REPEATED * wanted);
    return (uint64_t)fmax(COUNT_LEAST, fmin(before / taps, wanted / LENGTH_LEAST));
}

static struct prover_plan plan_unknown(size_t length, double seconds, bool live)
{
    uint64_t whole = (uint64_t)ceil(seconds / (double)length);
    return (struct prover_plan){
        .length = length,
        .count = UINT64_MAX,
        .whole = live ? UINT64_MAX : whole,
        .period = (double)UNKNOWN_PERIOD * (double)length,
        .frames = UINT64_MAX,
    };
}

struct prover_plan prover_plan_make(const struct prover_settings *settings)
{
    double rate = settings->rate ? settings->rate : USUAL_RATE, frames = (double)settings->frames;
    double seconds = SECONDS_LEAST * rate, wanted = fmax(seconds, ceil(SHARE_LEAST * frames));
    size_t length = settings->taps > LENGTH_LEAST ? settings->taps : LENGTH_LEAST;
    if (settings->live || settings->frames <= 0)
        return plan_unknown(length, seconds, settings->live);
    struct prover_plan plan = {.frames = (uint64_t)settings->frames};
    plan.count = count_for(frames, wanted, (double)settings->taps);
    plan.length = (size_t)ceil(wanted / (double)plan.count);
    plan.period = frames / (double)plan.count;
    if (wanted < frames && (double)plan.length < plan.period)
        return plan;
    plan.length = length < plan.frames ? length : (size_t)plan.frames;
    plan.whole = plan.count = (plan.frames + plan.length - 1) / plan.length;
    return plan;
}

HALO_REALTIME uint64_t prover_plan_start(const struct prover_plan *plan, uint64_t index)
{
    if (index < plan->whole)
        return index * plan->length;
    if (plan->count < UINT64_MAX && index == plan->count - 1)
        return plan->frames - plan->length;
    uint64_t start =
        plan->whole * plan->length + (uint64_t)((double)(index - plan->whole) * plan->period);
    if (index == 0)
        return start;
    return start + random_place(index, (uint64_t)plan->period - plan->length + 1);
}

enum {
    SPARE = 2,               /* stretches for the thread, besides the open ones */
    STRETCHES_MOST = 64,     /* stretches, if they are short */
    SAMPLES_USUAL = 1 << 21, /* samples of all stretches: 8 MiB */
    LIVE_POLL_MS = 20,
    LANES = 8,
};
static const int64_t FILE_POLL_NS = 1000000;

/* ---- the thread ---- */

static void drop_runs(struct proved_stretch *stretch)
{
    for (size_t i = 0; i < stretch->run_count; i++)
        proved_mask_release(stretch->runs[i].mask);
    stretch->run_count = 0;
}

/* Finds the largest error and the largest output, in lanes that fit a register. */
SIMD_CLONES
static void find_largest(const double *out, const double *truth, size_t frames, double *error,
                         double *peak)
{
    double errors[LANES] = {0}, peaks[LANES] = {0};
    for (size_t i = 0; i < frames; i++) {
        double difference = fabs(out[i] - truth[i]), value = fabs(truth[i]);
        size_t lane = i % LANES;
        errors[lane] = difference > errors[lane] ? difference : errors[lane];
        peaks[lane] = value > peaks[lane] ? value : peaks[lane];
    }
    *error = *peak = 0;
    for (size_t k = 0; k < LANES; k++) {
        *error = fmax(*error, errors[k]);
        *peak = fmax(*peak, peaks[k]);
    }
}

static double ratio(double error, double reference)
{
    return error == 0 ? 0 : error / reference;
}

static void compare(struct prover *prover, const struct proved_stretch *stretch, size_t output,
                    const struct proved_run *run)
{
    const double *out = stretch->out.data[output] + run->from;
    const double *truth = exact_output(prover->exact, run->mask->exact, output) + run->from;
    size_t frames = run->to - run->from, at = audio_find_nonfinite_in_double(out, frames);
    double error, peak;
    find_largest(out, truth, frames, &error, &peak);
    if (at < frames)
        error = INFINITY;
    prover->error = fmax(prover->error, error);
    prover->peak = fmax(prover->peak, peak);
    if (!(ratio(error, run->mask->norm) > prover->worst))
        return;
    for (size_t i = 0; i < frames && at == frames; i++)
        if (fabs(out[i] - truth[i]) == error)
            at = i;
    prover->worst = ratio(error, run->mask->norm);
    prover->worst_at = stretch->start + run->from + at;
}

/* Removes frames after the sound. They are computed to fill a block, but belong to no output. */
static void cut(const struct prover *prover, struct proved_stretch *stretch)
{
    uint64_t left = prover->plan.frames - stretch->start;
    for (size_t p = 0; p < stretch->run_count; p++)
        if (stretch->runs[p].to > left)
            stretch->runs[p].to =
                stretch->runs[p].from < left ? (size_t)left : stretch->runs[p].from;
}

static void compare_stretch(struct prover *prover, struct proved_stretch *stretch)
{
    size_t before = prover->settings.taps - 1;
    cut(prover, stretch);
    block_silence_in_double(&stretch->in, before + stretch->filled,
                            prover->plan.length - stretch->filled);
    exact_take(prover->exact, (const double *const *)stretch->in.data);
    for (size_t p = 0; p < stretch->run_count; p++) {
        for (size_t o = 0; o < prover->settings.outputs; o++)
            compare(prover, stretch, o, &stretch->runs[p]);
        prover->frames += stretch->runs[p].to - stretch->runs[p].from;
    }
}

static void pause_thread(const struct prover *prover)
{
    int64_t pause = prover->settings.live ? LIVE_POLL_MS * INT64_C(1000000) : FILE_POLL_NS;
    monotonic_sleep_until(monotonic_ns() + pause);
}

static void *prover_main(void *context)
{
    struct prover *prover = context;
    for (;;) {
        struct proved_stretch *stretch;
        bool leaves = atomic_load(&prover->leave); /* after `leave` no stretch becomes ready */
        if (ring_read(prover->ready, &stretch, 1) == 1) {
            if (stretch->run_count > 0 && atomic_load(&prover->is_wanted))
                compare_stretch(prover, stretch);
            drop_runs(stretch);
            ring_write(prover->spare, &stretch, 1);
        } else if (leaves) {
            return NULL;
        } else {
            pause_thread(prover);
        }
    }
}

/* ---- masks ---- */

enum status prover_add(struct prover *prover, const struct mask *mask, struct proved_mask **result)
{
    struct proved_mask *proved = calloc(1, sizeof *proved);
    if (!proved)
        return fail_memory("a proof");
    enum status status = exact_mask_create(prover->exact, mask, &proved->exact);
    if (status != STATUS_OK) {
        free(proved);
        return status;
    }
    atomic_init(&proved->users, 1);
    proved->norm = mask_norm(mask);
    *result = proved;
    return STATUS_OK;
}

void proved_mask_release(struct proved_mask *proved)
{
    if (!proved || atomic_fetch_sub(&proved->users, 1) > 1)
        return;
    exact_mask_destroy(proved->exact);
    free(proved);
}

/* ---- create, reset, finish ---- */

static enum status create_stretches(struct prover *prover)
{
    const struct prover_settings *settings = &prover->settings;
    size_t before = settings->taps - 1, length = prover->plan.length;
    size_t samples = settings->inputs * (before + length) + settings->outputs * length;
    size_t count = SAMPLES_USUAL / samples, least = PROVER_OPEN + SPARE;
    count = count > STRETCHES_MOST ? STRETCHES_MOST : count < least ? least : count;
    if (prover->plan.count < count)
        count = (size_t)prover->plan.count;
    prover->stretches = calloc(count, sizeof *prover->stretches);
    if (!prover->stretches)
        return fail_memory("a proof");
    TRY(ring_create(sizeof(struct proved_stretch *), count, "a proof", &prover->spare));
    TRY(ring_create(sizeof(struct proved_stretch *), count, "a proof", &prover->ready));
    for (; prover->stretch_count < count; prover->stretch_count++) {
        struct proved_stretch *stretch = &prover->stretches[prover->stretch_count];
        TRY(block_init_in_double(&stretch->in, settings->inputs, before + length, "a proof"));
        enum status status =
            block_init_in_double(&stretch->out, settings->outputs, length, "a proof");
        if (status != STATUS_OK) {
            block_free_in_double(&stretch->in);
            return status;
        }
        ring_write(prover->spare, &stretch, 1);
    }
    return STATUS_OK;
}

static enum status start_thread(struct prover *prover)
{
    prover->has_thread =
        thread_start(&prover->thread, "halo proof", THREAD_ORDINARY, prover_main, prover) == 0;
    return prover->has_thread ? STATUS_OK
                              : fail(CAUSE_NO_MEMORY, "cannot start a thread for the proof");
}

enum status prover_create(const struct prover_settings *settings, struct prover **result)
{
    struct prover *prover = calloc(1, sizeof *prover);
    if (!prover)
        return fail_memory("a proof");
    prover->settings = *settings;
    prover->plan = prover_plan_make(settings);
    atomic_init(&prover->is_wanted, true);
    enum status status =
        exact_create(settings->inputs, settings->taps, prover->plan.length, &prover->exact);
    if (status != STATUS_OK || (status = create_stretches(prover)) ||
        (status = start_thread(prover)))
        goto fail;
    *result = prover;
    return STATUS_OK;
fail:
    prover_destroy(prover);
    return status;
}

/* Hands the open stretches to the thread, whether complete or not. */
static void close_open(struct prover *prover)
{
    for (size_t i = 0; i < prover->open_count; i++)
        ring_write(prover->ready, &prover->open[i], 1);
    prover->open_count = 0;
}

static void stop_thread(struct prover *prover)
{
    if (!prover->has_thread)
        return;
    close_open(prover);
    atomic_store(&prover->leave, true);
    pthread_join(prover->thread, NULL);
    prover->has_thread = false;
}

void prover_destroy(struct prover *prover)
{
    if (!prover)
        return;
    atomic_store(&prover->is_wanted, false);
    stop_thread(prover);
    for (size_t i = 0; i < prover->stretch_count; i++) {
        block_free_in_double(&prover->stretches[i].in);
        block_free_in_double(&prover->stretches[i].out);
    }
    free(prover->stretches);
    ring_destroy(prover->spare);
    ring_destroy(prover->ready);
    exact_destroy(prover->exact);
    free(prover);
}

void prover_reset(struct prover *prover)
{
    atomic_store(&prover->is_wanted, false);
    close_open(prover);
    while (ring_readable(prover->spare) < prover->stretch_count)
        pause_thread(prover);
    for (size_t i = 0; i < prover->stretch_count; i++) {
        block_silence_in_double(&prover->stretches[i].in, 0, prover->stretches[i].in.frames);
        prover->stretches[i].is_used = false;
    }
    prover->position = prover->next = 0;
    prover->input_peak = 0;
    prover->frames = 0;
    prover->worst = prover->error = prover->peak = 0;
    atomic_store(&prover->is_wanted, true);
}

void prover_finish(struct prover *prover, struct proof *proof)
{
    stop_thread(prover);
    *proof = (struct proof){
        .frames = prover->frames,
        .to_bound = ratio(prover->worst, (double)prover->input_peak),
        .to_peak = ratio(prover->error, prover->peak),
        .worst_at = prover->worst_at,
    };
}
