#include "convolve/path_table.h"

#include <stdlib.h>
#include <string.h>

enum status path_table_init(struct path_table *table, const struct mask *mask)
{
    table->first = calloc(mask->outputs + 1, sizeof *table->first);
    table->paths = calloc(mask->path_count + 1, sizeof *table->paths);
    if (!table->first || !table->paths) {
        path_table_free(table);
        return fail_memory("a mask");
    }
    size_t *first = table->first, outputs = mask->outputs;
    for (size_t p = 0; p < mask->path_count; p++)
        first[mask->paths[p].output + 1]++;
    for (size_t o = 0; o < outputs; o++)
        first[o + 1] += first[o];
    for (size_t p = 0; p < mask->path_count;
         p++) /* turns each count into the place where the next output begins */
        table->paths[first[mask->paths[p].output]++] = mask->paths[p];
    memmove(first + 1, first, outputs * sizeof *first);
    first[0] = 0;
    return STATUS_OK;
}

void path_table_free(struct path_table *table)
{
    free(table->first);
    free(table->paths);
    *table = (struct path_table){0};
}
