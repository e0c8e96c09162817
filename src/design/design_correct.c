/* Crossovers, corrections of loudspeakers in rooms, and of sounds to the tone of others. */
#include "design/align_bass.h"
#include "design/correct_curve.h"
#include "design/correct_target.h"
#include "design/design.h"
#include "design/design_kind.h"
#include "design/excess_phase.h"
#include "design/long_term.h"
#include "signal/fft_double.h"
#include "signal/window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- crossovers: low, mid and high sum to a delay ---- */

enum { CROSSOVER_LEAST = 511 /* taps */ };

static const double RINGING = 13.8;    /* -120 dB, as a natural logarithm */
static const double STEEP_ATTEN = 100; /* dB */
static const double STEEP_WIDTH = 0.5; /* width as a share of the frequency: 0.75 to 1.25 */

struct crossover {
    size_t edges;    /* 1 or 2 */
    double hertz[2]; /* rising */
    double slope;    /* dB an octave; 0: steep */
};

static double crossover_low(const struct crossover *crossover, size_t edge, double hertz)
{
    return 1 / (1 + pow(hertz / crossover->hertz[edge], crossover->slope / 6));
}

static double low_at(const void *context, double hertz)
{
    return crossover_low(context, 0, hertz);
}

static double mid_at(const void *context, double hertz)
{
    return (1 - crossover_low(context, 0, hertz)) * crossover_low(context, 1, hertz);
}

static enum status read_crossover(const struct design_spec *spec, double rate,
                                  struct crossover *crossover)
{
    struct design_range hertz = {DESIGN_HZ, 1, nextafter(rate / 2, 0)};
    const char *slope = design_option(spec, "slope");
    TRY(design_need_value(spec));
    char *end = (char *)spec->value - 1;
    do {
        if (crossover->edges == 2)
            return fail(CAUSE_USAGE, "crossover: at most three ways, such as crossover:300:3000");
        double *at = &crossover->hertz[crossover->edges++];
        TRY(design_parse(spec, "a frequency", end + 1, hertz, &end, at));
    } while (*end == ':');
    if (*end || (crossover->edges == 2 && crossover->hertz[0] >= crossover->hertz[1]))
        return fail(CAUSE_USAGE,
                    "crossover takes a frequency or two increasing ones, such as 80 or 300:3000, "
                    "not '%s'",
                    spec->value);
    crossover->slope = 24;
    if (slope && strcmp(slope, "steep") == 0)
        crossover->slope = 0;
    else
        TRY(design_number(spec, "slope", DESIGN_RANGE(DB, 12, 96), &crossover->slope));
    if (fmod(crossover->slope, 12) != 0)
        return fail(CAUSE_USAGE, "crossover: slope= is 12, 24, 36, ... 96 or steep, not '%s'",
                    slope);
    return STATUS_OK;
}

/* Reads way=. low: 0, mid: 1, high: 2. */
static enum status read_way(const struct design_spec *spec, size_t edges, size_t *way)
{
    static const char *const two[] = {"low", "high", NULL}, *const three[] = {"low", "mid", "high",
                                                                              NULL};
    if (!design_option(spec, "way"))
        return fail(CAUSE_USAGE, "crossover: way=low%s or way=high chooses the way, as in %s",
                    edges == 2 ? ", way=mid" : "", spec->kind->example);
    TRY(design_choose(spec, "way", edges == 2 ? three : two, way));
    if (edges == 1)
        *way *= 2;
    return STATUS_OK;
}

/* Taps until a filter has decayed. The faded eighths of phase_design come on top. */
static double crossover_taps(const struct crossover *crossover, double rate)
{
    double edge = crossover->hertz[0] / rate;
    if (crossover->slope <= 0)
        return window_taps(WINDOW_KAISER, STEEP_ATTEN, STEEP_WIDTH * edge);
    return 2 * RINGING / (2 * M_PI * edge * sin(6 * M_PI / crossover->slope)) * 4 / 3;
}

/* The lower way at an edge by a window, less `taps`. */
static void fill_steep(double edge, double *taps, size_t count)
{
    size_t middle = (count - 1) / 2;
    double attenuation = fmin(STEEP_ATTEN, window_kaiser_attenuation(count, STEEP_WIDTH * edge));
    double beta = window_kaiser_beta(attenuation);
    for (size_t i = 0; i <= 2 * middle; i++) {
        double time = M_PI * ((double)i - (double)middle);
        double ideal = i == middle ? 2 * edge : sin(2 * edge * time) / time;
        taps[i] = ideal * window_at(WINDOW_KAISER, beta, i, 2 * middle + 1) - taps[i];
    }
}

