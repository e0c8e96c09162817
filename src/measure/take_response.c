#include "measure/take_response.h"

#include "base/plural.h"
#include "design/design.h"
#include "signal/fft_double.h"
#include "sweep/deconvolve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double EARLIER = 0.02; /* seconds of a recording before the first direct sound */
static const double LEAD = 1e-3;    /* seconds before a direct sound that a mask has at least */
static const double SEARCHED = 1;   /* seconds in which the first sweep must arrive */
static const double SNR_LEAST = 10; /* dB */
static const double SNR_GOOD = 30;  /* dB */
enum { CLOCK_ROUNDS = 3, CLOCK_FRAMES = 1 << 12 };

struct sound_in_double {
    double *samples;
    size_t frames;
};

struct response_work {
    const struct take *take;
    const struct take_settings *settings;
    size_t outputs[DEVICE_CHANNELS_MOST], inputs[DEVICE_CHANNELS_MOST]; /* that are measured */
    size_t output_count, input_count;
    size_t best;                  /* input that hears output 1 best */
    double stretch;               /* rate of the input's clock over that of the output's */
    size_t kept;                  /* frames of a response */
    double *taps;                 /* [kept] */
    struct sound_in_double swept; /* the sweep with the calibrations */
    struct sound_in_double part;  /* a part of the recording */
    size_t search_frames;         /* of the part in which the first sweep is found */
    double arrival;               /* frames from a sweep's place in the plan to its part */
    /* frames of a part's response: time zero, the first direct sound, the first tap */
    ptrdiff_t zero, first, begin;
    const char *timing; /* what time zero is */
    struct deconvolver *deconvolver;
};

/* ---- the sound that is divided out ---- */

static enum status convolve(struct sound_in_double *sound, const double *taps, size_t count)
{
    struct fft_double *fft;
    size_t frames = sound->frames + count - 1, length = fft_double_fitting(frames);
    double complex *bins = calloc(length / 2 + 1, sizeof *bins);
    double *result = calloc(frames, sizeof *result);
    enum status status = bins && result ? fft_double_create(length, &fft) : fail_memory("a sweep");
    if (status == STATUS_OK) {
        double *samples = fft_double_samples(fft);
        memset(samples, 0, length * sizeof *samples);
        memcpy(samples, taps, count * sizeof *samples);
        fft_double_forward(fft);
        memcpy(bins, fft_double_bins(fft), (length / 2 + 1) * sizeof *bins);
        memset(samples, 0, length * sizeof *samples);
        memcpy(samples, sound->samples, sound->frames * sizeof *samples);
        fft_double_forward(fft);
        for (size_t b = 0; b <= length / 2; b++)
            fft_double_bins(fft)[b] *= bins[b] / (double)length;
        fft_double_inverse(fft);
        memcpy(result, samples, frames * sizeof *samples);
        fft_double_destroy(fft);
        free(sound->samples);
        *sound = (struct sound_in_double){result, frames};
    }
    free(bins);
    if (status != STATUS_OK)
        free(result);
    return status;
}

enum status take_calibration_load(const char *file, uint32_t rate, struct mask **mask)
{
    char *text = NULL;
    const struct mask_load_options load = {0};
    if (asprintf(&text, "response:%s", file) < 0)
        return fail_memory("a calibration");
    char *spec[] = {text, NULL};
    enum status status = design_load(spec, rate, &load, mask);
    free(text);
    return status;
}

/* Applies the response of a microphone or a card to what is divided out. */
static enum status calibrate(const struct response_work *work, const char *file,
                             struct sound_in_double *sound)
{
    struct mask *mask;
    TRY(take_calibration_load(file, work->take->plan.rate_in, &mask));
    enum status status = convolve(sound, mask_column(mask, 0), mask->taps);
    mask_destroy(mask);
    return status;
}

static enum status calibrate_all(const struct response_work *work, struct sound_in_double *sound)
{
    for (size_t i = 0; i < work->settings->calibration_count; i++)
        TRY(calibrate(work, work->settings->calibrations[i], sound));
    return STATUS_OK;
}

