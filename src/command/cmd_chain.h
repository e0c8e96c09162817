/* halo chain check FILE: is a chain that is kept in a file whole, and what does it come to? */
#ifndef HALO_CMD_CHAIN_H
#define HALO_CMD_CHAIN_H

#include "base/status.h"

enum status cmd_chain(int argc, char **argv);

#endif
