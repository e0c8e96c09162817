/* What a render came to, for a person and for a script. */
#ifndef HALO_REPORT_H
#define HALO_REPORT_H

#include "base/status.h"
#include "chain/stages.h"
#include "sound/engine.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

struct report {
    const char *input;
    const char *output;
    uint32_t rate;
    size_t channels; /* of the output */
    size_t channels_in;
    int sound_format;
    const struct stage_list *stages;
    const struct filter *chain;
    struct engine_totals totals;
    enum tail tail;
    bool true_peak; /* totals hold one */
    double scale;   /* what --normalize multiplied by, else 1; in totals already */
    uint64_t clipped;
    size_t threads;
    double seconds; /* the run took */
};

/* What is told of a chain's stages in any report: an object each; and lines about plugins that
 * made samples that are no numbers, or were too late. */
json_t *report_stages(const struct stage_list *stages);
void report_print_stages(const struct stage_list *stages);

/* One line or two on standard error, as note() allows. */
void report_print(const struct report *report);

/* One JSON object and a newline. Errors: memory, the write. */
MUST_CHECK enum status report_print_json(const struct report *report, FILE *stream);

#endif
