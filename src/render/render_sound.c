#include "render/render_job_state.h"

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

/* Writes the spooled sound, scaled to the peak asked for. */
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
    job->report.scale = peak > 0 ? fmin(audio_from_db(job->options->peak_db), most) / peak : 1;
    TRY((render_is_double(job) ? gain_create_in_double : gain_create)(job->format.channels, 1 << 14,
                                                                      job->report.scale, &gain));
    spooled->frames = (int64_t)job->report.totals.frames_out;
    enum status status = run_engine(job, gain, spooled, job->sink, &run, &totals);
    job->report.totals.peak = totals.peak;
    job->report.totals.true_peak = totals.true_peak;
    filter_destroy(gain);
    return status;
}

/* Two passes: the first finds the peak. */
static enum status run_normalized(struct render_job *job)
{
    struct sink *spool = NULL;
    struct source *spooled = NULL;
    enum status status = (render_is_double(job) ? spool_open_in_double : spool_open)(
        job->sink->beside, job->source, job->format.channels, &spool, &spooled);
    if (status == STATUS_OK)
        status = run_engine(job, job->chain, job->current, spool, &job->run, &job->report.totals);
    if (status == STATUS_OK)
        status = sink_commit(spool);
    if (status == STATUS_OK && !render_is_too_late(job))
        status = write_scaled(job, spooled);
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
