#include "sound/engine.h"

#include "base/laps.h"
#include "base/monotonic.h"
#include "base/stop.h"
#include "base/thread.h"
#include "signal/loudness.h"
#include "signal/real.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* Which side has all slots at first: the owner or the thread. */
enum io_thread_begin { IO_THREAD_WITH_OWNER, IO_THREAD_WITH_THREAD };

enum { ENGINE_SLOTS = 2 }; /* blocks before the chain, and after it: one in use, one pending */

/* A block from the source. */
struct engine_input {
    struct real_block block;
    uint64_t read; /* frames read from the source, including this block */
    bool ended;
    enum status status;
    struct failure problem;
};

/* A block from the chain. */
struct engine_output {
    struct real_block block;
    uint64_t position; /* frames processed, including lead and silence after the sound */
    uint64_t read;
    bool ended;
};

/* The state of a run. The reader thread owns the source, the writer thread sink and totals. */
struct engine_job {
    struct filter *chain;
    struct source *source;
    struct sink *sink;
    const struct engine_run_settings *settings;
    struct engine_totals *totals;
    struct true_peak *true_peak;
    struct sink *tail; /* TAIL_UNTIL: memory for the tail until its end is known */
    enum tail kind;
    double until;
    uint64_t known;     /* frames of the tail that are known to exist */
    uint64_t most;      /* most frames of the tail to process */
    bool begun;         /* a block was read */
    uint64_t last_loud; /* frames of sound and tail up to the end of the last loud block */

    struct io_thread *reader; /* NULL: the caller's thread reads */
    struct engine_input inputs[ENGINE_SLOTS];
    uint64_t read; /* reader only: frames read */
    bool ended;
    bool broken; /* reader only: reading has failed */

    struct io_thread *writer; /* NULL: the caller's thread writes */
    struct engine_output outputs[ENGINE_SLOTS];
    uint64_t written; /* writer only: frames written */
    struct failure write_problem;
    atomic_int write_status; /* enum status; after an error nothing more is written */
};

/* ---- the threads that read and write ---- */

enum { POLL_MS = 50 }; /* interval at which a wait looks for signals */

/* A thread that works on numbered slots in turn. The owner takes a slot, uses it and gives it. */
struct io_thread {
    size_t slots;
    size_t lent; /* slots that the owner may take before the thread worked: all or 0 */
    void (*work)(void *context, size_t slot);
    void *context;
    pthread_t thread;
    bool started;
    size_t taken; /* slots that the owner has taken; owner only */

    pthread_mutex_t lock;
    pthread_cond_t given_some;
    pthread_cond_t done_some;
    size_t given; /* slots given to the thread; guarded by the lock */
    size_t done;  /* slots that the thread has processed; guarded by the lock */
    bool leave;   /* tells the thread to end; guarded by the lock */
};

static void *io_thread_main(void *argument)
{
    struct io_thread *io_thread = argument;
    pthread_mutex_lock(&io_thread->lock);
    for (;;) {
        while (io_thread->given == io_thread->done && !io_thread->leave)
            pthread_cond_wait(&io_thread->given_some, &io_thread->lock);
        if (io_thread->leave)
            break;
        size_t slot = io_thread->done % io_thread->slots;
        pthread_mutex_unlock(&io_thread->lock);
        io_thread->work(io_thread->context, slot);
        pthread_mutex_lock(&io_thread->lock);
        io_thread->done++;
        pthread_mutex_unlock(&io_thread->lock);
        pthread_cond_signal(&io_thread->done_some);
        pthread_mutex_lock(&io_thread->lock);
    }
    pthread_mutex_unlock(&io_thread->lock);
    return NULL;
}

