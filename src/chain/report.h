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

/* --prove: the convolvers of a chain compared with double precision (prover.h), and what is said of
 * it.
 *
 *   proven: 12.3 s of 600.0 s (2.0 %), error at most -141.2 dB of max|x| sum|h|, -126.0 dB of the
 *   peak (bound -120 dB)
 *
 * Of several stages the least share and the largest errors; of several chains, one after the other,
 * the sum of what was compared.
 * Threads: the control thread.
 */

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
    bool is_there; /* it was asked for */
    struct proof proof;
    char worst[256];      /* the stage with the largest error to the bound: "--mask hall.wav" */
    double worst_seconds; /* seconds into the sound, where that error is */
    uint64_t frames;      /* frames of the sound, of all chains */
    uint32_t rate;
    double bound_db;
};

/* Stages are loaded, and not created yet. frames: of the output; 0 or less: unknown. Does nothing
 * unless wanted. Errors (usage): no stage can be proven. */
MUST_CHECK enum status proof_begin(const struct proof_options *options, struct stage_list *stages,
                                   int64_t frames);

/* After the last step of a chain, which output the sound from frame `since` to frame `until`. Adds
 * to *result, which is zero before, and sets `proof` of the stages. */
void proof_end(const struct proof_options *options, struct stage_list *stages, uint64_t since,
               uint64_t until, uint32_t rate, struct proof_result *result);

void proof_print(const struct proof_result *result);   /* with note(), if there is one */
json_t *proof_json(const struct proof_result *result); /* NULL: there is none */

/* Errors: above the bound, or nothing was compared; `consequence` says what that means for the
 * output. */
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
    bool true_peak;  /* totals hold one */
    double loudness; /* LUFS of the output; NAN: not measured */
    double scale;    /* factor of --normalize, else 1; totals include it */
    uint64_t clipped;
    bool length_is_open;  /* the length of the input was open (struct source) */
    bool precision_given; /* asked for */
    bool reproducible;
    size_t threads;
    double seconds; /* the run took */
    struct proof_result proof;
    const struct sound_metadata *metadata; /* metadata that was carried; NULL: none was kept */
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
