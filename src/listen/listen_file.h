/* halo listen to a sound file instead of a device. */
#ifndef HALO_LISTEN_FILE_H
#define HALO_LISTEN_FILE_H

#include "listen/listen_options.h"

/* Write one pass of the region, or the requested seconds, with the script's switches at their exact
 * frames. Errors: those of sound, masks and file. */
MUST_CHECK enum status listen_to_file(const struct listen_options *options);

#endif
