#include "sound/sound_format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

struct container {
    const char *extension;
    const char *name;
    int major;
    int own_subtype; /* the one it is for, where that is a lossy one */
};

static const struct container containers[] = {
    {"wav", "WAV", SF_FORMAT_WAV, 0},
    {"wave", "WAV", SF_FORMAT_WAV, 0},
    {"bwf", "WAV", SF_FORMAT_WAV, 0},
    {"rf64", "RF64", SF_FORMAT_RF64, 0},
    {"w64", "W64", SF_FORMAT_W64, 0},
    {"flac", "FLAC", SF_FORMAT_FLAC, 0},
    {"aiff", "AIFF", SF_FORMAT_AIFF, 0},
    {"aif", "AIFF", SF_FORMAT_AIFF, 0},
    {"aifc", "AIFF", SF_FORMAT_AIFF, 0},
    {"au", "AU", SF_FORMAT_AU, 0},
    {"snd", "AU", SF_FORMAT_AU, 0},
    {"caf", "CAF", SF_FORMAT_CAF, 0},
    {"ogg", "Ogg", SF_FORMAT_OGG, SF_FORMAT_VORBIS},
    {"oga", "Ogg", SF_FORMAT_OGG, SF_FORMAT_VORBIS},
    {"opus", "Opus", SF_FORMAT_OGG, SF_FORMAT_OPUS},
#ifdef HALO_SNDFILE_MP3
    {"mp3", "MP3", SF_FORMAT_MPEG, SF_FORMAT_MPEG_LAYER_III},
#endif
};

struct samples {
    const char *name;
    int subtype;
    unsigned bits;  /* of an integer format */
    unsigned bytes; /* of a sample */
    bool named;     /* --format takes it */
};

static const struct samples sample_formats[] = {
    {"pcm16", SF_FORMAT_PCM_16, 16, 2, true},
    {"pcm24", SF_FORMAT_PCM_24, 24, 3, true},
    {"pcm32", SF_FORMAT_PCM_32, 32, 4, true},
    {"float", SF_FORMAT_FLOAT, 0, 4, true},
    {"double", SF_FORMAT_DOUBLE, 0, 8, true},
    {"pcm8", SF_FORMAT_PCM_S8, 8, 1, false},
    {"pcm8 unsigned", SF_FORMAT_PCM_U8, 8, 1, false},
    {"u-law", SF_FORMAT_ULAW, 0, 1, false},
    {"a-law", SF_FORMAT_ALAW, 0, 1, false},
    {"vorbis", SF_FORMAT_VORBIS, 0, 0, false},
    {"opus", SF_FORMAT_OPUS, 0, 0, false},
#ifdef HALO_SNDFILE_MP3
    {"mp3", SF_FORMAT_MPEG_LAYER_III, 0, 0, false},
#endif
    {"alac 16", SF_FORMAT_ALAC_16, 0, 0, false},
    {"alac 20", SF_FORMAT_ALAC_20, 0, 0, false},
    {"alac 24", SF_FORMAT_ALAC_24, 0, 0, false},
    {"alac 32", SF_FORMAT_ALAC_32, 0, 0, false},
};

enum { CONTAINERS = sizeof containers / sizeof *containers };
enum { SAMPLE_FORMATS = sizeof sample_formats / sizeof *sample_formats };

static const struct samples *samples_of(int format)
{
    for (size_t i = 0; i < SAMPLE_FORMATS; i++)
        if (sample_formats[i].subtype == (format & SF_FORMAT_SUBMASK))
            return &sample_formats[i];
    return NULL;
}

unsigned sound_format_bits(int format)
{
    const struct samples *samples = samples_of(format);
    return samples ? samples->bits : 0;
}

unsigned sound_format_bytes(int format)
{
    const struct samples *samples = samples_of(format);
    return samples ? samples->bytes : 0;
}

const char *sound_format_name(int format)
{
    const struct samples *samples = samples_of(format);
    return samples ? samples->name : "compressed";
}

void sound_traits_free(struct sound_traits *traits)
{
    for (size_t i = 0; i < SOUND_TAGS; i++)
        free(traits->tags[i]);
    *traits = (struct sound_traits){0};
}

void sound_tags_read(SNDFILE *file, struct sound_traits *traits)
{
    for (int i = SF_STR_FIRST; i <= SF_STR_LAST; i++) {
        const char *text = sf_get_string(file, i);
        if (text && !traits->tags[i])
            traits->tags[i] = strdup(text);
    }
}

void sound_tags_write(SNDFILE *file, const struct sound_traits *traits)
{
    /* A container without room for a tag says so here; the sound matters more. */
    for (int i = SF_STR_FIRST; i <= SF_STR_LAST; i++)
        if (traits->tags[i])
            sf_set_string(file, i, traits->tags[i]);
}

static const char *extension_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash ? slash : path, '.');
    return dot ? dot + 1 : "";
}

/* What libsndfile writes besides, by its own list. */
static const struct container *container_of_library(const char *extension)
{
    static struct container found;
    static char name[32];
    int count = 0;
    sf_command(NULL, SFC_GET_FORMAT_MAJOR_COUNT, &count, sizeof count);
    for (int i = 0; i < count; i++) {
        SF_FORMAT_INFO info = {.format = i};
        if (sf_command(NULL, SFC_GET_FORMAT_MAJOR, &info, sizeof info) != 0 || !info.extension ||
            strcasecmp(info.extension, extension) != 0 || info.format == SF_FORMAT_RAW ||
            info.format == SF_FORMAT_SD2 || /* wants two files */
            info.format == SF_FORMAT_HTK)   /* keeps few rates */
            continue;
        snprintf(name, sizeof name, ".%s", info.extension);
        found = (struct container){info.extension, name, info.format, 0};
        return &found;
    }
    return NULL;
}

