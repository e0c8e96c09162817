/* halo mask WHAT: looks at masks, converts them and makes them. */
#ifndef HALO_CMD_MASK_H
#define HALO_CMD_MASK_H

#include "base/status.h"

/* argv[0] is "mask". */
MUST_CHECK enum status cmd_mask(int argc, char **argv);

/* halo mask show: what a mask is, and what is wrong with it (cmd_mask_show.c). argv[0] is
 * "show". */
MUST_CHECK enum status cmd_mask_show(int argc, char **argv);

/* halo mask make: masks from a line of words (design.h, cmd_mask_make.c). argv[0] is "make". */
MUST_CHECK enum status cmd_mask_make(int argc, char **argv);

/* halo mask plot: pictures of masks (cmd_mask_plot.c). argv[0] is "plot". */
MUST_CHECK enum status cmd_mask_plot(int argc, char **argv);

/* halo mask convert: other kinds of files, and other programs' configurations
 * (cmd_mask_convert.c). argv[0] is "convert". */
MUST_CHECK enum status cmd_mask_convert(int argc, char **argv);

#endif
