/* Measurements: sweeps, and responses from recordings of them. */
#include "base/plural.h"
#include "design/design.h"
#include "design/design_kind.h"
#include "mask/mask.h"
#include "sweep/deconvolve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { RECORDED_MOST = 1 << 23 /* frames; memory is about 100 bytes for each */, FLAT = 2 };

static const double FADED = 7e-4;      /* seconds kept before it rises */
static const double BEFORE = 0.001;    /* seconds kept before the direct sound */
static const double KEPT_LEAST = 0.02; /* seconds */
static const double SNR_LEAST = 10;    /* dB */
static const double FULL_SCALE = 0.9999;

/* Fills in what the sweep tells, and keeps the text. Frees the measurement. */
static enum status keep_measured(struct measurement *measurement, const struct sweep *sweep,
                                 double level, struct design *design)
{
    measurement->from = sweep->from;
    measurement->to = sweep->to;
    measurement->seconds = sweep->seconds;
    measurement->level = level;
    measurement->rate = sweep->rate;
    design->measured = measurement_text(measurement);
    measurement_destroy(measurement);
    return design->measured ? STATUS_OK : fail_memory("a measurement");
}

static enum status make_sweep(const struct design_spec *spec, struct design *design)
{
    double seconds = 8, from = 20, half = design->rate / 2.0, to = sweep_usual_end(design->rate),
           level = -6;
    struct sweep sweep;
    struct measurement *measurement;
    TRY(design_no_value(spec));
    TRY(design_number(spec, "seconds", DESIGN_RANGE(SECONDS, 0.01, 600), &seconds));
    TRY(design_number(spec, "from", DESIGN_RANGE(HZ, 1, half), &from));
    TRY(design_number(spec, "to", DESIGN_RANGE(HZ, 1, half), &to));
    TRY(design_number(spec, "level", DESIGN_RANGE(DB, -100, 0), &level));
    TRY(sweep_init(&sweep, seconds, from, to, design->rate));
    if (sweep.frames > RECORDED_MOST)
        return fail(CAUSE_USAGE, "sweep: %g s are %zu frames at %u Hz, but at most %d are possible",
                    seconds, sweep.frames, design->rate, RECORDED_MOST);
    TRY(design_alloc(design, 1, sweep.frames));
    sweep_fill(&sweep, 1, design->coefficients);
    for (size_t i = 0; i < sweep.frames; i++)
        design->coefficients[i] *= pow(10, level / 20);
    note("sweep: seconds=%g is rounded to %.6f, so that harmonics are copies of the sweep", seconds,
         sweep.seconds);
    TRY(measurement_create(0, &measurement));
    return keep_measured(measurement, &sweep, level, design);
}

/* ---- deconvolve ---- */

struct deconvolution {
    const struct design_spec *spec;
    const char *sweep_name;
    struct mask *recorded, *played;
    struct sweep sweep; /* rate 0: unknown */
    double level;       /* of the sweep, in dB */
    struct measurement *measurement;
    struct deconvolver *deconvolver;
    uint32_t rate;
    ptrdiff_t direct; /* frame of the earliest direct sound */
    ptrdiff_t onset;  /* frame where a direct sound begins */
    size_t before;    /* frames kept before it */
};

static enum status load(const struct design_spec *spec, const char *file, struct mask **mask)
{
    const struct mask_load_options options = {.allow_truncated = spec->load->allow_truncated,
                                              .is_named = true};
    return mask_load_with(file, &options, mask);
}

static enum status check_rates(const struct deconvolution *job, struct design *design)
{
    const struct mask *recorded = job->recorded, *played = job->played;
    uint32_t rate = recorded->rate ? recorded->rate : played->rate;
    if (played->rate && rate != played->rate)
        return fail(CAUSE_USAGE,
                    "deconvolve: %s has %u Hz, but %s has %u Hz: resample the sweep as it was "
                    "played, or record at its rate",
                    recorded->name, rate, played->name, played->rate);
    if (rate && design_option(job->spec, "rate") && design->rate != rate)
        return fail(CAUSE_USAGE, "deconvolve: %s has %u Hz: leave out rate=", recorded->name, rate);
    if (rate)
        design->rate = rate;
    else if (!design->rate)
        design->rate = DESIGN_RATE_DEFAULT;
    return STATUS_OK;
}

