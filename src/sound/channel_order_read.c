#include "sound/channel_order.h"
#include "sound/stream_header.h"

#include <sndfile.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    FLAC_BLOCKS_MOST = 128,
    FLAC_COMMENTS = 4, /* the type of a metadata block */
    FLAC_COMMENTS_MOST = 1 << 16,
    OGG_SEGMENTS = 26,   /* where a page's header has their number */
    WAV_MASK = 20,       /* where WAVE_FORMAT_EXTENSIBLE has its mask */
    WAV_EXTENSIBLE = 40, /* bytes */
};

/* ---- positions in the order of a file ---- */

void channel_order_sort(const uint8_t *positions, size_t channels, struct channel_layout *layout,
                        struct channel_order *order)
{
    uint32_t speakers = 0;
    *layout = (struct channel_layout){0};
    *order = (struct channel_order){0};
    for (size_t c = 0; c < channels; c++) {
        uint32_t bit = positions[c] < CHANNEL_POSITIONS ? UINT32_C(1) << positions[c] : 0;
        if (speakers & bit)
            return;
        speakers |= bit;
    }
    layout->speakers = speakers;
    size_t others = channel_layout_count(*layout);
    bool is_sorted = true;
    for (size_t c = 0; c < channels; c++) {
        order->rows[c] =
            (uint8_t)(positions[c] < CHANNEL_POSITIONS ? channel_layout_index(*layout, positions[c])
                                                       : others++);
        is_sorted &= order->rows[c] == c;
    }
    order->count = is_sorted ? 0 : channels;
}

static void order_of_vorbis(size_t channels, struct channel_layout *layout,
                            struct channel_order *order)
{
    static const uint8_t positions[][8] = {
        [3] = {CHANNEL_FL, CHANNEL_FC, CHANNEL_FR},
        [5] = {CHANNEL_FL, CHANNEL_FC, CHANNEL_FR, CHANNEL_BL, CHANNEL_BR},
        [6] = {CHANNEL_FL, CHANNEL_FC, CHANNEL_FR, CHANNEL_BL, CHANNEL_BR, CHANNEL_LFE},
        [7] = {CHANNEL_FL, CHANNEL_FC, CHANNEL_FR, CHANNEL_SL, CHANNEL_SR, CHANNEL_BC, CHANNEL_LFE},
        [8] = {CHANNEL_FL, CHANNEL_FC, CHANNEL_FR, CHANNEL_SL, CHANNEL_SR, CHANNEL_BL, CHANNEL_BR,
               CHANNEL_LFE},
    };
    *order = (struct channel_order){0};
    if (channels == 3 || (channels >= 5 && channels <= 8))
        channel_order_sort(positions[channels], channels, layout, order);
    else
        *layout = channel_layout_usual(channels);
}

/* ---- WAV ---- */

static struct channel_layout layout_of_mask(uint64_t mask, size_t channels)
{
    struct channel_layout layout = {.speakers = mask & ((UINT32_C(1) << CHANNEL_IN_WAV) - 1)};
    while (channel_layout_count(layout) > channels) /* the highest have no channel */
        layout.speakers &= ~(UINT32_C(1) << (31 - __builtin_clz(layout.speakers)));
    return layout;
}

static const unsigned char b_format[] = {0, 0, 0x21, 7, 0xd3, 0x11, 0x86, 0x44, 0xc8, 0xc1, 0xca};

struct channel_layout channel_layout_of_wav(const unsigned char *chunk, size_t size,
                                            bool big_endian, size_t channels)
{
    struct sound_bytes bytes = {.memory = chunk, .size = size, .big_endian = big_endian};
    uint64_t tag, mask;
    if (size < WAV_EXTENSIBLE || !sound_bytes_number(&bytes, 0, 2, &tag) || tag != TAG_EXTENSIBLE ||
        !sound_bytes_number(&bytes, WAV_MASK, 4, &mask))
        return (struct channel_layout){0};
    if (memcmp(chunk + WAV_MASK + 6, b_format, sizeof b_format) == 0)
        return (struct channel_layout){.ambisonic = AMBISONIC_FUMA};
    return layout_of_mask(mask, channels);
}

void channel_layout_put_wav(struct channel_layout layout, unsigned tag,
                            unsigned char bytes[CHANNEL_WAV_BYTES])
{
    static const unsigned char media[] = {0, 0, 0,    0, 0x10, 0,    0x80,
                                          0, 0, 0xaa, 0, 0x38, 0x9b, 0x71};
    bool is_b_format = layout.ambisonic == AMBISONIC_FUMA;
    uint32_t mask = layout.speakers & ((UINT32_C(1) << CHANNEL_IN_WAV) - 1);
    memset(bytes, 0, CHANNEL_WAV_BYTES);
    for (int i = 0; i < 4; i++)
        bytes[i] = (unsigned char)(mask >> (8 * i));
    bytes[4] = (unsigned char)tag;
    bytes[5] = (unsigned char)(tag >> 8);
    memcpy(bytes + 6, is_b_format ? b_format : media, is_b_format ? sizeof b_format : sizeof media);
}

static void read_wav(struct sound_bytes *bytes, const struct sound_chunk *chunk, size_t channels,
                     struct channel_layout *layout)
{
    unsigned char format[WAV_EXTENSIBLE];
    if (chunk->size >= sizeof format &&
        sound_bytes_read(bytes, chunk->content, format, sizeof format))
        *layout = channel_layout_of_wav(format, sizeof format, bytes->big_endian, channels);
}

