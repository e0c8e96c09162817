#include "measure/take.h"

#include "base/noise.h"
#include "live/web/spectrum.h"
#include "signal/fft_double.h"
#include "signal/taps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SILENCE = 0.5; /* seconds before the first sweep */
static const double GUARD = 0.1;   /* seconds after each pause */
static const double LATE = 1;      /* seconds that the device may delay the last sweep */
static const double MARK_SECONDS = 0.5, MARK_FROM = 1000, MARK_TO = 16000;
static const double NOISE_SECONDS = 3, NOISE_QUIET = 1e-3, NOISE_RISE = 40; /* dB a second */
static const double CHECK = 2.5;     /* seconds of noise that an output plays */
#define FULL_SCALE (1.0f - 0x1p-15f) /* the largest sample of 16 bits */
enum { MARK_SOUND, NOISE_SOUND, SWEEP_SOUND, FILTERED_SOUNDS };

/* ---- the plan ---- */

HALO_REALTIME static size_t frames_of(const struct take_plan *plan, double seconds)
{
    return (size_t)ceil(seconds * plan->sweep.rate);
}

enum status take_mark_init(const struct take_plan *plan, struct sweep *mark)
{
    uint32_t rate = plan->sweep.rate;
    return sweep_init(mark, MARK_SECONDS, MARK_FROM, fmin(MARK_TO, 0.45 * rate), rate);
}

HALO_REALTIME size_t take_guard(const struct take_plan *plan)
{
    return frames_of(plan, GUARD);
}

HALO_REALTIME size_t take_slot_frames(const struct take_plan *plan)
{
    return plan->sweep.frames + plan->pause + take_guard(plan);
}

HALO_REALTIME size_t take_check_frames(const struct take_plan *plan)
{
    return plan->checked ? 0 : frames_of(plan, CHECK);
}

HALO_REALTIME size_t take_mark_at(const struct take_plan *plan)
{
    return plan->outputs * take_check_frames(plan) + frames_of(plan, SILENCE);
}

HALO_REALTIME size_t take_sweep_at(const struct take_plan *plan, size_t number, size_t repeat)
{
    size_t first = take_mark_at(plan);
    if (plan->mark != TAKE_NONE)
        first += frames_of(plan, MARK_SECONDS + GUARD) + plan->pause;
    return first + (number * plan->repeats + repeat) * take_slot_frames(plan);
}

static size_t list_without(size_t count, size_t left_out, size_t *list)
{
    size_t listed = 0;
    for (size_t i = 0; i < count; i++)
        if (i != left_out)
            list[listed++] = i;
    return listed;
}

size_t take_measured_outputs(const struct take_plan *plan, size_t *list)
{
    return list_without(plan->outputs, plan->reference_output, list);
}

size_t take_measured_inputs(const struct take_plan *plan, size_t *list)
{
    return list_without(plan->inputs, plan->reference, list);
}

size_t take_frames(const struct take_plan *plan)
{
    size_t list[DEVICE_CHANNELS_MOST];
    return take_sweep_at(plan, take_measured_outputs(plan, list), 0);
}

/* The device may be late, and its input's clock may be faster. */
size_t take_recorded_frames(const struct take_plan *plan)
{
    double frames = (double)take_frames(plan) + LATE * plan->sweep.rate;
    return (size_t)ceil(frames * plan->rate_in / plan->sweep.rate * (plan->two_clocks ? 1.001 : 1));
}

/* ---- the sounds ---- */

