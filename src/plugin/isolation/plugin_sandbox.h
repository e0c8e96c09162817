/* The sandbox of the processes in which plugins run (plugin-instances and plugin-scanner).
 *
 * halo finds out once which parts the kernel offers, and prints once which are missing. Each
 * process gets one word that names its parts. The process enters the sandbox before it reads
 * anything of a plugin:
 *
 *   halo -> supervisor (plugin_supervisor.h) -> the process with the plugin's code
 *
 *   SANDBOX_FILES      Landlock: it reads paths of plugin_reads.h and writes a folder of its own,
 *                      which is its TMPDIR; no TCP, no signals to other processes
 *   SANDBOX_CALLS      seccomp: no sockets, no other programs or processes, no memory of others,
 *                      and nothing that changes the system. Such a call fails with EPERM
 *   SANDBOX_PROCESSES  its own namespaces of users and processes: it sees no other process, has no
 *                      capabilities, and all that it starts ends with it
 *
 * Any part also sets limits: memory, threads, open files, file size, no core files. Threads: the
 * main thread sets the options before the first process is started. */
#ifndef HALO_PLUGIN_SANDBOX_H
#define HALO_PLUGIN_SANDBOX_H

#include "base/options.h"
#include "plugin/isolation/plugin_reads.h"

#include <stdint.h>
#include <sys/types.h>

enum plugin_sandbox_part { SANDBOX_FILES = 1, SANDBOX_CALLS = 2, SANDBOX_PROCESSES = 4 };

/* ---- in halo ---- */

/* Parsers of the options --no-sandbox, --plugin-memory SIZE and --plugin-patience TIME, which hold
 * for the whole run. */
MUST_CHECK enum status plugin_sandbox_parse_off(void *options, const struct option_row *row,
                                                const char *value);
MUST_CHECK enum status plugin_sandbox_parse_memory(void *options, const struct option_row *row,
                                                   const char *value);
MUST_CHECK enum status plugin_sandbox_parse_patience(void *options, const struct option_row *row,
                                                     const char *value);

#define PLUGIN_SANDBOX_ROWS                                                                        \
    OPT_PARSE("no-sandbox", NULL, plugin_sandbox_parse_off,                                        \
              "let isolated plugins do all that you can: read and write\n"                         \
              "files, use the network, run programs"),                                             \
        OPT_PARSE("plugin-memory", "SIZE", plugin_sandbox_parse_memory,                            \
                  "memory for each isolated plugin, such as 512M; default 4G"),                    \
        OPT_PARSE("plugin-patience", "TIME", plugin_sandbox_parse_patience,                        \
                  "how long an isolated plugin may take to load (default 30s) and\n"               \
                  "to describe itself (default 10s)")

/* Seconds that a plugin may take to load or to describe itself: those of the option, or `usual`. */
double plugin_sandbox_patience(double usual);

/* The parts that processes of this run enter; 0 with --no-sandbox. The first call notes which
 * parts the kernel does not offer. */
unsigned plugin_sandbox_parts(void);

/* Whether --no-sandbox was given. */
bool plugin_sandbox_is_off(void);

/* The name of a part: "files", "calls" or "processes"; NULL past the last. *part: its bit. */
const char *plugin_sandbox_part_name(size_t index, unsigned *part);

/* Make the word and the folder for one process. Call plugin_sandbox_release after its end. Errors:
 * the folder cannot be made, memory. */
struct plugin_sandbox_pass {
    char *word;   /* argument for the child's command line; NULL: none */
    char *folder; /* path of the process's own folder; points into `word` */
};
MUST_CHECK enum status plugin_sandbox_admit(struct plugin_sandbox_pass *pass);
void plugin_sandbox_release(struct plugin_sandbox_pass *pass);

/* ---- in the process ---- */

struct plugin_sandbox {
    pid_t parent;
    unsigned parts;
    uint64_t memory;    /* bytes; 0: unlimited */
    const char *folder; /* folder of the process, which it may write */
};

/* Parse the word; `folder` then points into it. False: the word is not valid. */
MUST_CHECK bool plugin_sandbox_read(const char *word, struct plugin_sandbox *sandbox);

/* Enter the sandbox. The call returns in a new process; the calling process becomes the supervisor
 * and never returns. Call before any other thread runs. `named`: files and folders that the user
 * named, NULL at the end. Errors: a part could not be entered; then no code of a plugin may run. */
MUST_CHECK enum status plugin_sandbox_enter(const struct plugin_sandbox *sandbox,
                                            char *const *named);

/* If there is no display, let Qt in this process work without one. Call before threads run. */
void plugin_sandbox_hide_display(void);

#endif
