/* The commands of halo. Each is defined at the end of its file. live, listen, render, spectrogram
 * and the benches are declared with their options. */
#ifndef HALO_COMMANDS_H
#define HALO_COMMANDS_H

#include "base/program.h"

extern const struct command command_halo; /* halo itself, with all commands */

extern const struct command command_devices, command_chain_check;
extern const struct command command_chain_collect;
extern const struct command command_mask_show, command_mask_make, command_mask_plot,
    command_mask_convert;
extern const struct command command_plugins_list, command_plugins_info;
extern const struct command command_service_install, command_service_status, command_service_remove;
extern const struct command command_preset;
extern const struct command command_list_options;

/* A word in systemd's quotes, for free(). "$" is escaped, except in the path of the program. NULL:
 * memory. For halo service, and a test. */
char *service_unit_quote(const char *word, bool is_program);

#endif
