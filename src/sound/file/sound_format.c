#include "sound/file/sound_format.h"

#include "base/files_read.h"
#include "base/plural.h"
#include "base/suggest.h"
#include "sound/file/channel_order.h"
#include "sound/file/sound_io.h"
#include "sound/sndfile_library.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* first bytes that suffice to recognise a sound and its samples */
enum { FOREIGN_SOUND_BYTES = 1 << 16 };

/* ---- sounds that halo does not read: recognising them ---- */

struct byte_range {
    const unsigned char *at;
    size_t size;
};

struct signature {
    size_t at;
    const char *bytes;
    const char *name;
};

static const struct signature signatures[] = {
    {4, "ftypqt  ", "QuickTime"},
    {4, "ftyp", "MPEG-4"},
    {4, "moov", "QuickTime"},
    {4, "mdat", "QuickTime"},
    {4, "wide", "QuickTime"},
    {0, "\x1A\x45\xDF\xA3", "Matroska or WebM"},
    {0, "wvpk", "WavPack"},
    {0, "\x30\x26\xB2\x75\x8E\x66\xCF\x11", "Windows Media"},
    {0, "MAC ", "Monkey's Audio"},
    {0, "TTA1", "True Audio"},
    {0, "DSD ", "DSF"},
    {0, "FRM8", "DSDIFF"},
    {0, "\x0B\x77", "AC-3"},
    {0, "\x7F\xFE\x80\x01", "DTS"},
    {0, "\xFF\xF0", "AAC"},
    {0, "\xFF\xF1", "AAC"},
    {0, "\xFF\xF8", "AAC"},
    {0, "\xFF\xF9", "AAC"},
    {0, "ADIF", "AAC"},
    {8, "AVI ", "AVI"},
    {0, "FLV\x01", "Flash video"},
    {0, "#!AMR", "AMR"},
    {0, "MPCK", "Musepack"},
    {0, "MP+", "Musepack"},
    {0, ".RMF", "RealMedia"},
    {188, "G", "an MPEG transport stream"}, /* each packet of 188 bytes begins with it */
    {28,
     "\x7F"
     "FLAC",
     "Ogg FLAC"},
    {28, "Speex   ", "Speex"},
};

static bool has(struct byte_range bytes, size_t at, const char *text, size_t length)
{
    return at <= bytes.size && length <= bytes.size - at &&
           memcmp(bytes.at + at, text, length) == 0;
}

static const char *name_of(struct byte_range begin)
{
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++) {
        const struct signature *signature = &signatures[i];
        bool begins = has(begin, signature->at, signature->bytes, strlen(signature->bytes));
        if (signature->at == 188)
            begins = begins && has(begin, 0, "G", 1);
        if (signature->at == 28)
            begins = begins && has(begin, 0, "OggS", 4);
        if (begins)
            return signature->name;
    }
    return NULL;
}

/* ---- sounds that halo does not read: their samples ---- */

static const char *integers_of(unsigned bits)
{
    return bits <= 16 ? "pcm_s16le" : bits <= 24 ? "pcm_s24le" : "pcm_s32le";
}

/* The bytes after `text`, or none. */
static struct byte_range after(struct byte_range bytes, const char *text, size_t length)
{
    const unsigned char *found = bytes.size ? memmem(bytes.at, bytes.size, text, length) : NULL;
    if (!found)
        return (struct byte_range){0};
    return (struct byte_range){found + length, bytes.size - (size_t)(found - bytes.at) - length};
}

static bool contains(struct byte_range bytes, const char *text)
{
    return after(bytes, text, strlen(text)).at;
}

/* The codec for a WavPack, from a block's flags: bytes of a sample less one, float or integer. */
static const char *codec_of_wavpack(struct byte_range begin)
{
    /* the flags for float and DSD */
    if (begin.size < 28 || (begin.at[24] & 0x80) || (begin.at[27] & 0x80))
        return NULL;
    return integers_of(8 * ((begin.at[24] & 3U) + 1));
}

/* The codec for ALAC, from its box in a box of that name: version, frames, compatibility, bits. */
static const char *codec_of_alac(struct byte_range bytes)
{
    struct byte_range box = bytes;
    while ((box = after(box, "alac\0\0\0\0", 8)).size >= 6)
        if (box.at[4] == 0 && box.at[5] >= 16 && box.at[5] <= 32)
            return integers_of(box.at[5]);
    return NULL;
}

