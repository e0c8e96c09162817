#include "spectrogram/spectrogram.h"

#include "base/plural.h"
#include "base/progress.h"
#include "base/simd.h"
#include "base/stop.h"
#include "base/workers.h"
#include "signal/audio.h"
#include "signal/fft.h"
#include "sound/port.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- frames ---- */

static const double kaiser_attenuation = 100; /* dB */

/* Every second bin is computed from the bins beside it, faster than by a transform of twice the
 * length. The transform is at least twice as long as the window, which is centred on its first
 * sample. The taps' error at the window's ends is -43 dB; with Hann's values there, -87 dB. */
enum { MID_TAPS = 5, MARGIN = 16 /* floats: a cache line */ };
static const double MID_BETA = 8.5;

/* Powers are not negative, so their bits compare as integers, which vectors can do. */
typedef int32_t powers __attribute__((vector_size(32)));
enum { POWERS = sizeof(powers) / sizeof(int32_t) };

/* A place between two bins; `part` is the second bin's share. */
struct bin_place {
    size_t bin;
    float part;
};

struct bin_row {
    struct bin_place low, middle, high;
    size_t from, end; /* the bins inside the row */
    bool is_empty;    /* the row is above half the rate */
};

struct spectrogram_frame {
    struct spectrogram_frame_settings settings;
    struct fft *fft;
    float *window; /* scaled so that a bin's squared magnitude is its power */
    float *samples;
    float *spectrum; /* with MARGIN floats before and after it */
    float taps[MID_TAPS];
    float *bins; /* power */
    struct bin_row *rows;
};

void spectrogram_frame_destroy(struct spectrogram_frame *frame)
{
    if (!frame)
        return;
    fft_destroy(frame->fft);
    free(frame->window);
    free(frame->samples);
    free(frame->spectrum);
    free(frame->bins);
    free(frame->rows);
    free(frame);
}

/* Makes a periodic window: the value at `size` would be that at 0. */
static void make_window(struct spectrogram_frame *frame)
{
    const struct spectrogram_frame_settings *settings = &frame->settings;
    double beta = window_kaiser_beta(kaiser_attenuation), sum = 0;
    for (size_t i = 0; i < settings->size; i++)
        sum += window_at(settings->window, beta, i, settings->size + 1);
    for (size_t i = 0; i < settings->size; i++)
        frame->window[i] =
            (float)(2 / sum * window_at(settings->window, beta, i, settings->size + 1));
}

/* Makes the taps between two bins, from the nearest outwards: a sinc in a Kaiser window. */
static void make_taps(struct spectrogram_frame *frame)
{
    double taps[MID_TAPS], sum = 0;
    for (size_t i = 0; i < MID_TAPS; i++) {
        double at = M_PI * ((double)i + 0.5);
        taps[i] = sin(at) / at * window_at(WINDOW_KAISER, MID_BETA, MID_TAPS + i, 2 * MID_TAPS);
        sum += 2 * taps[i];
    }
    for (size_t i = 0; i < MID_TAPS; i++)
        frame->taps[i] = (float)(taps[i] / sum);
}

static struct bin_place bin_place_of(double place)
{
    size_t bin = (size_t)place;
    return (struct bin_place){bin, (float)(place - (double)bin)};
}

static void make_rows(struct spectrogram_frame *frame)
{
    const struct spectrogram_frame_settings *settings = &frame->settings;
    size_t length = settings->size * settings->padding;
    double bin = (double)settings->rate / (double)length, last = floor((double)length / 2);
    for (size_t r = 0; r < settings->axis.rows; r++) {
        double low = spectrogram_axis_hz(&settings->axis, (double)r) / bin;
        double high = fmin(spectrogram_axis_hz(&settings->axis, (double)r + 1) / bin, last);
        frame->rows[r] = (struct bin_row){.is_empty = low >= last};
        if (low < last)
            frame->rows[r] = (struct bin_row){
                .low = bin_place_of(low),
                .middle = bin_place_of((low + high) / 2),
                .high = bin_place_of(high),
                .from = (size_t)ceil(low),
                .end = (size_t)ceil(high),
            };
    }
}