/* Stop the thread after the current slot and wait for it; other slots are dropped. */
static void io_thread_destroy(struct io_thread *io_thread)
{
    if (!io_thread)
        return;
    pthread_mutex_lock(&io_thread->lock);
    io_thread->leave = true;
    pthread_cond_signal(&io_thread->given_some);
    pthread_mutex_unlock(&io_thread->lock);
    if (io_thread->started)
        pthread_join(io_thread->thread, NULL);
    pthread_cond_destroy(&io_thread->given_some);
    pthread_cond_destroy(&io_thread->done_some);
    pthread_mutex_destroy(&io_thread->lock);
    free(io_thread);
}

/* Errors: memory or threads. */
static enum status io_thread_create(size_t slots, enum io_thread_begin begin,
                                    void (*work)(void *context, size_t slot), void *context,
                                    struct io_thread **result)
{
    struct io_thread *io_thread = calloc(1, sizeof *io_thread);
    if (!io_thread)
        return fail_memory("a thread");
    io_thread->slots = slots;
    io_thread->work = work;
    io_thread->context = context;
    io_thread->lent = begin == IO_THREAD_WITH_OWNER ? slots : 0;
    io_thread->given = begin == IO_THREAD_WITH_THREAD ? slots : 0;
    pthread_mutex_init(&io_thread->lock, NULL);
    pthread_cond_init(&io_thread->given_some, NULL);
    thread_condition_init(&io_thread->done_some);
    io_thread->started = thread_start(&io_thread->thread, "halo file", THREAD_AS_CALLER,
                                      io_thread_main, io_thread) == 0;
    if (!io_thread->started) {
        io_thread_destroy(io_thread);
        return fail(CAUSE_NO_MEMORY, "cannot start a thread to read or write with");
    }
    *result = io_thread;
    return STATUS_OK;
}

/* Wait for the next slot. STATUS_INTERRUPTED: a signal asked to stop. */
static enum status io_thread_take(struct io_thread *io_thread, size_t *slot)
{
    pthread_mutex_lock(&io_thread->lock);
    while (io_thread->done + io_thread->lent == io_thread->taken && !stop_requested()) {
        struct timespec until = monotonic_after(POLL_MS);
        pthread_cond_timedwait(&io_thread->done_some, &io_thread->lock, &until);
    }
    pthread_mutex_unlock(&io_thread->lock);
    if (stop_requested())
        return STATUS_INTERRUPTED;
    *slot = io_thread->taken++ % io_thread->slots;
    return STATUS_OK;
}

static void io_thread_give(struct io_thread *io_thread)
{
    pthread_mutex_lock(&io_thread->lock);
    io_thread->given++;
    pthread_mutex_unlock(&io_thread->lock);
    /* after unlocking, as the woken thread would wait for the lock */
    pthread_cond_signal(&io_thread->given_some);
}

/* Wait until all given slots are processed. */
static void io_thread_finish(struct io_thread *io_thread)
{
    pthread_mutex_lock(&io_thread->lock);
    while (io_thread->done < io_thread->given)
        pthread_cond_wait(&io_thread->done_some, &io_thread->lock);
    pthread_mutex_unlock(&io_thread->lock);
}

/* ---- frames ---- */

/* Frames of the sound among the `read` frames of the source. */
static uint64_t engine_sound_frames(const struct engine_job *run, uint64_t read)
{
    uint64_t around = run->settings->lead + run->settings->trail;
    return read > around ? read - around : 0;
}

/* Frames of output wanted so far. */
static uint64_t engine_wanted(const struct engine_job *run, uint64_t read, bool ended)
{
    uint64_t frames = engine_sound_frames(run, read), known = run->settings->sound_frames;
    if (run->settings->whole)
        return !ended ? read
                      : read + run->chain->latency + (run->kind != TAIL_NONE ? run->most : 0);
    if (run->kind != TAIL_NONE)
        return ended ? frames + run->most : frames;
    return run->settings->knows_sound && frames > known ? known : frames;
}

/* Frame of the chain's output at which the sound begins, and the first frame that is written. */
static uint64_t engine_first_of_sound(const struct engine_job *run)
{
    return run->chain->latency + run->settings->lead;
}