/* The codec for a Matroska, from the element with the bits of a sample, one byte. */
static const char *codec_of_matroska(struct byte_range bytes)
{
    struct byte_range bits = after(bytes, "\x62\x64\x81", 3);
    if (bits.size == 0)
        return NULL;
    if (contains(bytes, "A_PCM/FLOAT"))
        return bits.at[0] == 64 ? "pcm_f64le" : NULL;
    return contains(bytes, "A_PCM/INT") ? integers_of(bits.at[0]) : NULL;
}

static const char *codec_of_quicktime(struct byte_range bytes)
{
    static const char *const wide[] = {"fl64", "lpcm", "fpcm", "ipcm"};
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (contains(bytes, wide[i]))
            return "pcm_f64le";
    return contains(bytes, "in32") ? "pcm_s32le" : NULL;
}

/* The codec for wide samples; NULL: single precision holds the samples. */
static const char *codec_of(const char *name, struct byte_range bytes)
{
    if (strcmp(name, "WavPack") == 0)
        return codec_of_wavpack(bytes);
    if (strcmp(name, "True Audio") == 0)
        return bytes.size > 8 ? integers_of(bytes.at[8]) : NULL;
    if (strcmp(name, "Matroska or WebM") == 0)
        return codec_of_matroska(bytes);
    if (strcmp(name, "MPEG-4") != 0 && strcmp(name, "QuickTime") != 0)
        return NULL;
    const char *codec = codec_of_quicktime(bytes);
    return codec ? codec : codec_of_alac(bytes);
}

bool foreign_sound_recognise(const void *begin, size_t size, const void *end, size_t end_size,
                             struct foreign_sound *found)
{
    const struct byte_range first = {begin, size}, last = {end, end_size};
    const char *name = name_of(first);
    if (!name)
        return false;
    const char *codec = codec_of(name, first);
    if (!codec && end_size)
        codec = codec_of(name, last);
    *found = (struct foreign_sound){name, codec ? codec : "pcm_f32le"};
    return true;
}

bool foreign_sound_recognise_file(int fd, struct foreign_sound *found)
{
    struct {
        unsigned char begin[FOREIGN_SOUND_BYTES], end[FOREIGN_SOUND_BYTES];
    } *of_file = malloc(sizeof *of_file);
    const off_t most = FOREIGN_SOUND_BYTES;
    struct stat about;
    ssize_t size = of_file ? files_read_at(fd, of_file->begin, FOREIGN_SOUND_BYTES, 0) : 0,
            end_size = 0;
    if (size > 0 && fstat(fd, &about) == 0 && about.st_size > most)
        end_size = files_read_at(fd, of_file->end, FOREIGN_SOUND_BYTES,
                                 about.st_size > 2 * most ? about.st_size - most : most);
    bool is_known = size > 0 && foreign_sound_recognise(of_file->begin, (size_t)size, of_file->end,
                                                        end_size > 0 ? (size_t)end_size : 0, found);
    free(of_file);
    return is_known;
}

static bool foreign_sound_is_output(const char *path)
{
    static const char *const endings[] = {"m4a", "m4b",  "mp4", "mov", "aac", "wv",   "mka",
                                          "mkv", "webm", "wma", "asf", "ac3", "eac3", "tta",
                                          "mp2", "mp3",  "ts",  "flv", "avi", "spx"};
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (strcasecmp(dot + 1, endings[i]) == 0)
            return true;
    return false;
}

enum status foreign_sound_refuse(const char *path, const struct foreign_sound *sound)
{
    return fail(CAUSE_UNSUPPORTED,
                "cannot read %s: halo does not read %s; convert it: ffmpeg -i IN -c:a %s OUT.wav",
                path, sound->name, sound->codec);
}

static enum status foreign_sound_refuse_output(const char *path)
{
    return fail(CAUSE_USAGE,
                "cannot write %s: halo does not write its container; write WAV and convert that: "
                "ffmpeg -i IN.wav OUT",
                path);
}

/* ---- containers and samples ---- */

