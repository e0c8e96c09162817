#include "sound/foreign_sound.h"
#include "base/files_read.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* ---- what it is ---- */

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
    {188, "G", "an MPEG transport stream"}, /* its packets, of 188 bytes, begin with it */
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

/* ---- its samples ---- */

static const char *integers_of(unsigned bits)
{
    return bits <= 16 ? "pcm_s16le" : bits <= 24 ? "pcm_s24le" : "pcm_s32le";
}

/* What follows `text`, or nothing. */
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

/* The flags of a block: bytes of a sample less one, and whether they are floats. */
static const char *codec_of_wavpack(struct byte_range begin)
{
    if (begin.size < 28 || (begin.at[24] & 0x80) || (begin.at[27] & 0x80)) /* float, DSD */
        return NULL;
    return integers_of(8 * ((begin.at[24] & 3U) + 1));
}

/* An ALAC box is in another of that name: version, frames, compatibility, bits. */
static const char *codec_of_alac(struct byte_range bytes)
{
    struct byte_range box = bytes;
    while ((box = after(box, "alac\0\0\0\0", 8)).size >= 6)
        if (box.at[4] == 0 && box.at[5] >= 16 && box.at[5] <= 32)
            return integers_of(box.at[5]);
    return NULL;
}

/* A number of one byte, of bits, follows its element's name. */
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

/* NULL: no more than single precision holds. */
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

bool foreign_sound_is_output(const char *path)
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

enum status foreign_sound_refuse_output(const char *path)
{
    return fail(CAUSE_USAGE,
                "cannot write %s: halo does not write its container; write WAV and convert that: "
                "ffmpeg -i IN.wav OUT",
                path);
}
