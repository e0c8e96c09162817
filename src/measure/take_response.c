#include "measure/take_response.h"

#include "base/stop.h"
#include "design/design.h"
#include "signal/fft_double.h"
#include "signal/taps.h"
#include "sweep/deconvolve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double EARLIER = 0.02; /* seconds of a recording before the first direct sound */
static const double LEAD = 1e-3;    /* seconds before a direct sound that a mask has at least */
static const double FADED = 7e-4;   /* seconds before its rise */
static const double SEARCHED = 1;   /* seconds in which the first sweep must arrive */
static const double SNR_LEAST = 10; /* dB */
static const double REFERENCE_LEAST = 1e-4; /* energy of the sweeps of other outputs */
static const double SNR_GOOD = 30;          /* dB */
static const double SNR_THIRD = 15; /* dB by which the best third of a full-range path is better */
enum { CLOCK_ROUNDS = 3, CLOCK_FRAMES = 1 << 12 };

struct sound_in_double {
    double *samples;
    size_t frames;
};

struct response_work {
    const struct take *take;
    const struct take_settings *settings;
    size_t outputs[DEVICE_CHANNELS_MOST],
        inputs[DEVICE_CHANNELS_MOST]; /* numbers of those measured */
    size_t output_count, input_count;
    double offsets[DEVICE_CHANNELS_MOST]; /* means of the inputs in silence, at the end */
    size_t best;                          /* input that hears output 1 best */
    double stretch;                       /* rate of the input's clock over that of the output's */
    size_t kept;                          /* frames of a response */
    double *taps;                         /* [kept] */
    struct sound_in_double swept;         /* the sweep with the calibrations */
    struct sound_in_double part;          /* a part of the recording */
    size_t search_frames;                 /* length of the part in which the first sweep is found */
    double arrival;                       /* frames from a sweep's place in the plan to its part */
    /* frames of a part's response: time zero, the first and the last direct sound, where the first
     * one begins, the first tap */
    ptrdiff_t zero, first, last, onset, begin;
    const char *timing;      /* what time zero is */
    double reference_energy; /* energy that it recorded of output 1 */
    bool by_reference; /* the sound that is divided out was recorded, with the same fractions */
    struct deconvolver *deconvolver;
};

/* ---- the sound that is divided out ---- */

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
    size_t frames = sound->frames + mask->taps - 1;
    double *result = audio_alloc_in_double(frames);
    enum status status = result ? taps_convolve(sound->samples, sound->frames, mask_column(mask, 0),
                                                mask->taps, result)
                                : fail_memory("a sweep");
    mask_destroy(mask);
    if (status == STATUS_OK) {
        free(sound->samples);
        *sound = (struct sound_in_double){result, frames};
    } else {
        free(result);
    }
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
    work->by_reference = false;
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

/* Copies frames [at, at + part.frames) of an input, without its offset. Frames outside of the
 * recording are silent. */
static void copy_part(const struct response_work *work, size_t input, double at)
{
    const float *recorded = work->take->recorded.data[input];
    double end = (double)work->take->recorded.frames, offset = work->offsets[input];
    for (size_t i = 0; i < work->part.frames; i++) {
        double frame = at + (double)i;
        work->part.samples[i] = frame >= 0 && frame < end ? recorded[(size_t)frame] - offset : 0;
    }
}

