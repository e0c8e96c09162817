#include "engine.h"

#include "stop.h"
#include "true_peak.h"

#include <math.h>
#include <string.h>

/* What a run keeps from block to block. */
struct run {
    struct filter *chain;
    struct source *source;
    struct sink *sink;
    const struct engine_run_settings *settings;
    struct engine_totals *totals;
    struct true_peak *true_peak;
    struct sink *tail; /* TAIL_UNTIL: the tail waits in memory for its end to be known */
    struct block in;
    struct block out;
    uint64_t position; /* frames read, lead and silence included */
    uint64_t read;     /* frames that came from the source */
    bool ended;
};

int64_t engine_frames_out(const struct filter *chain, int64_t frames_in, enum tail tail)
{
    if (frames_in == FRAMES_UNKNOWN || tail == TAIL_UNTIL)
        return FRAMES_UNKNOWN;
    return tail == TAIL_FULL ? frames_in + (int64_t)chain->tail : frames_in;
}

static enum status check_finite(const struct run *run, size_t frames)
{
    for (size_t c = 0; c < run->in.channels; c++) {
        size_t bad = audio_find_nonfinite(run->in.data[c], frames);
        if (bad == frames)
            continue;
        const char *what = isnan(run->in.data[c][bad]) ? "not a number" : "infinite";
        uint64_t at = run->read - frames + bad;
        if (at < run->settings->lead) /* met where an edge repeats it */
            return fail(STATUS_FAILED, "cannot filter %s: a frame of channel %zu is %s",
                        run->source->name, c + 1, what);
        return fail(STATUS_FAILED, "cannot filter %s: frame %llu of channel %zu is %s",
                    run->source->name, (unsigned long long)(at - run->settings->lead + 1), c + 1,
                    what);
    }
    return STATUS_OK;
}

static enum status read_block(struct run *run)
{
    size_t got = 0, block = run->chain->block;
    if (!run->ended) {
        enum status status = source_read(run->source, run->in.data, block, &got);
        if (status != STATUS_OK)
            return status;
        run->read += got;
        run->ended = got < block;
        status = check_finite(run, got);
        if (status != STATUS_OK)
            return status;
    }
    block_silence(&run->in, got, block - got);
    run->position += block;
    return STATUS_OK;
}

static uint64_t sound_frames(const struct run *run)
{
    uint64_t around = run->settings->lead + run->settings->trail;
    return run->read > around ? run->read - around : 0;
}

/* Frames of output that are known to be wanted by now. */
static uint64_t wanted(const struct run *run)
{
    uint64_t frames = sound_frames(run);
    return run->ended && run->settings->tail != TAIL_NONE ? frames + run->chain->tail : frames;
}

static enum status measure(const struct run *run, const float *const *planar, size_t frames)
{
    double peak = run->totals->peak;
    for (size_t c = 0; c < run->out.channels; c++) {
        float highest = audio_peak(planar[c], frames);
        if (!isfinite(highest))
            return fail(STATUS_FAILED,
                        "the filtered sound of %s is too loud even for floating "
                        "point; lower it with --gain",
                        run->source->name);
        peak = fmax(peak, (double)highest);
    }
    run->totals->peak = peak;
    if (run->true_peak)
        true_peak_add(run->true_peak, planar, frames);
    return STATUS_OK;
}

static enum status emit(const struct run *run, struct sink *sink, float *const *planar, size_t from,
                        size_t frames)
{
    const float *at[run->out.channels];
    if (frames == 0)
        return STATUS_OK;
    for (size_t c = 0; c < run->out.channels; c++)
        at[c] = planar[c] + from;
    if (sink == run->tail)
        return sink_write(sink, at, frames);
    enum status status = measure(run, at, frames);
    if (status == STATUS_OK)
        status = sink_write(sink, at, frames);
    run->totals->frames_out += frames;
    return status;
}

