/* halo render IN OUT: a sound file through a chain of stages. */
#ifndef HALO_CMD_RENDER_H
#define HALO_CMD_RENDER_H

#include "base/status.h"

/* argv[0] is "render". */
MUST_CHECK enum status cmd_render(int argc, char **argv);

#endif
