/* The loudspeaker that each channel of a sound is for, or that the channels are ambisonics.
 *
 * If a sound's layout is known, halo has its channels in the order of enum channel_position. This
 * is the order of WAVE_FORMAT_EXTENSIBLE, continued. Channels without a position come last. Files
 * in another order are sorted when they are read and written (sound/file/channel_order.h).
 * Ambisonics keep their own order: ACN, or that of Furse and Malham.
 *
 * Names are FFmpeg's: 5.1, 5.1(side), FL+LFE, ambisonic 1.
 * Threads: any.
 */
#ifndef HALO_CHANNEL_LAYOUT_H
#define HALO_CHANNEL_LAYOUT_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum channel_position {
    CHANNEL_FL,
    CHANNEL_FR,
    CHANNEL_FC,
    CHANNEL_LFE,
    CHANNEL_BL,
    CHANNEL_BR,
    CHANNEL_FLC,
    CHANNEL_FRC,
    CHANNEL_BC,
    CHANNEL_SL,
    CHANNEL_SR,
    CHANNEL_TC,
    CHANNEL_TFL,
    CHANNEL_TFC,
    CHANNEL_TFR,
    CHANNEL_TBL,
    CHANNEL_TBC,
    CHANNEL_TBR,
    CHANNEL_IN_WAV, /* number of positions that WAVE_FORMAT_EXTENSIBLE has */
    CHANNEL_DL = CHANNEL_IN_WAV,
    CHANNEL_DR,
    CHANNEL_WL,
    CHANNEL_WR,
    CHANNEL_SDL,
    CHANNEL_SDR,
    CHANNEL_LFE2,
    CHANNEL_TSL,
    CHANNEL_TSR,
    CHANNEL_BFC,
    CHANNEL_BFL,
    CHANNEL_BFR,
    CHANNEL_POSITIONS,
    CHANNEL_OTHER = CHANNEL_POSITIONS, /* no known position */
};

/* The channels of SN3D and N3D are in ACN order. */
enum ambisonic { AMBISONIC_NONE, AMBISONIC_SN3D, AMBISONIC_N3D, AMBISONIC_FUMA };

/* All zero: the layout is unknown. */
struct channel_layout {
    uint32_t speakers; /* one bit for each position */
    enum ambisonic ambisonic;
};

enum { CHANNEL_LAYOUT_TEXT = 192 };

bool channel_layout_is_known(struct channel_layout layout);
bool channel_layout_equals(struct channel_layout a, struct channel_layout b);

/* Number of channels that have a position. */
size_t channel_layout_count(struct channel_layout layout);

/* The usual layout of so many channels, for files without one. Unknown above 8 channels. */
struct channel_layout channel_layout_usual(size_t channels);

/* The layout of so many channels if nothing tells it: mono or stereo; otherwise unknown. */
struct channel_layout channel_layout_implied(size_t channels);

/* Writes the name of a layout of so many channels, or "unknown". Returns `text`. */
const char *channel_layout_name(struct channel_layout layout, size_t channels,
                                char text[CHANNEL_LAYOUT_TEXT]);

/* Parses a name, or positions joined by +. "none": unknown, 0 channels. Errors: usage. */
MUST_CHECK enum status channel_layout_parse(const char *text, struct channel_layout *layout,
                                            size_t *channels);

/* The position of a name, also of other programs' names (L, C, Ls, RL, SUB). CHANNEL_OTHER: no
 * name. Ls and Rs are at the sides if the layout has those positions, otherwise at the back. */
enum channel_position channel_position_named(const char *name, size_t length,
                                             struct channel_layout layout);

/* Reads a number of up to four digits. False: the name is not one. */
bool channel_number_read(const char *name, size_t length, size_t *number);

/* Finds the channel, counted from 0, for a number from 1 or a position's name. For messages:
 * `option` is the option that has it ("map="), `of` the sound's name, `advice` is added if the
 * layout is unknown. Errors (usage): there is no such channel. */
MUST_CHECK enum status channel_layout_find(const char *option, const char *of, const char *advice,
                                           size_t channels, struct channel_layout layout,
                                           const char *name, size_t length, size_t *channel);

/* The channel of a position, counted from 0. The layout must have the position. */
size_t channel_layout_index(struct channel_layout layout, enum channel_position position);

#endif
