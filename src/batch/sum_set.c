#include "batch/sum_set.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    CAPACITY_LEAST = 1 << 10,
    CAPACITY_LARGE = 1 << 17,
    HUGE_PAGE = 1 << 21,
    HUGE_MOST = 1 << 23
};

/* Each place is used on its own: with small pages, each of the first uses costs a fault, and most
 * others a walk through the page tables. Not of large tables: see huge_bytes() in samples.c. */
static struct sum_place *make_places(size_t capacity)
{
    size_t bytes = capacity * sizeof(struct sum_place);
    void *places;
    if (bytes < HUGE_PAGE || bytes > HUGE_MOST)
        return calloc(capacity, sizeof(struct sum_place));
    if (posix_memalign(&places, HUGE_PAGE, bytes) != 0)
        return NULL;
    (void)madvise(places, bytes, MADV_HUGEPAGE); /* which may be switched off */
    return memset(places, 0, bytes);
}

static size_t first_place(const struct sum_set *set, uint64_t sum)
{
    return (size_t)(sum ^ sum >> 29) & (set->capacity - 1);
}

/* Where it is, or belongs. */
static struct sum_place *find(const struct sum_set *set, uint64_t sum)
{
    size_t at = first_place(set, sum);
    while (set->places[at].sum && set->places[at].sum != sum)
        at = (at + 1) & (set->capacity - 1);
    return &set->places[at];
}

static enum status grow(struct sum_set *set)
{
    size_t growth = set->capacity < CAPACITY_LARGE ? 4 : 2;
    struct sum_set larger = {.count = set->count,
                             .capacity = set->capacity ? growth * set->capacity : CAPACITY_LEAST};
    larger.places = make_places(larger.capacity);
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

void sum_set_expect(const struct sum_set *set, uint64_t sum)
{
    if (set->capacity > 0)
        __builtin_prefetch(&set->places[first_place(set, sum)], 1);
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
