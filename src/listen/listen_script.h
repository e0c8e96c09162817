/* What to switch to when: "0:A 5s:B". */
#ifndef HALO_LISTEN_SCRIPT_H
#define HALO_LISTEN_SCRIPT_H

#include "base/status.h"

enum { LISTEN_SCRIPT_MOST = 1000 };

struct listen_script {
    size_t count;
    struct listen_script_switch {
        double seconds;
        size_t choice; /* from 0 */
    } switches[LISTEN_SCRIPT_MOST];
};

/* Times ascend by more than `apart` seconds; choices are letters or numbers. Errors: wrong
 * usage. */
MUST_CHECK enum status listen_script_parse(const char *text, size_t choices, double isolated,
                                           struct listen_script *script);

#endif
