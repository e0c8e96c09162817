/* The process between halo and one that runs plugins: it ends all that a plugin has started.
 *
 *   halo
 *     supervisor           reads nothing of plugins; removes the folder of the sandbox
 *       first process      of the namespace, where there is one: its end is that of all in it
 *       the plugin's process, and what that starts
 *
 * It ends as the plugin's process does: with its exit code or its signal. When halo ends, in
 * whatever way, or sends SUPERVISOR_END, it kills everything and ends. A plugin whose memory or
 * threads exceed the limits is killed. Threads: called while the process has only one.
 */
#ifndef HALO_PLUGIN_SUPERVISOR_H
#define HALO_PLUGIN_SUPERVISOR_H

#include "plugin/plugin_sandbox.h"

#include <signal.h>

enum {
    SUPERVISOR_END = SIGUSR1, /* other signals to end do not concern it: they are halo's */
    SUPERVISOR_THREADS = 1024,
    /* Exit codes that tell of limits; a plugin's own are never these. */
    SUPERVISOR_MEMORY_USED = 120,
    SUPERVISOR_THREADS_USED = 121,
};

/* Returns in the new process; errors also in the first one. */
MUST_CHECK enum status supervisor_start(const struct plugin_sandbox *sandbox);

/* Also root's, of this process. */
void supervisor_drop_capabilities(void);

/* In halo: which limit an exit code tells of, or NULL. */
const char *supervisor_excess(int exit_code);

/* In halo: end a supervisor and all below it. It ends soon after: waitpid(). */
void supervisor_end(pid_t supervisor);

#endif