static enum status fill_way(const struct crossover *crossover, size_t edge, double rate,
                            double *taps, size_t count)
{
    const struct phase_magnitude magnitude = {edge == 0 ? low_at : mid_at, crossover};
    if (crossover->slope > 0)
        return phase_design(&magnitude, rate, PHASE_LINEAR, taps, count);
    for (size_t e = 0; e <= edge; e++)
        fill_steep(crossover->hertz[e] / rate, taps, count);
    return STATUS_OK;
}

/* The highest way is what the others leave of a delay. */
static enum status make_crossover(const struct design_spec *spec, struct design *design)
{
    struct crossover crossover = {0};
    size_t way = 0;
    TRY(read_crossover(spec, design->rate, &crossover));
    TRY(read_way(spec, crossover.edges, &way));
    double wanted = fmax(crossover_taps(&crossover, design->rate), CROSSOVER_LEAST);
    size_t taps = (size_t)fmin(wanted, DESIGN_TAPS_MOST - 1) | 1;
    TRY(design_count(spec, "taps", DESIGN_RESPONSE_LEAST, DESIGN_TAPS_MOST, &taps));
    TRY(design_alloc(design, 3, taps));
    design->origin = (taps - 1) / 2;
    double *high = design_column(design, 2);
    high[design->origin] = 1;
    for (size_t edge = 0; edge < crossover.edges; edge++) {
        double *lower = design_column(design, edge);
        TRY(fill_way(&crossover, edge, design->rate, lower, taps));
        for (size_t i = 0; i < taps; i++)
            high[i] -= lower[i];
    }
    memmove(design->coefficients, design_column(design, way), taps * sizeof(double));
    design->columns = 1;
    return STATUS_OK;
}

/* ---- correct: the responses of loudspeakers at several positions ---- */

enum { FILES_MOST = 16, SPEAKERS_MOST = 64, POSITIONS_MOST = 64 };

static const double RINGS_BEFORE = 0.04; /* seconds, the most with phase=mixed */
static const double EARLY = 0.08;        /* seconds that tell the excess phase */
static const double LOWEST = 20;         /* Hz */
static const double SUBWOOFER = 800;     /* Hz; the band of a subwoofer ends below */
static const double BASS_APART = 0.015;  /* seconds between the delay by rises and the right one */
static const double RISEN = 0.5;         /* share of its peak at which a subwoofer has risen */
static const double APART_MOST = 0.2;    /* seconds between the direct sounds of loudspeakers */
static const double USABLE = 0.45;       /* highest frequency as a share of the rate */

struct room_position {
    const struct mask *mask;
    size_t column;
    size_t direct; /* tap of the direct sound */
    double level;  /* dB, the mean over the band */
};

struct corrected_speaker {
    size_t output; /* output that the measurement names, or the column */
    size_t count;
    struct room_position positions[POSITIONS_MOST];
    double level;                /* dB, the mean over the band */
    double direct;               /* seconds until the direct sound, at the first position */
    double to;                   /* Hz, up to which it plays */
    double levels[CURVE_POINTS]; /* later: the correction */
};

enum correct_phase {
    CORRECT_LINEAR = PHASE_LINEAR,
    CORRECT_MINIMUM = PHASE_MINIMUM,
    CORRECT_MIXED
};

struct correction {
    const struct design_spec *spec;
    size_t file_count, speaker_count;
    struct mask *files[FILES_MOST];
    struct corrected_speaker *speakers; /* SPEAKERS_MOST */
    double weights[POSITIONS_MOST];
    struct level_curve target; /* no points: flat */
    struct curve_limits limits;
    double smoothing, cycles; /* see correct_curve.h */
    enum correct_phase phase;
    double excess;    /* Hz; phase=mixed corrects the excess phase below */
    double crossover; /* Hz, between subwoofers and the others; 0: none */
    bool aligns;
    size_t taps, before; /* before: taps before time zero, for phase=mixed */
};