static uint64_t engine_first_written(const struct engine_job *run)
{
    return run->settings->whole ? 0 : engine_first_of_sound(run);
}

/* Frames of output, at most `all`, that are complete after `position` frames of the chain. */
static uint64_t engine_frames_done(const struct engine_job *run, uint64_t position, uint64_t all)
{
    uint64_t skip = engine_first_written(run);
    uint64_t out = position > skip ? position - skip : 0;
    return out < all ? out : all;
}

/* ---- blocks from the source ---- */

static enum status check_finite(const struct engine_job *run, const struct real_block *block,
                                size_t frames)
{
    for (size_t c = 0; c < block->channels; c++) {
        size_t bad = audio_find_nonfinite(block->data[c], frames);
        if (bad == frames)
            continue;
        char where[32] = "a frame"; /* in the lead the frame's number depends on the boundary */
        uint64_t at = run->read - frames + bad, lead = run->settings->lead;
        if (at >= lead)
            snprintf(where, sizeof where, "frame %llu", (unsigned long long)(at - lead + 1));
        return fail(CAUSE_DAMAGED, "cannot filter %s: %s of channel %zu is %s", run->source->name,
                    where, c + 1, isnan(block->data[c][bad]) ? "not a number" : "infinite");
    }
    return STATUS_OK;
}

/* The sum of squares of some frames of all channels, in the order of time. */
static double engine_energy(size_t channels, const real *const *planar, size_t from, size_t frames)
{
    double sum = 0;
    for (size_t c = 0; c < channels; c++)
        for (size_t i = from; i < from + frames; i++)
            sum += (double)planar[c][i] * (double)planar[c][i];
    return sum;
}

static enum status read_block(struct engine_job *run, struct real_block *block)
{
    size_t got = 0;
    if (!run->ended) {
        TRY(REAL(source_read)(run->source, block->data, block->frames, &got));
        run->read += got;
        run->ended = got < block->frames;
        TRY(check_finite(run, block, got));
        if (run->settings->whole)
            run->totals->power.in +=
                engine_energy(block->channels, (const real *const *)block->data, 0, got);
    }
    block_silence(block, got, block->frames - got);
    return STATUS_OK;
}

/* Reads the next block into inputs[slot]. On the reader thread, if any. */
static void engine_read_input(void *context, size_t slot)
{
    struct engine_job *run = context;
    struct engine_input *input = &run->inputs[slot];
    if (run->broken)
        return;
    struct log_keeper before = log_keep_failure(&input->problem);
    int64_t lap = lap_begin();
    input->status = read_block(run, &input->block);
    lap_end(LAP_READ, lap);
    log_keep_again(&before);
    input->read = run->read;
    input->ended = run->ended;
    run->broken = input->status != STATUS_OK;
}

/* ---- blocks to the sink, measured ---- */

static enum status measure(const struct engine_job *run, const real *const *planar, size_t frames)
{
    double peak = run->totals->peak;
    for (size_t c = 0; c < run->chain->outputs; c++) {
        real highest = audio_peak(planar[c], frames);
        if (!isfinite(highest))
            return fail(CAUSE_OTHER,
                        "the output for %s exceeds floating point; lower it with --gain",
                        run->source->name);
        peak = fmax(peak, (double)highest);
    }
    run->totals->peak = peak;
    if (run->true_peak)
        REAL(true_peak_add)(run->true_peak, planar, frames);
    struct loudness *loudness = run->settings->loudness;
    return loudness ? REAL(loudness_add)(loudness, planar, frames) : STATUS_OK;
}

static enum status emit_some(const struct engine_job *run, struct sink *sink, const real *const *at,
                             size_t frames)
{
    int64_t lap = lap_begin();
    TRY(measure(run, at, frames));
    lap_end(LAP_MEASURE, lap);
    run->totals->frames_out += frames;
    lap = lap_begin();
    enum status status = REAL(sink_write)(sink, at, frames);
    lap_end(LAP_WRITE, lap);
    return status;
}

