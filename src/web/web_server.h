/* A small web server on libwebsockets: files, posted JSON texts, and messages by WebSocket.
 *
 * One address, HTTP/1.1 with or without TLS. A client that is silent for 30 s is disconnected.
 * If WEB_CLIENTS_MOST clients are connected, further ones wait in the system's queue. On a loopback
 * address, only requests to localhost, 127.0.0.1 or [::1] are answered, so that no page of another
 * site reaches the server through its own name (DNS rebinding). Requests of other sites' pages are
 * refused.
 *
 * Session: a page posts {"token": TOKEN} to /session and gets the cookie halo_PORT, which
 * WebSockets need. After 10 wrong tokens, all tokens are refused for the rest of the minute. A GET
 * of /SOCKET_NAME answers 426 with the cookie, and 403 without it.
 *
 * WebSocket: a client is disconnected for a message that is not text (1003), not UTF-8 (1007),
 * larger than WEB_MESSAGE_MOST (1009) or beyond WEB_MESSAGES_A_SECOND (1008). One text at most
 * waits for a client. A client that takes nothing for 30 s is disconnected.
 *
 * Threads: one, except web_server_wake.
 */
#ifndef HALO_WEB_SERVER_H
#define HALO_WEB_SERVER_H

#include "base/build_info.h"
#include "base/embedded_file.h"
#include "base/status.h"

#include <jansson.h>

enum {
    WEB_CLIENTS_MOST = 64,
    WEB_BODY_MOST = 4 << 20,
    WEB_LINK = 320,
    WEB_MESSAGE_MOST = 4096,     /* bytes */
    WEB_MESSAGES_A_SECOND = 200, /* of a client; the burst has as many */
};

/* Status of an answer in HTTP, such as 200. */
typedef unsigned web_status;

struct web_settings {
    const char *address;     /* "127.0.0.1:8443", "[::1]:0", "localhost:0"; port 0: any free one */
    const char *certificate; /* PEM files; both NULL: no TLS */
    const char *key;
    bool insecure;                     /* allows other than loopback addresses without TLS */
    const struct embedded_file *files; /* NULL: the files of `folder` */
    const char *folder;                /* folder of the files; unused with `files` */
    /* Whether a file of the folder is served. The name has no leading '/'. Links are never
     * followed. */
    bool (*serves)(const char *name);
    const char *post_name; /* name that takes posted texts; NULL: none */
    /* Takes a posted text, which is not 0-terminated. *reply (owned by the caller; NULL: memory ran
     * out) is the answer. */
    web_status (*posted)(void *context, const char *body, size_t size, json_t **reply);
    const char *token;       /* token of a session; NULL: there are no sessions */
    const char *socket_name; /* name of the WebSocket, which needs a session; NULL: none */
    /* Clients of the WebSocket, by numbers below WEB_CLIENTS_MOST. web_server_close calls `left`
     * for those that are still there. */
    void (*joined)(void *context, unsigned client);
    void (*left)(void *context, unsigned client);
    /* Takes a message, which is not 0-terminated. */
    void (*message)(void *context, unsigned client, const char *text, size_t size);
    /* Gives the next text for a client that can take one; NULL: there is none now. The text stays
     * valid until the next call. */
    const char *(*next)(void *context, unsigned client, size_t *size);
    unsigned tick_ms; /* longest time in web_server_serve; 0: no limit */
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

/* Waits for clients and serves them. Returns after each round, also after a signal, a tick and
 * web_server_wake. After a tick or web_server_wake, the next call asks `next` for every client. */
MUST_CHECK enum status web_server_serve(struct web_server *server);

/* Lets web_server_serve return soon. Threads: any. */
void web_server_wake(struct web_server *server);

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
#define web_server_wake(server) ((void)(server))

#endif

/* {"error": text}; NULL: memory ran out. */
static inline json_t *web_error(const char *text)
{
    return json_pack("{s:s}", "error", text);
}

#endif
