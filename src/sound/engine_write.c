#include "sound/engine_job.h"

#include "base/laps.h"

#include <math.h>

double engine_energy(size_t channels, const real *const *planar, size_t from, size_t frames)
{
    double sum = 0;
    for (size_t c = 0; c < channels; c++)
        for (size_t i = from; i < from + frames; i++)
            sum += (double)planar[c][i] * (double)planar[c][i];
    return sum;
}

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

/* A few frames at a time are still in the cache when they are written; a true peak is measured in
 * pieces of its own. */
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

/* Of the frames from `first` to `end` of the chain, which are written. */
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
    if (!run->tail) /* else that part of it which is written, in engine_write_tail() */
        power->tail += engine_energy(channels, planar, (size_t)(to - start), (size_t)(end - to));
}

/* Write the wanted frames of a block. */
static enum status write_block(struct engine_job *run, const struct engine_output *output)
{
    uint64_t skip = engine_first_written(run);
    uint64_t start = output->position - run->chain->block; /* frame skip + i is written as i */
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

void engine_write_output(void *context, size_t slot)
{
    struct engine_job *run = context;
    if (atomic_load(&run->write_status) != STATUS_OK)
        return;
    struct log_keeper before = log_keep_failure(&run->write_problem);
    enum status status = write_block(run, &run->outputs[slot]);
    log_keep_again(&before);
    atomic_store(&run->write_status, (int)status);
}

enum status engine_write_tail(struct engine_job *run)
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