/* Pink noise of the sweep's band, which repeats without a seam. Its peak is 1. */
static enum status make_noise(const struct sweep *sweep, size_t frames, float *noise)
{
    struct fft_double *fft;
    uint64_t state = 1;
    double peak = 0;
    TRY(fft_double_create(frames, &fft));
    for (size_t b = 0; b <= frames / 2; b++) {
        double hertz = (double)b * sweep->rate / (double)frames;
        bool is_in = hertz >= sweep->from && hertz <= sweep->to;
        double angle = M_PI * (double)noise_next(&state);
        fft_double_bins(fft)[b] = is_in ? cexp(I * angle) / sqrt(hertz) : 0;
    }
    fft_double_inverse(fft);
    const double *samples = fft_double_samples(fft);
    for (size_t i = 0; i < frames; i++)
        peak = fmax(peak, fabs(samples[i]));
    for (size_t i = 0; i < frames; i++)
        noise[i] = (float)(samples[i] / peak);
    fft_double_destroy(fft);
    return STATUS_OK;
}

static enum status fill_sweep(const struct sweep *sweep, float *sound)
{
    double *samples = audio_alloc_in_double(sweep->frames);
    if (!samples)
        return fail_memory("a sweep");
    sweep_fill(sweep, 1, samples);
    for (size_t i = 0; i < sweep->frames; i++)
        sound[i] = (float)samples[i];
    free(samples);
    return STATUS_OK;
}

/* Writes a sweep as the filter's path from and to channel `number` returns it. */
static enum status fill_filtered(const struct sweep *sweep, const struct mask *filter,
                                 size_t number, float *sound)
{
    const struct mask_path path = {.input = number, .output = number};
    const double *column = mask_path_column(filter, path);
    size_t frames = sweep->frames + filter->taps - 1;
    if (!column)
        return fail(CAUSE_USAGE, "mask %s has no path for output %zu", filter->name, number + 1);
    double *samples = audio_alloc_in_double(sweep->frames), *result = audio_alloc_in_double(frames);
    enum status status = samples && result ? STATUS_OK : fail_memory("a sweep");
    if (status == STATUS_OK) {
        sweep_fill(sweep, 1, samples);
        status = taps_convolve(samples, sweep->frames, column, filter->taps, result);
    }
    for (size_t i = 0; i < frames && status == STATUS_OK; i++)
        sound[i] = (float)result[i];
    free(samples);
    free(result);
    return status;
}

/* Fills the filtered sweeps of all measured outputs. */
static enum status fill_all_filtered(struct take *take, const struct mask *filter)
{
    float peak = 1;
    for (size_t n = 0; n + FILTERED_SOUNDS < take->sounds.channels; n++) {
        float *sound = take->sounds.data[FILTERED_SOUNDS + n];
        TRY(fill_filtered(&take->plan.sweep, filter, n, sound));
        peak = fmaxf(peak, audio_peak(sound, take->filtered_frames));
    }
    take->headroom = audio_to_db((double)peak);
    return STATUS_OK;
}

static enum status make_sounds(struct take *take, const struct mask *filter)
{
    const struct take_plan *plan = &take->plan;
    struct sweep mark;
    size_t list[DEVICE_CHANNELS_MOST], filtered = filter ? take_measured_outputs(plan, list) : 0;
    TRY(take_mark_init(plan, &mark));
    take->mark_frames = mark.frames;
    take->noise_frames = fft_double_fitting(frames_of(plan, NOISE_SECONDS));
    take->filtered_frames = filter ? plan->sweep.frames + filter->taps - 1 : 0;
    size_t longest =
        plan->sweep.frames > take->noise_frames ? plan->sweep.frames : take->noise_frames;
    longest = take->filtered_frames > longest ? take->filtered_frames : longest;
    TRY(block_init(&take->sounds, FILTERED_SOUNDS + filtered, longest, "sweeps"));
    TRY(fill_sweep(&plan->sweep, take->sounds.data[SWEEP_SOUND]));
    TRY(fill_sweep(&mark, take->sounds.data[MARK_SOUND]));
    TRY(make_noise(&plan->sweep, take->noise_frames, take->sounds.data[NOISE_SOUND]));
    return filter ? fill_all_filtered(take, filter) : STATUS_OK;
}

