/* The supervisor: a process between halo and a process that runs plugins. It ends all processes
 * that a plugin has started.
 *
 *   halo
 *     supervisor           reads nothing of plugins; removes the folder of the sandbox
 *       first process      of the namespace, if there is one: when it ends, all in it end
 *       the plugin's process, and all processes that it starts
 *
 * The supervisor ends with the exit code or the signal of the plugin's process. If halo ends in any
 * way, or sends SUPERVISOR_END, the supervisor kills all processes below it and ends. It kills a
 * plugin that exceeds the limit of memory or threads. Threads: call these functions while the
 * process has only one thread. */
#ifndef HALO_PLUGIN_SUPERVISOR_H
#define HALO_PLUGIN_SUPERVISOR_H

#include "plugin/isolation/plugin_sandbox.h"

enum { SUPERVISOR_THREADS = 1024 };

/* Path of the program to start as a child: this program, or for tests the variable HALO_PROGRAM. */
const char *own_program(void);

/* In halo: start own_program() in a session of its own, with default signals. `descriptors` become
 * the child's only descriptors, from 0 on; -1 is /dev/null. Returns 0 or an errno. */
int supervisor_spawn(char *const *arguments, const int *descriptors, int count, pid_t *process);

/* Become a supervisor: returns in a new process below it, or after an error maybe in the caller. */
MUST_CHECK enum status supervisor_start(const struct plugin_sandbox *sandbox);

/* Drop all capabilities of this process, also if it runs as root. */
void supervisor_drop_capabilities(void);

/* In halo: the limit, as text, that made a supervisor end with this exit code. NULL: none did. */
const char *supervisor_excess(int exit_code);

/* In halo: tell a supervisor to end, with all processes below it. Wait for its end by waitpid(). */
void supervisor_end(pid_t supervisor);

#endif