/* Measure and write frames in small pieces, so that they are still in the cache when they are
 * written. The true peak is measured in its own pieces. */
static enum status emit(const struct engine_job *run, struct sink *sink, real *const *planar,
                        size_t from, size_t frames)
{
    const real *at[run->chain->outputs];
    bool at_once = sink == run->tail || run->true_peak;
    size_t most = at_once ? frames : audio_chunk_frames(run->chain->outputs);
    for (size_t done = 0, part; done < frames; done += part) {
        part = frames - done < most ? frames - done : most;
        for (size_t c = 0; c < run->chain->outputs; c++)
            at[c] = planar[c] + from + done;
        TRY(sink == run->tail ? REAL(sink_write)(sink, at, part) : emit_some(run, sink, at, part));
    }
    return STATUS_OK;
}

/* Add the power of the chain's frames from `first` to `end`, which are written. */
static void measure_power(const struct engine_job *run, const struct engine_output *output,
                          uint64_t first, uint64_t end)
{
    const real *const *planar = (const real *const *)output->block.data;
    size_t channels = run->chain->outputs;
    struct engine_power *power = &run->totals->power;
    uint64_t start = output->position - run->chain->block, zero = engine_first_of_sound(run);
    uint64_t sound = zero + (run->settings->knows_sound ? run->settings->sound_frames
                                                        : engine_sound_frames(run, output->read));
    uint64_t from = zero < first ? first : zero > end ? end : zero;
    uint64_t to = sound < from ? from : sound > end ? end : sound;
    power->lead += engine_energy(channels, planar, (size_t)(first - start), (size_t)(from - first));
    power->sound += engine_energy(channels, planar, (size_t)(from - start), (size_t)(to - from));
    if (!run->tail) /* otherwise engine_write_tail() adds the part that is written */
        power->tail += engine_energy(channels, planar, (size_t)(to - start), (size_t)(end - to));
}

/* Write the wanted frames of a block. */
static enum status write_block(struct engine_job *run, const struct engine_output *output)
{
    uint64_t skip = engine_first_written(run);
    /* frame skip + i is written as frame i */
    uint64_t start = output->position - run->chain->block;
    uint64_t first = skip + run->written;
    uint64_t end = skip + engine_wanted(run, output->read, output->ended);
    if (end > output->position)
        end = output->position;
    if (first >= end)
        return STATUS_OK;
    if (run->settings->whole)
        measure_power(run, output, first, end);
    size_t from = (size_t)(first - start), frames = (size_t)(end - first);
    uint64_t sound = engine_sound_frames(run, output->read) + engine_first_of_sound(run) - skip;
    size_t before = frames;
    if (run->tail && run->written + frames > sound)
        before = run->written < sound ? (size_t)(sound - run->written) : 0;
    run->written += frames;
    TRY(emit(run, run->sink, output->block.data, from, before));
    return emit(run, run->tail, output->block.data, from + before, frames - before);
}

/* Writes the wanted frames of outputs[slot]. On the writer thread, if any. */
static void engine_write_output(void *context, size_t slot)
{
    struct engine_job *run = context;
    if (atomic_load(&run->write_status) != STATUS_OK)
        return;
    struct log_keeper before = log_keep_failure(&run->write_problem);
    enum status status = write_block(run, &run->outputs[slot]);
    log_keep_again(&before);
    atomic_store(&run->write_status, (int)status);
}

/* Write the tail after all blocks, up to the last frame that is not below the level. */
static enum status engine_write_tail(struct engine_job *run)
{
    const struct real_block *tail = REAL(sink_memory)(run->tail);
    size_t end = 0;
    for (size_t c = 0; c < tail->channels; c++)
        for (size_t i = tail->frames; i > end; i--)
            if (fabs((double)tail->data[c][i - 1]) >= run->until)
                end = i;
    run->totals->tail = end;
    if (run->settings->whole)
        run->totals->power.tail =
            engine_energy(tail->channels, (const real *const *)tail->data, 0, end);
    run->totals->tail_cut = run->chain->tail_unknown && end > run->known &&
                            tail->frames - end < run->source->format.rate / 10;
    return emit(run, run->sink, tail->data, 0, end);
}

