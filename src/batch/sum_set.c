#include "batch/sum_set.h"

#include <stdlib.h>

enum { CAPACITY_LEAST = 1 << 10 };

/* Where it is, or belongs. */
static uint64_t *place_of(const struct sum_set *set, uint64_t sum)
{
    size_t at = (size_t)(sum ^ sum >> 29) & (set->capacity - 1);
    while (set->sums[at] && set->sums[at] != sum)
        at = (at + 1) & (set->capacity - 1);
    return &set->sums[at];
}

static enum status grow(struct sum_set *set)
{
    struct sum_set larger = {.count = set->count,
                             .capacity = set->capacity ? 2 * set->capacity : CAPACITY_LEAST};
    larger.sums = calloc(larger.capacity, sizeof *larger.sums);
    if (!larger.sums)
        return fail_memory("jobs");
    for (size_t i = 0; i < set->capacity; i++)
        if (set->sums[i])
            *place_of(&larger, set->sums[i]) = set->sums[i];
    free(set->sums);
    *set = larger;
    return STATUS_OK;
}

enum status sum_set_add(struct sum_set *set, uint64_t sum, bool *is_new)
{
    if (3 * (set->count + 1) > 2 * set->capacity)
        TRY(grow(set));
    uint64_t *place = place_of(set, sum);
    *is_new = *place != sum;
    set->count += *is_new;
    *place = sum;
    return STATUS_OK;
}

bool sum_set_has(const struct sum_set *set, uint64_t sum)
{
    return sum && set->count > 0 && *place_of(set, sum) == sum;
}

void sum_set_free(struct sum_set *set)
{
    free(set->sums);
    *set = (struct sum_set){0};
}
