/* The paths of a mask, sorted by output. Created on one thread, then read by many. */
#ifndef HALO_PATH_TABLE_H
#define HALO_PATH_TABLE_H

#include "mask/mask.h"

/* The paths to output o are paths[first[o]] up to, not including, paths[first[o + 1]]. */
struct path_table {
    size_t *first;
    struct mask_path *paths;
};

/* Errors: memory. */
MUST_CHECK enum status path_table_init(struct path_table *table, const struct mask *mask);
void path_table_free(struct path_table *table);

#endif