/* ---- the run ---- */

enum {
    UNKNOWN_MOST = 30, /* seconds of a tail after its known part */
    UNKNOWN_QUIET = 5, /* seconds of quiet that end a tail */
};
static const double UNKNOWN_LEVEL = 1e-4; /* -80 dBFS */

static void show_progress(const struct engine_job *run, uint64_t written)
{
    const struct engine_run_settings *settings = run->settings;
    if (!settings->progress)
        return;
    int64_t frames = run->source->frames;
    if (frames != FRAMES_UNKNOWN)
        frames -= (int64_t)(settings->lead + settings->trail);
    /* If the tail's length is unknown, the total is an estimate. */
    if (frames != FRAMES_UNKNOWN && run->kind != TAIL_NONE)
        frames += (int64_t)run->known;
    settings->progress(settings->progress_context, written, frames);
}

/* Print the first error that the caller's thread gets to know. No other thread prints errors. */
static enum status report(enum status status, const struct failure *problem)
{
    return status == STATUS_FAILED || status == STATUS_USAGE ? fail_again(problem) : status;
}

static enum status write_result(struct engine_job *run)
{
    return report((enum status)atomic_load(&run->write_status), &run->write_problem);
}

static enum status next_input(struct engine_job *run, const struct engine_input **input)
{
    size_t slot = 0;
    int64_t lap = lap_begin();
    if (run->reader)
        TRY(io_thread_take(run->reader, &slot));
    else
        engine_read_input(run, slot);
    lap_end(run->begun ? LAP_STARVED : LAP_FIRST, lap);
    run->begun = true;
    *input = &run->inputs[slot];
    return report((*input)->status, &(*input)->problem);
}

static bool is_too_late(const struct engine_job *run)
{
    return run->settings->stop_late && run->chain->late > 0;
}

static enum status step(struct engine_job *run, const struct engine_input *input,
                        struct engine_output *output)
{
    if (stop_requested())
        return STATUS_INTERRUPTED;
    int64_t lap = lap_begin();
    REAL(filter_process)(run->chain, (const real *const *)input->block.data, output->block.data);
    lap_end(LAP_STEP, lap);
    if (stop_requested())
        return STATUS_INTERRUPTED; /* the step may have been cut short */
    if (run->chain->failure)
        return fail(CAUSE_OTHER, "%s", run->chain->failure);
    if (run->chain->notice && !is_too_late(run))
        warning("%s", run->chain->notice);
    run->chain->notice = NULL;
    return STATUS_OK;
}

/* Whether a tail of unknown length has been quiet for long enough after `done` frames. */
static bool is_quiet(struct engine_job *run, const struct engine_output *output, uint64_t done)
{
    uint64_t known = engine_sound_frames(run, output->read) + run->known;
    if (!run->chain->tail_unknown || run->kind == TAIL_TIME || !output->ended || done <= known)
        return false;
    for (size_t c = 0; c < run->chain->outputs; c++)
        if (!((double)audio_peak(output->block.data[c], run->chain->block) < run->until))
            run->last_loud = done;
    if (run->last_loud < known)
        run->last_loud = known;
    return done - run->last_loud >= (uint64_t)UNKNOWN_QUIET * run->source->format.rate;
}

/* One block from the source through the chain to the sink. */
static enum status run_block(struct engine_job *run, uint64_t position, bool *last)
{
    const struct engine_input *input;
    size_t slot = 0;
    TRY(next_input(run, &input));
    int64_t lap = lap_begin();
    if (run->writer)
        TRY(io_thread_take(run->writer, &slot));
    lap_end(LAP_HELD, lap);
    struct engine_output *output = &run->outputs[slot];
    TRY(step(run, input, output));
    output->position = position;
    output->read = input->read;
    output->ended = input->ended;
    uint64_t all = engine_wanted(run, input->read, input->ended);
    uint64_t done = engine_frames_done(run, position, all);
    *last = (input->ended && done == all) || is_too_late(run) || is_quiet(run, output, done);
    if (run->reader)
        io_thread_give(run->reader);
    if (run->writer)
        io_thread_give(run->writer);
    else
        engine_write_output(run, slot);
    show_progress(run, done);
    return write_result(run);
}

