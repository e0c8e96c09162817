#include "web/web_sockets.h"

#include "base/monotonic.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
    SECOND_NS = 1000000000,
    BUFFER = 1 << 16, /* The system holds so many bytes for a client that does not read. */
};

static unsigned number_of(const struct web_sockets *sockets, const struct web_client *client)
{
    return (unsigned)(client - sockets->clients);
}

static int join(struct web_sockets *sockets, struct lws *wsi, struct web_client **own)
{
    struct web_client *client = sockets->clients;
    while (client < sockets->clients + WEB_CLIENTS_MOST && client->wsi)
        client++;
    if (client == sockets->clients + WEB_CLIENTS_MOST)
        return -1;
    /* Without it, a client that stops reading would see texts that are minutes old. */
    (void)setsockopt(lws_get_socket_fd(wsi), SOL_SOCKET, SO_SNDBUF, &(int){BUFFER}, sizeof(int));
    client->wsi = wsi;
    client->is_asked = false;
    client->due = 0;
    client->size = 0;
    *own = client;
    sockets->settings->joined(sockets->settings->context, number_of(sockets, client));
    return 0;
}

static void leave(struct web_sockets *sockets, struct web_client **own)
{
    struct web_client *client = *own;
    client->wsi = NULL;
    *own = NULL;
    sockets->settings->left(sockets->settings->context, number_of(sockets, client));
}

/* Has the client called when it can take a text. If that takes too long, it is disconnected. */
static void ask(struct web_client *client)
{
    if (client->is_asked)
        return;
    client->is_asked = true;
    lws_set_timeout(client->wsi, PENDING_TIMEOUT_USER_REASON_BASE, WEB_PATIENCE);
    lws_callback_on_writable(client->wsi);
}

void web_sockets_ask(struct web_sockets *sockets)
{
    for (size_t i = 0; i < WEB_CLIENTS_MOST; i++)
        if (sockets->clients[i].wsi)
            ask(&sockets->clients[i]);
}

static int send_next(struct web_sockets *sockets, struct web_client *client)
{
    size_t size;
    client->is_asked = false;
    lws_set_timeout(client->wsi, NO_PENDING_TIMEOUT, 0);
    const char *text =
        sockets->settings->next(sockets->settings->context, number_of(sockets, client), &size);
    if (!text)
        return 0;
    if (LWS_PRE + size > sockets->room) {
        unsigned char *frame = realloc(sockets->frame, LWS_PRE + 2 * size);
        if (!frame)
            return -1;
        sockets->frame = frame;
        sockets->room = LWS_PRE + 2 * size;
    }
    memcpy(sockets->frame + LWS_PRE, text, size);
    if (lws_write(client->wsi, sockets->frame + LWS_PRE, size, LWS_WRITE_TEXT) < 0)
        return -1;
    ask(client);
    return 0;
}

/* Fragments count as messages, so that a message of many empty ones is a flood, too. */
static bool is_flood(struct web_client *client)
{
    int64_t now = monotonic_ns();
    if (client->due < now)
        client->due = now;
    client->due += SECOND_NS / WEB_MESSAGES_A_SECOND;
    return client->due - now > SECOND_NS;
}

/* Why a part of a message is refused; 0: it is taken. */
static unsigned take_part(struct web_client *client, const void *bytes, size_t size)
{
    if (is_flood(client))
        return LWS_CLOSE_STATUS_POLICY_VIOLATION;
    if (lws_frame_is_binary(client->wsi))
        return LWS_CLOSE_STATUS_UNACCEPTABLE_OPCODE;
    if (size > sizeof client->text - client->size)
        return LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE;
    if (size > 0)
        memcpy(client->text + client->size, bytes, size);
    client->size += size;
    return 0;
}

static int receive(struct web_sockets *sockets, struct web_client **own, const void *bytes,
                   size_t size)
{
    struct web_client *client = *own;
    unsigned refusal = take_part(client, bytes, size);
    if (refusal) {
        lws_close_reason(client->wsi, refusal, NULL, 0);
        leave(sockets, own);
        return -1;
    }
    if (!lws_is_final_fragment(client->wsi))
        return 0;
    size_t whole = client->size;
    client->size = 0;
    sockets->settings->message(sockets->settings->context, number_of(sockets, client), client->text,
                               whole);
    return 0;
}

int web_sockets_handle(struct web_sockets *sockets, struct lws *wsi,
                       enum lws_callback_reasons reason, struct web_client **client,
                       const void *bytes, size_t size)
{
    if (reason == LWS_CALLBACK_ESTABLISHED)
        return join(sockets, wsi, client);
    if (!*client)
        return 0;
    switch ((int)reason) {
    case LWS_CALLBACK_RECEIVE:
        return receive(sockets, client, bytes, size);
    case LWS_CALLBACK_SERVER_WRITEABLE:
        return send_next(sockets, *client);
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE: /* An answer may never be read. */
        lws_set_timeout(wsi, PENDING_TIMEOUT_CLOSE_ACK, WEB_PATIENCE);
        leave(sockets, client);
        return 0;
    case LWS_CALLBACK_WS_SERVER_DROP_PROTOCOL: /* libwebsockets ends the connection. */
    case LWS_CALLBACK_CLOSED:
        leave(sockets, client);
        return 0;
    default:
        return 0;
    }
}
