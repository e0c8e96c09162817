/* A small web server on libwebsockets: files of a folder, and posted JSON texts.
 *
 * One address, HTTP/1.1 with or without TLS. A client that is silent for 30 s is disconnected.
 * If WEB_CLIENTS_MOST clients are connected, further ones wait in the system's queue. On a loopback
 * address, only requests to localhost, 127.0.0.1 or [::1] are answered, so that no page of another
 * site reaches the server through its own name (DNS rebinding).
 * Threads: one.
 */
#ifndef HALO_WEB_SERVER_H
#define HALO_WEB_SERVER_H

#include "base/build_info.h"
#include "base/status.h"

#include <jansson.h>

enum { WEB_CLIENTS_MOST = 64, WEB_BODY_MOST = 4 << 20, WEB_LINK = 320 };

/* Status of an answer in HTTP, such as 200. */
typedef unsigned web_status;

struct web_settings {
    const char *address;     /* "127.0.0.1:8443", "[::1]:0", "localhost:0"; port 0: any free one */
    const char *certificate; /* PEM files; both NULL: no TLS */
    const char *key;
    bool insecure;      /* allows other than loopback addresses without TLS */
    const char *folder; /* folder of the files */
    /* Whether a file of the folder is served. The name has no leading '/'. Links are never
     * followed. */
    bool (*serves)(const char *name);
    const char *post_name; /* name that takes posted texts */
    /* Takes a posted text, which is not 0-terminated. *reply (owned by the caller; NULL: memory ran
     * out) is the answer. */
    web_status (*post)(void *context, const char *body, size_t size, json_t **reply);
    void *context;
};

struct web_server;

#ifdef HALO_WITH_WEB

/* Listens. The settings outlive the server. Errors: the address is wrong, in use, or not a loopback
 * address without TLS or `insecure`; TLS files; the folder; memory. */
MUST_CHECK enum status web_server_open(const struct web_settings *settings,
                                       struct web_server **server);
void web_server_close(struct web_server *server);

/* "http://127.0.0.1:8443/", for people to open. */
const char *web_server_link(const struct web_server *server);

/* Waits for clients and serves them. Returns after each round, also after a signal. */
MUST_CHECK enum status web_server_serve(struct web_server *server);

#else /* without libwebsockets */

MUST_CHECK static inline enum status web_server_open(const struct web_settings *settings,
                                                     struct web_server **server)
{
    (void)settings;
    *server = NULL;
    return fail(CAUSE_UNSUPPORTED, "cannot serve pages: halo was built without libwebsockets");
}
#define web_server_close(server) ((void)(server))
#define web_server_link(server) ((void)(server), "")
#define web_server_serve(server) ((void)(server), STATUS_OK)

#endif

/* {"error": text}; NULL: memory ran out. */
static inline json_t *web_error(const char *text)
{
    return json_pack("{s:s}", "error", text);
}

#endif