static struct corrected_speaker *find_speaker(struct correction *job, size_t output, bool adds)
{
    for (size_t s = 0; s < job->speaker_count; s++)
        if (job->speakers[s].output == output)
            return &job->speakers[s];
    if (!adds || job->speaker_count == SPEAKERS_MOST)
        return NULL;
    job->speakers[job->speaker_count] = (struct corrected_speaker){.output = output};
    return &job->speakers[job->speaker_count++];
}

/* Adds a file's columns to the loudspeakers; the first file tells which loudspeakers there are. */
static enum status add_columns(struct correction *job, const struct mask *mask)
{
    size_t outputs[MASK_CHANNELS_MOST];
    bool is_first = mask == job->files[0], ok = mask->columns <= MASK_CHANNELS_MOST;
    if (ok)
        TRY(correct_outputs(mask, outputs));
    for (size_t c = 0; ok && c < mask->columns; c++) {
        struct corrected_speaker *speaker = find_speaker(job, outputs[c], is_first);
        ok = speaker && speaker->count < POSITIONS_MOST;
        if (ok)
            speaker->positions[speaker->count++] =
                (struct room_position){.mask = mask, .column = c};
    }
    for (size_t s = 1; ok && s < job->speaker_count; s++)
        ok = job->speakers[s].count == job->speakers[0].count;
    if (ok)
        return STATUS_OK;
    return fail(CAUSE_USAGE,
                "correct: %s has other loudspeakers than the files before, or more than %d: all "
                "files need a response of every loudspeaker",
                mask->name, SPEAKERS_MOST);
}

static enum status load_files(struct correction *job, struct design *design)
{
    char *names = strdup(job->spec->value), *rest = names;
    enum status status = names ? STATUS_OK : fail_memory("a mask");
    for (char *name; status == STATUS_OK && (name = strsep(&rest, "*"));) {
        char *inner[] = {name, NULL};
        if (!*name || job->file_count == FILES_MOST)
            status = fail(CAUSE_USAGE, "correct takes 1 to %d files with * between, such as %s",
                          FILES_MOST, job->spec->kind->example);
        else
            status = design_load_part(job->spec->kind, inner, design->rate, job->spec->load,
                                      &job->files[job->file_count]);
        if (status != STATUS_OK)
            break;
        struct mask *mask = job->files[job->file_count++];
        if (!mask->rate)
            mask->rate = design->rate ? design->rate : DESIGN_RATE_DEFAULT;
        if (!design->rate)
            design->rate = mask->rate;
        if (mask->rate != design->rate)
            status = mask_resample(mask, design->rate, NULL);
        if (status == STATUS_OK)
            status = add_columns(job, mask);
    }
    free(names);
    return status;
}

/* ---- options ---- */

static enum status read_weights(struct correction *job)
{
    const char *text = design_option(job->spec, "weights");
    size_t positions = job->speakers[0].count;
    for (size_t p = 0; p < positions; p++)
        job->weights[p] = 1;
    if (!text)
        return STATUS_OK;
    char *end = (char *)text - 1;
    double sum = 0;
    size_t count = 0;
    do {
        double *weight = &job->weights[count < positions ? count : 0];
        TRY(design_parse(job->spec, "weights=", end + 1, DESIGN_RANGE(PLAIN, 0, 1e6), &end,
                         weight));
        sum += *weight;
        count++;
    } while (*end == ':');
    if (*end || count != positions || sum <= 0)
        return fail(
            CAUSE_USAGE,
            "correct: weights= needs a number for each of the %zu positions, with : between, "
            "not '%s'",
            positions, text);
    return STATUS_OK;
}

static enum status read_smoothing(const struct design_spec *spec, double *octaves)
{
    const char *text = design_option(spec, "smooth");
    double parts = 0;
    if (!text || strcmp(text, "psy") == 0)
        return STATUS_OK;
    TRY(design_number(spec, "smooth", DESIGN_RANGE(PLAIN, 1, 24), &parts));
    *octaves = 1 / parts;
    return STATUS_OK;
}

static double highest_hertz(double rate)
{
    return fmin(20000, USABLE * rate);
}

