#include "signal/binomial.h"

#include <math.h>

static const double level = 0.05, power = 0.8;

/* The probability of k hits in n trials at rate p, 0 < p < 1. */
static double term(size_t k, size_t n, double p)
{
    double hits = (double)k, misses = (double)(n - k);
    int sign;
    return exp(lgamma_r((double)n + 1, &sign) - lgamma_r(hits + 1, &sign) -
               lgamma_r(misses + 1, &sign) + hits * log(p) + misses * log1p(-p));
}

/* The probability of k or more hits, for k > n p, so that the largest term comes first. */
static double upper_tail(size_t k, size_t n, double p)
{
    double next = term(k, n, p), sum = 0;
    for (; k <= n && next > sum * 1e-17; k++) {
        sum += next;
        next *= (double)(n - k) / (double)(k + 1) * (p / (1 - p));
    }
    return sum;
}

/* The probability of k or more hits in n trials at rate p. It sums the smaller tail, whose first
 * term is not too small for a double. */
static double at_least(size_t k, size_t n, double p)
{
    if (k == 0 || p >= 1)
        return 1;
    if (p <= 0)
        return 0;
    if ((double)k > (double)n * p)
        return upper_tail(k, n, p);
    return 1 - upper_tail(n - k + 1, n, 1 - p);
}

double binomial_p_value(size_t hits, size_t n)
{
    return at_least(hits, n, 0.5);
}

/* The rate at which the probability of `hits` or more hits is `probability`; hits >= 1. */
static double rate_where(size_t hits, size_t n, double probability)
{
    double low = 0, high = 1;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (at_least(hits, n, middle) < probability)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

struct binomial_interval binomial_interval(size_t hits, size_t n)
{
    return (struct binomial_interval){
        .low = hits == 0 ? 0 : rate_where(hits, n, level / 2),
        .high = hits == n ? 1 : rate_where(hits + 1, n, 1 - level / 2),
    };
}

size_t binomial_trials_needed(size_t hits, size_t n)
{
    if (2 * hits <= n)
        return 0;
    double rate = (double)hits / (double)n;
    size_t critical = 1; /* fewest hits that pass; grows by at most 1 per trial */
    for (size_t trials = 1; trials <= BINOMIAL_TRIALS_MOST; trials++) {
        if (at_least(critical, trials, 0.5) > level)
            critical++;
        if (critical <= trials && at_least(critical, trials, rate) >= power)
            return trials;
    }
    return BINOMIAL_TRIALS_MOST + 1;
}
