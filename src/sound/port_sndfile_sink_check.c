/* What was written is opened again, as others will. */
#include "sound/port_sndfile_sink.h"

#include "sound/sndfile_library.h"

static bool is_wav(int container)
{
    return container == SF_FORMAT_WAV || container == SF_FORMAT_WAVEX ||
           container == SF_FORMAT_RF64;
}

static bool is_as_written(const struct sound_sink *sound, const SF_INFO *info)
{
    int container = info->format & SF_FORMAT_TYPEMASK,
        wanted = sound->sound_format & SF_FORMAT_TYPEMASK;
    bool is_like = (info->format & SF_FORMAT_SUBMASK) == (sound->sound_format & SF_FORMAT_SUBMASK);
    return (container == wanted || (is_wav(container) && is_wav(wanted))) && is_like &&
           info->frames == (sf_count_t)sound->frames &&
           info->channels == (int)sound->format.channels &&
           info->samplerate == (int)sound->format.rate;
}

enum status sound_sink_check(const struct sound_sink *sound, bool *opens)
{
    struct sound_io io = {0};
    SF_INFO info = {0};
    sound_io_begin(&io, sound->fd);
    io.origin = 0;
    bool is_mpeg = (sound->sound_format & SF_FORMAT_TYPEMASK) == SOUND_MPEG;
    SNDFILE *file =
        is_mpeg ? sound_io_open_quietly(&io, &info) : sound_io_open(&io, SFM_READ, &info);
    *opens = file && is_as_written(sound, &info);
    if (file)
        sf_close(file);
    return io.error ? sound_sink_refuse(sound, io.error) : STATUS_OK;
}
