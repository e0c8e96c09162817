#include "listen/ratings.h"

#include "base/noise.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Sum of squares of the sums. It grows with the statistic, since the sum of all sums is fixed. */
static inline uint64_t ratings_spread(const uint32_t *sums, size_t things)
{
    uint64_t spread = 0;
    for (size_t i = 0; i < things; i++)
        spread += (uint64_t)sums[i] * sums[i];
    return spread;
}

/* ---- the exact distribution ---- */

enum { SLOTS = 1 << 18, SETS_MOST = SLOTS / 2, STEPS_MOST = 20000000 };

/* Sums of the things in ascending order, packed into one number. The last sum is left out, since it
 * follows from the others. */
struct set {
    uint64_t sums;
    double weight; /* share of the orders that lead to these sums; 0: the slot is free */
};

struct sets {
    size_t things;
    unsigned bits; /* bits of a packed sum */
    struct set *slots;
    uint32_t *used; /* indices of the slots in use */
    size_t used_count;
    struct set *list; /* sets of the previous trials */
    size_t listed;
    size_t steps;
};

static void sort(uint32_t *values, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t j = i; j > 0 && values[j] < values[j - 1]; j--) {
            uint32_t value = values[j];
            values[j] = values[j - 1];
            values[j - 1] = value;
        }
}

static uint64_t pack(const struct sets *sets, uint32_t *sums)
{
    uint64_t packed = 0;
    sort(sums, sets->things);
    for (size_t i = 0; i + 1 < sets->things; i++)
        packed |= (uint64_t)sums[i] << (i * sets->bits);
    return packed;
}

/* `total`: sum of all sums. */
static void unpack(const struct sets *sets, uint64_t packed, uint32_t total, uint32_t *sums)
{
    const uint64_t mask = (UINT64_C(1) << sets->bits) - 1;
    for (size_t i = 0; i + 1 < sets->things; i++) {
        sums[i] = (uint32_t)(packed >> (i * sets->bits) & mask);
        total -= sums[i];
    }
    sums[sets->things - 1] = total;
}

static bool put(struct sets *sets, uint64_t sums, double weight)
{
    size_t at = (size_t)noise_hash(sums) % SLOTS;
    while (sets->slots[at].weight > 0 && sets->slots[at].sums != sums)
        at = (at + 1) % SLOTS;
    if (sets->slots[at].weight <= 0) {
        if (sets->used_count == SETS_MOST)
            return false;
        sets->used[sets->used_count++] = (uint32_t)at;
    }
    sets->slots[at] = (struct set){sums, sets->slots[at].weight + weight};
    return true;
}

static void list(struct sets *sets)
{
    sets->listed = sets->used_count;
    sets->used_count = 0;
    for (size_t i = 0; i < sets->listed; i++) {
        struct set *slot = &sets->slots[sets->used[i]];
        sets->list[i] = *slot;
        *slot = (struct set){0};
    }
}

/* Makes the next order of the values. Returns false after the last one (Narayana's algorithm). */
static bool next_order(uint32_t *values, size_t count)
{
    size_t i = count - 1, j = count - 1;
    while (i > 0 && values[i - 1] >= values[i])
        i--;
    if (i == 0)
        return false;
    while (values[j] <= values[i - 1])
        j--;
    uint32_t value = values[i - 1];
    values[i - 1] = values[j];
    values[j] = value;
    for (j = count - 1; i < j; i++, j--) {
        value = values[i];
        values[i] = values[j];
        values[j] = value;
    }
    return true;
}

static size_t count_orders(const uint32_t *sorted, size_t count)
{
    size_t orders = 1, equal = 0;
    for (size_t i = 0; i < count; i++) {
        equal = i > 0 && sorted[i] == sorted[i - 1] ? equal + 1 : 1;
        orders = orders * (i + 1) / equal;
    }
    return orders;
}

/* Adds a trial with all orders of `row`. `total`: sum of all sums before it. */
static bool add_trial(struct sets *sets, uint32_t *row, uint32_t total)
{
    sort(row, sets->things);
    const size_t orders = count_orders(row, sets->things);
    sets->steps += orders * sets->listed;
    if (sets->steps > STEPS_MOST)
        return false;
    do {
        for (size_t i = 0; i < sets->listed; i++) {
            uint32_t sums[RATINGS_THINGS_MOST];
            unpack(sets, sets->list[i].sums, total, sums);
            for (size_t j = 0; j < sets->things; j++)
                sums[j] += row[j];
            if (!put(sets, pack(sets, sums), sets->list[i].weight / (double)orders))
                return false;
        }
    } while (next_order(row, sets->things));
    list(sets);
    return true;
}

