/* halo plugins WHAT: which plugins there are, and what one is. */
#ifndef HALO_CMD_PLUGINS_H
#define HALO_CMD_PLUGINS_H

#include "base/status.h"

/* argv[0] is "plugins". */
MUST_CHECK enum status cmd_plugins(int argc, char **argv);

/* halo plugins list (cmd_plugins_list.c). argv[0] is "list". */
MUST_CHECK enum status cmd_plugins_list(int argc, char **argv);

/* halo plugins info (cmd_plugins_info.c). argv[0] is "info". */
MUST_CHECK enum status cmd_plugins_info(int argc, char **argv);

#endif
