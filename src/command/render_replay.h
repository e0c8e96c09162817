/* halo render IN OUT --replay LOG: a live recording as it was heard. */
#ifndef HALO_RENDER_REPLAY_H
#define HALO_RENDER_REPLAY_H

#include "command/render_options.h"

MUST_CHECK enum status render_replay(const struct render_options *options);

#endif