struct container {
    const char *extension;
    const char *name;
    int major;
    int own_subtype; /* subtype of a container for one lossy format; else 0 */
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
    unsigned bits;  /* bits of an integer format */
    unsigned bytes; /* bytes of a sample */
    int like;       /* subtype that keeps these samples in other containers; 0: lossy */
    bool named;     /* --format accepts it */
};

static const struct samples sample_formats[] = {
    {"pcm16", SF_FORMAT_PCM_16, 16, 2, SF_FORMAT_PCM_16, true},
    {"pcm24", SF_FORMAT_PCM_24, 24, 3, SF_FORMAT_PCM_24, true},
    {"pcm32", SF_FORMAT_PCM_32, 32, 4, SF_FORMAT_PCM_32, true},
    {"float", SF_FORMAT_FLOAT, 0, 4, SF_FORMAT_FLOAT, true},
    {"double", SF_FORMAT_DOUBLE, 0, 8, SF_FORMAT_DOUBLE, true},
    {"pcm8", SF_FORMAT_PCM_S8, 8, 1, SF_FORMAT_PCM_S8, false},
    {"pcm8 unsigned", SF_FORMAT_PCM_U8, 8, 1, SF_FORMAT_PCM_U8, false},
    {"u-law", SF_FORMAT_ULAW, 0, 1, 0, false},
    {"a-law", SF_FORMAT_ALAW, 0, 1, 0, false},
    {"vorbis", SF_FORMAT_VORBIS, 0, 0, 0, false},
    {"opus", SF_FORMAT_OPUS, 0, 0, 0, false},
#ifdef HALO_SNDFILE_MP3
    {"mp3", SF_FORMAT_MPEG_LAYER_III, 0, 0, 0, false},
#endif
    {"alac 16", SF_FORMAT_ALAC_16, 0, 0, SF_FORMAT_PCM_16, false},
    {"alac 20", SF_FORMAT_ALAC_20, 0, 0, SF_FORMAT_PCM_24, false},
    {"alac 24", SF_FORMAT_ALAC_24, 0, 0, SF_FORMAT_PCM_24, false},
    {"alac 32", SF_FORMAT_ALAC_32, 0, 0, SF_FORMAT_PCM_32, false},
};

enum { CONTAINERS = sizeof containers / sizeof *containers, LIBRARY_CONTAINERS_MOST = 64 };
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

bool sound_format_is_lossy(int format)
{
    const struct samples *samples = samples_of(format);
    return samples && samples->bytes == 0 && samples->like == 0;
}

bool sound_format_is_limited(int format)
{
    const struct samples *samples = samples_of(format);
    bool is_float =
        samples && (samples->subtype == SF_FORMAT_FLOAT || samples->subtype == SF_FORMAT_DOUBLE);
    return !is_float && samples && !sound_format_is_lossy(format);
}

/* Whether single precision would lose bits of the samples: 32-bit integers, double, ALAC of 32. */
static bool sound_format_is_wide(int format)
{
    const struct samples *samples = samples_of(format);
    int like = samples ? samples->like : 0;
    return like == SF_FORMAT_PCM_32 || like == SF_FORMAT_DOUBLE;
}

bool sound_format_varies(int format)
{
    int major = format & SF_FORMAT_TYPEMASK;
    return major == SF_FORMAT_OGG || major == SF_FORMAT_MAT4 || major == SF_FORMAT_MAT5;
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

static const char *extension_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash ? slash : path, '.');
    return dot ? dot + 1 : "";
}

const char *sound_format_extension(size_t index)
{
    return index < CONTAINERS ? containers[index].extension : NULL;
}

/* Other containers that libsndfile writes. */
static struct container library_containers[LIBRARY_CONTAINERS_MOST];
static size_t library_container_count;

static void list_library_containers(void)
{
    static char names[LIBRARY_CONTAINERS_MOST][32];
    int count = 0;
    sf_command(NULL, SFC_GET_FORMAT_MAJOR_COUNT, &count, sizeof count);
    for (int i = 0; i < count && library_container_count < LIBRARY_CONTAINERS_MOST; i++) {
        SF_FORMAT_INFO info = {.format = i};
        if (sf_command(NULL, SFC_GET_FORMAT_MAJOR, &info, sizeof info) != 0 || !info.extension ||
            info.format == SF_FORMAT_RAW || info.format == SF_FORMAT_SD2 || /* wants two files */
            info.format == SF_FORMAT_HTK)                                   /* keeps few rates */
            continue;
        char *name = names[library_container_count];
        snprintf(name, sizeof *names, ".%s", info.extension);
        library_containers[library_container_count++] =
            (struct container){info.extension, name, info.format, 0};
    }
}

