/* ABX: can two choices be distinguished?
 *
 * In every trial X is drawn to be A or B, with equal probability and independently. The listener
 * plays A, B and X at will, answers which one X is, and may change the answer until the trial is
 * confirmed. Results are shown at the end, or with feedback (for training) after every trial.
 * The sounds are those of enum abx_sound, choices 0 and 1.
 * Threads: one. Not real-time.
 */
#ifndef HALO_TRIAL_ABX_H
#define HALO_TRIAL_ABX_H

#include "listen/trial.h"
#include "signal/binomial.h"

enum abx_sound { ABX_A, ABX_B, ABX_X };
enum abx_feedback { ABX_NOT_REVEALED, ABX_RIGHT, ABX_WRONG };

/* 1 to BINOMIAL_TRIALS_MOST trials; the seed as in trial_init. Errors: those of trial_init. */
MUST_CHECK enum status trial_abx_create(size_t trials, bool feedback, const char *seed,
                                        struct trial_log *log, struct trial **trial);

/* The answer, ABX_A or ABX_B. False, without effect: A, B and X were not all heard in this trial,
 * or the test is over. */
bool trial_abx_answer(struct trial *trial, enum abx_sound said, double seconds);

/* The answer of the current trial; ABX_X: none yet. */
enum abx_sound trial_abx_said(const struct trial *trial);

/* Of the trial that was confirmed last. */
enum abx_feedback trial_abx_feedback(const struct trial *trial);

#endif
