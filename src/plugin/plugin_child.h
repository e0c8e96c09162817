/* The child process of an isolated instances, and the thread that watches it.
 *
 * The thread starts the process, reads its output, and detects that it ended or hangs: no order
 * answered and no block done for `patience` seconds. A hung process is killed. Messages of halo in
 * the child become notes here, output of the plugin is shown with --verbose. The process dies with
 * halo, however that ends, and terminal signals do not reach it. Threads: one owner;
 * plugin_child_end by any.
 */
#ifndef HALO_PLUGIN_CHILD_H
#define HALO_PLUGIN_CHILD_H

#include "plugin/plugin_isolated.h"

struct plugin_child;

struct plugin_child_settings {
    const char *name; /* of the plugin */
    char **arguments; /* of halo, by apart_args_make; taken over */
    int memory;       /* its descriptor; taken over */
    struct isolated_head *head;
    uint32_t rate;
    size_t block; /* frames */
};

/* Order 0 has been posted and must be answered within `patience` seconds. Errors: a thread. A
 * process that could not be started counts as ended. */
MUST_CHECK enum status plugin_child_start(const struct plugin_child_settings *settings,
                                          double patience, struct plugin_child **child);

/* `patience` holds for each order or block from now on; `words` describe what it does, for the
 * message about its end: "while it was loaded"; NULL: it processes sound. */
void plugin_child_doing(struct plugin_child *child, const char *output, double patience);

/* How the process ended: "crashed at 1.250 s, in block 234 (segmentation fault)"; NULL: it runs.
 * Real-time. */
const char *plugin_child_end(const struct plugin_child *child);

/* Wait for its end for `seconds`, then kill it. Takes NULL. */
void plugin_child_stop(struct plugin_child *child, double seconds);

/* The program that runs, to run it again as a child: what may crash or hang is left to that. The
 * variable HALO_PROGRAM names another: a test is not halo itself. */
const char *own_program(void);

#endif
