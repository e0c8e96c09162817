#include "listen/ratings.h"

#include "base/noise.h"
#include "listen/ratings_exact.h"

#include <math.h>
#include <string.h>

static const double confidence = 0.95;

/* The probability that |t| is below `t`, with `freedom` degrees (26.7.3 and 26.7.4). */
static double student_within(double t, size_t freedom)
{
    double angle = atan(t / sqrt((double)freedom)), cosine = cos(angle);
    size_t first = freedom % 2 ? 3 : 2;
    double term = freedom % 2 ? cosine : 1, sum = freedom > 1 ? term : 0;
    for (size_t k = first; k + 1 < freedom; k += 2) {
        term *= cosine * cosine * (double)(k - 1) / (double)k;
        sum += term;
    }
    sum *= sin(angle);
    return freedom % 2 ? (angle + sum) * 2 / acos(-1) : sum;
}

static double student_limit(size_t freedom)
{
    double low = 0, high = 16; /* one degree of freedom: 12.7 */
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (student_within(middle, freedom) < confidence)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* The probability of `x` or more, with `freedom` degrees (26.4.4 and 26.4.5). */
static double chi_square_above(double x, size_t freedom)
{
    double half = x / 2, sum = freedom % 2 ? erfc(sqrt(half)) : 0;
    double power = freedom % 2 ? 0.5 : 0, term = exp(-half) * pow(half, power) / tgamma(power + 1);
    for (size_t i = 0; i < freedom / 2; i++) {
        sum += term;
        term *= half / (power + 1 + (double)i);
    }
    return sum;
}

struct ratings_mean ratings_mean(const unsigned char *ratings, size_t trials, size_t things,
                                 size_t thing)
{
    double sum = 0, squares = 0, count = (double)trials;
    for (size_t t = 0; t < trials; t++)
        sum += ratings[t * things + thing];
    double mean = sum / count;
    for (size_t t = 0; t < trials; t++) {
        double away = ratings[t * things + thing] - mean;
        squares += away * away;
    }
    if (squares <= 0)
        return (struct ratings_mean){mean, NAN, NAN};
    double margin = student_limit(trials - 1) * sqrt(squares / (count - 1) / count);
    return (struct ratings_mean){mean, fmax(mean - margin, RATING_LEAST),
                                 fmin(mean + margin, RATING_MOST)};
}

/* Twice its rank in the row, from 0, ties sharing theirs; *equal: ties, with itself. */
static unsigned rank_in(const unsigned char *row, size_t things, size_t thing, size_t *equal)
{
    size_t below = 0;
    *equal = 0;
    for (size_t other = 0; other < things; other++) {
        below += row[other] < row[thing];
        *equal += row[other] == row[thing];
    }
    return (unsigned)(2 * below + *equal - 1);
}

/* How often the statistic is `least` or more if each trial's ratings come in random orders. */
static double permute(const unsigned char *ranks, size_t trials, size_t things, uint64_t least)
{
    uint64_t counter = RATINGS_SEED;
    size_t reached = 0;
    for (size_t draw = 0; draw < RATINGS_DRAWS; draw++) {
        uint32_t sums[RATINGS_THINGS_MOST] = {0};
        for (size_t t = 0; t < trials; t++) {
            unsigned char row[RATINGS_THINGS_MOST];
            memcpy(row, ranks + t * things, things);
            for (size_t left = things; left > 0; left--) {
                uint64_t random = left > 1 ? noise_hash(counter++) >> 32 : 0;
                size_t at = (size_t)(random * left >> 32);
                sums[left - 1] += row[at];
                row[at] = row[left - 1];
            }
        }
        reached += ratings_spread(sums, things) >= least;
    }
    return ((double)reached + 1) / (RATINGS_DRAWS + 1.0); /* with what was observed */
}

struct ratings_friedman ratings_friedman(const unsigned char *ratings, size_t trials, size_t things)
{
    double ties = 0, k = (double)things, centre = (double)trials * (k - 1);
    unsigned char ranks[RATINGS_PERMUTED_MOST];
    const bool is_small = trials * things <= sizeof ranks;
    uint32_t sums[RATINGS_THINGS_MOST] = {0};
    for (size_t t = 0; t < trials; t++)
        for (size_t thing = 0; thing < things; thing++) {
            size_t equal;
            unsigned rank = rank_in(ratings + t * things, things, thing, &equal);
            if (is_small)
                ranks[t * things + thing] = (unsigned char)rank;
            sums[thing] += rank;
            ties += (double)(equal * equal - 1); /* over a group of t: t^3 - t */
        }
    double scale = (double)trials * k * (k + 1) - ties / (k - 1);
    if (scale <= 0)
        return (struct ratings_friedman){0, 1, RATINGS_EXACT};
    const uint64_t spread = ratings_spread(sums, things);
    double statistic = 12 * ((double)spread - k * centre * centre) / 4 / scale;
    struct ratings_friedman result = {statistic, 0, RATINGS_EXACT};
    if (is_small && ratings_exact(ranks, trials, things, spread, &result.p_value))
        return result;
    result.method = is_small ? RATINGS_PERMUTED : RATINGS_APPROXIMATE;
    result.p_value =
        is_small ? permute(ranks, trials, things, spread) : chi_square_above(statistic, things - 1);
    return result;
}
