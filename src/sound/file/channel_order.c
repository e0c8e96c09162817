#include "sound/file/channel_order.h"

#include "sound/file/stream_header.h"

#include <errno.h>
#include <sndfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* ---- the chunk of Core Audio: "chan" in CAF, "CHAN" in AIFF ---- */

enum {
    TAG_DESCRIPTIONS = 0,
    TAG_BITMAP = 1,
    TAG_B_FORMAT = 107,
    TAG_ACN_SN3D = 190,
    TAG_ACN_N3D = 191, /* tags are in the upper half; the lower half is the number of channels */
    LABEL_FIRST = 1,   /* label of FL; the next labels are in the order of WAVE_FORMAT_EXTENSIBLE */
    LABEL_BACK_LEFT = 5,
    LABEL_REAR_LEFT = 33, /* "rear surround", in addition to "surround" */
    LABEL_UNKNOWN = 0xFFFF,
    HEADER_BYTES = 12,
    DESCRIPTION_BYTES = 20,
    TAG_CHANNELS_MOST = 8,
};

#define P(NAME) CHANNEL_##NAME
/* Layouts of tags. Surround channels are at the sides, as in FFmpeg. If a tag also has rear
 * surround channels, these are at the back. */
static const struct {
    uint16_t tag, channels;
    uint8_t positions[TAG_CHANNELS_MOST];
} tags[] = {
    {100, 1, {P(FC)}},
    {101, 2, {P(FL), P(FR)}},
    {102, 2, {P(FL), P(FR)}},
    {106, 2, {P(FL), P(FR)}},
    {108, 4, {P(FL), P(FR), P(BL), P(BR)}},
    {109, 5, {P(FL), P(FR), P(BL), P(BR), P(FC)}},
    {110, 6, {P(FL), P(FR), P(BL), P(BR), P(FC), P(BC)}},
    {113, 3, {P(FL), P(FR), P(FC)}},
    {114, 3, {P(FC), P(FL), P(FR)}},
    {115, 4, {P(FL), P(FR), P(FC), P(BC)}},
    {116, 4, {P(FC), P(FL), P(FR), P(BC)}},
    {117, 5, {P(FL), P(FR), P(FC), P(SL), P(SR)}},
    {118, 5, {P(FL), P(FR), P(SL), P(SR), P(FC)}},
    {119, 5, {P(FL), P(FC), P(FR), P(SL), P(SR)}},
    {120, 5, {P(FC), P(FL), P(FR), P(SL), P(SR)}},
    {121, 6, {P(FL), P(FR), P(FC), P(LFE), P(SL), P(SR)}},
    {122, 6, {P(FL), P(FR), P(SL), P(SR), P(FC), P(LFE)}},
    {123, 6, {P(FL), P(FC), P(FR), P(SL), P(SR), P(LFE)}},
    {124, 6, {P(FC), P(FL), P(FR), P(SL), P(SR), P(LFE)}},
    {125, 7, {P(FL), P(FR), P(FC), P(LFE), P(SL), P(SR), P(BC)}},
    {126, 8, {P(FL), P(FR), P(FC), P(LFE), P(SL), P(SR), P(FLC), P(FRC)}},
    {127, 8, {P(FC), P(FLC), P(FRC), P(FL), P(FR), P(SL), P(SR), P(LFE)}},
    {128, 8, {P(FL), P(FR), P(FC), P(LFE), P(SL), P(SR), P(BL), P(BR)}},
    {129, 8, {P(FL), P(FR), P(SL), P(SR), P(FC), P(LFE), P(FLC), P(FRC)}},
    {131, 3, {P(FL), P(FR), P(BC)}},
    {132, 4, {P(FL), P(FR), P(SL), P(SR)}},
    {133, 3, {P(FL), P(FR), P(LFE)}},
    {134, 4, {P(FL), P(FR), P(LFE), P(BC)}},
    {135, 5, {P(FL), P(FR), P(LFE), P(SL), P(SR)}},
    {136, 4, {P(FL), P(FR), P(FC), P(LFE)}},
    {137, 5, {P(FL), P(FR), P(FC), P(LFE), P(BC)}},
    {138, 5, {P(FL), P(FR), P(SL), P(SR), P(LFE)}},
    {139, 6, {P(FL), P(FR), P(SL), P(SR), P(FC), P(BC)}},
    {140, 7, {P(FL), P(FR), P(SL), P(SR), P(FC), P(BL), P(BR)}},
    {141, 6, {P(FC), P(FL), P(FR), P(SL), P(SR), P(BC)}},
    {142, 7, {P(FC), P(FL), P(FR), P(SL), P(SR), P(BC), P(LFE)}},
    {143, 7, {P(FC), P(FL), P(FR), P(SL), P(SR), P(BL), P(BR)}},
    {144, 8, {P(FC), P(FL), P(FR), P(SL), P(SR), P(BL), P(BR), P(BC)}},
    {148, 7, {P(FL), P(FR), P(SL), P(SR), P(FC), P(FLC), P(FRC)}},
    {149, 2, {P(FC), P(LFE)}},
    {150, 3, {P(FL), P(FC), P(FR)}},
    {151, 4, {P(FL), P(FC), P(FR), P(BC)}},
    {152, 4, {P(FL), P(FC), P(FR), P(LFE)}},
    {153, 4, {P(FL), P(FR), P(BC), P(LFE)}},
    {154, 5, {P(FL), P(FC), P(FR), P(BC), P(LFE)}},
    {185, 4, {P(FL), P(FR), P(BL), P(BR)}},
    {186, 5, {P(FL), P(FR), P(FC), P(BL), P(BR)}},
    {187, 6, {P(FL), P(FR), P(FC), P(LFE), P(BL), P(BR)}},
    {188, 7, {P(FL), P(FR), P(FC), P(LFE), P(BC), P(SL), P(SR)}},
    {189, 8, {P(FL), P(FR), P(FC), P(LFE), P(BL), P(BR), P(SL), P(SR)}},
};

