#include "gpu/live_entries.h"

enum { BLOCKS_BEHIND = 2 }; /* until all work of a block is done */

bool live_is_done(uint64_t named, uint64_t sent)
{
    return named == 0 || sent >= named + BLOCKS_BEHIND;
}

bool live_entries_take(struct live_entries *entries, uint64_t sent, size_t *position)
{
    for (size_t p = 0; p < LIVE_MASKS; p++)
        if (!entries->taken[p] && live_is_done(entries->named[p], sent)) {
            entries->taken[p] = true;
            *position = p;
            return true;
        }
    return false;
}

void live_entries_give_back(struct live_entries *entries, size_t position, uint64_t named)
{
    entries->taken[position] = false;
    entries->named[position] = named;
}