static enum status read_limits(const struct design_spec *spec, double rate,
                               struct curve_limits *limits)
{
    struct design_range hertz = {DESIGN_HZ, 10, rate / 2};
    *limits = (struct curve_limits){LOWEST, highest_hertz(rate), 6, 15};
    TRY(design_number(spec, "from", hertz, &limits->from));
    TRY(design_number(spec, "to", hertz, &limits->to));
    if (!(limits->from < limits->to))
        return fail(CAUSE_USAGE, "%s: from=%g Hz must be below to=%g Hz", spec->kind->name,
                    limits->from, limits->to);
    TRY(design_number(spec, "boost", DESIGN_RANGE(DB, 0, 40), &limits->boost));
    return design_number(spec, "cut", DESIGN_RANGE(DB, 0, 40), &limits->cut);
}

static enum status read_correction(struct correction *job, const struct design *design)
{
    const struct design_spec *spec = job->spec;
    static const char *const answers[] = {"no", "yes", NULL};
    static const char *const phases[] = {[CORRECT_LINEAR] = "linear",
                                         [CORRECT_MINIMUM] = "minimum",
                                         [CORRECT_MIXED] = "mixed",
                                         NULL};
    size_t aligns = 1, phase = CORRECT_MINIMUM;
    TRY(correct_target_read(design_option(spec, "target"), &job->target));
    TRY(read_limits(spec, design->rate, &job->limits));
    TRY(read_smoothing(spec, &job->smoothing));
    TRY(design_number(spec, "cycles", DESIGN_RANGE(PLAIN, 1, 1000), &job->cycles));
    TRY(read_weights(job));
    TRY(design_number(spec, "crossover", DESIGN_RANGE(HZ, 20, 400), &job->crossover));
    TRY(design_choose(spec, "phase", phases, &phase));
    job->phase = (enum correct_phase)phase;
    if (job->phase == CORRECT_MIXED)
        job->before = (size_t)lround(RINGS_BEFORE * design->rate);
    else if (design_option(spec, "excess"))
        return fail(CAUSE_USAGE, "correct: excess= is for phase=mixed");
    TRY(design_number(spec, "excess", DESIGN_RANGE(HZ, 20, 2000), &job->excess));
    job->taps = fft_double_fitting(design->rate / (job->phase == CORRECT_LINEAR ? 1 : 2));
    TRY(design_choose(spec, "align", answers, &aligns));
    job->aligns = aligns == 1 && job->speaker_count > 1;
    return design_count(spec, "taps", DESIGN_RESPONSE_LEAST, DESIGN_TAPS_MOST, &job->taps);
}

/* ---- the correction of a loudspeaker ---- */

static enum status find_direct_tap(struct room_position *position)
{
    const double *taps = mask_column(position->mask, position->column);
    for (size_t i = 1; i < position->mask->taps; i++)
        if (fabs(taps[i]) > fabs(taps[position->direct]))
            position->direct = i;
    if (taps[position->direct] != 0)
        return STATUS_OK;
    return fail(CAUSE_OTHER, "correct: channel %zu of %s is silent: there is nothing to correct",
                position->column + 1, position->mask->name);
}

static enum status measure_positions(const struct correction *job,
                                     struct corrected_speaker *speaker,
                                     double (*powers)[CURVE_POINTS])
{
    for (size_t i = 0; i < speaker->count; i++) {
        struct room_position *position = &speaker->positions[i];
        const struct mask *mask = position->mask;
        TRY(find_direct_tap(position));
        TRY(curve_measure(mask_column(mask, position->column), mask->taps, position->direct,
                          mask->rate, job->cycles, powers[i]));
    }
    speaker->direct = (double)speaker->positions[0].direct / speaker->positions[0].mask->rate;
    return STATUS_OK;
}

/* Adds up the powers of all positions at one level over the band. Keeps their mean level. */
static void add_positions(const struct correction *job, const struct curve_limits *limits,
                          double (*powers)[CURVE_POINTS], struct corrected_speaker *speaker,
                          double sums[CURVE_POINTS])
{
    double levels[CURVE_POINTS], total = 0;
    speaker->level = 0;
    memset(sums, 0, CURVE_POINTS * sizeof *sums);
    for (size_t i = 0; i < speaker->count; i++) {
        struct room_position *position = &speaker->positions[i];
        double weight = job->weights[i];
        curve_smooth(powers[i], job->smoothing, levels);
        position->level = curve_mean(levels, limits->from, limits->to);
        for (size_t p = 0; p < CURVE_POINTS; p++)
            sums[p] += weight * powers[i][p] / pow(10, position->level / 10);
        speaker->level += weight * position->level;
        total += weight;
    }
    speaker->level /= total;
}