static const struct container *container_of_library(const char *extension)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, list_library_containers);
    for (size_t i = 0; i < library_container_count; i++)
        if (strcasecmp(library_containers[i].extension, extension) == 0)
            return &library_containers[i];
    return NULL;
}

static const struct container *container_named(const char *extension)
{
    for (size_t i = 0; i < CONTAINERS; i++)
        if (strcasecmp(containers[i].extension, extension) == 0)
            return &containers[i];
    return container_of_library(extension);
}

bool sound_format_is_of_name(const char *path)
{
    if (library_open(&sndfile_library) != STATUS_OK) /* reading prints the error again */
        return true;
    return container_named(extension_of(path)) != NULL;
}

static bool is_stream(const char *path)
{
    struct stat about;
    return strcmp(path, "-") == 0 || (stat(path, &about) == 0 && !S_ISREG(about.st_mode));
}

static void list_containers(char *list, size_t size)
{
    size_t length = 0;
    for (size_t i = 0; i < CONTAINERS; i++)
        length += (size_t)snprintf(list + length, size - length, "%s%s", i ? ", " : "",
                                   containers[i].extension);
}

enum status sound_format_check_container(const char *name)
{
    char list[256], near[SUGGEST_TEXT];
    TRY(library_open(&sndfile_library));
    if (container_named(name))
        return STATUS_OK;
    list_containers(list, sizeof list);
    suggest_from_list(near, name, list, "");
    return fail(CAUSE_USAGE, "unknown container '%s'%s%s", name, *near ? near : "; use one of ",
                *near ? "" : list);
}

static enum status choose_container(const char *path, const struct sound_format_request *request,
                                    const struct sound_traits *input,
                                    const struct container **container)
{
    const char *extension = extension_of(path);
    if (request->container)
        TRY(sound_format_check_container(request->container));
    *container = container_named(request->container ? request->container : extension);
    if (!*container && !request->container && is_stream(path))
        *container = container_named(
            (input->format & SF_FORMAT_TYPEMASK) == SF_FORMAT_AU ? "au" : "wav"); /* streamable */
    if (*container)
        return STATUS_OK;
    if (!request->container && foreign_sound_is_output(path))
        return foreign_sound_refuse_output(path);
    char list[256], near[SUGGEST_TEXT];
    list_containers(list, sizeof list);
    suggest_from_list(near, extension, list, "");
    return fail(CAUSE_USAGE, "cannot choose a container for %s by its name%s%s%s", path,
                *near ? near : "; use one of the extensions ", *near ? "" : list,
                *near ? "" : ", or --container");
}

/* Whether a format can have this rate. libsndfile would refuse it only when it opens the file. */
static bool has_rate(int format, uint32_t rate)
{
    static const uint32_t opus[] = {8000, 12000, 16000, 24000, 48000, 0};
    static const uint32_t mp3[] = {8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000, 0};
    enum { FLAC_MOST = 655350 };
    bool is_mp3 = (format & SF_FORMAT_TYPEMASK) == SOUND_MPEG;
    const uint32_t *rates = (format & SF_FORMAT_SUBMASK) == SF_FORMAT_OPUS ? opus
                            : is_mp3                                       ? mp3
                                                                           : NULL;
    if (!rates)
        return (format & SF_FORMAT_TYPEMASK) != SF_FORMAT_FLAC || rate <= FLAC_MOST;
    while (*rates && *rates != rate)
        rates++;
    return *rates != 0;
}

static bool holds(int format, const struct stream_format *stream)
{
    if (!has_rate(format, stream->rate))
        return false;
    SF_INFO info = {
        .samplerate = (int)stream->rate, .channels = (int)stream->channels, .format = format};
    return sf_format_check(&info);
}

const char *const sound_format_names[] = {"pcm16", "pcm24", "pcm32", "float", "double", NULL};

static int subtype_named(const char *name)
{
    size_t i = 0;
    while (!sample_formats[i].named || strcmp(sample_formats[i].name, name) != 0)
        i++;
    return sample_formats[i].subtype;
}

