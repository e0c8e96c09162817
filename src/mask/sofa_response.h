/* Impulse responses of a SOFA file, with their delays, placed into the columns of a mask.
 *
 * Delays are in frames and need not be whole: the others are made by a windowed sinc of 64 taps,
 * flat to 0.9 of half the rate. Threads: any.
 */
#ifndef HALO_SOFA_RESPONSE_H
#define HALO_SOFA_RESPONSE_H

#include "mask/sofa_file.h"

struct sofa_response {
    const struct sofa_file *file;
    size_t measurement, receiver, emitter;
};

/* The data type is FIR or FIR-E and the counts are those of its dimensions. Errors: another one,
 * damaged counts, a delay that is negative or longer than MATRIX_TAPS_MOST. */
MUST_CHECK enum status sofa_response_check(const char *name, const struct sofa_file *file);

double sofa_response_delay(const struct sofa_response *response);

/* How many frames `b` comes after `a`, with its delay: where their correlation is largest, between
 * frames by a parabola, `most` at most. Both are of one file. Errors: memory. */
MUST_CHECK enum status sofa_response_lag(const struct sofa_response *a,
                                         const struct sofa_response *b, double most, double *lag);

/* The frames that a delay needs before and after its own for its sinc; 0 for a whole one. */
size_t sofa_delay_margin(double delay);

/* Add the response to a column, delayed by that and not by its own. The column has room for it with
 * its margins. */
void sofa_response_add(const struct sofa_response *response, double weight, double delay,
                       double *column);

#endif
