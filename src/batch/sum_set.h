/* Sums, such as of names, and the place of each, to find what occurs twice. Threads: one at a time.
 */
#ifndef HALO_SUM_SET_H
#define HALO_SUM_SET_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* All zero: empty. */
struct sum_set {
    struct sum_place {
        uint64_t sum; /* 0: empty, and in no set */
        size_t place; /* the first of this sum */
    } *places;        /* open addressing */
    size_t count, capacity;
};

/* place: above 0. *earlier: where it was first; 0: it is new. Errors: memory. */
MUST_CHECK enum status sum_set_add(struct sum_set *set, uint64_t sum, size_t place,
                                   size_t *earlier);

/* A sum that is about to be added or looked for: of several sets, their places are fetched at once.
 */
void sum_set_expect(const struct sum_set *set, uint64_t sum);

/* 0: it is not there. */
size_t sum_set_place(const struct sum_set *set, uint64_t sum);
void sum_set_free(struct sum_set *set);

#endif