/* Labels beyond those of WAVE_FORMAT_EXTENSIBLE. */
static const struct {
    uint16_t label;
    uint8_t position;
} labels[] = {
    {LABEL_REAR_LEFT, P(BL)},
    {LABEL_REAR_LEFT + 1, P(BR)},
    {35, P(WL)},
    {36, P(WR)},
    {37, P(LFE2)},
    {38, P(DL)},
    {39, P(DR)},
    {42, P(FC)},
    {49, P(TSL)},
    {51, P(TSR)},
};
enum { LABELS = sizeof labels / sizeof *labels };

static uint8_t position_of(uint64_t label)
{
    if (label >= LABEL_FIRST && label < LABEL_FIRST + CHANNEL_IN_WAV)
        return (uint8_t)(label - LABEL_FIRST);
    for (size_t i = 0; i < LABELS; i++)
        if (labels[i].label == label)
            return labels[i].position;
    return CHANNEL_OTHER;
}

/* The label of a position; 0: there is none. */
static uint16_t label_of(int position)
{
    if (position < CHANNEL_IN_WAV)
        return (uint16_t)(position + LABEL_FIRST);
    for (size_t i = 0; i < LABELS; i++)
        if (labels[i].position == position)
            return labels[i].label;
    return 0;
}

static void read_descriptions(struct sound_bytes *bytes, const struct sound_chunk *chunk,
                              size_t channels, struct channel_layout *layout,
                              struct channel_order *order)
{
    uint8_t positions[CHANNEL_ORDER_MOST];
    uint64_t label, count;
    bool has_rear = false;
    if (!sound_bytes_number(bytes, chunk->content + 8, 4, &count) || count != channels ||
        chunk->size < HEADER_BYTES + channels * DESCRIPTION_BYTES)
        return;
    for (size_t c = 0; c < channels; c++) {
        if (!sound_bytes_number(bytes, chunk->content + HEADER_BYTES + c * DESCRIPTION_BYTES, 4,
                                &label))
            return;
        positions[c] = position_of(label);
        has_rear |= label == LABEL_REAR_LEFT || label == LABEL_REAR_LEFT + 1;
    }
    /* with rear surrounds, the others are sides */
    for (size_t c = 0; c < channels && has_rear; c++) {
        sound_bytes_number(bytes, chunk->content + HEADER_BYTES + c * DESCRIPTION_BYTES, 4, &label);
        if (label == LABEL_BACK_LEFT || label == LABEL_BACK_LEFT + 1)
            positions[c] = (uint8_t)(CHANNEL_SL + label - LABEL_BACK_LEFT);
    }
    channel_order_sort(positions, channels, layout, order);
}

static void read_tag(uint64_t tag, size_t channels, struct channel_layout *layout,
                     struct channel_order *order)
{
    static const struct {
        uint64_t tag;
        enum ambisonic ambisonic;
    } ambisonics[] = {{TAG_B_FORMAT, AMBISONIC_FUMA},
                      {TAG_ACN_SN3D, AMBISONIC_SN3D},
                      {TAG_ACN_N3D, AMBISONIC_N3D}};
    if ((tag & 0xFFFF) != channels)
        return;
    for (size_t i = 0; i < sizeof ambisonics / sizeof *ambisonics; i++)
        if (ambisonics[i].tag == tag >> 16)
            layout->ambisonic = ambisonics[i].ambisonic;
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        if (tags[i].tag == tag >> 16 && tags[i].channels == channels)
            channel_order_sort(tags[i].positions, channels, layout, order);
}

