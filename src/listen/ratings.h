/* Statistics of ratings: means, and a test whether the rated things differ.
 *
 * ratings[trial * things + thing]. Exact but for rounding: finite sums for integer degrees of
 * freedom (Abramowitz and Stegun 1964, 26.4 and 26.7). Threads: any.
 */
#ifndef HALO_RATINGS_H
#define HALO_RATINGS_H

#include <stddef.h>

struct ratings_mean {
    double mean;
    double low;  /* 95 % confidence interval by Student's t, not limited to the scale; */
    double high; /* infinite with one trial */
};

/* trials >= 1. */
struct ratings_mean ratings_mean(const unsigned char *ratings, size_t trials, size_t things,
                                 size_t thing);

/* Friedman's test with correction for ties, chi-square approximation (rough below about 20
 * ratings). 2 to 9 things. p_value: 1 if all ratings are equal. */
struct ratings_friedman {
    double statistic;
    double p_value;
};
struct ratings_friedman ratings_friedman(const unsigned char *ratings, size_t trials,
                                         size_t things);

#endif