enum status spectrogram_frame_create(const struct spectrogram_frame_settings *settings,
                                     struct spectrogram_frame **result)
{
    size_t length = settings->size * settings->padding, transform = length / 2;
    struct spectrogram_frame *frame = calloc(1, sizeof *frame);
    if (!frame)
        return fail_memory("a spectrogram");
    frame->settings = *settings;
    frame->window = audio_alloc(settings->size);
    frame->samples = audio_alloc(transform); /* zero outside the window */
    frame->spectrum = audio_alloc(fft_spectrum_floats(transform) + 2 * MARGIN);
    frame->bins = audio_alloc(length / 2 + 2);
    frame->rows = calloc(settings->axis.rows, sizeof *frame->rows);
    enum status status =
        frame->window && frame->samples && frame->spectrum && frame->bins && frame->rows
            ? fft_create(transform, &frame->fft)
            : fail_memory("a spectrogram");
    if (status != STATUS_OK) {
        spectrogram_frame_destroy(frame);
        return status;
    }
    make_window(frame);
    make_taps(frame);
    make_rows(frame);
    *result = frame;
    return STATUS_OK;
}

static float power_at(const float *bins, struct bin_place place)
{
    const float *at = bins + place.bin;
    return place.part > 0 ? at[0] + place.part * (at[1] - at[0]) : at[0];
}

static inline void keep_larger(powers *most, const float *bins)
{
    powers now, is_larger;
    memcpy(&now, bins, sizeof now);
    is_larger = now > *most;
    *most = (now & is_larger) | (*most & ~is_larger);
}

/* The largest of at least POWERS bins. The last bins may be read twice. */
static inline float largest_of_many(const float *bins, size_t count)
{
    powers most = {0};
    float largest = 0, each[POWERS];
    for (size_t b = 0; b + POWERS < count; b += POWERS)
        keep_larger(&most, bins + b);
    keep_larger(&most, bins + count - POWERS);
    memcpy(each, &most, sizeof each);
    for (size_t i = 0; i < POWERS; i++)
        largest = each[i] > largest ? each[i] : largest;
    return largest;
}

static inline float largest_in(const float *bins, const struct bin_row *row)
{
    float low = power_at(bins, row->low), most = power_at(bins, row->high);
    most = low > most ? low : most;
    if (row->end >= row->from + POWERS) {
        float inner = largest_of_many(bins + row->from, row->end - row->from);
        return inner > most ? inner : most;
    }
    for (size_t b = row->from; b < row->end; b++)
        most = bins[b] > most ? bins[b] : most;
    return most;
}

static float mean_in(const float *bins, const struct bin_row *row)
{
    float sum = 0;
    if (row->from >= row->end)
        return power_at(bins, row->middle);
    for (size_t b = row->from; b < row->end; b++)
        sum += bins[b];
    return sum / (float)(row->end - row->from);
}

SIMD_CLONES
static void apply_window(const float *restrict samples, const float *restrict window,
                         float *restrict out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = samples[i] * window[i];
}

/* Continues the spectrum at both ends by conjugate bins, as for real samples. */
static void extend(float *spectrum, size_t last)
{
    for (size_t i = 1; i < MID_TAPS; i++) {
        spectrum[-2 * (ptrdiff_t)i] = spectrum[2 * i];
        spectrum[-2 * (ptrdiff_t)i + 1] = -spectrum[2 * i + 1];
        spectrum[2 * (last + i)] = spectrum[2 * (last - i)];
        spectrum[2 * (last + i) + 1] = -spectrum[2 * (last - i) + 1];
    }
}

/* Computes powers of bins 0 to `last`, with a value between each bin and the next. */
SIMD_CLONES
static void square(const float *restrict spectrum, const float *restrict taps,
                   float *restrict power, size_t last)
{
    for (size_t b = 0; b <= last; b++) {
        const float *bin = spectrum + 2 * b;
        float re = 0, im = 0;
        for (size_t i = 0; i < MID_TAPS; i++) {
            const float *below = bin - 2 * (ptrdiff_t)i, *above = bin + 2 * (i + 1);
            re += taps[i] * (below[0] + above[0]);
            im += taps[i] * (below[1] + above[1]);
        }
        power[2 * b] = bin[0] * bin[0] + bin[1] * bin[1];
        power[2 * b + 1] = re * re + im * im;
    }
}

