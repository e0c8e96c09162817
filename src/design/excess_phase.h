/* The excess phase of a response is what is left of its phase beside that of a minimum-phase
 * response of the same magnitude. A filter that undoes it rings before the sound. Threads: any. Not
 * real-time. */
#ifndef HALO_EXCESS_PHASE_H
#define HALO_EXCESS_PHASE_H

#include "base/status.h"
#include "signal/fft_double.h"

#include <stddef.h>

/* Filters `taps` so that they undo the excess phase of a response up to `hertz`; an octave above,
 * phases are as before. There are `before` zeros before the `count` taps; afterwards, the filter's
 * time zero is at tap `before`, and it rings no longer before that. `response` holds the bins of
 * `fft` for the response with its direct sound at time zero. The transform's length is at least
 * 2 (before + count). */
void excess_phase_undo(struct fft_double *fft, const double complex *response, double rate,
                       double hertz, double *taps, size_t before, size_t count,
                       double complex *scratch /* bins */);

#endif
