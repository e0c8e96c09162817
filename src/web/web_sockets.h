/* The clients of a web server's WebSocket (web_server.h): their messages, and texts to them. */
#ifndef HALO_WEB_SOCKETS_H
#define HALO_WEB_SOCKETS_H

#include "web/web_server.h"
#include "web/websockets_library.h"

#include <stdint.h>

enum { WEB_PATIENCE = 30 /* seconds until a client that does nothing is disconnected */ };

struct web_client {
    struct lws *wsi; /* NULL: free */
    bool is_asked;   /* a call when the client can take a text is pending */
    int64_t due;     /* when all its messages would have come at the allowed rate, monotonic_ns() */
    size_t size;     /* of the message so far */
    char text[WEB_MESSAGE_MOST];
};

struct web_sockets {
    const struct web_settings *settings;
    unsigned char *frame; /* the text that is being sent, behind LWS_PRE bytes */
    size_t room;
    struct web_client clients[WEB_CLIENTS_MOST];
};

/* Handles an event of a WebSocket. *client is that of the connection, NULL if it has none. Returns
 * what libwebsockets' callback has to. */
int web_sockets_handle(struct web_sockets *sockets, struct lws *wsi,
                       enum lws_callback_reasons reason, struct web_client **client,
                       const void *bytes, size_t size);

/* Has `next` asked for each client that can take a text. */
void web_sockets_ask(struct web_sockets *sockets);

#endif