static enum status check_lengths(const struct deconvolution *job)
{
    const struct mask *recorded = job->recorded, *played = job->played;
    if (recorded->taps > RECORDED_MOST)
        return fail(CAUSE_USAGE, "deconvolve: %s has %zu frames, but at most %d are possible",
                    recorded->name, recorded->taps, RECORDED_MOST);
    if (recorded->taps <= played->taps)
        return fail(CAUSE_USAGE,
                    "deconvolve: %s has %zu frames, but the sweep in %s has %zu: record until "
                    "after its end",
                    recorded->name, recorded->taps, played->name, played->taps);
    return STATUS_OK;
}

/* Reads the sweep's parameters if its file tells them and was not changed. */
static enum status read_sweep(struct deconvolution *job)
{
    struct measurement *told = NULL;
    if (!job->played->measured)
        return STATUS_OK;
    TRY(measurement_parse(job->played->measured, &told));
    bool is_sweep = told && told->path_count == 0 && told->from > 0 && told->from < told->to &&
                    told->to <= told->rate / 2.0 && told->seconds > 0 &&
                    told->rate == job->played->rate && job->played->columns == 1;
    if (is_sweep &&
        sweep_init(&job->sweep, told->seconds, told->from, told->to, told->rate) == STATUS_OK) {
        job->level = told->level;
        if (job->sweep.frames != job->played->taps)
            job->sweep.rate = 0;
    }
    measurement_destroy(told);
    return STATUS_OK;
}

/* Refuses a silent channel, and warns of a clipped one. */
static enum status check_channel(const struct mask *recorded, size_t channel)
{
    const double *samples = mask_column(recorded, channel);
    size_t run = 0, clipped = 0;
    bool is_silent = true;
    for (size_t i = 0; i < recorded->taps; i++) {
        bool is_flat = i > 0 && samples[i] == samples[i - 1] && fabs(samples[i]) >= FULL_SCALE;
        run = is_flat ? run + 1 : 0;
        clipped += run >= FLAT;
        is_silent &= samples[i] == 0;
    }
    if (is_silent)
        return fail(CAUSE_OTHER, "deconvolve: channel %zu of %s is silent: nothing was recorded",
                    channel + 1, recorded->name);
    if (clipped > 0)
        warning("deconvolve: channel %zu of %s is clipped at %zu frame%s: record at a lower level",
                channel + 1, recorded->name, clipped, plural_s(clipped));
    return STATUS_OK;
}

static void add_channel(const struct deconvolution *job, size_t channel)
{
    deconvolver_begin(job->deconvolver);
    deconvolver_add(job->deconvolver, mask_column(job->recorded, channel), job->recorded->taps, 0);
}

static enum status find_direct(struct deconvolution *job)
{
    double earliest = INFINITY;
    TRY(measurement_create(job->recorded->columns, &job->measurement));
    for (size_t c = 0; c < job->recorded->columns; c++) {
        double peak;
        TRY(check_channel(job->recorded, c));
        add_channel(job, c);
        ptrdiff_t direct = deconvolver_direct(job->deconvolver, &peak);
        ptrdiff_t onset = deconvolver_onset(job->deconvolver, direct);
        job->onset = c == 0 || onset < job->onset ? onset : job->onset;
        if (c == 0 || direct < job->direct)
            job->direct = direct;
        earliest = fmin(earliest, peak);
        job->measurement->paths[c].delay = peak;
    }
    for (size_t c = 0; c < job->recorded->columns; c++)
        job->measurement->paths[c].delay =
            (job->measurement->paths[c].delay - earliest) / job->rate;
    return STATUS_OK;
}

