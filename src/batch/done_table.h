/* The last output of each job, found by the sum of its id. Threads: one at a time. */
#ifndef HALO_DONE_TABLE_H
#define HALO_DONE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct done_entry {
    uint64_t id;                        /* batch_id_sum */
    char digest[33];                    /* of what the output was made of */
    int64_t bytes, changed, changed_ns; /* of the file */
    int64_t at;                         /* ms: when it was written down */
};

/* All zero: empty. */
struct done_table {
    struct done_entry *entries; /* open addressing; an empty one has no digest */
    size_t count, capacity;     /* a power of two */
};

/* Unless a later one is there. False: no memory. */
bool done_table_add(struct done_table *table, const struct done_entry *entry);
bool done_table_find(const struct done_table *table, uint64_t id, struct done_entry *entry);
void done_table_free(struct done_table *table);

#endif