static enum status make_swept(const struct sweep *sweep, double stretch, double gain,
                              struct sound_in_double *sound)
{
    free(sound->samples);
    sound->frames = sweep_frames(sweep, stretch);
    sound->samples = audio_alloc_in_double(sound->frames);
    if (!sound->samples)
        return fail_memory("a sweep");
    sweep_fill(sweep, stretch, sound->samples);
    for (size_t i = 0; i < sound->frames; i++)
        sound->samples[i] *= gain;
    return STATUS_OK;
}

static enum status divide_by(struct response_work *work, const struct sweep *sweep,
                             const struct sound_in_double *played)
{
    deconvolver_destroy(work->deconvolver);
    work->deconvolver = NULL;
    return deconvolver_create(played->samples, played->frames, work->part.frames,
                              work->take->plan.rate_in, sweep, &work->deconvolver);
}

/* Divides by the sweep as it was computed, for the present ratio of the clocks. */
static enum status divide_by_sweep(struct response_work *work)
{
    const struct take_plan *plan = &work->take->plan;
    TRY(make_swept(&plan->sweep, work->stretch, audio_from_db(plan->level), &work->swept));
    TRY(calibrate_all(work, &work->swept));
    return divide_by(work, &plan->sweep, &work->swept);
}

/* ---- parts of the recording ---- */

/* The frame of the recording where a part begins, which is between frames with two clocks. */
static double part_at(const struct response_work *work, size_t number, size_t repeat)
{
    double at = (double)take_sweep_at(&work->take->plan, number, repeat) * work->stretch;
    return at + work->arrival;
}

/* Copies frames [at, at + part.frames) of an input; frames outside of the recording are silent. */
static void copy_part(const struct response_work *work, size_t input, double at)
{
    const float *recorded = work->take->recorded.data[input];
    double end = (double)work->take->recorded.frames;
    for (size_t i = 0; i < work->part.frames; i++) {
        double frame = at + (double)i;
        work->part.samples[i] = frame >= 0 && frame < end ? (double)recorded[(size_t)frame] : 0;
    }
}

static void add_part(const struct response_work *work, size_t input, size_t number, size_t repeat)
{
    double at = part_at(work, number, repeat), whole = floor(at);
    copy_part(work, input, whole);
    deconvolver_add(work->deconvolver, work->part.samples, work->part.frames, at - whole);
}

static void add_parts(const struct response_work *work, size_t input, size_t number)
{
    deconvolver_begin(work->deconvolver);
    for (size_t r = 0; r < work->take->plan.repeats; r++)
        add_part(work, input, number, r);
}

/* Divides by what the reference recorded of an output's sweeps: their mean. */
static enum status divide_by_reference(struct response_work *work, size_t number)
{
    const struct take_plan *plan = &work->take->plan;
    struct sound_in_double played = {.frames = work->part.frames};
    if (plan->reference == TAKE_NONE)
        return STATUS_OK;
    played.samples = audio_alloc_in_double(played.frames);
    if (!played.samples)
        return fail_memory("a recording");
    for (size_t r = 0; r < plan->repeats; r++) {
        copy_part(work, plan->reference, floor(part_at(work, number, r)));
        for (size_t i = 0; i < played.frames; i++)
            played.samples[i] += work->part.samples[i] / (double)plan->repeats;
    }
    enum status status = calibrate_all(work, &played);
    if (status == STATUS_OK)
        status = divide_by(work, &plan->sweep, &played);
    free(played.samples);
    return status;
}

/* ---- when sounds arrive, and how fast the clocks are ---- */

/* What one recording of one sweep of output 1 gives at an input. */
static enum status study(struct response_work *work, struct measured_path *path, double *peak)
{
    ptrdiff_t direct = deconvolver_direct(work->deconvolver, peak);
    return deconvolver_finish(work->deconvolver, direct, work->kept, work->taps, path);
}

