#include "batch/sum_set.h"

#include <stdlib.h>

enum { CAPACITY_LEAST = 1 << 10 };

/* Where it is, or belongs. */
static struct sum_place *find(const struct sum_set *set, uint64_t sum)
{
    size_t at = (size_t)(sum ^ sum >> 29) & (set->capacity - 1);
    while (set->places[at].sum && set->places[at].sum != sum)
        at = (at + 1) & (set->capacity - 1);
    return &set->places[at];
}

static enum status grow(struct sum_set *set)
{
    struct sum_set larger = {.count = set->count,
                             .capacity = set->capacity ? 2 * set->capacity : CAPACITY_LEAST};
    larger.places = calloc(larger.capacity, sizeof *larger.places);
    if (!larger.places)
        return fail_memory("jobs");
    for (size_t i = 0; i < set->capacity; i++)
        if (set->places[i].sum)
            *find(&larger, set->places[i].sum) = set->places[i];
    free(set->places);
    *set = larger;
    return STATUS_OK;
}

enum status sum_set_add(struct sum_set *set, uint64_t sum, size_t place, size_t *earlier)
{
    if (3 * (set->count + 1) > 2 * set->capacity)
        TRY(grow(set));
    struct sum_place *at = find(set, sum);
    *earlier = at->sum == sum ? at->place : 0;
    if (*earlier > 0)
        return STATUS_OK;
    *at = (struct sum_place){sum, place};
    set->count++;
    return STATUS_OK;
}

size_t sum_set_place(const struct sum_set *set, uint64_t sum)
{
    return sum && set->count > 0 ? find(set, sum)->place : 0;
}

void sum_set_free(struct sum_set *set)
{
    free(set->places);
    *set = (struct sum_set){0};
}
