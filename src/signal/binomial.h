/* Statistics of `hits` hits in `n` trials, compared with guessing, which hits half of them. Exact
 * sums of binomial terms, for up to about 10,000 trials. hits <= n. Threads: any. */
#ifndef HALO_BINOMIAL_H
#define HALO_BINOMIAL_H

#include <stddef.h>

/* One-sided test: the probability of at least `hits` hits by guessing. It is 1 for n = 0. */
double binomial_p_value(size_t hits, size_t n);

struct binomial_interval {
    double low;
    double high;
};

/* The 95 % interval of the true rate of hits (Clopper and Pearson 1934). It is 0..1 for n = 0. */
struct binomial_interval binomial_interval(size_t hits, size_t n);

/* The least number of trials with which a true rate of hits/n passes the one-sided test at the 5 %
 * level with a probability of at least 80 %. 0: no number is enough, since the rate is one half or
 * less. BINOMIAL_TRIALS_MOST + 1: more than BINOMIAL_TRIALS_MOST. */
enum { BINOMIAL_TRIALS_MOST = 10000 };
size_t binomial_trials_needed(size_t hits, size_t n);

#endif
