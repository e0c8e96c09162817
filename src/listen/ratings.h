/* What ratings of several things, given in several trials, say: means and whether the
 * things differ at all.
 *
 * Ratings stand trial after trial: ratings[trial * things + thing]. They are exact but for
 * rounding; sums of a few terms, since degrees of freedom are whole numbers (Abramowitz
 * and Stegun 1964, 26.4 and 26.7). Threads: any.
 */
#ifndef HALO_RATINGS_H
#define HALO_RATINGS_H

#include <stddef.h>

struct ratings_mean {
    double mean;
    double low;  /* its 95 % confidence interval, by Student's t; not limited to the scale. */
    double high; /* One trial alone says nothing: -infinity..infinity */
};

/* trials >= 1. */
struct ratings_mean ratings_mean(const unsigned char *ratings, size_t trials, size_t things,
                                 size_t thing);

/* The probability that ratings given without any preference differ as much as these do:
 * Friedman's test with the correction for ties, in the chi-square approximation (rough
 * where trials times things are fewer than 20 or so). 2 to 9 things. 1 where nothing differs. */
struct ratings_friedman {
    double statistic;
    double p_value;
};
struct ratings_friedman ratings_friedman(const unsigned char *ratings, size_t trials,
                                         size_t things);

#endif