static void channel_order_read_chan(struct sound_bytes *bytes, const struct sound_chunk *chunk,
                                    size_t channels, struct channel_layout *layout,
                                    struct channel_order *order)
{
    uint64_t tag, bitmap;
    if (chunk->size < HEADER_BYTES || !sound_bytes_number(bytes, chunk->content, 4, &tag) ||
        !sound_bytes_number(bytes, chunk->content + 4, 4, &bitmap))
        return;
    if (tag == TAG_DESCRIPTIONS) {
        read_descriptions(bytes, chunk, channels, layout, order);
    } else if (tag == TAG_BITMAP << 16) {
        layout->speakers = bitmap & ((UINT32_C(1) << CHANNEL_IN_WAV) - 1);
        if (channel_layout_count(*layout) > channels)
            layout->speakers = 0;
    } else {
        read_tag(tag, channels, layout, order);
    }
}

/* ---- writing "chan" ---- */

static void put_big(unsigned char *bytes, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        bytes[i] = (unsigned char)(value >> (8 * (3 - i)));
}

static size_t put_descriptions(struct channel_layout layout, size_t channels, unsigned char *chunk)
{
    size_t count = 0;
    for (int p = 0; p < CHANNEL_POSITIONS; p++) {
        if (!(layout.speakers & UINT32_C(1) << p))
            continue;
        uint16_t label = label_of(p);
        if (!label)
            return 0;
        put_big(chunk + HEADER_BYTES + count++ * DESCRIPTION_BYTES, label);
    }
    for (; count < channels; count++)
        put_big(chunk + HEADER_BYTES + count * DESCRIPTION_BYTES, LABEL_UNKNOWN);
    put_big(chunk + 8, (uint32_t)channels);
    return HEADER_BYTES + channels * DESCRIPTION_BYTES;
}

size_t channel_order_put_chan(struct channel_layout layout, size_t channels,
                              unsigned char chunk[CHANNEL_CHUNK_MOST])
{
    memset(chunk, 0, CHANNEL_CHUNK_MOST);
    uint32_t ambisonic = layout.ambisonic == AMBISONIC_SN3D  ? TAG_ACN_SN3D
                         : layout.ambisonic == AMBISONIC_N3D ? TAG_ACN_N3D
                                                             : TAG_B_FORMAT;
    if (layout.ambisonic == AMBISONIC_FUMA && channels != 4)
        return 0;
    if (layout.ambisonic) {
        put_big(chunk, ambisonic << 16 | (uint32_t)channels);
        return HEADER_BYTES;
    }
    bool fits_bitmap =
        layout.speakers >> CHANNEL_IN_WAV == 0 && channel_layout_count(layout) == channels;
    if (!fits_bitmap)
        return put_descriptions(layout, channels, chunk);
    put_big(chunk, TAG_BITMAP << 16);
    put_big(chunk + 4, layout.speakers);
    return HEADER_BYTES;
}

