#include "batch/done_table.h"

#include <stdlib.h>

enum { CAPACITY_LEAST = 1 << 10 };

/* Of that id, or the empty one where it belongs. */
static struct done_entry *place_of(const struct done_table *table, uint64_t id)
{
    size_t at = (size_t)(id ^ id >> 29) & (table->capacity - 1);
    while (table->entries[at].digest[0] && table->entries[at].id != id)
        at = (at + 1) & (table->capacity - 1);
    return &table->entries[at];
}

static bool grow(struct done_table *table)
{
    struct done_table larger = {.capacity = table->capacity ? 2 * table->capacity : CAPACITY_LEAST};
    larger.entries = calloc(larger.capacity, sizeof *larger.entries);
    if (!larger.entries)
        return false;
    for (size_t i = 0; i < table->capacity; i++)
        if (table->entries[i].digest[0])
            *place_of(&larger, table->entries[i].id) = table->entries[i];
    larger.count = table->count;
    free(table->entries);
    *table = larger;
    return true;
}

bool done_table_add(struct done_table *table, const struct done_entry *entry)
{
    if (2 * (table->count + 1) > table->capacity && !grow(table))
        return false;
    struct done_entry *place = place_of(table, entry->id);
    bool is_new = !place->digest[0];
    table->count += is_new;
    if (is_new || place->at <= entry->at)
        *place = *entry;
    return true;
}

bool done_table_find(const struct done_table *table, uint64_t id, struct done_entry *entry)
{
    const struct done_entry *place = table->count ? place_of(table, id) : NULL;
    if (!place || !place->digest[0])
        return false;
    *entry = *place;
    return true;
}

void done_table_free(struct done_table *table)
{
    free(table->entries);
    *table = (struct done_table){0};
}
