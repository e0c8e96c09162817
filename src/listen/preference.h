/* Statistics of a preference test: strengths of the choices, and a test of each pair.
 *
 * The model is that of Bradley and Terry (1952): choice i is preferred to choice j with probability
 * s(i) / (s(i) + s(j)). A tie counts as half a preference for each of the two. Each pair gets one
 * more tie, so that a strength is finite even if a choice always wins. The strengths are found by
 * the iteration of Hunter (2004). Threads: any.
 */
#ifndef HALO_PREFERENCE_H
#define HALO_PREFERENCE_H

#include <stddef.h>

enum { PREFERENCE_CHOICES_MOST = 12 };
enum { PREFERENCE_PAIRS_MOST = PREFERENCE_CHOICES_MOST * (PREFERENCE_CHOICES_MOST - 1) / 2 };

/* A pair of choices, first < second. */
struct preference_pair {
    size_t first, second;
    size_t first_wins, second_wins, ties; /* numbers of trials */
    double p_value; /* exact sign test, two-sided, without the ties; 1 if all are ties */
    double p_holm;  /* p_value, adjusted for the number of pairs (Holm 1979) */
};

/* Number of pairs of `choices` choices. */
static inline size_t preference_pairs(size_t choices)
{
    return choices * (choices - 1) / 2;
}

/* Names the choices of all pairs: first with second, first with third, ... */
void preference_pairs_name(size_t choices, struct preference_pair *pairs);

/* Computes the p-values of all pairs from their counts. */
void preference_test(struct preference_pair *pairs, size_t count);

/* Computes the strengths: natural logarithms of s, whose mean is 0. */
void preference_strengths(const struct preference_pair *pairs, size_t choices, double *strengths);

#endif