/* ---- FLAC ---- */

struct channel_layout channel_layout_of_flac(size_t channels)
{
    struct channel_layout layout = channel_layout_usual(channels);
    const uint32_t back = UINT32_C(1) << CHANNEL_BL | UINT32_C(1) << CHANNEL_BR;
    if (channels == 5 || channels == 6)
        layout.speakers = (layout.speakers & ~back) | back << (CHANNEL_SL - CHANNEL_BL);
    return layout;
}

/* The comment in a block of them, which ends at `end`. */
static void read_flac_comments(struct sound_bytes *bytes, uint64_t at, uint64_t end,
                               size_t channels, struct channel_layout *layout)
{
    static const char name[] = "WAVEFORMATEXTENSIBLE_CHANNEL_MASK=";
    uint64_t length, count;
    bytes->big_endian = false;
    if (!sound_bytes_number(bytes, at, 4, &length) ||
        !sound_bytes_number(bytes, at + 4 + length, 4, &count))
        return;
    at += 8 + length;
    for (uint64_t i = 0; i < count && i < FLAC_COMMENTS_MOST && at < end; i++) {
        char text[sizeof name + 16] = "";
        if (!sound_bytes_number(bytes, at, 4, &length))
            return;
        if (length >= sizeof name && length < sizeof text && at + 4 + length <= end &&
            sound_bytes_read(bytes, at + 4, text, (size_t)length) &&
            strncasecmp(text, name, sizeof name - 1) == 0)
            *layout = layout_of_mask(strtoul(text + sizeof name - 1, NULL, 0), channels);
        at += 4 + length;
    }
}

/* Behind the tag of ID3 that some files have in front. */
static uint64_t flac_begin(struct sound_bytes *bytes)
{
    unsigned char head[10];
    if (!sound_bytes_read(bytes, 0, head, sizeof head) || memcmp(head, "ID3", 3) != 0)
        return 0;
    uint64_t size = 0;
    for (int i = 6; i < 10; i++)
        size = size << 7 | (head[i] & 0x7F);
    return sizeof head + size;
}

static void read_flac(struct sound_bytes *bytes, size_t channels, struct channel_layout *layout)
{
    uint64_t at = flac_begin(bytes) + 4, head;
    bool is_last = false;
    *layout = channel_layout_of_flac(channels);
    for (int i = 0; i < FLAC_BLOCKS_MOST && !is_last; i++) {
        bytes->big_endian = true;
        if (!sound_bytes_number(bytes, at, 4, &head))
            return;
        uint64_t size = head & 0xFFFFFF;
        is_last = head >> 31;
        if ((head >> 24 & 0x7F) == FLAC_COMMENTS)
            read_flac_comments(bytes, at + 4, at + 4 + size, channels, layout);
        at += 4 + size;
    }
}

/* ---- Ogg ---- */

static size_t side_of_square(size_t channels)
{
    size_t side = 1;
    while (side * side < channels)
        side++;
    return side * side == channels ? side : 0;
}

/* By the family of Opus' mapping (RFC 7845, RFC 8486). */
static void read_opus(struct sound_bytes *bytes, size_t channels, struct channel_layout *layout,
                      struct channel_order *order)
{
    unsigned char segments, head[19];
    if (!sound_bytes_read(bytes, OGG_SEGMENTS, &segments, 1) ||
        !sound_bytes_read(bytes, OGG_SEGMENTS + 1 + (uint64_t)segments, head, sizeof head) ||
        memcmp(head, "OpusHead", 8) != 0)
        return;
    if (head[18] <= 1)
        order_of_vorbis(channels, layout, order);
    else if (head[18] == 2 && side_of_square(channels))
        layout->ambisonic = AMBISONIC_SN3D;
}

/* ---- any ---- */

static void read_chunks(struct sound_bytes *bytes, size_t channels, struct channel_layout *layout,
                        struct channel_order *order)
{
    struct sound_chunk chunk;
    if (sound_chunks_find(bytes, "fmt ", &chunk))
        read_wav(bytes, &chunk, channels, layout);
    else if (sound_chunks_find(bytes, "chan", &chunk) || sound_chunks_find(bytes, "CHAN", &chunk))
        channel_order_read_chan(bytes, &chunk, channels, layout, order);
}

void channel_order_read(struct sound_bytes *bytes, int format, size_t channels,
                        struct channel_layout *layout, struct channel_order *order)
{
    *layout = (struct channel_layout){0};
    *order = (struct channel_order){0};
    if (channels > CHANNEL_ORDER_MOST)
        return;
    if ((format & SF_FORMAT_SUBMASK) == SF_FORMAT_VORBIS)
        order_of_vorbis(channels, layout, order);
    else if ((format & SF_FORMAT_SUBMASK) == SF_FORMAT_OPUS)
        read_opus(bytes, channels, layout, order);
    else if ((format & SF_FORMAT_TYPEMASK) == SF_FORMAT_FLAC)
        read_flac(bytes, channels, layout);
    else
        read_chunks(bytes, channels, layout, order);
    if (!channel_layout_is_known(*layout))
        *layout = channel_layout_implied(channels);
}