/* The frames to keep after the direct sound: at most what follows the sweep. */
static enum status read_kept(const struct deconvolution *job, uint32_t rate, size_t *frames)
{
    double most =
        ((double)job->recorded->taps - (double)job->played->taps - (double)job->direct) / rate;
    double kept = most;
    if (most < KEPT_LEAST)
        return fail(CAUSE_USAGE,
                    "deconvolve: %s ends %.3f s after the sweep: record at least %g s more, or "
                    "as long as the room sounds",
                    job->recorded->name, fmax(most, 0), KEPT_LEAST);
    TRY(design_number(job->spec, "keep", DESIGN_RANGE(SECONDS, 0.001, 600), &kept));
    if (kept > most)
        return fail(CAUSE_USAGE,
                    "deconvolve: keep=%g s is more than %s has after the sweep: at most %.3f s",
                    kept, job->recorded->name, most);
    *frames = (size_t)fmax(1, floor(kept * rate));
    return STATUS_OK;
}

static enum status fill_columns(const struct deconvolution *job, const struct design *design)
{
    for (size_t c = 0; c < design->columns; c++) {
        struct measured_path *path = &job->measurement->paths[c];
        add_channel(job, c);
        TRY(deconvolver_finish(job->deconvolver, job->direct - (ptrdiff_t)job->before, design->taps,
                               design_column(design, c), path));
        if (!(path->snr_all >= SNR_LEAST))
            warning("deconvolve: channel %zu of %s is mostly noise: play it louder, and check that "
                    "%s is what was played",
                    c + 1, job->recorded->name, job->played->name);
    }
    return STATUS_OK;
}

static enum status deconvolve(struct deconvolution *job, struct design *design)
{
    size_t kept = 0;
    TRY(load(job->spec, job->spec->value, &job->recorded));
    TRY(load(job->spec, job->sweep_name, &job->played));
    TRY(check_rates(job, design));
    TRY(check_lengths(job));
    TRY(read_sweep(job));
    job->rate = design->rate;
    TRY(deconvolver_create(mask_column(job->played, 0), job->played->taps, job->recorded->taps,
                           design->rate, job->sweep.rate ? &job->sweep : NULL, &job->deconvolver));
    TRY(find_direct(job));
    TRY(read_kept(job, design->rate, &kept));
    job->before = (size_t)fmax(round(BEFORE * design->rate),
                               (double)(job->direct - job->onset) + floor(FADED * design->rate));
    TRY(design_alloc(design, job->recorded->columns, job->before + kept));
    design->origin = job->before;
    TRY(fill_columns(job, design));
    if (!job->sweep.rate)
        return STATUS_OK;
    struct measurement *measurement = job->measurement;
    job->measurement = NULL;
    measurement->repeats = 1;
    snprintf(measurement->timing, sizeof measurement->timing, "sound");
    return keep_measured(measurement, &job->sweep, job->level, design);
}

static enum status make_deconvolve(const struct design_spec *spec, struct design *design)
{
    struct deconvolution job = {.spec = spec, .sweep_name = design_option(spec, "sweep")};
    TRY(design_need_value(spec));
    if (!job.sweep_name)
        return fail(CAUSE_USAGE, "deconvolve: sweep= names the file that was played, as in %s",
                    spec->kind->example);
    enum status status = deconvolve(&job, design);
    deconvolver_destroy(job.deconvolver);
    measurement_destroy(job.measurement);
    mask_destroy(job.recorded);
    mask_destroy(job.played);
    return status;
}

const struct design_kind design_measure[] = {
    {"sweep", "sweep:seconds=8,from=20,to=20000", "seconds, from, to, level",
     "a tone that rises from from= (20 Hz) to to= (0.9 of half the rate, at most 22 kHz), to be\n"
     "played and recorded; the peak is level= (-6 dB). seconds= (8) is rounded a little, so that\n"
     "distortion can be told from the response",
     .make = make_sweep},
    {"deconvolve", "deconvolve:rec.wav,sweep=sweep.wav", "sweep, keep",
     "the impulse responses between what was played, sweep=, and its recording, a column for each\n"
     "channel; from 1 ms before the earliest direct sound. keep= is the time after it: by default\n"
     "what the recording has after the sweep",
     .names_file = true, .file_option = "sweep=", .make = make_deconvolve},
    {0},
};