static bool is_subwoofer(const struct corrected_speaker *speaker)
{
    return speaker->to < SUBWOOFER;
}

/* Narrows the band to where the loudspeaker plays, unless from= and to= are given. Beside other
 * loudspeakers, they do not widen the band of a subwoofer. */
static enum status find_band(const struct correction *job, const double powers[CURVE_POINTS],
                             struct corrected_speaker *speaker, struct curve_limits *limits)
{
    double levels[CURVE_POINTS];
    size_t first = curve_point(LOWEST),
           end = curve_point(highest_hertz(speaker->positions[0].mask->rate));
    curve_smooth(powers, 1, levels);
    curve_band(levels, &first, &end);
    speaker->to = curve_hertz(end);
    if (job->speaker_count > 1 && is_subwoofer(speaker))
        limits->to = fmin(limits->to, speaker->to);
    if (limits->from >= limits->to)
        return fail(CAUSE_USAGE, "correct: loudspeaker %zu plays up to %.0f Hz, below from=%g Hz",
                    speaker->output, speaker->to, limits->from);
    first = curve_point(limits->from);
    end = curve_point(limits->to);
    curve_band(levels, &first, &end);
    if (!design_option(job->spec, "from"))
        limits->from = curve_hertz(first);
    if (!design_option(job->spec, "to"))
        limits->to = curve_hertz(end);
    return STATUS_OK;
}

/* Sums the positions at their level over the whole band, finds the loudspeaker's own, and sums them
 * at their level there: noise outside of the band does not count. */
static enum status sum_positions(const struct correction *job, struct corrected_speaker *speaker,
                                 struct curve_limits *limits, double sums[CURVE_POINTS])
{
    double (*powers)[CURVE_POINTS] = calloc(speaker->count, sizeof *powers);
    if (!powers)
        return fail_memory("a mask");
    enum status status = measure_positions(job, speaker, powers);
    if (status == STATUS_OK) {
        add_positions(job, limits, powers, speaker, sums);
        status = find_band(job, sums, speaker, limits);
        add_positions(job, limits, powers, speaker, sums);
    }
    free(powers);
    return status;
}

static enum status correct_speaker(const struct correction *job, struct corrected_speaker *speaker)
{
    double powers[CURVE_POINTS], *levels = speaker->levels;
    struct curve_limits limits = job->limits;
    TRY(sum_positions(job, speaker, &limits, powers));
    curve_smooth(powers, job->smoothing, levels);
    for (size_t p = 0; p < CURVE_POINTS; p++)
        levels[p] =
            (level_curve_count(&job->target) > 0 ? level_curve_at(&job->target, curve_hertz(p))
                                                 : 0) -
            levels[p];
    speaker->level -= levels[0];
    curve_centre(&limits, levels);
    speaker->level += levels[0];
    note_detail("correct: loudspeaker %zu is corrected from %.0f to %.0f Hz", speaker->output,
                limits.from, limits.to);
    curve_limit(&limits, levels);
    return STATUS_OK;
}

static double correction_at(const void *context, double hertz)
{
    const double *levels = context;
    double point = log2(fmax(hertz, curve_hertz(0)) / curve_hertz(0)) * CURVE_PER_OCTAVE;
    size_t below = (size_t)fmin(point, CURVE_POINTS - 2);
    double part = fmin(point - (double)below, 1);
    return pow(10, (levels[below] + part * (levels[below + 1] - levels[below])) / 20);
}

/* The mean of the early responses of all positions, with the direct sound at time zero. */
static void sum_early(const struct correction *job, const struct corrected_speaker *speaker,
                      struct fft_double *fft, double complex *sum)
{
    size_t n = fft_double_length(fft);
    double *samples = fft_double_samples(fft);
    for (size_t i = 0; i < speaker->count; i++) {
        const struct room_position *position = &speaker->positions[i];
        const double *taps = mask_column(position->mask, position->column),
                     rate = position->mask->rate, before = RINGS_BEFORE * rate,
                     after = EARLY * rate;
        double scale = job->weights[i] / pow(10, position->level / 20);
        memset(samples, 0, n * sizeof *samples);
        for (size_t t = 0; t < position->mask->taps; t++) {
            double time = (double)t - (double)position->direct,
                   part = time < 0 ? -time / before : time / after;
            if (part < 1)
                samples[(n + t - position->direct) % n] = taps[t] * (0.5 + 0.5 * cos(M_PI * part)) *
                                                          copysign(scale, taps[position->direct]);
        }
        fft_double_forward(fft);
        for (size_t k = 0; k <= n / 2; k++)
            sum[k] += fft_double_bins(fft)[k];
    }
}

