/* The mean and spread of several rooms, or of several positions in one, by octave. Levels are the
 * mean power of the response in the octave; in the first band, for white noise. The spread is the
 * standard deviation. Threads: one at a time. Not real-time. */
#ifndef HALO_ROOM_MEAN_H
#define HALO_ROOM_MEAN_H

#include "acoustics/mask_stats.h"
#include "mask/mask.h"

#include <jansson.h>

enum { ROOM_MEANS = 3 }; /* level, T20 and T30 */

/* Begins as zeros. */
struct room_mean {
    size_t masks, columns;
    bool is_mixed; /* a mask was no room, or had another number of channels: there is no mean */
    struct room_mean_band {
        double hz; /* 0: all frequencies */
        struct room_sums {
            size_t count;
            double sum, squares, power;
        } of[ROOM_MEANS];
    } *bands; /* [columns][ROOM_BANDS] */
};

/* Errors: memory. */
MUST_CHECK enum status room_mean_add(struct room_mean *mean, const struct mask *mask,
                                     const struct mask_stats *stats);
void room_mean_free(struct room_mean *mean);

/* Whether two rooms at least were added, and nothing else. */
bool room_mean_is_known(const struct room_mean *mean);

/* Prints a table for each channel to standard output. */
void room_mean_print(const struct room_mean *mean);

/* A new reference. Decay times are null unless all rooms have them. NULL: no memory. */
json_t *room_mean_object(const struct room_mean *mean);

#endif
