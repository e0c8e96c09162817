/* The report of a render, as text and as JSON. */
#ifndef HALO_REPORT_H
#define HALO_REPORT_H

#include "base/options.h"
#include "base/status.h"
#include "chain/stages.h"
#include "sound/engine.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* ---- the proof ---- */

/* --prove: compares the convolvers of a chain with double precision (prover.h), and reports the
 * errors.
 *
 *   proven: 12.3 s of 600.0 s (2.0 %), error at most -141.2 dB of max|x| sum|h|, -126.0 dB of the
 *   peak (bound -120 dB)
 *
 * For several stages, the report has the least share and the largest errors. For several chains,
 * one after the other, it has the sum of the frames compared.
 * Threads: the control thread. */

struct proof_options {
    bool wanted;
    double bound_db; /* most error, relative to max|x| sum|h| */
};

#define PROOF_OPTIONS_DEFAULTS {.bound_db = -120}
#define OPT_PROVE(TYPE, FIELD)                                                                     \
    OPT_DB("prove", TYPE, FIELD.bound_db, -OPTIONS_DB_MOST, 0,                                     \
           "compare what masks do with double precision, in samples\n"                             \
           "of the sound; fail if the error is above DB (-120)",                                   \
           .optional = true, .given = OPT_GIVEN(TYPE, FIELD.wanted))

struct proof_result {
    bool is_there; /* a proof was requested */
    struct proof proof;
    char worst[256]; /* stage with the largest error relative to the bound: "--mask hall.wav" */
    double worst_seconds; /* position of that error in the sound, in seconds */
    uint64_t frames;      /* frames of the sound, summed over all chains */
    uint32_t rate;
    double bound_db;
};

/* Prepare a proof for loaded stages without filters. frames: length of the output; 0 or less:
 * unknown. Does nothing unless options->wanted. Errors (usage): no stage can be proven. */
MUST_CHECK enum status proof_begin(const struct proof_options *options, struct stage_list *stages,
                                   int64_t frames);

/* Call after the last step of a chain that output the frames from `since` to `until`. Adds to
 * *result, which is zeroed before the first chain, and sets `proof` of the stages. */
void proof_end(const struct proof_options *options, struct stage_list *stages, uint64_t since,
               uint64_t until, uint32_t rate, struct proof_result *result);

void proof_print(const struct proof_result *result);   /* prints with note() if there is a proof */
json_t *proof_json(const struct proof_result *result); /* NULL: there is no proof */

/* Errors: an error above the bound; nothing compared. `consequence`: the message's last words. */
MUST_CHECK enum status proof_judge(const struct proof_result *result, const char *consequence);

/* ---- the report ---- */

struct report {
    const char *input;
    const char *output;
    uint32_t rate;
    size_t channels; /* channels of the output */
    size_t channels_in;
    struct channel_layout layout, layout_in;
    int sound_format;
    const struct stage_list *stages;
    const struct filter *chain;
    struct engine_totals totals;
    enum tail tail;
    bool true_peak;  /* `totals` has a true peak */
    double loudness; /* LUFS of the output; NAN: not measured */
    double scale;    /* factor of --normalize, else 1; totals include it */
    uint64_t clipped;
    bool length_is_open;  /* the length of the input was open (struct source) */
    bool precision_given; /* the user chose the precision */
    bool reproducible;
    size_t threads;
    double seconds; /* duration of the run, in seconds */
    struct proof_result proof;
    const struct sound_metadata *metadata; /* metadata that was carried over; NULL: none */
};

/* report_stages() returns a JSON array with an object for each stage. report_print_stages() prints
 * the notes and warnings of each stage, such as about plugins with late blocks. */
json_t *report_stages(const struct stage_list *stages);
void report_print_stages(const struct stage_list *stages);

/* Print a summary with note(), and faults of the sound with warning(). */
void report_print(const struct report *report);

/* The name of a layout of `channels` channels as JSON, or null; a new reference. */
json_t *report_layout(struct channel_layout layout, size_t channels);

/* The report as a new JSON object; NULL: memory. */
json_t *report_object(const struct report *report);

/* Print the report as a JSON object and a newline. Errors: memory, writing. */
MUST_CHECK enum status report_print_json(const struct report *report, FILE *stream);

/* Warn if `clipped`, the number of samples that OUT could not hold, is not 0. */
void report_clipping(const char *output, uint64_t clipped);

#endif