static bool add_up(struct sets *sets, const unsigned char *ranks, size_t trials, uint64_t least,
                   double *probability)
{
    uint32_t row[RATINGS_THINGS_MOST], total = 0;
    for (size_t t = 0; t < trials; t++) {
        for (size_t i = 0; i < sets->things; i++)
            row[i] = ranks[t * sets->things + i];
        bool added = true;
        if (t == 0) /* the first trial needs only one order: the things are still alike */
            sets->list[sets->listed++] = (struct set){pack(sets, row), 1};
        else
            added = add_trial(sets, row, total);
        if (!added)
            return false;
        total += (uint32_t)(sets->things * (sets->things - 1));
    }
    *probability = 0;
    for (size_t i = 0; i < sets->listed; i++) {
        unpack(sets, sets->list[i].sums, total, row);
        if (ratings_spread(row, sets->things) >= least)
            *probability += sets->list[i].weight;
    }
    return true;
}

/* Probability of a spread of `least` or more. Ranks count from 0 and are doubled. Returns false if
 * there are too many sets, or no memory. */
static bool ratings_exact(const unsigned char *ranks, size_t trials, size_t things, uint64_t least,
                          double *probability)
{
    struct sets sets = {.things = things, .bits = 63 / (unsigned)(things - 1)};
    if (2 * (things - 1) * trials >> (sets.bits < 32 ? sets.bits : 31) > 0)
        return false;
    sets.slots = calloc(SLOTS, sizeof *sets.slots);
    sets.used = calloc(SETS_MOST, sizeof *sets.used);
    sets.list = calloc(SETS_MOST, sizeof *sets.list);
    bool exact =
        sets.slots && sets.used && sets.list && add_up(&sets, ranks, trials, least, probability);
    free(sets.slots);
    free(sets.used);
    free(sets.list);
    return exact;
}

static const double confidence = 0.95;

/* Probability that |t| is below `t`, with `freedom` degrees of freedom (26.7.3 and 26.7.4). */
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
    double low = 0, high = 16; /* the result is at most 12.7, at one degree of freedom */
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (student_within(middle, freedom) < confidence)
            low = middle;
        else
            high = middle;
    }
    return high;
}

struct ratings_paired ratings_paired(const double *values, size_t count)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    double mean = sum / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    double error = sqrt(squares / (double)(count - 1) / (double)count);
    if (count < 2 || !(error > 1e-12)) /* rounding alone may leave a tiny error */
        return (struct ratings_paired){mean, NAN, NAN, fabs(mean) > 1e-12 ? NAN : 1};
    double margin = student_limit(count - 1) * error;
    return (struct ratings_paired){mean, mean - margin, mean + margin,
                                   fmax(1 - student_within(fabs(mean) / error, count - 1), 0)};
}

void ratings_holm(const double *p_values, size_t count, double *adjusted)
{
    for (size_t i = 0; i < count; i++) {
        adjusted[i] = p_values[i];
        /* the largest of (count - rank) p over all p-values up to this one */
        for (size_t j = 0; j < count; j++) {
            size_t below = 0;
            for (size_t k = 0; k < count; k++)
                below += p_values[k] < p_values[j];
            if (p_values[j] <= p_values[i])
                adjusted[i] = fmax(adjusted[i], (double)(count - below) * p_values[j]);
        }
        adjusted[i] = adjusted[i] > 1 ? 1 : adjusted[i];
    }
}

/* Probability of `x` or more, with `freedom` degrees of freedom (26.4.4 and 26.4.5). */
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

/* Twice the rank of a thing in its row, from 0; ties get their mean rank. *equal: number of equal
 * values, with its own. */
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

/* Probability that the statistic is `least` or more, estimated with random orders of each trial's
 * ratings. */
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
    return ((double)reached + 1) / (RATINGS_DRAWS + 1.0); /* the observed orders count, too */
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
            ties += (double)(equal * equal - 1); /* for each group of t equal values: t^3 - t */
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