SIMD_CLONES
static void gather_largest(const float *bins, const struct bin_row *rows, size_t count,
                           float *power)
{
    for (size_t r = 0; r < count; r++)
        power[r] = rows[r].is_empty ? 0 : largest_in(bins, &rows[r]);
}

void spectrogram_frame_measure(struct spectrogram_frame *frame, const float *samples, float *power)
{
    const struct spectrogram_frame_settings *settings = &frame->settings;
    size_t half = settings->size / 2, transform = fft_length(frame->fft);
    float *spectrum = frame->spectrum + MARGIN;
    apply_window(samples, frame->window, frame->samples + transform - half, half);
    apply_window(samples + half, frame->window + half, frame->samples, settings->size - half);
    fft_forward(frame->fft, frame->samples, spectrum);
    extend(spectrum, transform / 2);
    square(spectrum, frame->taps, frame->bins, transform / 2);
    if (!settings->mean) {
        gather_largest(frame->bins, frame->rows, settings->axis.rows, power);
        return;
    }
    for (size_t r = 0; r < settings->axis.rows; r++)
        power[r] = frame->rows[r].is_empty ? 0 : mean_in(frame->bins, &frame->rows[r]);
}

/* ---- the picture ---- */

double spectrogram_axis_hz(const struct spectrogram_axis *axis, double row)
{
    double share = row / (double)axis->rows;
    return axis->is_log ? axis->low * pow(axis->high / axis->low, share)
                        : axis->low + share * (axis->high - axis->low);
}

double spectrogram_axis_row(const struct spectrogram_axis *axis, double hz)
{
    double share = axis->is_log ? log(hz / axis->low) / log(axis->high / axis->low)
                                : (hz - axis->low) / (axis->high - axis->low);
    return share * (double)axis->rows;
}

void spectrogram_free(struct spectrogram *picture)
{
    free(picture->power);
    *picture = (struct spectrogram){0};
}

struct spectrogram_peak spectrogram_find_peak(const struct spectrogram *picture)
{
    size_t best = 0, rows = picture->axis.rows;
    for (size_t i = 1; i < picture->columns * rows; i++)
        if (picture->power[i] > picture->power[best])
            best = i;
    return (struct spectrogram_peak){
        .power = (double)picture->power[best],
        .seconds = picture->from + ((double)(best / rows) + 0.5) * picture->step,
        .hz = spectrogram_axis_hz(&picture->axis, (double)(best % rows) + 0.5),
    };
}

double spectrogram_db(double power, double floor)
{
    return power > 0 ? fmax(10 * log10(power), floor) : floor;
}

static const double nice[] = {1, 2, 5};
enum { NICE = sizeof nice / sizeof *nice };

static void add_tick(struct spectrogram_ticks *ticks, double value)
{
    if (ticks->count < SPECTROGRAM_TICKS)
        ticks->at[ticks->count++] = value;
}

struct spectrogram_ticks spectrogram_ticks_seconds(double from, double to, size_t most)
{
    struct spectrogram_ticks ticks = {0};
    double decade = pow(10, floor(log10((to - from) / (double)most))), step = 10 * decade;
    for (size_t i = NICE; i-- > 0;)
        if (nice[i] * decade * (double)most >= (to - from) * (1 - 1e-9))
            step = nice[i] * decade;
    double first = ceil(from / step - 1e-9) + 0.0; /* + 0.0 avoids a negative zero */
    for (double i = first; i * step <= to + 1e-9 * step; i++)
        add_tick(&ticks, i * step);
    return ticks;
}

struct spectrogram_ticks spectrogram_ticks_hz(const struct spectrogram_axis *axis, size_t most)
{
    struct spectrogram_ticks ticks = {0};
    if (!axis->is_log)
        return spectrogram_ticks_seconds(axis->low, axis->high, most);
    for (double decade = pow(10, floor(log10(axis->low))); decade <= axis->high; decade *= 10)
        for (size_t i = 0; i < NICE; i++)
            if (nice[i] * decade >= axis->low * (1 - 1e-9) && nice[i] * decade <= axis->high)
                add_tick(&ticks, nice[i] * decade);
    return ticks;
}

