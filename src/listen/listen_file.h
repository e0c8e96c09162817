/* halo listen without a device: what would be heard goes to a sound file. */
#ifndef HALO_LISTEN_FILE_H
#define HALO_LISTEN_FILE_H

#include "listen/listen_options.h"

/* One pass of the region, or as many seconds as were asked for, switched as the script says, at
 * its times to the frame. Errors: whatever is wrong with sound, masks or file. */
MUST_CHECK enum status listen_to_file(const struct listen_options *options);

#endif
