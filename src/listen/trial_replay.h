/* Takes a blind test again from its log: to check the log, or to go on with the test.
 *
 * The test gets the log's seed, and what the listener heard and answered at the times logged. So it
 * makes a log of its own, and each of its records must be the one that was read. Results are
 * compared as numbers, which processors round differently. Times must not go back, and levels and
 * counts must be ones that a test can write.
 * Found is each change that was made without making all hashes from it on anew. Whoever does that
 * changes the head, so compare the head with one that was noted during the test.
 */
#ifndef HALO_TRIAL_REPLAY_H
#define HALO_TRIAL_REPLAY_H

#include "listen/trial.h"

struct trial_replay {
    struct trial_log *log; /* the new one */
    struct trial *trial;
    json_t *root;    /* of the file */
    bool cut;        /* its last record was torn off */
    bool finished;   /* it has an end */
    double seconds;  /* time of the last event */
    bool muted;      /* since the last event of a level */
    char fault[200]; /* what does not fit; empty: nothing */
};

/* Free it in any case. Errors: reading, not the log of a blind test, memory; `alone`: a test that
 * runs writes it. */
MUST_CHECK enum status trial_replay_init(struct trial_replay *replay, const char *path, bool alone);
void trial_replay_free(struct trial_replay *replay);

/* Check a log, and print what it holds on standard output, with `json` as one line of JSON. Errors:
 * it was changed; its test is not over; those of trial_replay_init. */
MUST_CHECK enum status trial_replay_verify(const char *path, bool json);

#endif