void spectrogram_tick_hz(double hz, char text[static SPECTROGRAM_TICK_TEXT])
{
    bool kilo = hz >= 999.9995;
    snprintf(text, SPECTROGRAM_TICK_TEXT, "%.4g%s", kilo ? hz / 1000 : hz, kilo ? "k" : "");
}

/* ---- the spectrogram of a sound ---- */

enum {
    CHUNK = 1 << 14,
    PADDING = 4,
    BATCH = 32, /* hops that threads compute at once */
};

/* A section that moves along the sound. Positions are frames of the sound. Silence surrounds it. */
struct slide {
    struct source *source;
    struct block samples;
    float **ends;   /* pointers into its channels, for reading */
    int64_t start;  /* position of the first sample */
    size_t filled;  /* samples that are there */
    uint64_t place; /* position of the source */
    bool ended;     /* the source has ended, at `place` */
};

struct sound_work {
    const struct sound_spectrogram_settings *settings;
    struct slide slide;
    struct workers *workers;
    struct spectrogram_frame **frames; /* one for each worker */
    float **scratch;                   /* [worker] rows of one channel's window */
    struct spectrogram *picture;
    struct progress progress;
    float *batch;         /* BATCH hops of rows, each the mean of the channels */
    size_t batch_start;   /* the slide's sample at which the first window begins */
    uint64_t from, to;    /* frames; `to` UINT64_MAX: to the end */
    size_t hops_a_column; /* a power of two */
    size_t hops;          /* hops so far */
};

static enum status check_finite(const struct slide *slide, float *const *planar, size_t frames)
{
    for (size_t c = 0; c < slide->samples.channels; c++) {
        size_t bad = audio_find_nonfinite(planar[c], frames);
        if (bad < frames)
            return fail(CAUSE_DAMAGED, "cannot draw %s: frame %llu of channel %zu is %s",
                        slide->source->name, (unsigned long long)(slide->place + bad + 1), c + 1,
                        isnan(planar[c][bad]) ? "not a number" : "infinite");
    }
    return STATUS_OK;
}

/* Appends at most CHUNK frames. */
static enum status slide_read(struct slide *slide, size_t frames)
{
    size_t got = 0;
    for (size_t c = 0; c < slide->samples.channels; c++)
        slide->ends[c] = slide->samples.data[c] + slide->filled;
    TRY(slide->ended ? STATUS_OK : source_read(slide->source, slide->ends, frames, &got));
    if (stop_requested())
        return STATUS_INTERRUPTED;
    TRY(check_finite(slide, slide->ends, got));
    slide->place += got;
    slide->ended = slide->ended || got < frames;
    for (size_t c = 0; c < slide->samples.channels; c++)
        memset(slide->ends[c] + got, 0, (frames - got) * sizeof(float));
    slide->filled += frames;
    return STATUS_OK;
}

/* Moves the section to [start, start + size), which is not before the current start. */
static enum status slide_to(struct slide *slide, int64_t start, size_t size)
{
    if (start + (int64_t)size <= slide->start + (int64_t)slide->filled)
        return STATUS_OK;
    size_t drop = (size_t)(start - slide->start);
    slide->filled -= drop;
    slide->start = start;
    for (size_t c = 0; c < slide->samples.channels; c++)
        memmove(slide->samples.data[c], slide->samples.data[c] + drop,
                slide->filled * sizeof(float));
    while (slide->filled < size)
        TRY(slide_read(slide, CHUNK));
    return STATUS_OK;
}

/* Starts a section at `start`, with silence before the sound. */
static enum status slide_begin(struct slide *slide, int64_t start, size_t size)
{
    uint64_t place = start > 0 ? (uint64_t)start : 0;
    const struct source *source = slide->source;
    TRY(block_init(&slide->samples, source->format.channels, size + CHUNK, "a spectrogram"));
    slide->ends = calloc(source->format.channels, sizeof *slide->ends);
    if (!slide->ends)
        return fail_memory("a spectrogram");
    bool within = source->frames != FRAMES_UNKNOWN && place <= (uint64_t)source->frames;
    if (place > 0 && source->seekable && within) {
        TRY(source_seek(slide->source, place));
        slide->place = place;
    }
    while (slide->place < place && !slide->ended) {
        uint64_t left = place - slide->place;
        TRY(slide_read(slide, left < CHUNK ? (size_t)left : CHUNK));
        slide->filled = 0;
    }
    slide->start = start;
    slide->filled = start < 0 ? (size_t)-start : 0;
    return STATUS_OK;
}