/* Finds when the sweep of output 1 arrives: at the reference, or at the input that hears it best. */
static enum status find_arrival(struct response_work *work)
{
    const struct take_plan *plan = &work->take->plan;
    double best = -INFINITY;
    work->part.frames = work->search_frames;
    TRY(divide_by_sweep(work));
    for (size_t i = 0; i < plan->inputs; i++) {
        struct measured_path path;
        double peak;
        if (plan->reference != TAKE_NONE && i != plan->reference)
            continue;
        deconvolver_begin(work->deconvolver);
        copy_part(work, i, 0);
        deconvolver_add(work->deconvolver, work->part.samples, work->part.frames, 0);
        TRY(study(work, &path, &peak));
        if (path.snr_all <= best)
            continue;
        best = path.snr_all;
        work->best = i;
        work->arrival = floor(peak - (double)take_sweep_at(plan, 0, 0) * work->stretch -
                              EARLIER * plan->rate_in);
    }
    if (plan->reference != TAKE_NONE && !(best >= SNR_LEAST))
        return fail(CAUSE_OTHER,
                    "the reference, input %zu, hears nothing of what is played: check "
                    "its cable and --reference IN:OUT",
                    plan->input_of[plan->reference]);
    work->part.frames = (size_t)((double)take_slot_frames(plan) * work->stretch);
    return divide_by_sweep(work);
}

/* The frames by which `late` is later than `early`, less than one, by the slope of the phase. */
static double delay_between(const struct fft_double *fft, const double *early, const double *late)
{
    size_t length = fft_double_length(fft);
    double complex first[CLOCK_FRAMES / 2 + 1];
    double sum = 0, weights = 0;
    memcpy(fft_double_samples(fft), early, length * sizeof *early);
    fft_double_forward(fft);
    memcpy(first, fft_double_bins(fft), sizeof first);
    memcpy(fft_double_samples(fft), late, length * sizeof *late);
    fft_double_forward(fft);
    for (size_t b = 1; b < length / 2; b++) {
        double complex both = fft_double_bins(fft)[b] * conj(first[b]);
        double angle = 2 * M_PI * (double)b / (double)length;
        sum -= cabs(both) * angle * carg(both);
        weights += cabs(both) * angle * angle;
    }
    return weights > 0 ? sum / weights : 0;
}

/* The frames by which the last repeat comes later than the first one, at the present ratio. */
static enum status find_drift(struct response_work *work, const struct fft_double *fft,
                              bool is_rough, double *frames)
{
    double peaks[2], taps[2][CLOCK_FRAMES];
    ptrdiff_t first = 0;
    for (size_t i = 0; i < 2; i++) {
        deconvolver_begin(work->deconvolver);
        add_part(work, work->best, 0, i == 0 ? 0 : work->take->plan.repeats - 1);
        ptrdiff_t direct = deconvolver_direct(work->deconvolver, &peaks[i]);
        first = i == 0 ? direct - CLOCK_FRAMES / 2 : first;
        TRY(deconvolver_finish(work->deconvolver, first, CLOCK_FRAMES, taps[i], NULL));
    }
    *frames = is_rough ? peaks[1] - peaks[0] : delay_between(fft, taps[0], taps[1]);
    return STATUS_OK;
}

/* Finds the ratio of the clocks from two sweeps: first by their peaks, then by their phases. */
static enum status find_clocks(struct response_work *work)
{
    const struct take_plan *plan = &work->take->plan;
    struct fft_double *fft;
    double apart = (double)((plan->repeats - 1) * take_slot_frames(plan));
    if (!plan->two_clocks || plan->repeats < 2)
        return STATUS_OK;
    enum status status = fft_double_create(CLOCK_FRAMES, &fft);
    for (int round = 0; round < CLOCK_ROUNDS && status == STATUS_OK; round++) {
        double frames = 0;
        status = find_drift(work, fft, round < 2, &frames);
        work->stretch *= 1 + frames / (apart * work->stretch);
        if (status == STATUS_OK)
            status = divide_by_sweep(work);
    }
    fft_double_destroy(fft);
    return status;
}

