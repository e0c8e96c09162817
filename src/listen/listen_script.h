/* The switches of halo listen --script: "0:A 5s:B". */
#ifndef HALO_LISTEN_SCRIPT_H
#define HALO_LISTEN_SCRIPT_H

#include "base/status.h"

enum { LISTEN_SCRIPT_MOST = 1000 };

struct listen_script {
    size_t count;
    struct script_switch {
        double seconds;
        size_t choice; /* from 0 */
    } switches[LISTEN_SCRIPT_MOST];
};

/* For choices A, B, ... (or a, 1, ...); times ascend by `apart` seconds or more. Errors: usage. */
MUST_CHECK enum status listen_script_parse(const char *text, size_t choices, double apart,
                                           struct listen_script *script);

#endif