static void keep_largest(float *power, const float *other, size_t rows)
{
    for (size_t r = 0; r < rows; r++)
        power[r] = other[r] > power[r] ? other[r] : power[r];
}

static void halve_columns(struct sound_work *work)
{
    struct spectrogram *picture = work->picture;
    size_t rows = picture->axis.rows;
    for (size_t c = 0; c < picture->columns; c++) {
        float *to = picture->power + c / 2 * rows;
        if (c % 2 == 0)
            memmove(to, picture->power + c * rows, rows * sizeof *to);
        else
            keep_largest(to, picture->power + c * rows, rows);
    }
    picture->columns = (picture->columns + 1) / 2;
    work->hops_a_column *= 2;
}

static float *next_column(struct sound_work *work)
{
    struct spectrogram *picture = work->picture;
    if (work->hops == picture->columns * work->hops_a_column) {
        if (picture->columns == work->settings->columns_most)
            halve_columns(work);
        if (work->hops == picture->columns * work->hops_a_column) {
            float *fresh = picture->power + picture->columns++ * picture->axis.rows;
            memset(fresh, 0, picture->axis.rows * sizeof *fresh);
        }
    }
    work->hops++;
    return picture->power + (picture->columns - 1) * picture->axis.rows;
}

/* A task for workers: computes one hop of a batch. */
static void measure(void *context, size_t hop, size_t worker)
{
    const struct sound_work *work = context;
    const struct block *samples = &work->slide.samples;
    size_t rows = work->picture->axis.rows, one = work->settings->channel;
    size_t at = work->batch_start + hop * work->settings->hop;
    float *mean = work->batch + hop * rows, *power = work->scratch[worker];
    memset(mean, 0, rows * sizeof *mean);
    for (size_t c = one ? one - 1 : 0; c < (one ? one : samples->channels); c++) {
        spectrogram_frame_measure(work->frames[worker], samples->data[c] + at, power);
        for (size_t r = 0; r < rows; r++)
            mean[r] += power[r] / (one ? 1 : (float)samples->channels);
    }
}

static enum status check(struct sound_work *work)
{
    const struct sound_spectrogram_settings *settings = work->settings;
    const struct source *source = work->slide.source;
    double rate = source->format.rate;
    if (settings->channel > source->format.channels)
        return fail(CAUSE_USAGE, "%s has %zu channel%s, and no channel %zu", source->name,
                    source->format.channels, plural_s(source->format.channels), settings->channel);
    work->from = (uint64_t)llrint(settings->from * rate);
    work->to = settings->to > 0 ? (uint64_t)llrint(settings->to * rate) : UINT64_MAX;
    if (work->from >= work->to)
        return fail(CAUSE_USAGE, "cannot draw %s from %g s to %g s: the range is empty",
                    source->name, settings->from, settings->to);
    return STATUS_OK;
}

static enum status check_end(const struct sound_work *work)
{
    const struct slide *slide = &work->slide;
    if (work->from < work->to)
        return STATUS_OK;
    if (slide->place == 0)
        return fail(CAUSE_DAMAGED, "cannot draw %s: it is empty", slide->source->name);
    return fail(CAUSE_USAGE, "cannot draw %s from %g s: it is %g s long", slide->source->name,
                work->settings->from, (double)slide->place / slide->source->format.rate);
}