/* Write what the block at hand holds of the wanted output. */
static enum status write_block(struct run *run, uint64_t *written)
{
    uint64_t skip = run->chain->latency + run->settings->lead;
    uint64_t start = run->position - run->chain->block; /* output frame skip + i is the sound's i */
    uint64_t first = skip + *written;
    uint64_t end = skip + wanted(run);
    if (end > run->position)
        end = run->position;
    if (first >= end)
        return STATUS_OK;
    size_t from = (size_t)(first - start), frames = (size_t)(end - first);
    uint64_t sound = sound_frames(run);
    size_t before = frames;
    if (run->tail && *written + frames > sound)
        before = *written < sound ? (size_t)(sound - *written) : 0;
    *written += frames;
    enum status status = emit(run, run->sink, run->out.data, from, before);
    if (status == STATUS_OK && before < frames)
        status = emit(run, run->tail, run->out.data, from + before, frames - before);
    return status;
}

static void show_progress(const struct run *run, uint64_t written)
{
    const struct engine_run_settings *settings = run->settings;
    if (!settings->progress)
        return;
    int64_t frames = run->source->frames;
    if (frames != FRAMES_UNKNOWN)
        frames -= (int64_t)(settings->lead + settings->trail);
    /* Where a tail ends is not known; that it ends with the full one is near enough. */
    enum tail tail = settings->tail == TAIL_UNTIL ? TAIL_FULL : settings->tail;
    settings->progress(settings->progress_context, written,
                       engine_frames_out(run->chain, frames, tail));
}

static enum status run_blocks(struct run *run)
{
    uint64_t written = 0;
    do {
        if (stop_requested())
            return STATUS_INTERRUPTED;
        enum status status = read_block(run);
        if (status != STATUS_OK)
            return status;
        engine_step(run->chain, (const float *const *)run->in.data, run->out.data);
        if (stop_requested())
            return STATUS_INTERRUPTED; /* the step may have been cut short */
        if (run->chain->notice)
            note("%s", run->chain->notice);
        run->chain->notice = NULL;
        if (run->chain->failure)
            return fail(STATUS_FAILED, "the filter failed: %s; try --backend cpu",
                        run->chain->failure);
        status = write_block(run, &written);
        if (status != STATUS_OK)
            return status;
        show_progress(run, written);
    } while (!run->ended || written < wanted(run));
    return STATUS_OK;
}

/* Write the tail up to the last frame that is not below the level. */
static enum status write_tail(struct run *run)
{
    const struct block *tail = sink_memory(run->tail);
    size_t end = 0;
    for (size_t c = 0; c < tail->channels; c++)
        for (size_t i = tail->frames; i > end; i--)
            if (fabs((double)tail->data[c][i - 1]) >= run->settings->until)
                end = i;
    return emit(run, run->sink, tail->data, 0, end);
}

enum status engine_run(struct filter *chain, struct source *source, struct sink *sink,
                       const struct engine_run_settings *settings, struct engine_totals *totals)
{
    *totals = (struct engine_totals){0};
    struct run run = {
        .chain = chain, .source = source, .sink = sink, .settings = settings, .totals = totals};
    enum status status = block_init(&run.in, chain->inputs, chain->block, "a block");
    if (status == STATUS_OK)
        status = block_init(&run.out, chain->outputs, chain->block, "a block");
    if (status == STATUS_OK && settings->tail == TAIL_UNTIL)
        status = sink_open_memory(chain->outputs, &run.tail);
    if (status == STATUS_OK && settings->true_peak)
        status = true_peak_create(chain->outputs, &run.true_peak);
    if (status == STATUS_OK)
        status = run_blocks(&run);
    if (status == STATUS_OK && run.tail)
        status = write_tail(&run);
    if (status == STATUS_OK && run.true_peak)
        totals->true_peak = fmax(true_peak_finish(run.true_peak), totals->peak);
    totals->frames_in = sound_frames(&run);
    true_peak_destroy(run.true_peak);
    sink_close(run.tail);
    block_free(&run.out);
    block_free(&run.in);
    return status;
}
