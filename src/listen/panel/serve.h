/* Serves the page of a listening test, and saves the answers of its listeners.
 *
 * Each listener has a link with a token, the first 32 digits of the SHA-256 of "SALT token NAME".
 * SALT is of the test's key. The name may be empty; then the page asks for a name.
 * Answers are saved as FOLDER.answers/NAME.json; without a name in the link, as
 * FOLDER.answers/ID.json with the answers' own id. They are complete or absent, and only the user
 * can read them. Answers that were saved are never replaced.
 * Threads: one.
 */
#ifndef HALO_SERVE_H
#define HALO_SERVE_H

#include "base/status.h"

#include <stddef.h>

#define SERVE_ADDRESS "127.0.0.1:0"

struct serve_settings {
    const char *folder;  /* folder of the page. Beside it are FOLDER.key and FOLDER.answers. */
    const char *address; /* Its form is that of struct web_settings. */
    /* Names of the listeners. If there are none, the key's member "listeners" has the names. If it
     * is missing, too, there is one link without a name, for any number of listeners. */
    const char *const *names;
    size_t name_count;
    const char *tls_certificate; /* PEM files; NULL: no TLS */
    const char *tls_key;
    bool insecure;      /* allows other than loopback addresses without TLS */
    const char *output; /* file of the only answers; then serving ends. NULL: FOLDER.answers */
    bool force;         /* replace `output` */
    bool json;          /* prints JSON for saved answers; with `output` nothing is printed */
    void (*ready)(void *context, const char *link); /* called with each link */
    void *context;                                  /* `ready` gets this. */
};

/* Serves until a signal asks to stop, which is the usual end; call stop_watch first. Errors: those
 * of web_server_open; the key; the page is of another test; names; memory; a signal before there
 * was an `output`. */
MUST_CHECK enum status serve_run(const struct serve_settings *settings);

#endif
