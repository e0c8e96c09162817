/* Levels by thirds of an octave from 20 Hz on, computed for the tests of halo correct alone. */
#ifndef HALO_TESTS_THIRDS_H
#define HALO_TESTS_THIRDS_H

#include "mask/mask.h"

#include <jansson.h>

enum { THIRDS = 31 };

/* Levels in dB of the mean power of a column of all masks, through the column of `filter` with the
 * number `by` if there is a filter. */
void thirds_measure(struct mask *const *masks, size_t count, size_t column,
                    const struct mask *filter, size_t by, double levels[THIRDS]);

/* A curve that halo correct --json tells of a loudspeaker equals `truth` in the thirds before `end`,
 * unless both are quiet. 0 dB is the mean of `measured` where the loudspeaker plays. */
void thirds_expect(const json_t *speaker, const char *curve, const double *measured,
                   const double *truth, size_t end);

#endif
