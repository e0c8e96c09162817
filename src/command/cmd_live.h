/* halo live: filter a microphone. */
#ifndef HALO_CMD_LIVE_H
#define HALO_CMD_LIVE_H

#include "base/status.h"

MUST_CHECK enum status cmd_live(int argc, char **argv);

#endif
