#include "convolve/path_table.h"

#include <stdlib.h>

enum status path_table_init(struct path_table *table, const struct mask *mask)
{
    table->first = calloc(mask->outputs + 1, sizeof *table->first);
    table->paths = calloc(mask->path_count + 1, sizeof *table->paths);
    if (!table->first || !table->paths) {
        path_table_free(table);
        return fail_memory("a mask");
    }
    size_t at = 0;
    for (size_t o = 0; o < mask->outputs; o++) {
        table->first[o] = at;
        for (size_t p = 0; p < mask->path_count; p++)
            if (mask->paths[p].output == o)
                table->paths[at++] = mask->paths[p];
    }
    table->first[mask->outputs] = mask->path_count;
    return STATUS_OK;
}

void path_table_free(struct path_table *table)
{
    free(table->first);
    free(table->paths);
    *table = (struct path_table){0};
}