/* ---- time zero ---- */

static enum status find_mark(struct response_work *work)
{
    const struct take_plan *plan = &work->take->plan;
    struct sound_in_double played = {0};
    struct sweep mark;
    TRY(take_mark_init(plan, &mark));
    enum status status = make_swept(&mark, work->stretch, 1, &played);
    if (status == STATUS_OK)
        status = divide_by(work, &mark, &played);
    if (status == STATUS_OK) {
        double at = (double)take_mark_at(plan) * work->stretch + work->arrival, peak;
        deconvolver_begin(work->deconvolver);
        copy_part(work, work->inputs[0], floor(at));
        deconvolver_add(work->deconvolver, work->part.samples, work->part.frames, at - floor(at));
        work->zero = deconvolver_direct(work->deconvolver, &peak);
        status = divide_by_sweep(work);
    }
    free(played.samples);
    return status;
}

/* Finds the first direct sound of all paths. */
static enum status find_first(struct response_work *work)
{
    work->first = PTRDIFF_MAX;
    for (size_t o = 0; o < work->output_count; o++) {
        TRY(divide_by_reference(work, o));
        for (size_t i = 0; i < work->input_count; i++) {
            double peak;
            add_parts(work, work->inputs[i], o);
            ptrdiff_t direct = deconvolver_direct(work->deconvolver, &peak);
            work->first = direct < work->first ? direct : work->first;
        }
    }
    return STATUS_OK;
}

static enum status find_zero(struct response_work *work)
{
    const struct take_plan *plan = &work->take->plan;
    work->timing = "sound";
    if (plan->reference == TAKE_NONE && plan->mark != TAKE_NONE)
        TRY(find_mark(work));
    TRY(find_first(work));
    ptrdiff_t stated = (ptrdiff_t)((double)plan->latency - work->arrival);
    if (plan->reference != TAKE_NONE) {
        work->timing = "loopback";
        work->zero = 0;
    } else if (plan->mark != TAKE_NONE) {
        work->timing = "mark";
    } else if (plan->latency > 0 && !plan->two_clocks && stated <= work->first) {
        work->timing = "device";
        work->zero = stated;
    } else {
        work->zero = work->first;
    }
    ptrdiff_t lead = (ptrdiff_t)ceil(LEAD * plan->rate_in);
    work->begin = work->zero < work->first - lead ? work->zero : work->first - lead;
    return STATUS_OK;
}

/* ---- responses ---- */

static enum status check_path(const struct measured_path *path)
{
    if (!(path->snr_all >= SNR_LEAST))
        return fail(CAUSE_OTHER,
                    "input %zu hears output %zu only %.0f dB above the noise: check the cables and "
                    "the microphone, raise --level or its gain, or measure other channels with "
                    "--output-map and --input-map",
                    path->input, path->output, fmax(path->snr_all, 0));
    if (path->snr_all < SNR_GOOD)
        warning("input %zu hears output %zu only %.0f dB above the noise; a higher --level, a "
                "longer --length or more --repeats help",
                path->input, path->output, path->snr_all);
    return STATUS_OK;
}

static enum status take_path(struct response_work *work, size_t o, size_t i, struct mask *mask,
                             struct measured_path *path)
{
    const struct take_plan *plan = &work->take->plan;
    double peak;
    add_parts(work, work->inputs[i], o);
    deconvolver_direct(work->deconvolver, &peak);
    TRY(deconvolver_finish(work->deconvolver, work->begin, work->kept,
                           mask_column(mask, o * work->input_count + i), path));
    path->output = plan->output_of[work->outputs[o]];
    path->input = plan->input_of[work->inputs[i]];
    path->delay = (peak - (double)work->zero) / plan->rate_in;
    return check_path(path);
}

