/* Compiled for each precision. */
#include "sound/engine_job.h"

#include "base/laps.h"
#include "base/stop.h"

#include <math.h>

enum {
    UNKNOWN_MOST = 30, /* seconds of a tail after its known part */
    UNKNOWN_QUIET = 5, /* seconds of quiet that end it */
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
    /* An estimate if the tail's length is unknown. */
    if (frames != FRAMES_UNKNOWN && run->kind != TAIL_NONE)
        frames += (int64_t)run->known;
    settings->progress(settings->progress_context, written, frames);
}

/* Only the caller's thread prints errors: the first one it learns of. */
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

/* Read and write in parallel with the chain, unless it is to be alone; but a port that waits for
 * another program stays on this thread, where signals interrupt the wait. */
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
