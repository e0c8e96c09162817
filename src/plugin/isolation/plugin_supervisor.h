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

#include "plugin/isolation/plugin_sandbox.h"

enum { SUPERVISOR_THREADS = 1024 };

/* The program to start as a child: this one, or that in the variable HALO_PROGRAM (for tests). */
const char *own_program(void);

/* In halo: start it, in a session of its own, with signals as in a program just started, and with
 * these as its descriptors from 0 on, and no others; -1: /dev/null. Returns 0 or an errno. */
int supervisor_spawn(char *const *arguments, const int *descriptors, int count, pid_t *process);

/* Returns in the new process; errors also in the first one. */
MUST_CHECK enum status supervisor_start(const struct plugin_sandbox *sandbox);

/* Also root's, of this process. */
void supervisor_drop_capabilities(void);

/* In halo: which limit an exit code tells of, or NULL. */
const char *supervisor_excess(int exit_code);

/* In halo: end a supervisor and all below it. It ends soon after: waitpid(). */
void supervisor_end(pid_t supervisor);

#endif
