/* A set of sums, such as of names, to find what occurs twice. Threads: one at a time. */
#ifndef HALO_SUM_SET_H
#define HALO_SUM_SET_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* All zero: empty. */
struct sum_set {
    uint64_t *sums; /* open addressing; 0: an empty place, and in no set */
    size_t count, capacity;
};

/* *is_new: it was not there. Errors: memory. */
MUST_CHECK enum status sum_set_add(struct sum_set *set, uint64_t sum, bool *is_new);
bool sum_set_has(const struct sum_set *set, uint64_t sum);
void sum_set_free(struct sum_set *set);

#endif
