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
#ifndef HALO_PROOF_REPORT_H
#define HALO_PROOF_REPORT_H

#include "base/options.h"
#include "chain/stages.h"

struct proof_options {
    bool wanted;
    double bound_db; /* of the error, relative to max|x| sum|h| */
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
    double worst_seconds; /* of the sound, where that error is */
    uint64_t frames;      /* of the sound, of all chains */
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
json_t *proof_stage_json(const struct proof *proof);   /* of one stage */

/* Errors: above the bound, or nothing was compared; `consequence` says what that means for the
 * output. */
MUST_CHECK enum status proof_judge(const struct proof_result *result, const char *consequence);

#endif
