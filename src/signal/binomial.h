/* What a number of hits among trials says, where a guesser hits half of them.
 *
 * All figures are exact sums of binomial terms, not approximations by the normal
 * distribution, for up to 10,000 trials or so; hits <= n. An own sum, since it is
 * shorter than what it takes to call a library for it.
 * Threads: any.
 */
#ifndef HALO_BINOMIAL_H
#define HALO_BINOMIAL_H

#include <stddef.h>

/* One-sided: the probability that a guesser has `hits` or more. n = 0: 1. */
double binomial_p_value(size_t hits, size_t n);

struct binomial_interval {
    double low;
    double high;
};

/* The 95 % confidence interval of the true rate (Clopper and Pearson 1934). n = 0: 0..1. */
struct binomial_interval binomial_interval(size_t hits, size_t n);

/* The fewest trials that would show a rate of hits/n: the one-sided test at the 5 %
 * level then succeeds with a probability of 80 % at least. 0: no number would, the rate being
 * one half or less. BINOMIAL_TRIALS_MOST + 1: more than BINOMIAL_TRIALS_MOST. */
enum { BINOMIAL_TRIALS_MOST = 10000 };
size_t binomial_trials_needed(size_t hits, size_t n);

#endif