static const struct container *container_named(const char *extension)
{
    for (size_t i = 0; i < CONTAINERS; i++)
        if (strcasecmp(containers[i].extension, extension) == 0)
            return &containers[i];
    return container_of_library(extension);
}

/* A pipe or device has no extension worth the name: the input's container if
 * that can be streamed, else WAV. */
static const struct container *container_of_stream(const struct sound_traits *input)
{
    bool au = (input->format & SF_FORMAT_TYPEMASK) == SF_FORMAT_AU;
    return container_named(au ? "au" : "wav");
}

static bool is_stream(const char *path)
{
    struct stat about;
    return strcmp(path, "-") == 0 || (stat(path, &about) == 0 && !S_ISREG(about.st_mode));
}

static enum status choose_container(const char *path, const struct sound_format_request *request,
                                    const struct sound_traits *input,
                                    const struct container **container)
{
    const char *extension = request->container ? request->container : extension_of(path);
    *container = container_named(extension);
    if (!*container && !request->container && is_stream(path))
        *container = container_of_stream(input);
    if (*container)
        return STATUS_OK;
    char list[256] = "";
    size_t length = 0;
    for (size_t i = 0; i < CONTAINERS; i++)
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%s", i ? ", " : "",
                                   containers[i].extension);
    if (request->container)
        return fail(STATUS_USAGE, "unknown container '%s'; it is one of %s", extension, list);
    return fail(STATUS_USAGE,
                "cannot tell the container of %s from its name; let it end in one of "
                "%s, or name one with --container",
                path, list);
}

static bool opus_takes(uint32_t rate)
{
    return rate == 8000 || rate == 12000 || rate == 16000 || rate == 24000 || rate == 48000;
}

static bool holds(int format, const struct stream_format *stream)
{
    if ((format & SF_FORMAT_SUBMASK) == SF_FORMAT_OPUS && !opus_takes(stream->rate))
        return false;
    SF_INFO info = {
        .samplerate = (int)stream->rate, .channels = (int)stream->channels, .format = format};
    return sf_format_check(&info);
}

static enum status choose_named(const char *name, int major, const char *container,
                                const struct stream_format *stream, int *format)
{
    for (size_t i = 0; i < SAMPLE_FORMATS; i++) {
        if (!sample_formats[i].named || strcmp(sample_formats[i].name, name) != 0)
            continue;
        *format = major | sample_formats[i].subtype;
        if (holds(*format, stream))
            return STATUS_OK;
        return fail(STATUS_USAGE,
                    "%s cannot hold %zu channels of %s at %u Hz; choose another "
                    "--format or container",
                    container, stream->channels, name, stream->rate);
    }
    return fail(STATUS_USAGE,
                "unknown sample format '%s'; it is pcm16, pcm24, pcm32, float or "
                "double",
                name);
}

/* The subtype that keeps the input's samples. */
static int subtype_like(int input)
{
    int subtype = input & SF_FORMAT_SUBMASK;
    switch (subtype) {
    case SF_FORMAT_ALAC_16:
        return SF_FORMAT_PCM_16;
    case SF_FORMAT_ALAC_20:
    case SF_FORMAT_ALAC_24:
        return SF_FORMAT_PCM_24;
    case SF_FORMAT_ALAC_32:
        return SF_FORMAT_PCM_32;
    case 0:
        return SF_FORMAT_FLOAT; /* not from a file */
    case SF_FORMAT_PCM_S8:
    case SF_FORMAT_PCM_U8:
    case SF_FORMAT_PCM_16:
    case SF_FORMAT_PCM_24:
    case SF_FORMAT_PCM_32:
    case SF_FORMAT_FLOAT:
    case SF_FORMAT_DOUBLE:
        return subtype;
    default:
        return 0; /* lossy */
    }
}

static int other_sign_of_8_bit(int subtype)
{
    return subtype == SF_FORMAT_PCM_S8 ? SF_FORMAT_PCM_U8 : SF_FORMAT_PCM_S8;
}

enum status sound_format_choose(const char *path, const struct sound_format_request *request,
                                const struct sound_traits *input,
                                const struct stream_format *stream, int *format)
{
    const struct container *container;
    TRY(choose_container(path, request, input, &container));
    int major = container->major;
    if (major == SF_FORMAT_WAV && (input->format & SF_FORMAT_TYPEMASK) == SF_FORMAT_WAVEX)
        major = SF_FORMAT_WAVEX;
    if (request->samples)
        return choose_named(request->samples, major, container->name, stream, format);
    bool changed = false, lossy = subtype_like(input->format) == 0;
    if (container->own_subtype) {
        *format = major | container->own_subtype;
    } else {
        int subtype = subtype_like(input->format);
        *format = major | subtype;
        if (subtype && (sound_format_bits(subtype) == 8) && !holds(*format, stream))
            *format = major | other_sign_of_8_bit(subtype);
        if (!subtype || !holds(*format, stream)) {
            *format = major | SF_FORMAT_PCM_24;
            if (!holds(*format, stream)) /* an old container */
                *format = major | SF_FORMAT_PCM_16;
            changed = true;
        }
    }
    if (!holds(*format, stream))
        return fail(STATUS_USAGE, "%s cannot hold %zu channels at %u Hz; choose another container",
                    container->name, stream->channels, stream->rate);
    if (changed)
        note("%s is written as %s, since %s %s; --format chooses another", path,
             sound_format_name(*format), lossy ? "the input is" : container->name,
             lossy ? "lossy" : "cannot keep the input's sample format");
    return STATUS_OK;
}
