/* Compiled for each precision. */
#include "sound/looped_sound.h"

#include "base/stop.h"
#include "signal/real.h"

#include <math.h>
#include <string.h>

enum { PART = 1 << 16 }; /* frames read at a time */

#define own_block REAL(block)

#ifndef HALO_DOUBLE
void looped_sound_free(struct looped_sound *sound)
{
    block_free(&sound->block);
    block_free_in_double(&sound->block_in_double);
    *sound = (struct looped_sound){0};
}

double looped_sound_peak(const struct looped_sound *sound)
{
    double peak = 0;
    for (size_t c = 0; c < sound->channels; c++)
        peak =
            fmax(peak, sound->block.data
                           ? (double)audio_peak(sound->block.data[c], sound->frames)
                           : audio_peak_in_double(sound->block_in_double.data[c], sound->frames));
    return peak;
}
#endif

static enum status open_at_rate(const struct looped_settings *settings, struct looped_sound *sound,
                                struct source **result)
{
    struct source *inner;
    TRY(source_open_sound(settings->path, settings->allow_truncated, &inner));
    sound->own_rate = inner->format.rate;
    if (inner->format.rate != settings->rate)
        return REAL(source_open_resampled)(inner, settings->rate, result);
    *result = inner;
    return STATUS_OK;
}

static enum status check_part(const struct source *source, real *const *planar, size_t frames)
{
    for (size_t c = 0; c < source->format.channels; c++) {
        size_t bad = audio_find_nonfinite(planar[c], frames);
        if (bad < frames)
            return fail(CAUSE_DAMAGED, "cannot use %s: a sample is %s", source->name,
                        isnan(planar[c][bad]) ? "not a number" : "infinite");
    }
    return STATUS_OK;
}

/* Read `frames` frames from the source's position into the block at `at`. */
static enum status read_frames(struct source *source, struct looped_sound *sound, size_t at,
                               size_t frames)
{
    size_t channels = source->format.channels;
    real *to[channels];
    for (size_t done = 0, got; done < frames; done += got) {
        size_t part = frames - done < PART ? frames - done : PART;
        for (size_t c = 0; c < channels; c++)
            to[c] = sound->own_block.data[c] + at + done;
        if (stop_requested())
            return STATUS_INTERRUPTED;
        TRY(REAL(source_read)(source, to, part, &got));
        TRY(check_part(source, to, got));
        if (got == 0)
            return fail(CAUSE_DAMAGED, "cannot use %s: it ends before its header says",
                        source->name);
    }
    return STATUS_OK;
}

static enum status choose_start(const struct looped_settings *settings, const struct source *source,
                                struct looped_sound *sound)
{
    const struct looped_start *start = &settings->start;
    if (!source->seekable || source->frames == FRAMES_UNKNOWN)
        return fail(CAUSE_UNSUPPORTED,
                    "cannot use %s: its length is unknown; convert it to WAV or FLAC first",
                    source->name);
    if (source->frames == 0)
        return fail(CAUSE_DAMAGED, "cannot use %s: it has no frames", source->name);
    sound->length = (uint64_t)source->frames;
    double at = start->unit == LOOPED_SHARE     ? floor(start->value * (double)sound->length)
                : start->unit == LOOPED_SECONDS ? rint(start->value * settings->rate)
                                                : start->value;
    if (start->unit == LOOPED_SHARE && at >= (double)sound->length)
        at = 0;
    if (!(at < (double)sound->length))
        return fail(CAUSE_USAGE, "cannot use %s from frame %.0f on: it has %llu at %u Hz",
                    source->name, at, (unsigned long long)sound->length, settings->rate);
    sound->start = (uint64_t)at;
    return STATUS_OK;
}

static enum status load(const struct looped_settings *settings, struct source *source,
                        struct looped_sound *sound)
{
    TRY(choose_start(settings, source, sound));
    uint64_t length = sound->length, start = sound->start;
    size_t frames = (size_t)(settings->wanted < length ? settings->wanted : length);
    size_t first = (size_t)(length - start < frames ? length - start : frames);
    if (start > 0) /* a source that was just opened is at its beginning */
        TRY(source_seek(source, start));
    sound->channels = source->format.channels;
    sound->frames = frames;
    TRY(block_init(&sound->own_block, sound->channels, frames, "a repeated sound"));
    TRY(read_frames(source, sound, 0, first));
    if (first == frames)
        return STATUS_OK;
    TRY(source_seek(source, 0));
    return read_frames(source, sound, first, frames - first);
}

enum status REAL(looped_sound_load)(const struct looped_settings *settings,
                                    struct looped_sound *sound)
{
    struct source *source = NULL;
    *sound = (struct looped_sound){0};
    enum status status = open_at_rate(settings, sound, &source);
    if (status == STATUS_OK)
        status = load(settings, source, sound);
    source_close(source);
    return status;
}

double REAL(looped_sound_energy)(const struct looped_sound *sound, size_t channel, uint64_t frames)
{
    const real *samples = sound->own_block.data[channel];
    double all = 0, some = 0;
    size_t length = sound->frames, rest = (size_t)(frames % length);
    for (size_t i = 0; i < length; i++) {
        if (i == rest)
            some = all;
        all += (double)samples[i] * (double)samples[i];
    }
    return all * (double)(frames / length) + some;
}
