/* Linear-phase filters with the least maximum error (equiripple), by the Remez exchange.
 *
 * T. W. Parks, J. H. McClellan, "Chebyshev approximation for nonrecursive digital filters with
 * linear phase", 1972; J. H. McClellan, T. W. Parks, L. R. Rabiner, "A computer program for
 * designing optimum FIR linear phase digital filters", 1973. Barycentric interpolation:
 * J.-P. Berrut, L. N. Trefethen, 2004.
 *
 * liquid-dsp is not used, since it aborts the program on bands it rejects.
 * Threads: any. Not real-time.
 */
#ifndef HALO_REMEZ_H
#define HALO_REMEZ_H

#include "base/status.h"

struct remez_band {
    double from, to; /* cycles per sample, 0..0.5 */
    double gain;     /* target, linear */
    double weight;   /* weight of errors in this band, above 0 */
};

enum { REMEZ_TAPS_LEAST = 3, REMEZ_TAPS_MOST = 2047, REMEZ_BANDS_MOST = 16 };

/* Designs symmetric taps; an even count has gain 0 at half the rate. *ripple: the largest weighted
 * error, linear. Bands ascend, with gaps between them. Errors: memory, no convergence. */
MUST_CHECK enum status remez_design(const struct remez_band *bands, size_t band_count, double *taps,
                                    size_t count, double *ripple);

#endif