static enum status make_frames(struct sound_work *work,
                               const struct spectrogram_frame_settings *settings)
{
    TRY(workers_create(0, &work->workers));
    size_t workers = workers_count(work->workers), rows = settings->axis.rows;
    work->frames = calloc(workers, sizeof(struct spectrogram_frame *));
    work->scratch = calloc(workers, sizeof *work->scratch);
    work->batch = calloc(BATCH * rows, sizeof *work->batch);
    if (!work->frames || !work->scratch || !work->batch)
        return fail_memory("a spectrogram");
    for (size_t w = 0; w < workers; w++) {
        work->scratch[w] = calloc(rows, sizeof *work->scratch[w]);
        TRY(work->scratch[w] ? spectrogram_frame_create(settings, &work->frames[w])
                             : fail_memory("a spectrogram"));
    }
    return STATUS_OK;
}

static void free_frames(struct sound_work *work)
{
    for (size_t w = 0; w < workers_count(work->workers); w++) {
        if (work->frames)
            spectrogram_frame_destroy(work->frames[w]);
        if (work->scratch)
            free(work->scratch[w]);
    }
    free(work->frames);
    free(work->scratch);
    free(work->batch);
    workers_destroy(work->workers);
}

static enum status work_init(struct sound_work *work)
{
    const struct sound_spectrogram_settings *settings = work->settings;
    struct source *source = work->slide.source;
    struct spectrogram_frame_settings frame = {
        .window = settings->window,
        .size = settings->size,
        .padding = PADDING,
        .rate = source->format.rate,
        .axis = settings->axis,
    };
    int64_t start = (int64_t)(work->from + settings->hop / 2) - (int64_t)(settings->size / 2);
    *work->picture = (struct spectrogram){
        .axis = settings->axis,
        .from = (double)work->from / source->format.rate,
        .power = calloc(settings->columns_most * settings->axis.rows, sizeof(float)),
    };
    TRY(work->picture->power ? make_frames(work, &frame) : fail_memory("a spectrogram"));
    return slide_begin(&work->slide, start, settings->size + (BATCH - 1) * settings->hop);
}

/* The number of hops from `first` on whose middle is in the sound, up to a batch. Hop 0 counts. */
static size_t hops_within(struct sound_work *work, size_t first)
{
    const struct slide *slide = &work->slide;
    if (slide->ended && slide->place < work->to)
        work->to = slide->place;
    size_t hops = 0;
    while (
        hops < BATCH &&
        (work->from + (first + hops) * work->settings->hop + work->settings->hop / 2 < work->to ||
         first + hops == 0))
        hops++;
    return hops;
}

static enum status run(struct sound_work *work)
{
    size_t size = work->settings->size, hop = work->settings->hop, rows, hops = BATCH;
    struct slide *slide = &work->slide;
    TRY(check(work));
    TRY(work_init(work));
    rows = work->picture->axis.rows;
    for (size_t k = 0; hops == BATCH; k += hops) {
        uint64_t middle = work->from + k * hop + hop / 2;
        int64_t start = (int64_t)middle - (int64_t)(size / 2);
        TRY(slide_to(slide, start, size + (BATCH - 1) * hop));
        work->batch_start = (size_t)(start - slide->start);
        hops = hops_within(work, k);
        workers_run(work->workers, hops, measure, work);
        if (stop_requested()) /* pieces may be missing */
            return STATUS_INTERRUPTED;
        for (size_t h = 0; h < hops; h++)
            keep_largest(next_column(work), work->batch + h * rows, rows);
        progress_update(&work->progress, middle, slide->source->frames);
    }
    return STATUS_OK;
}

enum status sound_spectrogram_init(struct source *source,
                                   const struct sound_spectrogram_settings *settings,
                                   struct spectrogram *picture, uint64_t *frames)
{
    struct sound_work work = {
        .settings = settings, .slide.source = source, .picture = picture, .hops_a_column = 1};
    *picture = (struct spectrogram){0};
    progress_begin(&work.progress, source->format.rate, true);
    enum status status = run(&work);
    if (work.progress.shown)
        note_transient("%s", ""); /* the picture may go to the same terminal */
    if (status == STATUS_OK)
        status = check_end(&work);
    picture->step = (double)(work.hops_a_column * settings->hop) / (double)source->format.rate;
    *frames = work.to - work.from;
    if (status != STATUS_OK)
        spectrogram_free(picture);
    free_frames(&work);
    block_free(&work.slide.samples);
    free(work.slide.ends);
    return status;
}
