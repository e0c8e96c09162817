/* halo listen on a sound device. */
#ifndef HALO_LISTEN_PLAY_H
#define HALO_LISTEN_PLAY_H

#include "listen/listen_options.h"

/* Until the listener leaves or the test is over. Errors: whatever is wrong with sound, masks or
 * device; a device that is lost. */
MUST_CHECK enum status listen_play(const struct listen_options *options);

#endif