static enum status take_init(struct take *take, const struct mask *filter)
{
    enum { HEARD_BLOCK = 1 };
    const struct take_plan *plan = &take->plan;
    take->rise = audio_from_db(NOISE_RISE / plan->sweep.rate);
    if (!memory_is_there(plan->inputs * take_recorded_frames(plan) * sizeof(float)))
        return fail_memory("a recording of so many sweeps");
    TRY(make_sounds(take, filter));
    take->plan.level -= take->headroom;
    atomic_store(&take->level, take->plan.level);
    TRY(block_init(&take->recorded, plan->inputs, take_recorded_frames(plan), "a recording"));
    for (size_t c = 0; c < plan->inputs; c++) /* now, so that the step causes no page faults */
        memset(take->recorded.data[c], 0, take->recorded.frames * sizeof(float));
    TRY(meter_create(plan->inputs, plan->rate_in, true, &take->meter));
    return live_history_init(&take->heard, plan->inputs, HEARD_BLOCK,
                             spectrum_history(plan->inputs, plan->rate_in), 0);
}

enum status take_create(const struct take_plan *plan, const struct mask *filter,
                        struct take **result)
{
    struct take *take = calloc(1, sizeof *take);
    if (!take)
        return fail_memory("a recording");
    take->plan = *plan;
    take->checked_frames = plan->outputs * take_check_frames(plan) + 1;
    take->plan.pause += filter ? filter->taps : 0;
    take->noise_now = TAKE_NONE;
    enum status status = take_init(take, filter);
    if (status == STATUS_OK)
        *result = take;
    else
        take_destroy(take);
    return status;
}

void take_destroy(struct take *take)
{
    if (!take)
        return;
    block_free(&take->sounds);
    block_free(&take->recorded);
    live_history_free(&take->heard);
    meter_destroy(take->meter);
    free(take);
}

bool take_is_complete(const struct take *take)
{
    return atomic_load(&take->frames) == take->recorded.frames;
}

/* ---- the step ---- */

/* A part of the plan: a sound that begins at a frame. */
struct cue {
    const float *sound;
    size_t frames, begin;
};

/* Adds a cue to the frames from `at` on. */
HALO_REALTIME static void add_cue(const struct cue *cue, float gain, size_t at, float *out,
                                  size_t frames)
{
    size_t from = cue->begin > at ? cue->begin : at, end = cue->begin + cue->frames;
    end = end < at + frames ? end : at + frames;
    for (size_t f = from; f < end; f++)
        out[f - at] += gain * cue->sound[f - cue->begin];
}

/* Plays noise that rises anew on each output. */
HALO_REALTIME static void add_noise(struct take *take, size_t output, float *out, size_t frames)
{
    const float *noise = take->sounds.data[NOISE_SOUND];
    double most = audio_from_db(atomic_load(&take->level));
    if (output != take->noise_now || atomic_exchange(&take->noise_fresh, false))
        take->noise_gain = NOISE_QUIET * most;
    take->noise_now = output;
    if (atomic_load(&take->clipped))
        return;
    for (size_t f = 0; f < frames; f++) {
        take->noise_gain = fmin(take->noise_gain * take->rise, most);
        out[f] += (float)take->noise_gain * noise[take->noise_at];
        take->noise_at = (take->noise_at + 1) % take->noise_frames;
    }
}

HALO_REALTIME static void play_check(struct take *take, size_t at, float *const *out, size_t frames)
{
    size_t each = take_check_frames(&take->plan), count;
    for (size_t f = 0; f < frames && at + f < each * take->plan.outputs; f += count) {
        size_t output = (at + f) / each, left = each * (output + 1) - at - f;
        count = left < frames - f ? left : frames - f;
        add_noise(take, output, out[output] + f, count);
    }
}

