/* The child process that runs a set of instances of plugins apart, and the thread that watches it.
 *
 * The thread starts the process, reads what it prints, and notices that it ended or hangs: no
 * answer to an order, and no block done, for `patience` seconds. One that hangs is killed. What
 * halo itself prints in there is a note here, what a plugin prints is told where details are.
 * The process dies with halo, however that ends, and terminal signals do not reach it.
 * Threads: one owner; plugin_child_end by any.
 */
#ifndef HALO_PLUGIN_CHILD_H
#define HALO_PLUGIN_CHILD_H

#include "plugin/plugin_isolated_memory.h"

struct plugin_child;

struct plugin_child_settings {
    const char *name; /* of the plugin */
    char **arguments; /* of halo, by apart_args_make; taken over */
    int memory;       /* its descriptor; taken over */
    struct isolated_head *head;
    uint32_t rate;
    size_t block; /* frames */
};

/* Order 0 has been posted; it has `patience` seconds for it. Errors: a thread. That no process
 * could be started is how it ended. */
MUST_CHECK enum status plugin_child_start(const struct plugin_child_settings *settings,
                                          double patience, struct plugin_child **child);

/* It has `patience` seconds for each order or block from now on; what it does, for words on its
 * end: "while it was loaded"; NULL: sound. */
void plugin_child_doing(struct plugin_child *child, const char *output, double patience);

/* How the process ended: "crashed at 1.250 s, in block 234 (segmentation
 * fault)"; NULL: it lives. Real-time. */
const char *plugin_child_end(const struct plugin_child *child);

/* Wait for its end for so many seconds, then kill it; takes NULL. */
void plugin_child_stop(struct plugin_child *child, double seconds);

/* The program that runs, to run it again as a child: what may crash or hang is left to that. The
 * variable HALO_PROGRAM names another: a test is not halo itself. */
const char *own_program(void);

#endif
