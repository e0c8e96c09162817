/* The web pages of halo live (live_web.h): what they are shown, and their requests. With no page
 * connected, only the chain's state is looked at. Threads: the control thread. */
#ifndef HALO_LIVE_PAGES_H
#define HALO_LIVE_PAGES_H

#include "live/session/live_session.h"

struct live_pages;

/* Starts the server, if the options ask for it. Errors: the server's; memory. */
MUST_CHECK enum status live_pages_open(struct live_session *session);
void live_pages_close(struct live_session *session);

/* Call it when the view is open: tells the link, and passes messages on to pages. */
void live_pages_begin(struct live_session *session);

/* Executes the requests of pages. Call it often. */
void live_pages_advance(struct live_session *session);

/* Shows the status, and what has changed since the last call, to pages and with --json. */
void live_pages_show(struct live_session *session, const struct live_status *status);

#endif
