/* The long-term spectrum of a sound: the sum of the powers of windowed blocks of all its channels.
 * Silence adds nothing. Threads: any. Not real-time. */
#ifndef HALO_LONG_TERM_H
#define HALO_LONG_TERM_H

#include "base/status.h"
#include "design/correct_curve.h"

#include <stdint.h>

/* Errors: opening, reading, memory; the sound is silent. */
MUST_CHECK enum status long_term_spectrum(const char *file, bool allow_truncated, uint32_t *rate,
                                          double powers[CURVE_POINTS]);

#endif
