#include "sound/channel_order.h"
#include "sound/stream_header.h"

#include <errno.h>
#include <sndfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    WAV_PLAIN = 16, /* bytes of a format */
    WAV_MASK = 20,  /* where the extensible one has its mask */
};

bool channel_layout_needs_extensible(struct channel_layout layout, size_t channels)
{
    return channel_layout_is_known(layout) &&
           !channel_layout_equals(layout, channel_layout_implied(channels));
}

static bool is_wav(int format)
{
    int major = format & SF_FORMAT_TYPEMASK;
    return major == SF_FORMAT_WAV || major == SF_FORMAT_WAVEX || major == SF_FORMAT_RF64 ||
           major == SF_FORMAT_W64;
}

/* libsndfile reads these as integers, which is noise at full scale, if they are extensible. */
static bool is_misread(int format)
{
    int submask = format & SF_FORMAT_SUBMASK;
    return (format & SF_FORMAT_TYPEMASK) == SF_FORMAT_W64 &&
           (submask == SF_FORMAT_FLOAT || submask == SF_FORMAT_DOUBLE);
}

static bool holds_layout(int format, struct channel_layout layout, size_t channels)
{
    int major = format & SF_FORMAT_TYPEMASK;
    unsigned char chunk[CHANNEL_CHUNK_MOST];
    if (channels > CHANNEL_ORDER_MOST || is_misread(format))
        return false;
    if (is_wav(format))
        return layout.ambisonic ? layout.ambisonic == AMBISONIC_FUMA
                                : layout.speakers >> CHANNEL_IN_WAV == 0;
    if (major == SF_FORMAT_CAF || major == SF_FORMAT_AIFF)
        return channel_order_put_chan(layout, channels, chunk) > 0;
    if (major == SF_FORMAT_FLAC)
        return channel_layout_equals(layout, channel_layout_of_flac(channels)) ||
               (!layout.ambisonic && layout.speakers >> CHANNEL_IN_WAV == 0);
    return false;
}

/* Files of these are taken for one layout by their number of channels. */
static void choose_vorbis(const char *name, int format, const struct stream_format *stream,
                          struct channel_order *order)
{
    struct channel_layout own;
    char text[CHANNEL_LAYOUT_TEXT], written[CHANNEL_LAYOUT_TEXT];
    int submask = format & SF_FORMAT_SUBMASK;
    channel_order_read(&(struct sound_bytes){.fd = -1}, SF_FORMAT_OGG | SF_FORMAT_VORBIS,
                       stream->channels, &own, order);
    if (!channel_layout_is_known(own) || channel_layout_equals(own, stream->layout))
        return;
    channel_layout_name(own, stream->channels, written);
    if (channel_layout_is_known(stream->layout))
        note("%s: %s knows no channel layout %s: its channels are written as %s", name,
             submask == SF_FORMAT_OPUS ? "Opus" : "Vorbis",
             channel_layout_name(stream->layout, stream->channels, text), written);
    else if (stream->channels > 2)
        note("%s: the input does not tell its channel layout: its channels are written as %s; see "
             "--layout",
             name, written);
}

void channel_order_choose(const char *name, int format, const struct stream_format *stream,
                          struct channel_order *order, struct channel_layout *stated)
{
    char text[CHANNEL_LAYOUT_TEXT];
    int submask = format & SF_FORMAT_SUBMASK;
    *order = (struct channel_order){0};
    *stated = (struct channel_layout){0};
    if (submask == SF_FORMAT_VORBIS || submask == SF_FORMAT_OPUS) {
        choose_vorbis(name, format, stream, order);
        return;
    }
    channel_layout_name(stream->layout, stream->channels, text);
    if (holds_layout(format, stream->layout, stream->channels))
        *stated = stream->layout;
    else if (channel_layout_needs_extensible(stream->layout, stream->channels))
        note("%s: its container cannot hold the channel layout %s%s", name, text,
             stream->layout.ambisonic ? "; caf can" : "; wav and caf can");
}

/* ---- headers of complete files ---- */

/* The format without its extension; what is left becomes a chunk that readers pass over. */
static int make_plain(int fd, const struct sound_chunk *format, const unsigned char tag[2])
{
    unsigned char rest[] = {WAV_PLAIN, 0, 0, 0}, junk[24] = "JUNK";
    junk[4] = (unsigned char)(format->size - WAV_PLAIN - 8);
    int error = sound_bytes_write(fd, format->content - 4, rest, sizeof rest);
    if (!error)
        error = sound_bytes_write(fd, format->content, tag, 2);
    return error ? error : sound_bytes_write(fd, format->content + WAV_PLAIN, junk, sizeof junk);
}

int channel_layout_patch_wav(int fd, struct channel_layout layout, bool extensible)
{
    struct sound_bytes bytes = sound_bytes_of_file(fd);
    struct sound_chunk format;
    unsigned char magic[4], now[40], wanted[CHANNEL_WAV_BYTES];
    if (!sound_bytes_read(&bytes, 0, magic, sizeof magic) ||
        !sound_chunks_find(&bytes, "fmt ", &format) || format.size != 40 ||
        !sound_bytes_read(&bytes, format.content, now, sizeof now))
        return bytes.error;
    unsigned tag = now[24] | (unsigned)now[25] << 8;
    if (!extensible && memcmp(magic, "RIFF", 4) == 0 && (tag == TAG_PCM || tag == TAG_FLOAT))
        return make_plain(fd, &format, now + 24);
    channel_layout_put_wav(layout, tag, wanted);
    return sound_bytes_write(fd, format.content + WAV_MASK, wanted, sizeof wanted);
}
