#include "spectrogram/sound_spectrogram.h"

#include "base/progress.h"
#include "base/stop.h"
#include "spectrogram/spectrogram_frame.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 14, PADDING = 4 };

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
    struct spectrogram_frame *frame;
    struct spectrogram *picture;
    struct progress progress;
    float *row_power;     /* of one channel's window */
    uint64_t from, to;    /* frames; `to` UINT64_MAX: the end */
    size_t hops_a_column; /* a power of two */
    size_t hops;          /* so far */
};

static enum status check_finite(const struct slide *slide, float *const *planar, size_t frames)
{
    for (size_t c = 0; c < slide->samples.channels; c++) {
        size_t bad = audio_find_nonfinite(planar[c], frames);
        if (bad < frames)
            return fail(STATUS_FAILED, "cannot draw %s: frame %llu of channel %zu is %s",
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

static void measure(struct sound_work *work, size_t at, float *column)
{
    const struct block *samples = &work->slide.samples;
    size_t rows = work->picture->axis.rows, one = work->settings->channel;
    float *mean = work->row_power, *power = mean + rows;
    memset(mean, 0, rows * sizeof *mean);
    for (size_t c = one ? one - 1 : 0; c < (one ? one : samples->channels); c++) {
        spectrogram_frame_measure(work->frame, samples->data[c] + at, power);
        for (size_t r = 0; r < rows; r++)
            mean[r] += power[r] / (one ? 1 : (float)samples->channels);
    }
    keep_largest(column, mean, rows);
}

static enum status check(struct sound_work *work)
{
    const struct sound_spectrogram_settings *settings = work->settings;
    const struct source *source = work->slide.source;
    double rate = source->format.rate;
    if (settings->channel > source->format.channels)
        return fail(STATUS_USAGE, "%s has %zu channel%s, and no channel %zu", source->name,
                    source->format.channels, source->format.channels == 1 ? "" : "s",
                    settings->channel);
    work->from = (uint64_t)llrint(settings->from * rate);
    work->to = settings->to > 0 ? (uint64_t)llrint(settings->to * rate) : UINT64_MAX;
    if (work->from >= work->to)
        return fail(STATUS_USAGE, "cannot draw %s from %g s to %g s: the range is empty",
                    source->name, settings->from, settings->to);
    return STATUS_OK;
}

static enum status check_end(const struct sound_work *work)
{
    const struct slide *slide = &work->slide;
    if (work->from < work->to)
        return STATUS_OK;
    if (slide->place == 0)
        return fail(STATUS_FAILED, "cannot draw %s: it is empty", slide->source->name);
    return fail(STATUS_USAGE, "cannot draw %s from %g s: it is %g s long", slide->source->name,
                work->settings->from, (double)slide->place / slide->source->format.rate);
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
    work->row_power = calloc(2 * settings->axis.rows, sizeof *work->row_power);
    TRY(work->picture->power && work->row_power ? spectrogram_frame_create(&frame, &work->frame)
                                                : fail_memory("a spectrogram"));
    return slide_begin(&work->slide, start, settings->size);
}

static enum status run(struct sound_work *work)
{
    size_t size = work->settings->size, hop = work->settings->hop;
    struct slide *slide = &work->slide;
    TRY(check(work));
    TRY(work_init(work));
    for (size_t k = 0;; k++) {
        uint64_t middle = work->from + k * hop + hop / 2;
        int64_t start = (int64_t)middle - (int64_t)(size / 2);
        TRY(slide_to(slide, start, size));
        uint64_t end = slide->ended && slide->place < work->to ? slide->place : work->to;
        work->to = end;
        if (middle >= end && k > 0)
            return STATUS_OK;
        measure(work, (size_t)(start - slide->start), next_column(work));
        progress_update(&work->progress, middle, slide->source->frames);
    }
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
    spectrogram_frame_destroy(work.frame);
    free(work.row_power);
    block_free(&work.slide.samples);
    free(work.slide.ends);
    return status;
}