static enum status run_blocks(struct engine_job *run)
{
    bool last = false;
    for (uint64_t position = run->chain->block; !last; position += run->chain->block)
        TRY(run_block(run, position, &last));
    int64_t lap = lap_begin();
    if (run->writer)
        io_thread_finish(run->writer);
    lap_end(LAP_HELD, lap);
    return write_result(run);
}

/* Start threads that read and write in parallel with the chain, unless settings.alone is set. A
 * port that waits for another program stays on the caller's thread, where signals end the wait. */
static enum status start_threads(struct engine_job *run)
{
    if (run->settings->alone)
        return STATUS_OK;
    if (!run->source->waits)
        TRY(io_thread_create(ENGINE_SLOTS, IO_THREAD_WITH_THREAD, engine_read_input, run,
                             &run->reader));
    if (!run->sink->waits)
        TRY(io_thread_create(ENGINE_SLOTS, IO_THREAD_WITH_OWNER, engine_write_output, run,
                             &run->writer));
    return STATUS_OK;
}

static void set_tail(struct engine_job *run)
{
    const struct filter *chain = run->chain;
    run->kind = engine_tail(chain, run->settings->tail);
    run->until = run->kind == run->settings->tail ? run->settings->until : UNKNOWN_LEVEL;
    run->known = run->most = chain->tail;
    if (run->kind == TAIL_TIME)
        run->known = run->most = sound_part_frames(run->until, run->source->format.rate);
    else if (chain->tail_unknown)
        run->most += (uint64_t)UNKNOWN_MOST * run->source->format.rate;
}

static enum status prepare(struct engine_job *run)
{
    const struct filter *chain = run->chain;
    int64_t lap = lap_begin();
    size_t slots = run->settings->alone ? 1 : ENGINE_SLOTS;
    for (size_t i = 0; i < slots; i++) {
        TRY(block_init_unset(&run->inputs[i].block, chain->inputs, chain->block, "a block"));
        TRY(block_init(&run->outputs[i].block, chain->outputs, chain->block, "a block"));
    }
    if (run->kind == TAIL_UNTIL)
        TRY(REAL(sink_open_memory)(chain->outputs, &run->tail));
    if (run->settings->true_peak)
        TRY(true_peak_create(chain->outputs, &run->true_peak));
    lap_end(LAP_BUFFERS, lap);
    return start_threads(run);
}

enum status REAL(engine_run)(struct filter *chain, struct source *source, struct sink *sink,
                             const struct engine_run_settings *settings,
                             struct engine_totals *totals)
{
    *totals = (struct engine_totals){0};
    struct engine_job run = {
        .chain = chain, .source = source, .sink = sink, .settings = settings, .totals = totals};
    set_tail(&run);
    enum status status = prepare(&run);
    if (status == STATUS_OK)
        status = run_blocks(&run);
    io_thread_destroy(run.reader);
    io_thread_destroy(run.writer);
    if (status == STATUS_OK && run.tail)
        status = engine_write_tail(&run);
    if (status == STATUS_OK && run.true_peak)
        totals->true_peak = fmax(true_peak_finish(run.true_peak), totals->peak);
    totals->frames_in = engine_sound_frames(&run, run.read);
    true_peak_destroy(run.true_peak);
    sink_close(run.tail);
    for (size_t i = 0; i < ENGINE_SLOTS; i++) {
        block_free(&run.inputs[i].block);
        block_free(&run.outputs[i].block);
    }
    return status;
}
