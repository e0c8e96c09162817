/* A blind ranking of several masks: which is liked best, and do they differ at all?
 *
 * In every trial the masks stand, shuffled anew, under the letters A, B, C...; all the
 * orders are drawn from the system's random source when the ranking is made, before the
 * first sound. The listener gives each letter 1 (bad) to 5 (excellent), may change that,
 * and confirms the trial, which then stands. Nothing is told before the end.
 *
 * Until the end nothing here tells what is under a letter but trial_ranking_choice, which
 * is for whoever makes the sound: no one else should call it, nor show or log what it returns.
 *
 * There is no sound, screen or clock in here: times are seconds since the start, handed
 * in. Letters count from 0. Threads: one. Not real-time.
 */
#ifndef HALO_TRIAL_RANKING_H
#define HALO_TRIAL_RANKING_H

#include "base/status.h"
#include "listen/ratings.h"
#include "listen/trial_log.h"

#include <stdio.h>

struct trial_ranking;

enum { RANKING_MASKS_MOST = 9, RATING_LEAST = 1, RATING_MOST = 5 };

struct ranking_score {
    struct ratings_mean rating;
    size_t first; /* trials in which no other was rated higher */
};

struct ranking_result {
    size_t masks;
    size_t planned;
    size_t answered; /* confirmed trials; fewer than planned: stopped early */
    struct ranking_score scores[RANKING_MASKS_MOST]; /* of answered = 0: all NaN and 0 */
    struct ratings_friedman friedman;
    double median_seconds; /* from a trial's first sound to its confirmation; NaN: none */
};

/* 2 to RANKING_MASKS_MOST masks, 1 to 10,000 trials. The log stays the caller's, outlives
 * the ranking, and serves no other. Errors: memory, no random source. */
MUST_CHECK enum status trial_ranking_create(size_t masks, size_t trials, struct trial_log *log,
                                            struct trial_ranking **ranking);
void trial_ranking_destroy(struct trial_ranking *ranking);

/* Show it before the first sound. */
const char *trial_ranking_commitment(const struct trial_ranking *ranking);

size_t trial_ranking_at(const struct trial_ranking *ranking); /* trials confirmed so far */
bool trial_ranking_is_over(const struct trial_ranking *ranking);

/* Which mask is under that letter in the trial at hand. For the engine only. */
size_t trial_ranking_choice(const struct trial_ranking *ranking, size_t letter);

/* The listener asked for that letter, or rates it. No effect once the test is over. */
void trial_ranking_play(struct trial_ranking *ranking, size_t letter, double seconds);
void trial_ranking_rate(struct trial_ranking *ranking, size_t letter, unsigned rating,
                        double seconds);

/* What the letter was given in the trial at hand; 0: nothing yet. */
unsigned trial_ranking_rating(const struct trial_ranking *ranking, size_t letter);

/* On to the next trial, the last of which ends the test. False, and no effect: there are
 * letters without a rating, or the test is over. */
bool trial_ranking_confirm(struct trial_ranking *ranking, double seconds);

/* End it before its time, without the trial at hand. No effect once it is over. */
void trial_ranking_stop(struct trial_ranking *ranking, double seconds);

/* NULL until the test is over. */
const struct ranking_result *trial_ranking_result(const struct trial_ranking *ranking);
const struct trial_key *trial_ranking_key(const struct trial_ranking *ranking);

/* A few lines for a person, the best first; names in the order of the masks. */
void ranking_result_print(const struct ranking_result *result, const char *const *names,
                          FILE *stream);

/* As the log has it. */
json_t *ranking_result_json(const struct ranking_result *result);

/* The scores and the test of confirmed trials; counts are set, the rest is computed. */
void ranking_result_of(const unsigned char *ratings, struct ranking_result *result);

#endif
