/* halo devices: what there is to play and record with. */
#ifndef HALO_CMD_DEVICES_H
#define HALO_CMD_DEVICES_H

#include "base/status.h"

/* argv[0] is "devices" (cmd_devices.c, or a refusal where PortAudio is not built in). */
MUST_CHECK enum status cmd_devices(int argc, char **argv);

#endif
