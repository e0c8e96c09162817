/* What a rack apart consists of, as words of the command line of the process that runs it. */
#ifndef HALO_PLUGIN_APART_ARGS_H
#define HALO_PLUGIN_APART_ARGS_H

#include "plugin/plugin_rack.h"

#include <sys/types.h>

/* halo plugin-rack PARENT VERBOSITY KIND ID RATE BLOCK LIVE INSTANCES MOST PRESET STATE
 *      [URI VALUE]...
 * where PRESET and STATE are "-" or begin with "=". NULL at the end. */
MUST_CHECK enum status apart_args_make(const struct plugin_info *info,
                                        const struct plugin_rack_settings *settings, char ***args);
void apart_args_free(char **args);

struct apart_request {
    pid_t parent;
    enum verbosity verbosity;
    const struct plugin_kind *kind;
    const char *id;
    struct plugin_rack_settings settings; /* plugin.settings: free() them */
};

/* From what main was given after "halo"; texts stay there. Errors: not such words. */
MUST_CHECK enum status apart_args_read(int argc, char **argv, struct apart_request *request);

#endif
