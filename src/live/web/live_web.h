/* The web server of halo live: what pages get to see, and the requests that they send.
 *
 * docs/web.md describes the messages. The server (web_server.h) runs on a thread of its own, with
 * ordinary priority. The control thread publishes texts and takes requests; it never waits for a
 * page. A page that does not read misses old texts of a topic, and after WEB_LETTERS_MOST others,
 * the oldest. Threads: the control thread, except where something else is said. */
#ifndef HALO_LIVE_WEB_H
#define HALO_LIVE_WEB_H

#include "live/remote/live_command.h"

#include <jansson.h>

enum {
    LIVE_WEB_PORT = 4256,       /* default port; if it is in use, any free one */
    LIVE_WEB_REQUESTS_MOST = 64 /* requests that wait at most; further ones are refused */
};

struct live_web_options {
    bool wanted;
    const char *address; /* "127.0.0.1:4256"; NULL: LIVE_WEB_PORT, on this machine alone */
    const char *certificate, *key; /* PEM files; NULL: no TLS */
    bool insecure;
};

/* What pages show. Of each topic, only the last text counts. */
enum live_web_topic {
    LIVE_WEB_OFFERS,
    LIVE_WEB_CHAIN,
    LIVE_WEB_OUTAGES,
    LIVE_WEB_STATUS,
    LIVE_WEB_SPECTRUM,
    LIVE_WEB_TOPICS
};

/* A page. A later page may have the number, but not the visit. */
struct live_web_page {
    unsigned number;
    uint64_t visit;
};

struct live_web_request {
    struct live_web_page page;
    json_int_t id;
    bool wants_curves;           /* uses `curves`, otherwise `command` */
    struct live_command command; /* with no OSC sender */
    struct {
        bool of_mask;                 /* of the choosing stage's mask alone */
        size_t choice, input, output; /* from 1; choice 0: dry */
    } curves;
};

/* Reads a message. *id: of the message, or 0. False: it is not valid, and `reason` says why.
 * Threads: any. */
bool live_web_read(const char *text, size_t size, struct live_web_request *request,
                   char reason[static COMMAND_REASON_MOST]);

struct live_web;

/* Starts the server. Errors: the address, TLS files, the token's file, memory, threads. */
MUST_CHECK enum status live_web_open(const struct live_web_options *options, struct live_web **web);
void live_web_close(struct live_web *web); /* NULL is ignored */

/* The link for a browser, with the token. */
const char *live_web_link(const struct live_web *web);

/* For poll(): readable if there is a request. */
int live_web_fd(const struct live_web *web);

/* Whether any page is connected; false if `web` is NULL. */
bool live_web_has_pages(const struct live_web *web);

/* Takes the next request; false: there is none. */
bool live_web_take(struct live_web *web, struct live_web_request *request);

/* Tells a page what became of a request. `error`: NULL if it was done. */
void live_web_answer(struct live_web *web, const struct live_web_request *request,
                     const char *error);

/* Shows an object on all pages, and releases it. NULL (memory ran out) is ignored. The second
 * function takes a text of JSON. Pages get it at the next live_web_flush. Threads: any. */
void live_web_publish(struct live_web *web, enum live_web_topic topic, json_t *object);
void live_web_publish_text(struct live_web *web, enum live_web_topic topic, const char *text);
void live_web_flush(struct live_web *web);

/* Sends an object to a page, or to all (NULL), and releases it. Threads: any. */
void live_web_send(struct live_web *web, const struct live_web_page *page, json_t *object);

/* The same with a text of JSON. */
void live_web_send_text(struct live_web *web, const struct live_web_page *page, const char *text);

#endif
