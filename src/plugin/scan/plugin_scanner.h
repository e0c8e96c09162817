/* Asks a child process about plugins. A plugin that crashes or hangs when loaded, or a bundle whose
 * text crashes the parser, then only ends the child.
 *
 * The child is this program (own_program) with the internal command `plugin-scanner`. If the child
 * has died, the next question starts another. Questions and answers are lines of JSON over a
 * socket. The last line that the plugins print is kept for the message about the child's end.
 * Answers are untrusted: plugins share the child's memory. Threads: one at a time; the thread that
 * started the child must not end before the child. */
#ifndef HALO_PLUGIN_SCANNER_H
#define HALO_PLUGIN_SCANNER_H

#include "plugin/isolation/plugin_sandbox.h"
#include "plugin/plugin.h"

#include <jansson.h>
#include <sys/types.h>

enum { PLUGIN_TROUBLE = 1024 };

struct plugin_scanner {
    double patience;              /* seconds to wait for an answer */
    pid_t process;                /* id of the child process; 0: none runs */
    int socket;                   /* socket to the process */
    int output;                   /* pipe with the text that plugins print; -1: closed */
    struct plugin_output printed; /* text that plugins printed since the last question */
    struct plugin_sandbox_pass pass;
    const char *id; /* id of the plugin that was asked about first; NULL: none */
    bool is_late;   /* the last answer did not come in time */
    struct scanner_line {
        char *text;
        size_t length, size;
    } line;                       /* bytes received of an answer that is not complete */
    char trouble[PLUGIN_TROUBLE]; /* why there was no answer: "crashed (segmentation fault; last
                                     line: ...)" */
};

void plugin_scanner_init(struct plugin_scanner *scanner);
void plugin_scanner_free(struct plugin_scanner *scanner);

/* Questions. *answer is a new reference. NULL: the child died, or its answer is no JSON object;
 * `trouble` says why. Errors of all functions: Ctrl-C, no child can be started. */

/* Ask for a holder's contents (plugin.h, for kinds with contents). Answer: {"base", "changing",
 * "plugins", "serves"}, see plugin_info_json.h; or {"error", "cause"}. */
MUST_CHECK enum status plugin_scanner_contents(struct plugin_scanner *scanner,
                                               const struct plugin_kind *kind, const char *holder,
                                               bool computes, json_t **answer);

/* Ask for all plugins in a holder except the ids in the array `skipped`. `holders`: the holders
 * that kind->use() needs. The answers come one by one, the first from _look and the others from
 * _next: {"at": id} and {"at": id, "file": path} before a plugin is tried, then {"plugin": row}
 * (plugin_info_json.h) or {"refused": {"id", "reason"}}. The last answer is {"end": true} or
 * {"error"}. */
MUST_CHECK enum status plugin_scanner_look(struct plugin_scanner *scanner,
                                           const struct plugin_kind *kind, const char *holder,
                                           const json_t *holders, const json_t *skipped,
                                           json_t **answer);
MUST_CHECK enum status plugin_scanner_next(struct plugin_scanner *scanner, json_t **answer);

/* End a child that answers wrongly. `trouble` says what was wrong and is kept for messages. */
void plugin_scanner_drop(struct plugin_scanner *scanner, const char *trouble);

/* Ask for the info of one plugin. Answer: {"plugin"} or {"error", "cause"}. With `measured` the
 * plugin also runs for some blocks: the answer then has "latency", in frames at 48 kHz, or
 * "failure", the reason why the plugin could not run. */
MUST_CHECK enum status plugin_scanner_describe(struct plugin_scanner *scanner,
                                               const struct plugin_kind *kind, const char *id,
                                               const json_t *holders, bool measured,
                                               json_t **answer);

/* The internal command `plugin-scanner`: answers questions from standard input. */
MUST_CHECK enum status cmd_plugin_scanner(int argc, char **argv);

#endif
