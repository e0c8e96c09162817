/* The exact distribution of Friedman's statistic: each trial's ranks come in all orders alike, also
 * with ties.
 *
 * Trials are added up one by one. What counts is how often each set of rank sums arises; sets that
 * differ in order alone are one, since all orders of the things are alike. Threads: any.
 */
#ifndef HALO_RATINGS_EXACT_H
#define HALO_RATINGS_EXACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The sum of squares, which grows with the statistic: the sum of all is fixed. */
static inline uint64_t ratings_spread(const uint32_t *sums, size_t things)
{
    uint64_t spread = 0;
    for (size_t i = 0; i < things; i++)
        spread += (uint64_t)sums[i] * sums[i];
    return spread;
}

/* The probability of a spread of `least` or more. ranks[trial * things + thing] count from 0, twice
 * as large as ranks are. False: too many sets or orders, or no memory. */
bool ratings_exact(const unsigned char *ranks, size_t trials, size_t things, uint64_t least,
                   double *probability);

#endif
