/* A blind test of whether two choices can be told apart: is X A or B?
 *
 * For every trial X is drawn to be A or B from the system's random source, evenly and
 * whatever was drawn before, when the test is made: before the first sound. The listener hears A,
 * B and X as often as wished and says which of them X is. An answer stands. Nothing
 * is told before the end, unless the test is made with feedback, for training.
 *
 * Until the end nothing here tells what X is but trial_abx_choice, which is for whoever
 * makes the sound: no one else should call it with X, nor show or log what it returns.
 *
 * There is no sound, screen or clock in here: times are seconds since the start, handed
 * in. Threads: one. Not real-time.
 */
#ifndef HALO_TRIAL_ABX_H
#define HALO_TRIAL_ABX_H

#include "base/status.h"
#include "listen/trial_log.h"
#include "signal/binomial.h"

#include <stdio.h>

struct trial_abx;

enum abx_sound { ABX_A, ABX_B, ABX_X };
enum abx_feedback { ABX_NOT_REVEALED, ABX_RIGHT, ABX_WRONG };

struct abx_result {
    size_t planned;
    size_t answered; /* fewer than planned: stopped early */
    size_t hits;
    double p_value; /* one-sided, over the answered trials */
    struct binomial_interval rate;
    size_t trials_needed;  /* as binomial_trials_needed has it */
    double median_seconds; /* from a trial's first sound to its answer; NaN: no answers */
};

/* 1 to BINOMIAL_TRIALS_MOST trials. The log stays the caller's, outlives the test, and
 * serves no other. Errors: memory, no random source. */
MUST_CHECK enum status trial_abx_create(size_t trials, bool feedback, struct trial_log *log,
                                        struct trial_abx **abx);
void trial_abx_destroy(struct trial_abx *abx);

/* Show it before the first sound. */
const char *trial_abx_commitment(const struct trial_abx *abx);

size_t trial_abx_at(const struct trial_abx *abx); /* trials answered so far */
bool trial_abx_is_over(const struct trial_abx *abx);

/* Which choice, 0 or 1, that sound is in the trial at hand. For the engine only. */
size_t trial_abx_choice(const struct trial_abx *abx, enum abx_sound sound);

/* The listener asked for that sound, or said that X is ABX_A or ABX_B. The last answer
 * ends the test. No effect once it is over. */
void trial_abx_play(struct trial_abx *abx, enum abx_sound sound, double seconds);
enum abx_feedback trial_abx_answer(struct trial_abx *abx, enum abx_sound said, double seconds);

/* End it before its time. No effect once it is over. */
void trial_abx_stop(struct trial_abx *abx, double seconds);

/* NULL until the test is over. */
const struct abx_result *trial_abx_result(const struct trial_abx *abx);
const struct trial_key *trial_abx_key(const struct trial_abx *abx);

/* A few lines for a person. */
void abx_result_print(const struct abx_result *result, FILE *stream);

/* As the log has it. */
json_t *abx_result_json(const struct abx_result *result);

#endif