/* Makes the phase of the taps, which follow job->before zeros, a mixed one. */
static enum status mix_phase(const struct correction *job, const struct corrected_speaker *speaker,
                             double rate, double *taps)
{
    struct fft_double *fft;
    size_t n = fft_double_fitting(2 * (job->before + job->taps));
    double complex *bins = calloc(2 * (n / 2 + 1), sizeof *bins);
    enum status status = bins ? fft_double_create(n, &fft) : fail_memory("a mask");
    if (status == STATUS_OK) {
        sum_early(job, speaker, fft, bins);
        excess_phase_undo(fft, bins, rate, job->excess, taps, job->before, job->taps,
                          bins + n / 2 + 1);
        fft_double_destroy(fft);
    }
    free(bins);
    return status;
}

/* A correction, and a way of the crossover. */
struct crossed_levels {
    const double *levels;
    struct crossover crossover; /* no edges: none */
    bool is_low;
};

static double crossed_at(const void *context, double hertz)
{
    const struct crossed_levels *crossed = context;
    double gain = correction_at(crossed->levels, hertz);
    if (crossed->crossover.edges == 0)
        return gain;
    double low = crossover_low(&crossed->crossover, 0, hertz);
    return gain * (crossed->is_low ? low : 1 - low);
}

/* Makes the filter of a loudspeaker: job->before + job->taps taps. */
static enum status make_filter(const struct correction *job,
                               const struct corrected_speaker *speaker, double rate, double *taps)
{
    const struct crossed_levels crossed = {
        .levels = speaker->levels,
        .crossover = {.edges = job->crossover > 0, .hertz = {job->crossover}, .slope = 24},
        .is_low = is_subwoofer(speaker)};
    const struct phase_magnitude magnitude = {crossed_at, &crossed};
    TRY(phase_design(&magnitude, rate, job->phase == CORRECT_LINEAR ? PHASE_LINEAR : PHASE_MINIMUM,
                     taps + job->before, job->taps));
    return job->phase == CORRECT_MIXED ? mix_phase(job, speaker, rate, taps) : STATUS_OK;
}

/* ---- levels and delays between loudspeakers ---- */

static struct bass_path path_at(const struct correction *job, size_t s, size_t position,
                                const double *filters, ptrdiff_t delay)
{
    const struct room_position *at = &job->speakers[s].positions[position];
    size_t count = job->before + job->taps;
    return (struct bass_path){.position = position,
                              .taps = mask_column(at->mask, at->column),
                              .tap_count = at->mask->taps,
                              .filter = filters + s * count,
                              .filter_count = count,
                              .delay = delay};
}

/* Frames from the rise of a subwoofer to its peak. In a room, the peak may be that of a resonance,
 * many milliseconds later. */
static ptrdiff_t rise_frames(const struct room_position *position)
{
    const double *taps = mask_column(position->mask, position->column);
    size_t rise = 0;
    while (fabs(taps[rise]) < RISEN * fabs(taps[position->direct]))
        rise++;
    return (ptrdiff_t)(position->direct - rise);
}

/* Finds the delay of subwoofer `s` from the delays of the others. */
static enum status align_subwoofer(const struct correction *job, size_t s, const double *filters,
                                   double rate, ptrdiff_t *delays)
{
    const struct corrected_speaker *bass = &job->speakers[s];
    struct bass_path *paths = calloc((job->speaker_count + 1) * bass->count, sizeof *paths);
    ptrdiff_t middle = delays[s] + rise_frames(&bass->positions[0]);
    struct bass_search search = {.paths = paths + bass->count,
                                 .bass = paths,
                                 .positions = bass->count,
                                 .weights = job->weights,
                                 .from = middle - (ptrdiff_t)(BASS_APART * rate),
                                 .to = middle + (ptrdiff_t)(BASS_APART * rate)};
    bool inverted = false;
    if (!paths)
        return fail_memory("a mask");
    for (size_t p = 0; p < bass->count; p++) {
        paths[p] = path_at(job, s, p, filters, 0);
        for (size_t m = 0; m < job->speaker_count; m++)
            if (!is_subwoofer(&job->speakers[m]))
                paths[bass->count + search.path_count++] = path_at(job, m, p, filters, delays[m]);
    }
    enum status status = align_bass(&search, &delays[s], &inverted);
    free(paths);
    if (inverted)
        note("correct: loudspeaker %zu adds better to the others with its poles exchanged",
             bass->output);
    return status;
}

