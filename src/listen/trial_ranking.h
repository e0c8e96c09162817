/* A blind ranking of several masks.
 *
 * Every trial assigns the masks to the letters A, B, C... at random, all orders equally likely. The
 * listener rates each letter that was heard from 1 (bad) to 5 (excellent), and confirms the trial.
 * Results are shown at the end.
 * The sounds are letters, from 0. Threads: one. Not real-time.
 */
#ifndef HALO_TRIAL_RANKING_H
#define HALO_TRIAL_RANKING_H

#include "listen/ratings.h"
#include "listen/trial.h"

enum { RANKING_MASKS_MOST = RATINGS_THINGS_MOST };

/* 2 to RANKING_MASKS_MOST masks, 1 to 10,000 trials; the seed as in trial_init. Errors: those of
 * trial_init. */
MUST_CHECK enum status trial_ranking_create(size_t masks, size_t trials, const char *seed,
                                            struct trial_log *log, struct trial **trial);

/* The listener rates a letter. False, without effect: it was not heard in this trial, there is no
 * such rating, or the test is over. */
bool trial_ranking_rate(struct trial *trial, size_t letter, unsigned rating, double seconds);

/* The rating of a letter in the current trial; 0: none yet. */
unsigned trial_ranking_rating(struct trial *trial, size_t letter);

#endif
