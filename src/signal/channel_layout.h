/* Which loudspeaker each channel of a sound is for, or that they are ambisonics.
 *
 * In halo the channels of a sound whose layout is known are in the order of enum channel_position,
 * which is that of WAVE_FORMAT_EXTENSIBLE, continued; those without a position come after the
 * others. Files in another order are sorted as they are read and written (sound/file/channel_order.h).
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
    CHANNEL_IN_WAV, /* WAVE_FORMAT_EXTENSIBLE knows those before */
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
    CHANNEL_OTHER = CHANNEL_POSITIONS, /* of no known position */
};

/* SN3D and N3D are in the order ACN. */
enum ambisonic { AMBISONIC_NONE, AMBISONIC_SN3D, AMBISONIC_N3D, AMBISONIC_FUMA };

/* All zero: unknown. */
struct channel_layout {
    uint32_t speakers; /* a bit for each position */
    enum ambisonic ambisonic;
};

enum { CHANNEL_LAYOUT_TEXT = 192 };

bool channel_layout_is_known(struct channel_layout layout);
bool channel_layout_equals(struct channel_layout a, struct channel_layout b);

/* Channels that have a position. */
size_t channel_layout_count(struct channel_layout layout);

/* The usual layout of so many channels, which is that of files that name none; unknown above 8. */
struct channel_layout channel_layout_usual(size_t channels);

/* What so many channels are even where nothing says so: mono, stereo; else unknown. */
struct channel_layout channel_layout_implied(size_t channels);

/* Write the name of a layout of so many channels; "unknown". Returns `text`. */
const char *channel_layout_name(struct channel_layout layout, size_t channels,
                                char text[CHANNEL_LAYOUT_TEXT]);

/* A name, or positions joined by +, in their order; "none" is unknown, of 0 channels.
 * Errors (usage): neither. */
MUST_CHECK enum status channel_layout_parse(const char *text, struct channel_layout *layout,
                                            size_t *channels);

/* The position of a name, which may be that of other programs (L, C, Ls, RL, SUB); CHANNEL_OTHER:
 * it is none. Ls and Rs are at the sides where the layout has those, else at the back. */
enum channel_position channel_position_named(const char *name, size_t length,
                                             struct channel_layout layout);

/* Whether a name is a number, of up to four digits. */
bool channel_number_read(const char *name, size_t length, size_t *number);

/* The channel, counted from 0, of a number from 1 or of a position's name. For messages: `option`
 * has it ("map="), `of` is the sound's name, `advice` ends that of an unknown layout. Errors
 * (usage): there is no such channel. */
MUST_CHECK enum status channel_layout_find(const char *option, const char *of, const char *advice,
                                           size_t channels, struct channel_layout layout,
                                           const char *name, size_t length, size_t *channel);

/* The channel of a position that the layout has, counted from 0. */
size_t channel_layout_index(struct channel_layout layout, enum channel_position position);

#endif
