#include "listen/preference.h"

#include "listen/ratings.h"
#include "signal/binomial.h"

#include <math.h>

void preference_pairs_name(size_t choices, struct preference_pair *pairs)
{
    for (size_t i = 0; i < choices; i++)
        for (size_t j = i + 1; j < choices; j++)
            *pairs++ = (struct preference_pair){.first = i, .second = j};
}

void preference_test(struct preference_pair *pairs, size_t count)
{
    double p_values[PREFERENCE_PAIRS_MOST] = {0}, adjusted[PREFERENCE_PAIRS_MOST];
    for (size_t i = 0; i < count; i++) {
        size_t one = pairs[i].first_wins, other = pairs[i].second_wins;
        p_values[i] = fmin(1, 2 * binomial_p_value(one > other ? one : other, one + other));
        pairs[i].p_value = p_values[i];
    }
    ratings_holm(p_values, count, adjusted);
    for (size_t i = 0; i < count; i++)
        pairs[i].p_holm = adjusted[i];
}

/* Preferences of a choice in a pair, with its half of the ties and of the additional tie. */
static double wins_of(const struct preference_pair *pair, size_t choice)
{
    size_t wins = choice == pair->first ? pair->first_wins : pair->second_wins;
    return (double)wins + 0.5 * (double)(pair->ties + 1);
}

/* Scales the strengths to a geometric mean of 1. */
static void centre(double *strengths, size_t choices)
{
    double mean = 0;
    for (size_t i = 0; i < choices; i++)
        mean += log(strengths[i]) / (double)choices;
    for (size_t i = 0; i < choices; i++)
        strengths[i] /= exp(mean);
}

/* One step of Hunter's iteration. Returns the largest relative change. */
static double improve(const struct preference_pair *pairs, size_t choices, double *strengths)
{
    double next[PREFERENCE_CHOICES_MOST], change = 0;
    for (size_t i = 0; i < choices; i++) {
        double wins = 0, weight = 0;
        for (size_t p = 0; p < preference_pairs(choices); p++) {
            const struct preference_pair *pair = &pairs[p];
            if (pair->first != i && pair->second != i)
                continue;
            wins += wins_of(pair, i);
            weight += (wins_of(pair, pair->first) + wins_of(pair, pair->second)) /
                      (strengths[pair->first] + strengths[pair->second]);
        }
        next[i] = wins / weight;
    }
    centre(next, choices);
    for (size_t i = 0; i < choices; i++) {
        change = fmax(change, fabs(next[i] / strengths[i] - 1));
        strengths[i] = next[i];
    }
    return change;
}

void preference_strengths(const struct preference_pair *pairs, size_t choices, double *strengths)
{
    enum { STEPS_MOST = 100000 };
    static const double SMALL = 1e-14;
    for (size_t i = 0; i < choices; i++)
        strengths[i] = 1;
    for (int step = 0; step < STEPS_MOST && improve(pairs, choices, strengths) > SMALL; step++)
        ;
    for (size_t i = 0; i < choices; i++)
        strengths[i] = log(strengths[i]);
}
