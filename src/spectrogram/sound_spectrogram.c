#include "spectrogram/sound_spectrogram.h"

#include "base/plural.h"
#include "base/progress.h"
#include "base/stop.h"
#include "base/workers.h"
#include "spectrogram/spectrogram_frame.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = 1 << 14,
    PADDING = 4,
    BATCH = 32, /* hops that the threads share */
};

/* A section of the sound that moves along it. Positions are in frames of the sound, with silence
 * before its start and after its end. */
struct slide {
    struct source *source;
    struct block samples;
    float **ends;   /* of its channels, for reading */
    int64_t start;  /* position of the first sample */
    size_t filled;  /* samples */
    uint64_t place; /* position of the source */
    bool ended;     /* the source, at `place` */
};

struct sound_work {
    const struct sound_spectrogram_settings *settings;
    struct slide slide;
    struct workers *workers;
    struct spectrogram_frame **frames; /* [worker] */
    float **scratch;                   /* [worker]: rows of one channel's window */
    struct spectrogram *picture;
    struct progress progress;
    float *batch;         /* BATCH hops of rows: the mean of the channels */
    size_t batch_start;   /* sample of the slide where its first hop's window begins */
    uint64_t from, to;    /* frames; `to` UINT64_MAX: the end */
    size_t hops_a_column; /* a power of two */
    size_t hops;          /* so far */
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

/* Append at most a CHUNK. */
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

/* Hold [start, start + size), which is not before the current start. */
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

/* Start at `start`, with silence before the sound. */
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

/* A task: one hop of a batch. */
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

/* Hops from `first` whose middle is in the sound, of which the slide holds a batch; the first hop
 * of all counts anyway. */
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
