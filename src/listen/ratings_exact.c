#include "listen/ratings_exact.h"

#include "base/noise.h"
#include "listen/ratings.h"

#include <stdlib.h>

enum { SLOTS = 1 << 18, SETS_MOST = SLOTS / 2, STEPS_MOST = 20000000 };

/* Sums in order, packed into one number but for the last one, which follows from the others. */
struct set {
    uint64_t sums;
    double weight; /* 0: the slot is free */
};

struct sets {
    size_t things;
    unsigned bits; /* of a packed sum */
    struct set *slots;
    uint32_t *used; /* slots that are not free */
    size_t used_count;
    struct set *list; /* of the trials before */
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

/* `total`: of all sums. */
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

/* The next order of the values; false: that was the last one (Narayana's algorithm). */
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

/* One more trial, to sets that add up to `total`. */
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
        if (t == 0) /* in one order: that of the things, which are alike */
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

bool ratings_exact(const unsigned char *ranks, size_t trials, size_t things, uint64_t least,
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
