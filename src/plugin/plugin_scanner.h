/* Scans plugins in a child process, so that one that crashes or hangs while loading does no harm.
 *
 * The child is this program (own_program) with the internal command `plugin-scanner`; it answers
 * questions until it dies, and the next question starts another. Questions and answers are lines of
 * JSON over a socket; output of the plugins is discarded. Threads: one at a time; the one that
 * started the child must not end before it.
 */
#ifndef HALO_PLUGIN_SCANNER_H
#define HALO_PLUGIN_SCANNER_H

#include "plugin/plugin.h"
#include "plugin/plugin_sandbox.h"

#include <jansson.h>
#include <sys/types.h>

enum { PLUGIN_TROUBLE = 1024 };

struct plugin_scanner {
    double patience; /* seconds for an answer */
    pid_t process;   /* 0: none now */
    int socket;      /* to the process */
    struct plugin_sandbox_pass pass;
    const char *id;               /* of the plugin that was asked about first; NULL: none */
    bool is_late;                 /* the last answer did not come in time */
    char trouble[PLUGIN_TROUBLE]; /* why there was no answer: "crashed (segmentation fault)" */
};

void plugin_scanner_init(struct plugin_scanner *scanner);
void plugin_scanner_free(struct plugin_scanner *scanner);

/* Questions. The answer is a new reference, or NULL where the child died: `trouble` says how. */

/* The infos of all plugins in a holder (plugin.h): {"plugins": [...], "refused": [{"id",
 * "reason"}]}, or {"error"} where it has none. Errors: Ctrl-C, no child can be started. */
MUST_CHECK enum status plugin_scanner_look(struct plugin_scanner *scanner,
                                           const struct plugin_kind *kind, const char *holder,
                                           json_t **answer);

/* The info of one: {"plugin"} or {"error"}. With `measured` it runs for some blocks, which adds
 * "latency", in frames at 48 kHz, or "failure", why it could not run. Errors: as before. */
MUST_CHECK enum status plugin_scanner_describe(struct plugin_scanner *scanner,
                                               const struct plugin_kind *kind, const char *id,
                                               bool measured, json_t **answer);

/* kind->describe in a child. Errors: those of describe, death of the child. */
MUST_CHECK enum status plugin_describe_isolated(const struct plugin_kind *kind, const char *id,
                                                struct plugin_info **info);

/* The internal command, which answers questions from standard input. */
MUST_CHECK enum status cmd_plugin_scanner(int argc, char **argv);

#endif
