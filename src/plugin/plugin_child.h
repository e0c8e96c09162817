/* The child process of isolated instances, and the thread that watches it.
 *
 * The thread starts the process, reads its output, and detects that it ended or hangs: no order
 * answered and no block done for `patience` seconds. A hung process is killed. Messages of halo in
 * the child, which have a channel of their own, become notes here; for what the plugin prints see
 * plugin_output.h. The process dies with halo, with all that it started (plugin_supervisor.h), and
 * terminal signals do not reach it. Threads: one owner; plugin_child_end by any.
 */
#ifndef HALO_PLUGIN_CHILD_H
#define HALO_PLUGIN_CHILD_H

#include "plugin/plugin_isolated.h"

struct plugin_child;

struct plugin_child_settings {
    const char *name; /* of the plugin */
    char **arguments; /* from isolated_args_make; ownership is taken */
    int memory;       /* descriptor; ownership is taken */
    struct isolated_head *head;
    uint32_t rate;
    size_t block; /* frames */
};

/* Order 0 has been posted and must be answered within `patience` seconds. A process that cannot be
 * started counts as ended. Errors: no thread. */
MUST_CHECK enum status plugin_child_start(const struct plugin_child_settings *settings,
                                          double patience, struct plugin_child **child);

/* What halo has posted: orders, with order 0, and frames since the opening or the last reset. The
 * plugin may have overwritten the shared numbers. Real-time. */
void plugin_child_posted(struct plugin_child *child, uint32_t orders, uint64_t frames);

/* `patience` holds for each order or block from now on; `doing` describes the order for the message
 * about an end: "while it was loaded"; NULL: it processes sound. */
void plugin_child_doing(struct plugin_child *child, const char *doing, double patience);

/* How the process ended: "crashed at 1.250 s, in block 234 (segmentation fault)"; NULL: it runs.
 * Real-time. */
const char *plugin_child_end(const struct plugin_child *child);

/* Wait `seconds` for its end, then kill it. Accepts NULL. */
void plugin_child_stop(struct plugin_child *child, double seconds);

/* The program to start as a child: this one, or that in the variable HALO_PROGRAM (for tests). */
const char *own_program(void);

#endif
