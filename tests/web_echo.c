/* A web server whose WebSocket answers, for tests/web_sockets.py.
 *
 *   web_echo ADDRESS TOKEN TICK_MS [CERTIFICATE KEY]
 *
 * Prints the link, and "joined CLIENT" and "left CLIENT". Ends at the end of its input; after line
 * N of it, all clients get "said N". Answers a message with "COUNT MESSAGE", COUNT being the number of messages so
 * far. Some messages do more:
 *
 *   stream SIZE    from now on a text of SIZE bytes every 20 ms; it begins with the time, in 20 ms
 *   size SIZE      the answer is a text of SIZE bytes
 *   frames CLIENT  the answer is the number of texts that this client was given
 */
#include "web/web_server.h"

#include "base/monotonic.h"
#include "base/thread.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MOST = 1 << 20, PERIOD_NS = 20000000 };

static struct client {
    unsigned long count, frames;
    int64_t shown; /* number of the newest text of the stream */
    size_t stream, size;
    unsigned said;
    char message[WEB_MESSAGE_MOST + 1];
    bool waits;
} clients[WEB_CLIENTS_MOST];

static struct web_server *server;
static char text[TEXT_MOST];
static atomic_uint said; /* lines of the input */
static atomic_bool ended;

static void joined(void *context, unsigned client)
{
    (void)context;
    clients[client] = (struct client){.said = said};
    printf("joined %u\n", client);
    fflush(stdout);
}

static void left(void *context, unsigned client)
{
    (void)context;
    printf("left %u\n", client);
    fflush(stdout);
}

static void take(void *context, unsigned number, const char *bytes, size_t size)
{
    struct client *client = &clients[number];
    (void)context;
    memcpy(client->message, bytes, size);
    client->message[size] = '\0';
    client->count++;
    client->waits = true;
    if (sscanf(client->message, "stream %zu", &client->stream) != 1)
        sscanf(client->message, "size %zu", &client->size);
    web_server_wake(server);
}

static const char *padded(size_t *length, size_t size)
{
    if (size >= sizeof text)
        abort();
    memset(text + *length, 'x', size - *length);
    *length = size;
    return text;
}

static const char *answer(struct client *client, size_t *length)
{
    unsigned other;
    client->waits = false;
    if (sscanf(client->message, "frames %u", &other) == 1 && other < WEB_CLIENTS_MOST)
        *length = (size_t)sprintf(text, "%lu %lu", client->count, clients[other].frames);
    else
        *length = (size_t)sprintf(text, "%lu %s", client->count, client->message);
    size_t size = client->size;
    client->size = 0;
    return size > *length ? padded(length, size) : text;
}

static const char *next(void *context, unsigned number, size_t *length)
{
    struct client *client = &clients[number];
    int64_t now = monotonic_ns() / PERIOD_NS;
    (void)context;
    client->frames++;
    if (client->waits)
        return answer(client, length);
    if (client->said != said) {
        client->said = said;
        *length = (size_t)sprintf(text, "said %u", client->said);
        return text;
    }
    if (client->stream > 0 && client->shown != now) {
        client->shown = now;
        *length = (size_t)sprintf(text, "%" PRId64 " ", now);
        return padded(length, client->stream);
    }
    client->frames--;
    return NULL;
}

static void *read_input(void *context)
{
    for (int byte; (byte = getchar()) != EOF;) {
        said += byte == '\n';
        web_server_wake(server);
    }
    ended = true;
    web_server_wake(server);
    return context;
}

int main(int count, char **arguments)
{
    static const unsigned char page[] = "<!doctype html>", script[] = "'use strict';";
    static const struct embedded_file files[] = {
        {"index.html", page, sizeof page - 1}, {"page.js", script, sizeof script - 1}, {0}};
    const struct web_settings settings = {
        .address = arguments[1],
        .token = arguments[2],
        .tick_ms = (unsigned)atoi(arguments[3]),
        .certificate = count > 4 ? arguments[4] : NULL,
        .key = count > 4 ? arguments[5] : NULL,
        .files = files,
        .socket_name = "live",
        .joined = joined,
        .left = left,
        .message = take,
        .next = next,
    };
    pthread_t reader;
    enum status status = web_server_open(&settings, &server);
    if (status != STATUS_OK || thread_start(&reader, "input", THREAD_AS_CALLER, read_input, NULL))
        return 1;
    puts(web_server_link(server));
    fflush(stdout);
    while (status == STATUS_OK && !ended)
        status = web_server_serve(server);
    pthread_join(reader, NULL);
    web_server_close(server);
    return status != STATUS_OK;
}
