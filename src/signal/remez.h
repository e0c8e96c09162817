/* Linear-phase filters of least largest error (equiripple), by the Remez exchange.
 *
 * T. W. Parks, J. H. McClellan, "Chebyshev approximation for nonrecursive digital filters with
 * linear phase", 1972; J. H. McClellan, T. W. Parks, L. R. Rabiner, "A computer program for
 * designing optimum FIR linear phase digital filters", 1973. Barycentric interpolation:
 * J.-P. Berrut, L. N. Trefethen, 2004.
 *
 * Our own, since the library for it (liquid-dsp) aborts the program on bands that it dislikes.
 * Threads: any. Not real-time.
 */
#ifndef HALO_REMEZ_H
#define HALO_REMEZ_H

#include "base/status.h"

struct remez_band {
    double from, to; /* cycles a sample, 0..0.5 */
    double gain;     /* wanted, linear */
    double weight;   /* above 0: errors here count so much */
};

enum { REMEZ_TAPS_LEAST = 3, REMEZ_TAPS_MOST = 2047, REMEZ_BANDS_MOST = 16 };

/* Symmetric taps; an even number of them has gain 0 at half the rate. *ripple is the largest
 * weighted error, linear. Bands go up and do not touch. Errors: memory, no convergence. */
MUST_CHECK enum status remez_design(const struct remez_band *bands, size_t band_count, double *taps,
                                    size_t count, double *ripple);

#endif
