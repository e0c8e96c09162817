/* What halo and the child process that runs a set of instances of plugins share: orders, and the sound.
 *
 * Halo posts orders and the child does them, one after the other. Order n lies in slot
 * n % slots; it is the child's from the time that `posted` has reached n + 1, and halo's again
 * when `done` has. Order 0 opens the instances.
 *
 *   head | slot 0: order, changes, latencies, values, in, out | slot 1 ...
 *
 * A plugin can write anywhere in here: halo believes nothing of it but numbers and text.
 */
#ifndef HALO_PLUGIN_ISOLATED_MEMORY_H
#define HALO_PLUGIN_ISOLATED_MEMORY_H

#include "plugin/futex.h"
#include "plugin/plugin_instances.h"

#include <limits.h>

enum {
    APART_DESCRIPTOR = 3, /* the memory, in the child */
    APART_TEXT = 1024,
};

enum isolated_what { APART_OPEN, APART_PIECE, APART_RESET, APART_SAVE, APART_LEAVE };

struct isolated_head {
    struct futex posted;
    _Alignas(64) struct futex done;
    atomic_ullong frames;  /* that went through since the opening or the last reset */
    int status;            /* of the last order that was no piece */
    char text[APART_TEXT]; /* why it failed */
    char folder[PATH_MAX]; /* of a save */
};

struct isolated_order {
    enum isolated_what what;
    size_t frames;
    size_t change_count;
};

/* One process's view. Inputs and outputs are those of all instances. */
struct isolated_memory {
    struct isolated_head *head;
    size_t size; /* bytes */
    size_t slots, blocks, ports, inputs, outputs;
    size_t slot, changes, latencies, values, in, out; /* bytes: of a slot, and to what it holds */
    size_t channel;                                   /* likewise, of a channel */
};

struct isolated_piece {
    struct isolated_order *order;
    struct plugin_change *changes; /* room for one of each port in each block */
    uint64_t *latencies;           /* a block */
    float *values;                 /* a port */
    float *in, *out;               /* channel after channel, `stride` apart */
    size_t stride;
};

/* Where everything lies; both processes reckon alike. */
void isolated_memory_plan(struct isolated_memory *memory, const struct plugin_info *info,
                       const struct plugin_instances_settings *settings);

/* Make it, as it is planned, all zero. */
MUST_CHECK enum status isolated_memory_create(struct isolated_memory *memory, int *descriptor);

/* In the child: find the head of it, then all. Errors: the memory has not the size that is
 * planned. */
MUST_CHECK enum status isolated_memory_find(struct isolated_memory *memory);
MUST_CHECK enum status isolated_memory_join(struct isolated_memory *memory,
                                         const struct plugin_info *info,
                                         const struct plugin_instances_settings *settings);

void isolated_memory_free(struct isolated_memory *memory);

/* Real-time. */
struct isolated_piece isolated_memory_piece(const struct isolated_memory *memory, uint32_t number);

#endif