static void add_part(const struct response_work *work, size_t input, size_t number, size_t repeat)
{
    double at = part_at(work, number, repeat), whole = floor(at);
    copy_part(work, input, whole);
    deconvolver_add(work->deconvolver, work->part.samples, work->part.frames,
                    work->by_reference ? 0 : at - whole);
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
    double energy = 0;
    for (size_t i = 0; i < played.frames; i++)
        energy += played.samples[i] * played.samples[i];
    work->reference_energy = number == 0 ? energy : work->reference_energy;
    work->by_reference = true;
    enum status status =
        energy >= REFERENCE_LEAST * work->reference_energy
            ? calibrate_all(work, &played)
            : fail(CAUSE_OTHER,
                   "the reference, input %zu, does not hear output %zu: with --reference IN:OUT "
                   "output OUT plays all sweeps for it",
                   plan->input_of[plan->reference], plan->output_of[work->outputs[number]]);
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

/* Frames at the output's rate until the check ends, whose noise is no sweep. */
static size_t checked_frames(const struct take_plan *plan)
{
    return plan->outputs * take_check_frames(plan);
}

/* Finds when the sweep of output 1 arrives: at the reference, or at the input that hears it best. */
static enum status find_arrival(struct response_work *work)
{
    const struct take_plan *plan = &work->take->plan;
    double best = -INFINITY;
    double after_check = floor((double)checked_frames(plan) * work->stretch);
    work->part.frames = work->search_frames;
    TRY(divide_by_sweep(work));
    for (size_t i = 0; i < plan->inputs; i++) {
        struct measured_path path;
        double peak;
        if (plan->reference != TAKE_NONE && i != plan->reference)
            continue;
        deconvolver_begin(work->deconvolver);
        copy_part(work, i, after_check);
        deconvolver_add(work->deconvolver, work->part.samples, work->part.frames, 0);
        TRY(study(work, &path, &peak));
        if (path.snr_all <= best)
            continue;
        best = path.snr_all;
        work->best = i;
        work->arrival =
            floor(after_check + peak - (double)take_sweep_at(plan, 0, 0) * work->stretch -
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

/* The SNR in dB, of a subwoofer in its band. NAN: nothing is heard. */
static double snr_of(const struct measured_path *path)
{
    double snr = path->snr_all;
    for (size_t t = 0; t < MEASURED_THIRDS; t++)
        snr = fmax(snr, path->snr[t] - SNR_THIRD);
    return snr;
}

/* Finds the first direct sound of all paths but those without any, and where the first begins. */
static enum status find_first(struct response_work *work)
{
    work->first = work->onset = (ptrdiff_t)work->part.frames;
    work->last = PTRDIFF_MIN;
    for (size_t o = 0; o < work->output_count; o++) {
        TRY(divide_by_reference(work, o));
        for (size_t i = 0; i < work->input_count; i++) {
            struct measured_path path;
            double peak;
            if (stop_requested())
                return fail(CAUSE_INTERRUPTED, "stopped; nothing was written");
            add_parts(work, work->inputs[i], o);
            TRY(study(work, &path, &peak));
            if (!(snr_of(&path) >= SNR_LEAST))
                continue;
            ptrdiff_t onset = deconvolver_onset(work->deconvolver, lround(peak));
            work->first = lround(peak) < work->first ? lround(peak) : work->first;
            work->last = lround(peak) > work->last ? lround(peak) : work->last;
            work->onset = onset < work->onset ? onset : work->onset;
        }
    }
    return STATUS_OK;
}

/* Finds the first direct sound. If it comes before that of output 1, all parts begin earlier. */
static enum status find_arrivals(struct response_work *work)
{
    ptrdiff_t earlier = (ptrdiff_t)(EARLIER * work->take->plan.rate_in);
    TRY(find_first(work));
    if (work->onset >= earlier / 2 || work->take->plan.reference != TAKE_NONE)
        return STATUS_OK;
    work->arrival -= (double)(earlier - work->onset);
    return find_first(work);
}

static enum status find_mark(struct response_work *work)
{
    const struct take_plan *plan = &work->take->plan;
    struct sound_in_double played = {0};
    struct measured_path path = {0};
    struct sweep mark;
    size_t between = take_sweep_at(plan, 0, 0) - take_mark_at(plan);
    work->part.frames = (size_t)((double)between * work->stretch); /* without the first sweep */
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
        status = study(work, &path, &peak);
    }
    free(played.samples);
    work->part.frames = (size_t)((double)take_slot_frames(plan) * work->stretch);
    if (status == STATUS_OK && !(path.snr_all >= SNR_LEAST))
        status = fail(CAUSE_OTHER,
                      "input %zu does not hear the mark, which output %zu plays from 1 to 16 kHz: "
                      "--mark needs a loudspeaker for the treble",
                      plan->input_of[work->inputs[0]], plan->output_of[plan->mark]);
    return status == STATUS_OK ? divide_by_sweep(work) : status;
}

static enum status find_zero(struct response_work *work)
{
    const struct take_plan *plan = &work->take->plan;
    TRY(find_arrivals(work));
    ptrdiff_t stated = (ptrdiff_t)((double)plan->latency - work->arrival);
    work->timing = "sound";
    work->zero = work->first;
    if (plan->reference != TAKE_NONE) {
        work->timing = "loopback";
        work->zero = 0;
    } else if (plan->mark != TAKE_NONE) {
        work->timing = "mark";
        TRY(find_mark(work));
    } else if (plan->latency > 0 && !plan->two_clocks && stated <= work->first) {
        work->timing = "device";
        work->zero = stated;
    }
    ptrdiff_t begin = work->first - (ptrdiff_t)ceil(LEAD * plan->rate_in);
    ptrdiff_t rise = work->onset - (ptrdiff_t)(FADED * plan->rate_in);
    begin = rise < begin ? rise : begin;
    work->begin = work->zero < begin ? work->zero : begin;
    ptrdiff_t last = work->last > work->zero ? work->last : work->zero;
    if (last < work->begin + (ptrdiff_t)work->kept)
        return STATUS_OK;
    return fail(CAUSE_USAGE,
                "a direct sound arrives %.0f ms after the first, when the responses end: measure "
                "with a longer --pause",
                1e3 * (double)(last - work->begin) / plan->rate_in);
}

/* ---- responses ---- */

/* Silences a path that is nothing but noise: an ear does not hear the other ear's earphone. */
static void check_path(struct measured_path *path, double *taps, size_t count)
{
    double snr = snr_of(path);
    if (snr >= SNR_GOOD)
        return;
    if (snr >= SNR_LEAST) {
        warning("input %zu hears output %zu only %.0f dB above the noise; a higher --level, a "
                "longer --length, more --repeats, or a --pause as long as the room reverberates "
                "help",
                path->input, path->output, snr);
        return;
    }
    warning("input %zu does not hear output %zu: this channel is silent", path->input,
            path->output);
    memset(taps, 0, count * sizeof *taps);
    path->delay = path->snr_all = NAN;
    for (size_t t = 0; t < MEASURED_THIRDS; t++) {
        path->level[t] = path->snr[t] = NAN;
        for (size_t n = 0; n < MEASURED_ORDERS; n++)
            path->distortion[n][t] = NAN;
    }
}

static enum status check_best(const struct measured_path *path)
{
    if (snr_of(path) >= SNR_LEAST)
        return STATUS_OK;
    return fail(CAUSE_OTHER,
                "input %zu hears output %zu only %.0f dB above the noise: check the cables and "
                "the microphone, raise --level or its gain, or measure other channels with "
                "--output-map and --input-map",
                path->input, path->output, fmax(snr_of(path), 0));
}

/* The path of greatest SNR among `count`, `step` apart. */
static const struct measured_path *best_of(const struct measured_path *paths, size_t count,
                                           size_t step)
{
    const struct measured_path *best = paths;
    for (size_t i = 1; i < count; i++)
        if (isnan(snr_of(best)) || snr_of(&paths[i * step]) > snr_of(best))
            best = &paths[i * step];
    return best;
}

/* Each output must be heard, and each input must hear something. */
static enum status check_paths(const struct response_work *work, struct mask *mask,
                               struct measured_path *paths)
{
    size_t inputs = work->input_count, outputs = work->output_count;
    for (size_t o = 0; o < outputs; o++)
        TRY(check_best(best_of(paths + o * inputs, inputs, 1)));
    for (size_t i = 0; i < inputs; i++)
        TRY(check_best(best_of(paths + i, outputs, inputs)));
    for (size_t p = 0; p < outputs * inputs; p++)
        check_path(&paths[p], mask_column(mask, p), mask->taps);
    return STATUS_OK;
}

static enum status take_path(struct response_work *work, size_t o, size_t i, struct mask *mask,
                             struct measured_path *path)
{
    const struct take_plan *plan = &work->take->plan;
    double peak;
    add_parts(work, work->inputs[i], o);
    if (stop_requested())
        return fail(CAUSE_INTERRUPTED, "stopped; nothing was written");
    deconvolver_direct(work->deconvolver, &peak);
    TRY(deconvolver_finish(work->deconvolver, work->begin, work->kept,
                           mask_column(mask, o * work->input_count + i), path));
    path->output = plan->output_of[work->outputs[o]];
    path->input = plan->input_of[work->inputs[i]];
    path->delay = (peak - (double)work->zero) / plan->rate_in;
    return STATUS_OK;
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
    return check_paths(work, mask, measurement->paths);
}

static enum status work_init(struct response_work *work)
{
    const struct take_plan *plan = &work->take->plan;
    size_t silent = plan->rate_in / 2; /* less than take_recorded_frames() adds */
    double after = fmin((double)(plan->pause + take_guard(plan)), SEARCHED * plan->sweep.rate);
    double longest = fmax(
        (double)take_slot_frames(plan), /* the next sweep is not in it */
        (double)(take_sweep_at(plan, 0, 0) - checked_frames(plan) + plan->sweep.frames) + after);
    for (size_t i = 0; i < plan->inputs; i++) {
        for (size_t f = work->take->recorded.frames - silent; f < work->take->recorded.frames; f++)
            work->offsets[i] += work->take->recorded.data[i][f] / (double)silent;
    }
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
        *mask = NULL;
        *measurement = NULL;
        return status;
    }
    (*mask)->rate = take->plan.rate_in;
    *zero = (size_t)(work.zero - work.begin);
    return STATUS_OK;
}
