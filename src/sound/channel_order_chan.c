/* The chunk of Core Audio that tells what channels are: "chan" in CAF, "CHAN" in AIFF. */
#include "sound/channel_order.h"

#include <string.h>

enum {
    TAG_DESCRIPTIONS = 0,
    TAG_BITMAP = 1,
    TAG_B_FORMAT = 107,
    TAG_ACN_SN3D = 190,
    TAG_ACN_N3D = 191, /* in the upper half of a tag; the lower one counts channels */
    LABEL_FIRST = 1,   /* that of FL; the others follow as in WAVE_FORMAT_EXTENSIBLE */
    LABEL_BACK_LEFT = 5,
    LABEL_REAR_LEFT = 33, /* "rear surround", beside "surround" */
    LABEL_UNKNOWN = 0xFFFF,
    HEADER_BYTES = 12,
    DESCRIPTION_BYTES = 20,
    TAG_CHANNELS_MOST = 8,
};

#define P(NAME) CHANNEL_##NAME
/* The surrounds of a tag are at the sides, as FFmpeg has it; where it has rear ones, too, those are
 * at the back. */
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

/* 0: it has none. */
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
    for (size_t c = 0; c < channels && has_rear; c++) { /* surrounds beside rear ones are sides */
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

void channel_order_read_chan(struct sound_bytes *bytes, const struct sound_chunk *chunk,
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

/* ---- writing ---- */

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