static void describe(const struct response_work *work, struct measurement *measurement)
{
    const struct take_plan *plan = &work->take->plan;
    size_t length = 0;
    memcpy(measurement->date, plan->date, sizeof measurement->date);
    measurement->from = plan->sweep.from;
    measurement->to = plan->sweep.to;
    measurement->seconds = plan->sweep.seconds;
    measurement->level = plan->level;
    measurement->repeats = plan->repeats;
    measurement->rate = plan->rate_in;
    snprintf(measurement->timing, sizeof measurement->timing, "%s", work->timing);
    measurement->drift =
        plan->two_clocks ? 1e6 * (work->stretch * plan->sweep.rate / plan->rate_in - 1) : 0;
    measurement->full_scale = work->settings->full_scale;
    for (size_t i = 0; i < work->settings->calibration_count; i++)
        if (length < sizeof measurement->calibration)
            length += (size_t)snprintf(measurement->calibration + length,
                                       sizeof measurement->calibration - length, "%s%s",
                                       i ? ", " : "", work->settings->calibrations[i]);
}

static enum status find_responses(struct response_work *work, struct mask *mask,
                                  struct measurement *measurement)
{
    TRY(find_arrival(work));
    TRY(find_clocks(work));
    TRY(find_zero(work));
    for (size_t o = 0; o < work->output_count; o++) {
        TRY(divide_by_reference(work, o));
        for (size_t i = 0; i < work->input_count; i++)
            TRY(take_path(work, o, i, mask, &measurement->paths[o * work->input_count + i]));
    }
    describe(work, measurement);
    return STATUS_OK;
}

static enum status work_init(struct response_work *work)
{
    const struct take_plan *plan = &work->take->plan;
    double after = fmin((double)(plan->pause + take_guard(plan)), SEARCHED * plan->sweep.rate);
    double longest = fmax((double)take_slot_frames(plan), /* the next sweep is not in it */
                          (double)(take_sweep_at(plan, 0, 0) + plan->sweep.frames) + after);
    work->output_count = take_measured_outputs(plan, work->outputs);
    work->input_count = take_measured_inputs(plan, work->inputs);
    work->stretch = (double)plan->rate_in / plan->sweep.rate;
    work->kept = (size_t)((double)plan->pause * work->stretch);
    work->search_frames = (size_t)(longest * work->stretch);
    work->part.samples = audio_alloc_in_double(work->search_frames);
    work->taps = audio_alloc_in_double(work->kept);
    return work->part.samples && work->taps ? STATUS_OK : fail_memory("a recording");
}

enum status take_responses(const struct take *take, const struct take_settings *settings,
                           struct mask **mask, size_t *zero, struct measurement **measurement)
{
    struct response_work work = {.take = take, .settings = settings};
    *mask = NULL;
    *measurement = NULL;
    enum status status = work_init(&work);
    size_t paths = work.output_count * work.input_count;
    if (status == STATUS_OK)
        status = mask_create("a measurement", paths, work.kept, mask);
    if (status == STATUS_OK)
        status = measurement_create(paths, measurement);
    if (status == STATUS_OK)
        status = find_responses(&work, *mask, *measurement);
    deconvolver_destroy(work.deconvolver);
    free(work.swept.samples);
    free(work.part.samples);
    free(work.taps);
    if (status != STATUS_OK) {
        mask_destroy(*mask);
        measurement_destroy(*measurement);
        return status;
    }
    (*mask)->rate = take->plan.rate_in;
    *zero = (size_t)(work.zero - work.begin);
    return STATUS_OK;
}

double take_sweep_level(const struct take *take, size_t input)
{
    const float *samples = take->recorded.data[input];
    size_t second = take->plan.rate_in;
    double loudest = 0;
    for (size_t at = 0; at + second <= take->recorded.frames; at += second) {
        double sum = 0;
        for (size_t i = at; i < at + second; i++)
            sum += (double)samples[i] * samples[i];
        loudest = fmax(loudest, sum / (double)second);
    }
    return audio_to_db(sqrt(2 * loudest));
}
