#include "render/render_job_state.h"

#include "convolve/convolver_backend.h"

bool render_is_double(const struct render_job *job)
{
    return job->options->chain.settings.convolver.precision == PRECISION_DOUBLE;
}

bool render_is_reproducible(const struct render_job *job)
{
    return job->options->chain.reproducible;
}

int64_t render_frames_to_come(const struct render_job *job)
{
    const struct render_options *options = job->options;
    int64_t frames = job->source->frames;
    bool has_more = options->tail != TAIL_NONE || options->boundary != BOUNDARY_ZERO;
    if (options->tail == TAIL_TIME && frames != FRAMES_UNKNOWN)
        return frames + (int64_t)sound_part_frames(options->until, job->source->format.rate);
    for (size_t i = 0; frames != FRAMES_UNKNOWN && has_more && i < job->stages->count; i++) {
        size_t taps = stage_describe(&job->stages->stages[i]).taps;
        frames += taps > 0 ? (int64_t)taps - 1 : 0;
    }
    return frames;
}

bool render_is_brief(const struct render_job *job)
{
    enum { BRIEF = 1 << 18 };
    int64_t frames = render_frames_to_come(job);
    size_t in = job->source->format.channels, out = job->format.channels;
    size_t most = BRIEF / (in > out ? in : out);
    return frames != FRAMES_UNKNOWN && (uint64_t)frames <= most;
}

static enum status check_peak(const struct render_job *job)
{
    const struct render_options *options = job->options;
    if (!options->normalize || options->level <= 0 || !sound_format_is_limited(job->sound_format))
        return STATUS_OK;
    return fail(
        CAUSE_USAGE,
        "--normalize %g: %s holds no peak above 0 dBFS; choose 0 or less, or --format float",
        options->level, sound_format_name(job->sound_format));
}

static enum status check_quality(const struct render_job *job)
{
    if (job->options->quality == 0 || sound_format_is_lossy(job->sound_format))
        return STATUS_OK;
    return fail(CAUSE_USAGE, "--quality is for mp3, ogg and opus; %s, in %s, loses nothing",
                job->options->output, sound_format_name(job->sound_format));
}

static enum status check_container(const struct render_job *job)
{
    if (!render_is_reproducible(job) || !sound_format_varies(job->sound_format))
        return STATUS_OK;
    return fail(CAUSE_USAGE,
                "--reproducible: each file in the container of %s differs, by a random number or "
                "the date; choose another, such as wav or flac",
                job->options->output);
}

enum status render_check_output(const struct render_job *job)
{
    TRY(check_peak(job));
    TRY(check_quality(job));
    return check_container(job);
}

/* Where convolvers are shared with other jobs, all of a sound is one block, if it fits: 0: it
 * cannot. The sound's end shows in a block that is not full. */
static size_t whole_block(const struct render_job *job)
{
    enum { UNKNOWN_BLOCK = 1 << 17, LEAST = 1 << 12 };
    const struct convolver_service *service = job->options->chain.settings.convolver.service;
    int64_t frames = render_frames_to_come(job);
    size_t widest = job->source->format.channels, taps = 1, grain = stage_list_grain(job->stages);
    size_t whole = frames == FRAMES_UNKNOWN ? UNKNOWN_BLOCK : (size_t)frames + 1;
    for (size_t i = 0; i < job->stages->count; i++) {
        const struct stage *stage = &job->stages->stages[i];
        const struct stage_info info = stage_describe(stage);
        widest = stage->outputs > widest ? stage->outputs : widest;
        taps = info.taps > taps ? info.taps : taps;
        whole += info.origin;
    }
    size_t most = service ? service->block_most(widest, taps) : 0;
    if (most < LEAST)
        return 0;
    whole = (whole + grain - 1) / grain * grain;
    return whole < most ? whole : most / grain * grain;
}

size_t render_choose_block(const struct render_job *job)
{
    const struct render_options *options = job->options;
    const struct stage_list *stages = &options->chain.stages;
    size_t whole = whole_block(job);
    if (whole > 0)
        return whole;
    int64_t frames = render_is_reproducible(job) ? FRAMES_UNKNOWN : render_frames_to_come(job);
    size_t block =
        stage_list_block(stages, job->source->format.channels, job->workers,
                         frames == FRAMES_UNKNOWN ? UINT64_MAX : (uint64_t)frames, options->block);
    if (options->block && block != options->block)
        note("--block %zu is not used: on the CPU the masks choose the block (%zu)", options->block,
             block);
    return block;
}

void render_settle_precision(const struct render_job *job, struct render_options *options)
{
    const struct source *source = job->source;
    struct convolver_settings *convolver = &options->chain.settings.convolver;
    const struct gpu_settings *gpu = &convolver->gpu;
    bool wide = sound_format_stays_wide(options->output, &options->request, &source->traits,
                                        &source->format);
    if (options->chain.precision_given || !wide)
        return;
    if (gpu->kernel || gpu->mode != GPU_MODE_AUTO || gpu_devices_are_given(&gpu->devices))
        note("computed in single precision, which keeps 24 bits of the samples, because of "
             "--kernel, --gpu-mode or --devices");
    else
        convolver->precision = PRECISION_DOUBLE;
}