static enum status choose_named(const char *name, int major, const char *container,
                                const struct stream_format *stream, int *format)
{
    *format = major | subtype_named(name);
    if (holds(*format, stream))
        return STATUS_OK;
    return fail(CAUSE_USAGE,
                "%s cannot hold %zu channel%s of %s at %u Hz; choose another --format or container",
                container, stream->channels, plural_s(stream->channels), name, stream->rate);
}

/* The subtype that keeps the input's samples; 0: lossy. */
static int subtype_like(int input)
{
    const struct samples *samples = samples_of(input);
    if ((input & SF_FORMAT_SUBMASK) == 0)
        return SF_FORMAT_FLOAT; /* the sound is not from a file */
    return samples ? samples->like : 0;
}

enum status sound_format_choose(const char *path, const struct sound_format_request *request,
                                const struct sound_traits *input,
                                const struct stream_format *stream, int *format)
{
    const struct container *container;
    TRY(library_open(&sndfile_library));
    TRY(choose_container(path, request, input, &container));
    int major = container->major;
    if (major == SF_FORMAT_WAV &&
        ((input->format & SF_FORMAT_TYPEMASK) == SF_FORMAT_WAVEX ||
         channel_layout_needs_extensible(stream->layout, stream->channels)))
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
            *format = major | (subtype == SF_FORMAT_PCM_S8 ? SF_FORMAT_PCM_U8 : SF_FORMAT_PCM_S8);
        if (!subtype || !holds(*format, stream)) {
            *format = major | SF_FORMAT_PCM_24;
            if (!holds(*format, stream)) /* an old container */
                *format = major | SF_FORMAT_PCM_16;
            changed = true;
        }
    }
    if (!holds(*format, stream))
        return fail(CAUSE_USAGE, "%s cannot hold %zu channel%s at %u Hz; choose another container",
                    container->name, stream->channels, plural_s(stream->channels), stream->rate);
    if (changed)
        note("%s is written as %s, because %s %s; see --format", path, sound_format_name(*format),
             lossy ? "the input is" : container->name,
             lossy ? "lossy" : "cannot keep the input's sample format");
    return STATUS_OK;
}

bool sound_format_stays_wide(const char *path, const struct sound_format_request *request,
                             const struct sound_traits *input, const struct stream_format *stream)
{
    if (!sound_format_is_wide(input->format))
        return false;
    const struct container *container =
        container_named(request->container ? request->container : extension_of(path));
    int subtype =
        container && container->own_subtype ? container->own_subtype : subtype_like(input->format);
    if (request->samples)
        subtype = subtype_named(request->samples);
    return sound_format_is_wide(subtype) &&
           (!container || holds(container->major | subtype, stream));
}

/* ---- a layout that the user states ---- */

static void note_layout(const char *input, const struct stream_format *format)
{
    char text[CHANNEL_LAYOUT_TEXT];
    note_detail("%s: channel layout %s", input,
                channel_layout_name(format->layout, format->channels, text));
}

/* Whether a layout fits the channels. Furse-Malham ambisonics may lack heights of higher orders. */
static bool fits(struct channel_layout layout, size_t channels, size_t named)
{
    bool is_mixed = layout.ambisonic == AMBISONIC_FUMA && channels <= named;
    return !channel_layout_is_known(layout) || channels == named || is_mixed;
}

enum status stated_layout_apply(const char *name, const char *input, struct stream_format *format)
{
    struct channel_layout layout, own = format->layout;
    size_t named;
    char text[CHANNEL_LAYOUT_TEXT];
    if (!name) {
        note_layout(input, format);
        return STATUS_OK;
    }
    TRY(channel_layout_parse(name, &layout, &named));
    if (!fits(layout, format->channels, named))
        return fail(CAUSE_USAGE, "--layout %s is for %zu channel%s, but %s has %zu", name, named,
                    plural_s(named), input, format->channels);
    bool contradicts = channel_layout_is_known(own) && !channel_layout_equals(own, layout) &&
                       !channel_layout_equals(own, channel_layout_implied(format->channels));
    if (contradicts)
        note("%s says that its channels are %s; --layout takes them for %s", input,
             channel_layout_name(own, format->channels, text), name);
    format->layout = layout;
    note_layout(input, format);
    return STATUS_OK;
}