enum {
    FLAC_BLOCKS_MOST = 128,
    FLAC_COMMENTS = 4, /* type of a FLAC metadata block with comments */
    FLAC_COMMENTS_MOST = 1 << 16,
    OGG_SEGMENTS = 26,   /* offset of the number of segments in a page's header */
    WAV_MASK = 20,       /* offset of the mask in WAVE_FORMAT_EXTENSIBLE */
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
    /* the highest positions of the mask have no channel */
    while (channel_layout_count(layout) > channels)
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

/* Read the layout from the comments of a FLAC's block, which ends at `end`. */
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

/* The offset at which a FLAC begins. Some files have an ID3 tag before it. */
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

static void read_flac(struct sound_bytes *bytes, size_t channels, struct channel_layout *layout,
                      struct channel_order *order)
{
    (void)order;
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

/* Read the layout of an Opus from the family of its channel mapping (RFC 7845, RFC 8486). */
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

static void read_vorbis(struct sound_bytes *bytes, size_t channels, struct channel_layout *layout,
                        struct channel_order *order)
{
    (void)bytes;
    order_of_vorbis(channels, layout, order);
}

/* ---- any sound ---- */

static void read_chunks(struct sound_bytes *bytes, size_t channels, struct channel_layout *layout,
                        struct channel_order *order)
{
    struct sound_chunk chunk;
    if (sound_chunks_find(bytes, "fmt ", &chunk))
        read_wav(bytes, &chunk, channels, layout);
    else if (sound_chunks_find(bytes, "chan", &chunk) || sound_chunks_find(bytes, "CHAN", &chunk))
        channel_order_read_chan(bytes, &chunk, channels, layout, order);
}

static bool wav_holds(struct channel_layout layout, size_t channels)
{
    (void)channels;
    return layout.ambisonic ? layout.ambisonic == AMBISONIC_FUMA
                            : layout.speakers >> CHANNEL_IN_WAV == 0;
}

static bool chan_holds(struct channel_layout layout, size_t channels)
{
    unsigned char chunk[CHANNEL_CHUNK_MOST];
    return channel_order_put_chan(layout, channels, chunk) > 0;
}

static bool flac_holds(struct channel_layout layout, size_t channels)
{
    return channel_layout_equals(layout, channel_layout_of_flac(channels)) ||
           (!layout.ambisonic && layout.speakers >> CHANNEL_IN_WAV == 0);
}

/* How a container or a codec stores the layout of its channels. */
struct order_form {
    int mask, format; /* libsndfile's format & mask == format for these files */
    const char
        *codec; /* name of a codec whose layout follows from the number of channels; else NULL */
    void (*read)(struct sound_bytes *bytes, size_t channels, struct channel_layout *layout,
                 struct channel_order *order);
    bool (*holds)(struct channel_layout layout, size_t channels); /* NULL: holds no layout */
};

static const struct order_form *form_of(int format)
{
    static const struct order_form others = {.read = read_chunks};
    static const struct order_form rows[] = {
        {SF_FORMAT_SUBMASK, SF_FORMAT_VORBIS, "Vorbis", read_vorbis, NULL},
        {SF_FORMAT_SUBMASK, SF_FORMAT_OPUS, "Opus", read_opus, NULL},
        {SF_FORMAT_TYPEMASK, SF_FORMAT_FLAC, NULL, read_flac, flac_holds},
        {SF_FORMAT_TYPEMASK, SF_FORMAT_WAV, NULL, read_chunks, wav_holds},
        {SF_FORMAT_TYPEMASK, SF_FORMAT_WAVEX, NULL, read_chunks, wav_holds},
        {SF_FORMAT_TYPEMASK, SF_FORMAT_RF64, NULL, read_chunks, wav_holds},
        {SF_FORMAT_TYPEMASK, SF_FORMAT_W64, NULL, read_chunks, wav_holds},
        {SF_FORMAT_TYPEMASK, SF_FORMAT_CAF, NULL, read_chunks, chan_holds},
        {SF_FORMAT_TYPEMASK, SF_FORMAT_AIFF, NULL, read_chunks, chan_holds},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if ((format & rows[i].mask) == rows[i].format)
            return &rows[i];
    return &others;
}

void channel_order_read(struct sound_bytes *bytes, int format, size_t channels,
                        struct channel_layout *layout, struct channel_order *order)
{
    *layout = (struct channel_layout){0};
    *order = (struct channel_order){0};
    if (channels > CHANNEL_ORDER_MOST)
        return;
    form_of(format)->read(bytes, channels, layout, order);
    if (!channel_layout_is_known(*layout))
        *layout = channel_layout_implied(channels);
}

/* ---- writing ---- */

enum {
    WAV_PLAIN = 16, /* bytes of a format */
};

bool channel_layout_needs_extensible(struct channel_layout layout, size_t channels)
{
    return channel_layout_is_known(layout) &&
           !channel_layout_equals(layout, channel_layout_implied(channels));
}

/* Whether libsndfile would misread an extensible file: floats of W64 as integers, as loud noise. */
static bool is_misread(int format)
{
    int submask = format & SF_FORMAT_SUBMASK;
    return (format & SF_FORMAT_TYPEMASK) == SF_FORMAT_W64 &&
           (submask == SF_FORMAT_FLOAT || submask == SF_FORMAT_DOUBLE);
}

static void choose_by_number(const char *name, const char *codec,
                             const struct stream_format *stream, struct channel_order *order)
{
    struct channel_layout own;
    char text[CHANNEL_LAYOUT_TEXT], written[CHANNEL_LAYOUT_TEXT];
    channel_order_read(&(struct sound_bytes){.fd = -1}, SF_FORMAT_OGG | SF_FORMAT_VORBIS,
                       stream->channels, &own, order);
    if (!channel_layout_is_known(own) || channel_layout_equals(own, stream->layout))
        return;
    channel_layout_name(own, stream->channels, written);
    if (channel_layout_is_known(stream->layout))
        note("%s: %s knows no channel layout %s: its channels are written as %s", name, codec,
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
    const struct order_form *form = form_of(format);
    *order = (struct channel_order){0};
    *stated = (struct channel_layout){0};
    if (form->codec) {
        choose_by_number(name, form->codec, stream, order);
        return;
    }
    channel_layout_name(stream->layout, stream->channels, text);
    if (form->holds && stream->channels <= CHANNEL_ORDER_MOST && !is_misread(format) &&
        form->holds(stream->layout, stream->channels))
        *stated = stream->layout;
    else if (channel_layout_needs_extensible(stream->layout, stream->channels))
        note("%s: its container cannot hold the channel layout %s%s", name, text,
             stream->layout.ambisonic ? "; caf can" : "; wav and caf can");
}

/* Shorten the format to one without extension. The rest becomes a chunk that readers skip. */
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
