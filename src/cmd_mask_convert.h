/* halo mask convert: a mask of any kind as another one, or as another program's configuration. */
#ifndef HALO_CMD_MASK_CONVERT_H
#define HALO_CMD_MASK_CONVERT_H

#include "status.h"

/* argv[0] is "convert". */
MUST_CHECK enum status cmd_mask_convert(int argc, char **argv);

#endif