/* Finds delays in frames: of direct sounds, and of subwoofers by what they add. The least is 0. */
static enum status find_delays(const struct correction *job, const double *filters, double rate,
                               ptrdiff_t *delays)
{
    double latest = -INFINITY, earliest = INFINITY;
    size_t others = 0;
    ptrdiff_t least = PTRDIFF_MAX;
    for (size_t s = 0; s < job->speaker_count; s++) {
        latest = fmax(latest, job->speakers[s].direct);
        earliest = fmin(earliest, job->speakers[s].direct);
        others += !is_subwoofer(&job->speakers[s]);
    }
    if (latest - earliest > APART_MOST)
        return fail(CAUSE_USAGE,
                    "correct: the direct sounds of the loudspeakers are %.0f ms apart: files must "
                    "keep the delays between loudspeakers, or use align=no",
                    (latest - earliest) * 1000);
    for (size_t s = 0; s < job->speaker_count; s++)
        delays[s] = lround((latest - job->speakers[s].direct) * rate);
    for (size_t s = 0; s < job->speaker_count; s++)
        if (others > 0 && is_subwoofer(&job->speakers[s]))
            TRY(align_subwoofer(job, s, filters, rate, delays));
    for (size_t s = 0; s < job->speaker_count; s++)
        least = delays[s] < least ? delays[s] : least;
    for (size_t s = 0; s < job->speaker_count; s++)
        delays[s] -= least;
    return STATUS_OK;
}

/* Writes the columns. Nearer and louder loudspeakers are delayed and attenuated. */
static enum status put_columns(const struct correction *job, const double *filters,
                               struct design *design)
{
    ptrdiff_t delays[SPEAKERS_MOST] = {0}, spread = 0;
    double quietest = INFINITY;
    size_t total = job->before + job->taps;
    if (job->aligns)
        TRY(find_delays(job, filters, design->rate, delays));
    for (size_t s = 0; s < job->speaker_count; s++) {
        spread = delays[s] > spread ? delays[s] : spread;
        quietest = fmin(quietest, job->speakers[s].level);
    }
    TRY(design_alloc(design, job->speaker_count, total + (size_t)spread));
    design->origin = job->phase == CORRECT_LINEAR ? (job->taps - 1) / 2 : job->before;
    for (size_t s = 0; s < job->speaker_count; s++) {
        double gain = job->aligns ? pow(10, (quietest - job->speakers[s].level) / 20) : 1;
        double *taps = design_column(design, s) + delays[s];
        for (size_t i = 0; i < total; i++)
            taps[i] = gain * filters[s * total + i];
    }
    return STATUS_OK;
}

static enum status fill_columns_of(const struct correction *job, struct design *design)
{
    size_t total = job->before + job->taps;
    double *filters = calloc(job->speaker_count * total, sizeof *filters);
    enum status status = filters ? STATUS_OK : fail_memory("a mask");
    for (size_t s = 0; s < job->speaker_count && status == STATUS_OK; s++)
        status = make_filter(job, &job->speakers[s], design->rate, filters + s * total);
    if (status == STATUS_OK)
        status = put_columns(job, filters, design);
    free(filters);
    return status;
}

static enum status correct(struct correction *job, struct design *design)
{
    TRY(design_need_value(job->spec));
    TRY(load_files(job, design));
    TRY(read_correction(job, design));
    size_t subwoofers = 0;
    for (size_t s = 0; s < job->speaker_count; s++) {
        TRY(correct_speaker(job, &job->speakers[s]));
        subwoofers += is_subwoofer(&job->speakers[s]);
    }
    if (job->crossover > 0 && (subwoofers == 0 || subwoofers == job->speaker_count))
        return fail(CAUSE_USAGE,
                    "correct: crossover= divides the sound between subwoofers, which end below "
                    "%.0f Hz, and others; %s here",
                    SUBWOOFER, subwoofers ? "there are only subwoofers" : "there is no subwoofer");
    return fill_columns_of(job, design);
}

