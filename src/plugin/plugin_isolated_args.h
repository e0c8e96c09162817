/* What a isolated instances consists of, as words of the command line of the process that runs it. */
#ifndef HALO_PLUGIN_ISOLATED_ARGS_H
#define HALO_PLUGIN_ISOLATED_ARGS_H

#include "plugin/plugin_instances.h"

#include <sys/types.h>

/* halo plugin-instances PARENT VERBOSITY KIND ID RATE BLOCK LIVE INSTANCES MOST PRESET STATE
 *      [URI VALUE]...
 * where PRESET and STATE are "-" or begin with "=". NULL at the end. */
MUST_CHECK enum status isolated_args_make(const struct plugin_info *info,
                                        const struct plugin_instances_settings *settings, char ***args);
void isolated_args_free(char **args);

struct isolated_request {
    pid_t parent;
    enum verbosity verbosity;
    const struct plugin_kind *kind;
    const char *id;
    struct plugin_instances_settings settings; /* plugin.settings: free() them */
};

/* From what main was given after "halo"; texts stay there. Errors: not such words. */
MUST_CHECK enum status isolated_args_read(int argc, char **argv, struct isolated_request *request);

#endif
