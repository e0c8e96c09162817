/* The switches of halo listen --script: "0:A 5s:B 8s:dry". */
#ifndef HALO_LISTEN_SCRIPT_H
#define HALO_LISTEN_SCRIPT_H

#include "base/status.h"

enum { LISTEN_SCRIPT_MOST = 1000 };

struct listen_script {
    size_t count;
    bool has_dry; /* some switch is to the dry sound */
    struct script_switch {
        double seconds;
        size_t choice; /* from 0; as many as there are: the dry sound */
    } switches[LISTEN_SCRIPT_MOST];
};

/* For choices A, B, ... (or a, 1, ...) and dry; times ascend by `apart` seconds or more. Errors:
 * usage. */
MUST_CHECK enum status listen_script_parse(const char *text, size_t choices, double apart,
                                           struct listen_script *script);

#endif
