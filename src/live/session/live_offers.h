/* What a web page may add to the chain: the masks in the folders of the masks given at the start,
 * and installed plugins. A page cannot name any other file. Threads: the control thread. */
#ifndef HALO_LIVE_OFFERS_H
#define HALO_LIVE_OFFERS_H

#include "live/session/live_session.h"

enum { OFFERS_MASKS_MOST = 1000 };

/* Lists the masks, and starts a thread that lists the plugins, in session->offers. Call it when the
 * chain has been made. Errors: memory. */
MUST_CHECK enum status live_offers_begin(struct live_session *session);

/* Takes the plugins over when they are listed. Returns true then, once. */
bool live_offers_advance(struct live_session *session);

void live_offers_end(struct live_session *session);

/* Errors (usage): a page asks for a file or plugin that was not offered. */
MUST_CHECK enum status live_offers_allow(const struct live_session *session,
                                         const struct live_command *command);

#endif
