/* halo listen: play a sound through masks, and judge them by ear. */
#ifndef HALO_CMD_LISTEN_H
#define HALO_CMD_LISTEN_H

#include "base/status.h"

/* argv[0] is "listen". */
MUST_CHECK enum status cmd_listen(int argc, char **argv);

#endif
