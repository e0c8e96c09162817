/* Asks a child process about plugins, so that one that crashes or hangs while it is loaded, or a
 * bundle whose text does so to its parser, does no harm.
 *
 * The child is this program (own_program) with the internal command `plugin-scanner`; it answers
 * questions until it dies, and the next question starts another. Questions and answers are lines of
 * JSON over a socket; of what the plugins print, the last line is kept for the message about the
 * child's end. Answers are untrusted: plugins share the child's memory. Threads: one at a time; the
 * one that started the child must not end before it.
 */
#ifndef HALO_PLUGIN_SCANNER_H
#define HALO_PLUGIN_SCANNER_H

#include "plugin/isolation/plugin_sandbox.h"
#include "plugin/plugin.h"

#include <jansson.h>
#include <sys/types.h>

enum { PLUGIN_TROUBLE = 1024 };

struct plugin_scanner {
    double patience;              /* seconds for an answer */
    pid_t process;                /* 0: none now */
    int socket;                   /* socket to the process */
    int output;                   /* a pipe with what plugins print; -1: closed */
    struct plugin_output printed; /* since the last question */
    struct plugin_sandbox_pass pass;
    const char *id; /* id of the plugin that was asked about first; NULL: none */
    bool is_late;   /* the last answer did not come in time */
    struct scanner_line {
        char *text;
        size_t length, size;
    } line;                       /* received, not yet an answer */
    char trouble[PLUGIN_TROUBLE]; /* why there was no answer: "crashed (segmentation fault; last
                                     line: ...)" */
};

void plugin_scanner_init(struct plugin_scanner *scanner);
void plugin_scanner_free(struct plugin_scanner *scanner);

/* Questions. The answer is a new reference, or NULL where there is none: the child died, or its
 * answer is no JSON object; `trouble` says how. Errors of all: Ctrl-C, no child can be started. */

/* What a holder contains (plugin.h, for kinds with contents): {"base", "changing", "plugins",
 * "serves"}, see plugin_info_json.h; or {"error", "cause"}. */
MUST_CHECK enum status plugin_scanner_contents(struct plugin_scanner *scanner,
                                               const struct plugin_kind *kind, const char *holder,
                                               bool computes, json_t **answer);

/* All plugins in a holder but those in `skipped`, an array of ids. `holders`: an array of what
 * kind->use() needs. The answers come one by one: {"at": id} and {"at": id, "file": path} before a
 * plugin is tried, then {"plugin": row} (plugin_info_json.h) or {"refused": {"id", "reason"}}; at
 * the end {"end": true} or, where it has none, {"error"}. */
MUST_CHECK enum status plugin_scanner_look(struct plugin_scanner *scanner,
                                           const struct plugin_kind *kind, const char *holder,
                                           const json_t *holders, const json_t *skipped,
                                           json_t **answer);
MUST_CHECK enum status plugin_scanner_next(struct plugin_scanner *scanner, json_t **answer);

/* Give up on a child that answers wrongly; `trouble` is kept. */
void plugin_scanner_drop(struct plugin_scanner *scanner, const char *trouble);

/* The info of one: {"plugin"} or {"error", "cause"}. With `measured` it runs for some blocks, which
 * adds "latency", in frames at 48 kHz, or "failure", why it could not run. */
MUST_CHECK enum status plugin_scanner_describe(struct plugin_scanner *scanner,
                                               const struct plugin_kind *kind, const char *id,
                                               const json_t *holders, bool measured,
                                               json_t **answer);

/* The internal command, which answers questions from standard input. */
MUST_CHECK enum status cmd_plugin_scanner(int argc, char **argv);

#endif
