/* The sandbox of the processes in which plugins run (plugin-instances and plugin-scanner).
 *
 * Halo finds out once what the kernel offers, tells once what is missing, and hands each process
 * one word that says what to enter. The process enters it before it reads anything of a plugin:
 *
 *   halo -> supervisor (plugin_supervisor.h) -> the process with the plugin's code
 *
 *   SANDBOX_FILES      Landlock: it reads what plugin_reads.h lists and writes a folder of its own,
 *                      which is its TMPDIR; no TCP, no signals to other processes
 *   SANDBOX_CALLS      seccomp: no sockets, no other programs or processes, no memory of others,
 *                      and nothing that changes the system. Such a call fails with EPERM
 *   SANDBOX_PROCESSES  its own namespaces of users and processes: it sees no other process, has no
 *                      capabilities, and all that it starts ends with it
 *
 * With any of them come limits: memory, threads, open files, file size, no core files.
 * Threads: the settings are made by the main thread before the first process is started.
 */
#ifndef HALO_PLUGIN_SANDBOX_H
#define HALO_PLUGIN_SANDBOX_H

#include "base/options.h"
#include "plugin/isolation/plugin_reads.h"

#include <stdint.h>
#include <sys/types.h>

enum plugin_sandbox_part { SANDBOX_FILES = 1, SANDBOX_CALLS = 2, SANDBOX_PROCESSES = 4 };

/* ---- in halo ---- */

/* --no-sandbox and --plugin-memory SIZE, for the tables of commands; they hold for the whole run.
 */
MUST_CHECK enum status plugin_sandbox_parse_off(void *options, const struct option_row *row,
                                                const char *value);
MUST_CHECK enum status plugin_sandbox_parse_memory(void *options, const struct option_row *row,
                                                   const char *value);

#define PLUGIN_SANDBOX_ROWS                                                                        \
    OPT_PARSE("no-sandbox", NULL, plugin_sandbox_parse_off,                                        \
              "let isolated plugins do all that you can: read and write\n"                         \
              "files, use the network, run programs"),                                             \
        OPT_PARSE("plugin-memory", "SIZE", plugin_sandbox_parse_memory,                            \
                  "memory for each isolated plugin, such as 512M; default 4G")

/* The parts that processes of this run enter; 0 with --no-sandbox. The first call notes which
 * parts the kernel does not offer. */
unsigned plugin_sandbox_parts(void);

/* By --no-sandbox. */
bool plugin_sandbox_is_off(void);

/* "files", "calls" or "processes"; NULL past the last. *part: its bit. */
const char *plugin_sandbox_part_name(size_t index, unsigned *part);

/* The word for one process, and the folder that is its own. Call plugin_sandbox_release after its
 * end. Errors: the folder cannot be made, memory. */
struct plugin_sandbox_pass {
    char *word;   /* for the child's command line; NULL: none */
    char *folder; /* within `word` */
};
MUST_CHECK enum status plugin_sandbox_admit(struct plugin_sandbox_pass *pass);
void plugin_sandbox_release(struct plugin_sandbox_pass *pass);

/* ---- in the process ---- */

struct plugin_sandbox {
    pid_t parent;
    unsigned parts;
    uint64_t memory;    /* bytes; 0: unlimited */
    const char *folder; /* its own, writable */
};

/* Read the word; `folder` points into it. False: it is none. */
MUST_CHECK bool plugin_sandbox_read(const char *word, struct plugin_sandbox *sandbox);

/* Enter it: the caller continues in a new process, while its own becomes the supervisor and never
 * returns. Before any other thread runs. `named`: files and folders the user named, NULL at the
 * end. Errors: a part could not be entered; nothing of a plugin may run then. */
MUST_CHECK enum status plugin_sandbox_enter(const struct plugin_sandbox *sandbox,
                                            char *const *named);

/* For this process: let Qt do without a display where there is none. Before threads run. */
void plugin_sandbox_hide_display(void);

#endif
