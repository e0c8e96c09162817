/* The chain of a live stream as JSON, for pages (docs/web.md) and for --json. Threads: control. */
#ifndef HALO_LIVE_STATE_H
#define HALO_LIVE_STATE_H

#include "live/session/live_session.h"

/* The event "chain": stages with their controls, choices, presets. NULL: no memory. In a
 * blind comparison it lacks all that would reveal what is heard. */
json_t *live_state_chain(const struct live_session *session);

#endif