static enum status make_correct(const struct design_spec *spec, struct design *design)
{
    struct correction job = {.spec = spec, .excess = 200};
    job.speakers = calloc(SPEAKERS_MOST, sizeof *job.speakers);
    enum status status = job.speakers ? correct(&job, design) : fail_memory("a mask");
    level_curve_free(&job.target);
    for (size_t f = 0; f < job.file_count; f++)
        mask_destroy(job.files[f]);
    free(job.speakers);
    return status;
}

/* ---- tone: one sound as another ---- */

static enum status make_tone(const struct design_spec *spec, struct design *design)
{
    double powers[CURVE_POINTS], own[CURVE_POINTS], levels[CURVE_POINTS], smoothing = 1.0 / 3;
    const char *like = design_option(spec, "like");
    struct curve_limits limits;
    enum phase phase = PHASE_MINIMUM;
    uint32_t rate, other;
    TRY(design_need_value(spec));
    if (!like)
        return fail(CAUSE_USAGE, "tone: like= names the sound to resemble, as in %s",
                    spec->kind->example);
    TRY(read_smoothing(spec, &smoothing));
    TRY(long_term_spectrum(spec->value, spec->load->allow_truncated, &rate, powers));
    curve_smooth(powers, smoothing, own);
    TRY(long_term_spectrum(like, spec->load->allow_truncated, &other, powers));
    curve_smooth(powers, smoothing, levels);
    if (!design->rate)
        design->rate = rate;
    rate = other < rate ? other : rate;
    TRY(read_limits(spec, rate < design->rate ? rate : design->rate, &limits));
    for (size_t p = 0; p < CURVE_POINTS; p++)
        levels[p] -= own[p];
    curve_centre(&limits, levels);
    curve_limit(&limits, levels);
    TRY(design_phase(spec, &phase));
    size_t taps = fft_double_fitting(design->rate / 4);
    TRY(design_count(spec, "taps", DESIGN_RESPONSE_LEAST, DESIGN_TAPS_MOST, &taps));
    TRY(design_alloc(design, 1, taps));
    design->origin = phase == PHASE_LINEAR ? (taps - 1) / 2 : 0;
    const struct phase_magnitude magnitude = {correction_at, levels};
    return phase_design(&magnitude, design->rate, phase, design->coefficients, taps);
}

const struct design_kind design_correct[] = {
    {"correct", "correct:room.wav*seat2.wav,target=house",
     "target, from, to, boost, cut, smooth, cycles, weights, crossover, phase, excess, align, taps",
     "the correction of loudspeakers that were measured at one position or several, a column for\n"
     "each loudspeaker. target=flat|house|tilt:-0.8|FILE. from= and to= are the band (where the\n"
     "loudspeaker plays), boost= (6 dB) and cut= (15 dB) the limits, smooth=psy|N (an Nth of an\n"
     "octave), cycles= the sound after the direct sound that counts, weights=2:1 those of the\n"
     "positions, crossover=80 divides the sound between subwoofers and the others.\n"
     "phase=minimum|linear|mixed (the room's delay of the bass is corrected, too, below excess=,\n"
     "200 Hz). align=no keeps levels and delays of the loudspeakers",
     .names_file = true, .names_files = true,
     .file_option = "target=", .file_words = "flat house tilt:", .make = make_correct},
    {"tone", "tone:mine.wav,like=theirs.wav", "like, from, to, boost, cut, smooth, phase, taps",
     "what gives a sound the tone of another, like=: the difference of their long-term spectra.\n"
     "boost= (6 dB) and cut= (15 dB) are its limits, smooth=psy|N is an Nth\n"
     "of an octave (3)",
     .names_file = true, .file_option = "like=", .make = make_tone},
    {"crossover", "crossover:80,way=low", "way, slope, taps",
     "a way of a loudspeaker, of linear phase: way=low|high, or low|mid|high of two frequencies\n"
     "(crossover:300:3000). The ways sum to a delay. slope= is in dB an octave (24) or steep",
     .make = make_crossover},
    {0},
};
