/* A blind ranking of several masks.
 *
 * Every trial assigns the masks to the letters A, B, C... at random, all orders equally likely. The
 * listener rates each letter from 1 (bad) to 5 (excellent) and confirms the trial, which is final.
 * Results are shown at the end.
 * The sounds are letters, from 0. Threads: one. Not real-time.
 */
#ifndef HALO_TRIAL_RANKING_H
#define HALO_TRIAL_RANKING_H

#include "listen/ratings.h"
#include "listen/trial.h"

enum { RANKING_MASKS_MOST = 9, RATING_LEAST = 1, RATING_MOST = 5 };

struct ranking_score {
    struct ratings_mean rating;
    size_t first; /* trials in which no other was rated higher */
};

struct ranking_result {
    size_t masks;
    size_t answered;                                 /* confirmed trials */
    struct ranking_score scores[RANKING_MASKS_MOST]; /* NaN and 0 if none is answered */
    struct ratings_friedman friedman;
    double median_seconds; /* from a trial's first sound to its confirmation; NaN: none */
};

/* 2 to RANKING_MASKS_MOST masks, 1 to 10,000 trials. Errors: those of trial_init. */
MUST_CHECK enum status trial_ranking_create(size_t masks, size_t trials, struct trial_log *log,
                                            struct trial **trial);

/* The listener rates a letter. No effect once the test is over. */
void trial_ranking_rate(struct trial *trial, size_t letter, unsigned rating, double seconds);

/* The rating of a letter in the current trial; 0: none yet. */
unsigned trial_ranking_rating(struct trial *trial, size_t letter);

/* Next trial, or the end of the test. False, without effect: a rating is missing, or the test is
 * over. */
bool trial_ranking_confirm(struct trial *trial, double seconds);

/* Compute scores and test from the ratings; the counts are set. */
void ranking_result_of(const unsigned char *ratings, struct ranking_result *result);

#endif
