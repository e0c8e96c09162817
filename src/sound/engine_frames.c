#include "sound/engine_job.h"

uint64_t engine_sound_frames(const struct engine_job *run, uint64_t read)
{
    uint64_t around = run->settings->lead + run->settings->trail;
    return read > around ? read - around : 0;
}

uint64_t engine_wanted(const struct engine_job *run, uint64_t read, bool ended)
{
    uint64_t frames = engine_sound_frames(run, read), known = run->settings->sound_frames;
    if (run->settings->whole)
        return !ended ? read
                      : read + run->chain->latency + (run->kind != TAIL_NONE ? run->most : 0);
    if (run->kind != TAIL_NONE)
        return ended ? frames + run->most : frames;
    return run->settings->knows_sound && frames > known ? known : frames;
}

uint64_t engine_first_of_sound(const struct engine_job *run)
{
    return run->chain->latency + run->settings->lead;
}

uint64_t engine_first_written(const struct engine_job *run)
{
    return run->settings->whole ? 0 : engine_first_of_sound(run);
}

uint64_t engine_frames_done(const struct engine_job *run, uint64_t position, uint64_t all)
{
    uint64_t skip = engine_first_written(run);
    uint64_t out = position > skip ? position - skip : 0;
    return out < all ? out : all;
}
