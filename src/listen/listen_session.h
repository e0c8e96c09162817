/* halo listen on a sound device: a player or a live input, masks to choose from, or a blind test.
 *
 * listen_session.c opens, handles keys, shows and closes; listen_switch.c feeds the step and
 * switches masks; listen_trial.c runs a blind test and logs it.
 * Threads: the control thread.
 */
#ifndef HALO_LISTEN_SESSION_H
#define HALO_LISTEN_SESSION_H

#include "base/ring.h"
#include "listen/listen_match.h"
#include "listen/listen_options.h"
#include "listen/trial.h"
#include "live/player.h"
#include "live/session/stream_session.h"

#define LISTEN_RECENT 3.0 /* seconds of a live input that are measured */

/* Input of the live step: a player, or the device's input, whose last seconds are kept. */
struct listen_source {
    struct player *player; /* not owned; NULL: the device's input */
    struct live *live;
    struct block played;
    size_t channels;
    struct ring *tap;    /* of the input: interleaved frames */
    struct block recent; /* the last frames, a ring */
    uint64_t taken;      /* frames written to it */
};

struct listen_outages {
    uint64_t late, lost; /* blocks */
    uint64_t missed;     /* frames of the player */
};

enum { LISTEN_TRIAL_LINES = 8 /* four of a question, and the head */ };

struct listen_trial {
    struct trial_log *log;
    struct trial *test;           /* or NULL */
    json_t *resumed;              /* the log that the test goes on from, or NULL */
    size_t selected;              /* an enum abx_sound, or a letter */
    bool coming;                  /* it does not sound yet */
    bool begins;                  /* a trial, once the live input is measured */
    bool stopping;                /* q was pressed: ask for confirmation */
    char keys[80];                /* help line of a ranking */
    struct listen_outages before; /* at the start of the trial */
    json_t *outages; /* not in the log yet, of each trial; this and the next may be NULL */
    json_t *late_switches;
    bool level_logged, muted; /* the level that was logged last */
    double gain_db;
    char lines[LISTEN_TRIAL_LINES][160];
};

struct listen_session {
    struct stream_session stream;
    const struct listen_options *options;
    struct region *region; /* until the player owns it */
    struct player *player; /* NULL: a live input */
    struct listen_match matching;
    struct listen_source source;

    size_t before_dry;     /* the choice to go back to */
    struct switch_gap gap; /* the pause of each switch in a test */
    size_t switch_trial;   /* the trial of the last one, from 1 */
    uint64_t late_logged;  /* late ones */
    struct block recent;   /* of a live input, to measure */
    double measured_at;    /* seconds of the stream */
    struct listen_trial trial;
    char *picture; /* plot of the masks' responses, or NULL */
    size_t picture_width, picture_height;
    bool input_ended; /* before the test was over */
};

/* ---- listen_session.c ---- */

/* Runs until the listener quits or the test is over, then reports. Errors: those of sound, masks
 * and device; a lost device. */
MUST_CHECK enum status listen_session_run(const struct listen_options *options);

/* ---- listen_switch.c ---- */

/* Keeps `recent` frames of an input. Errors: memory. */
MUST_CHECK enum status listen_source_init(struct listen_source *source, struct player *player,
                                          struct live *live, size_t channels, size_t recent);
void listen_source_free(struct listen_source *source);

/* A device_step: real-time; `context` is the struct listen_source. */
void listen_source_step(void *context, const float *const *in, float *const *out, size_t frames,
                        bool lost);

/* Collect new input; call a few times a second or more often. */
void listen_source_update(struct listen_source *source);

/* Before the stream of a test: run silence through all masks, time its switches (struct switch_gap)
 * by the slowest, and select `choice`. Errors: memory. */
MUST_CHECK enum status listen_switch_settle(struct listen_session *session, size_t choice);

/* Switch after the current switch. A test also switches to the same mask, and in the same way, so
 * that a switch does not reveal whether the mask differs. */
void listen_switch_to(struct listen_session *session, size_t choice);
void listen_switch_update(struct listen_session *session);

/* ---- listen_trial.c ---- */

/* Draw the requested test, or take it from its log. Errors: memory, no random source, a log that
 * cannot be written, or whose test cannot go on. */
MUST_CHECK enum status listen_trial_open(struct listen_session *session);
void listen_trial_close(struct listen_session *session);

/* Start the current trial with A, at once or after a live input is measured; end after the last. */
void listen_trial_go_on(struct listen_session *session);
void listen_trial_begin(struct listen_session *session);

/* Log the selected sound once it plays, and each change of the level. */
void listen_trial_update(struct listen_session *session);

size_t listen_trial_choice(const struct listen_session *session); /* that should sound */
bool listen_trial_key(struct listen_session *session, int key);   /* true: used by the test */
void listen_trial_stop(struct listen_session *session);
bool listen_trial_runs(const struct listen_session *session);
bool listen_trial_has_answers(const struct listen_session *session);

/* Lines that describe the current trial; the first *questions are what is to be answered. Returns
 * their number. */
size_t listen_trial_lines(struct listen_session *session, const char **lines, size_t *questions);

/* Print result and key. Errors: those of writing, also of the log. */
MUST_CHECK enum status listen_trial_finish(struct listen_session *session);

/* Commit to what is compared, and open the log. Errors: memory, writing; the log that the test goes
 * on from is of other sounds, masks or settings. */
MUST_CHECK enum status listen_trial_commit(struct listen_session *session);

/* A switch took longer by `by` seconds: kept from the log until the end, since it depends on which
 * mask X is. */
void listen_trial_log_late_switch(struct listen_session *session, double by);

#endif
