/* Statistics of ratings: means, and a test whether the rated things differ.
 *
 * ratings[trial * things + thing] is a rating from RATING_LEAST to RATING_MOST. Student's t is
 * computed with finite sums for integer degrees of freedom (Abramowitz and Stegun 1964, 26.4 and
 * 26.7). Threads: any.
 */
#ifndef HALO_RATINGS_H
#define HALO_RATINGS_H

#include <stddef.h>

enum { RATING_LEAST = 1, RATING_MOST = 5, RATINGS_THINGS_MOST = 9 };

/* Mean rating of a thing. */
struct ratings_mean {
    double mean;
    /* 95 % confidence interval by Student's t, within the scale. NaN if there is one trial, or all
     * ratings are equal: then nothing follows about other ratings. */
    double low;
    double high;
};

/* Needs at least one trial. */
struct ratings_mean ratings_mean(const unsigned char *ratings, size_t trials, size_t things,
                                 size_t thing);

/* The mean of some values, its 95 % confidence interval, and the two-sided p-value of a mean of 0,
 * by Student's t. With one value, or equal values, the interval is NaN. Then p_value is 1 if the
 * mean is 0, else NaN. */
struct ratings_paired {
    double mean;
    double low;
    double high;
    double p_value;
};
struct ratings_paired ratings_paired(const double *values, size_t count);

/* Corrects p-values for their number (Holm 1979). NaN stays NaN, and still counts as a test. */
void ratings_holm(const double *p_values, size_t count, double *adjusted);

enum ratings_method {
    RATINGS_EXACT,       /* over all orders of each trial's ratings */
    RATINGS_PERMUTED,    /* over RATINGS_DRAWS random orders, of noise.h with RATINGS_SEED */
    RATINGS_APPROXIMATE, /* chi-square, for more than RATINGS_PERMUTED_MOST ratings */
};
enum { RATINGS_DRAWS = 1000000, RATINGS_SEED = 1, RATINGS_PERMUTED_MOST = 1000 };

/* Friedman's test with correction for ties, for 2 to 9 things. p_value is 1 if all ratings are
 * equal. The method follows from the ratings: exact if that takes no more than a second or two. */
struct ratings_friedman {
    double statistic;
    double p_value;
    enum ratings_method method;
};
struct ratings_friedman ratings_friedman(const unsigned char *ratings, size_t trials,
                                         size_t things);

#endif