HALO_REALTIME static void play_sweeps(struct take *take, float *const *out, size_t frames)
{
    const struct take_plan *plan = &take->plan;
    size_t at = atomic_load_explicit(&take->played, memory_order_relaxed), number = 0;
    float gain = (float)audio_from_db(atomic_load(&take->level));
    const struct cue mark = {take->sounds.data[MARK_SOUND], take->mark_frames, take_mark_at(plan)};
    play_check(take, at, out, frames);
    if (plan->mark != TAKE_NONE)
        add_cue(&mark, gain, at, out[plan->mark], frames);
    for (size_t o = 0; o < plan->outputs; o++) {
        for (size_t r = 0; r < plan->repeats && o != plan->reference_output; r++) {
            const struct cue sweep = {take->sounds.data[SWEEP_SOUND], plan->sweep.frames,
                                      take_sweep_at(plan, number, r)};
            const struct cue filtered = {
                take->filtered_frames > 0 ? take->sounds.data[FILTERED_SOUNDS + number] : NULL,
                take->filtered_frames, sweep.begin};
            add_cue(filtered.sound ? &filtered : &sweep, gain, at, out[o], frames);
            if (plan->reference_output != TAKE_NONE)
                add_cue(&sweep, gain, at, out[plan->reference_output], frames);
        }
        number += o != plan->reference_output;
    }
    atomic_store_explicit(&take->played, at + frames, memory_order_relaxed);
}

HALO_REALTIME static void play(struct take *take, enum take_phase phase, float *const *out,
                               size_t frames)
{
    for (size_t c = 0; c < take->plan.outputs; c++)
        memset(out[c], 0, frames * sizeof *out[c]);
    size_t output = atomic_load(&take->noise_output);
    if (phase == TAKE_SWEEPS)
        play_sweeps(take, out, frames);
    else if (phase == TAKE_NOISE)
        add_noise(take, output, out[output], frames);
}

HALO_REALTIME static void record(struct take *take, enum take_phase phase, const float *const *in,
                                 size_t frames, bool lost)
{
    meter_process(take->meter, in, frames);
    if (phase == TAKE_SWEEPS && atomic_load_explicit(&take->frames, memory_order_relaxed) == 0)
        atomic_store(&take->clipped, 0); /* what clipped while levels were set */
    for (size_t c = 0; c < take->plan.inputs && phase != TAKE_SILENT; c++)
        if (audio_peak(in[c], frames) >= FULL_SCALE)
            atomic_store(&take->clipped, c + 1);
    if (phase != TAKE_SWEEPS) {
        const float *frame[DEVICE_CHANNELS_MOST];
        for (size_t f = 0; f < frames; f++) {
            for (size_t c = 0; c < take->plan.inputs; c++)
                frame[c] = in[c] + f;
            live_history_write(&take->heard, frame);
        }
        return;
    }
    size_t at = atomic_load_explicit(&take->frames, memory_order_relaxed);
    size_t left = take->recorded.frames - at, count = frames < left ? frames : left;
    for (size_t c = 0; c < take->plan.inputs; c++)
        memcpy(take->recorded.data[c] + at, in[c], count * sizeof *in[c]);
    if (lost && at >= take->checked_frames && count > 0)
        atomic_store(&take->lost, true);
    atomic_store_explicit(&take->frames, at + count, memory_order_release);
}

HALO_REALTIME void take_step(void *context, const float *const *in, float *const *out,
                             size_t frames, bool lost)
{
    struct take *take = context;
    enum take_phase phase = (enum take_phase)atomic_load(&take->phase);
    record(take, phase, in, frames, lost);
    play(take, phase, out, frames);
}

HALO_REALTIME void take_record_step(void *context, const float *const *in, float *const *out,
                                    size_t frames, bool lost)
{
    struct take *take = context;
    (void)out;
    record(take, (enum take_phase)atomic_load(&take->phase), in, frames, lost);
}

HALO_REALTIME void take_play_step(void *context, const float *const *in, float *const *out,
                                  size_t frames, bool lost)
{
    struct take *take = context;
    (void)in;
    if (lost && atomic_load(&take->played) >= take->checked_frames)
        atomic_store(&take->lost, true);
    play(take, (enum take_phase)atomic_load(&take->phase), out, frames);
}
