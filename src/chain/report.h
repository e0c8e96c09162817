/* The report of a render, as text and as JSON. */
#ifndef HALO_REPORT_H
#define HALO_REPORT_H

#include "base/status.h"
#include "chain/proof_report.h"
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
    struct channel_layout layout, layout_in;
    int sound_format;
    const struct stage_list *stages;
    const struct filter *chain;
    struct engine_totals totals;
    enum tail tail;
    bool true_peak;  /* totals hold one */
    double loudness; /* LUFS of the output; NAN: not measured */
    double scale;    /* factor of --normalize, else 1; totals include it */
    uint64_t clipped;
    bool length_is_open;  /* of the input: see struct source */
    bool precision_given; /* asked for */
    bool reproducible;
    size_t threads;
    double seconds; /* the run took */
    struct proof_result proof;
    const struct sound_metadata *metadata; /* what became of it; NULL: none was kept */
};

/* The stages in any report: a JSON array with an object each; and warnings about plugins with
 * invalid samples or late blocks. */
json_t *report_stages(const struct stage_list *stages);
void report_print_stages(const struct stage_list *stages);

/* Print a summary with note(), and what spoiled the sound with warning(). */
void report_print(const struct report *report);

/* A layout of so many channels by its name, or null; to be released. */
json_t *report_layout(struct channel_layout layout, size_t channels);

/* What a report says, as a new JSON object; NULL: memory. */
json_t *report_object(const struct report *report);

/* One JSON object and a newline. Errors: memory, the write. */
MUST_CHECK enum status report_print_json(const struct report *report, FILE *stream);

/* Warn of samples that OUT could not hold, if there are any. */
void report_clipping(const char *output, uint64_t clipped);

#endif
