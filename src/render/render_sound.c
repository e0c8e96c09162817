#include "render/render_job_state.h"

#include "signal/loudness.h"
#include "sound/gain.h"

#include <math.h>

bool render_is_too_late(const struct render_job *job)
{
    return job->run.stop_late && job->chain->late + job->passes.whole.late > 0;
}

static enum status run_engine(const struct render_job *job, struct filter *filter,
                              struct source *source, struct sink *sink,
                              const struct engine_run_settings *settings,
                              struct engine_totals *totals)
{
    return (render_is_double(job) ? engine_run_in_double : engine_run)(filter, source, sink,
                                                                       settings, totals);
}

/* To the loudness asked for, or less where the true peak would be above TRUE_PEAK_MOST. */
static double factor_to_loudness(struct render_job *job, const struct loudness *meter)
{
    enum { TRUE_PEAK_MOST = -1, ROUNDING = 4 }; /* dBTP; steps of integers, dithered */
    unsigned bits = sound_format_bits(job->sound_format);
    const struct render_options *options = job->options;
    double most = audio_from_db(TRUE_PEAK_MOST) - (bits ? ldexp(ROUNDING, 1 - (int)bits) : 0);
    double room = floor(100 * audio_to_db(most / job->report.totals.true_peak)) / 100;
    double gain = loudness_gain_to(meter, options->level);
    if (gain > room) {
        warning("%s is %.1f LUFS, not %g: a peak would be above %d dBTP", options->output,
                loudness_integrated_with(meter, room), options->level, TRUE_PEAK_MOST);
        gain = room;
    }
    job->report.loudness = loudness_integrated_with(meter, gain);
    return isfinite(gain) ? audio_from_db(gain) : 1;
}

/* Writes the spooled sound, scaled to the peak or loudness asked for. */
static enum status write_scaled(struct render_job *job, struct source *spooled)
{
    unsigned bits = sound_format_bits(job->sound_format);
    double most = bits ? 1 - ldexp(1, 1 - (int)bits) : INFINITY; /* largest integer sample */
    double peak = job->report.totals.peak;
    struct filter *gain;
    struct engine_totals totals = {0};
    const struct engine_run_settings run = {
        .tail = TAIL_NONE,
        .true_peak = job->run.true_peak,
        .alone = job->run.alone,
        .progress = job->run.progress,
        .progress_context = job->run.progress_context,
    };
    if (peak == 0)
        note("the sound is silent: there is nothing to normalize");
    else if (job->run.loudness)
        job->report.scale = factor_to_loudness(job, job->run.loudness);
    else
        job->report.scale = fmin(audio_from_db(job->options->level), most) / peak;
    TRY((render_is_double(job) ? gain_create_in_double : gain_create)(job->format.channels, 1 << 14,
                                                                      job->report.scale, &gain));
    spooled->frames = (int64_t)job->report.totals.frames_out;
    enum status status = run_engine(job, gain, spooled, job->sink, &run, &totals);
    job->report.totals.peak = totals.peak;
    job->report.totals.true_peak = totals.true_peak;
    filter_destroy(gain);
    return status;
}

/* Two passes: the first finds the peak, and the loudness. */
static enum status run_normalized(struct render_job *job)
{
    struct sink *spool = NULL;
    struct source *spooled = NULL;
    enum status status = (render_is_double(job) ? spool_open_in_double : spool_open)(
        job->sink->beside, job->source, job->format.channels, &spool, &spooled);
    job->run.true_peak |= job->options->to_loudness;
    if (status == STATUS_OK && job->options->to_loudness)
        status = loudness_create(job->format.rate, job->format.channels, &job->run.loudness);
    if (status == STATUS_OK)
        status = run_engine(job, job->chain, job->current, spool, &job->run, &job->report.totals);
    if (status == STATUS_OK)
        status = sink_commit(spool);
    if (status == STATUS_OK && !render_is_too_late(job))
        status = write_scaled(job, spooled);
    loudness_destroy(job->run.loudness);
    job->run.loudness = NULL;
    source_close(spooled);
    sink_close(spool);
    return status;
}

enum status render_run_sound(struct render_job *job)
{
    const struct render_options *options = job->options;
    struct render_passes *passes = &job->passes;
    struct engine_totals *totals = &job->report.totals;
    TRY(render_passes_run(passes, job->source, job->sink->beside, options->tail, &job->run));
    if (render_is_too_late(job))
        return STATUS_OK;
    struct source *spooled = render_passes_last(passes)->source;
    if (spooled)
        job->run.lead = render_passes_last(passes)->stages.before;
    job->run.knows_sound = spooled != NULL;
    job->run.sound_frames = passes->sound;
    job->current = spooled ? spooled : job->source;
    TRY(options->normalize
            ? run_normalized(job)
            : run_engine(job, job->chain, job->current, job->sink, &job->run, totals));
    if (spooled)
        totals->frames_in = passes->sound;
    return STATUS_OK;
}
