/* halo listen on a sound device: a sound file or a live input, with masks to choose from, or a
 * blind test.
 *
 * listen_session.c opens, handles keys, displays and closes. listen_switch.c feeds the step and
 * switches masks. listen_trial.c runs a blind test and logs it.
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

/* Input of the live step: a player, or the device's input. The last seconds of the device's input
 * are kept. */
struct listen_source {
    struct player *player; /* not owned; NULL: use the device's input */
    struct live *live;
    struct block played; /* block that the player fills */
    size_t channels;
    struct ring *tap;    /* the device's input for the control thread, interleaved */
    struct block recent; /* a ring of the last frames */
    uint64_t taken;      /* frames written to `recent` */
};

/* Counts of interruptions. */
struct listen_outages {
    uint64_t late, lost; /* blocks */
    uint64_t missed;     /* frames that the player missed */
};

enum { LISTEN_TRIAL_LINES = 8 /* four of a question, and the log's head */ };

/* A blind test in progress. */
struct listen_trial {
    struct trial_log *log;
    struct trial *test;           /* NULL: no test */
    json_t *resumed;              /* log of the test that is continued; NULL: a new test */
    size_t selected;              /* selected sound: an enum abx_sound or a letter from 0 */
    bool coming;                  /* the selected sound is not heard yet */
    bool begins;                  /* a trial will begin when the live input has been measured */
    bool stopping;                /* the listener pressed q and must confirm */
    char keys[100];               /* help line of a ranking */
    struct listen_outages before; /* counts at the start of the trial */
    json_t *outages; /* JSON of the interruptions of each trial, for the end of the log; or NULL */
    json_t *late_switches;    /* JSON of late switches, for the end of the log; or NULL. */
    bool level_logged, muted; /* a level was logged; the muting and gain logged last */
    double gain_db;
    char lines[LISTEN_TRIAL_LINES][160];
};

struct listen_session {
    struct stream_session stream;
    const struct listen_options *options;
    struct region *region; /* NULL once the player owns it */
    struct player *player; /* NULL: a live input */
    struct listen_match matching;
    struct listen_source source;

    size_t before_dry;     /* choice that the key for dry goes back to */
    struct switch_gap gap; /* silent gap of the switches of a test */
    size_t switch_trial;   /* trial of the last switch, from 1 */
    uint64_t late_logged;  /* late switches that have been logged */
    struct block recent;   /* copy of a live input's last frames, to measure */
    double measured_at;    /* when a live input was measured, in seconds of the stream */
    struct listen_trial trial;
    char *picture; /* plot of the masks' responses, or NULL */
    size_t picture_width, picture_height;
    bool restarts;    /* each switch goes to the start of the loop */
    bool input_ended; /* the keyboard input ended before the test was over */
};

/* ---- listen_session.c ---- */

/* Runs until the listener quits or the test is over, then prints the report. Errors: those of
 * sound, masks and device; a lost device. */
MUST_CHECK enum status listen_session_run(const struct listen_options *options);

/* ---- listen_switch.c ---- */

/* `recent`: frames of a live input to keep. Errors: memory. */
MUST_CHECK enum status listen_source_init(struct listen_source *source, struct player *player,
                                          struct live *live, size_t channels, size_t recent);
void listen_source_free(struct listen_source *source);

/* The step (a device_step), real-time. `context` is the struct listen_source. */
void listen_source_step(void *context, const float *const *in, float *const *out, size_t frames,
                        bool lost);

/* Collects new input. Call it a few times a second or more often. */
void listen_source_update(struct listen_source *source);

/* Before the stream of a test: runs silence through all masks, sets the times of session->gap by
 * the slowest mask, and selects `choice`. Errors: memory. */
MUST_CHECK enum status listen_switch_settle(struct listen_session *session, size_t choice);

/* Requests a switch; it follows the current one. In a test, a switch to the same mask sounds like
 * any other, so that it does not reveal whether the mask changed. */
void listen_switch_to(struct listen_session *session, size_t choice);
void listen_switch_update(struct listen_session *session);

/* ---- listen_trial.c ---- */

/* Draws a new test, or takes it from its log. Errors: memory, no random source, a log that cannot
 * be written, or whose test cannot go on. */
MUST_CHECK enum status listen_trial_open(struct listen_session *session);
void listen_trial_close(struct listen_session *session);

/* Starts the current trial with sound A: at once, or when a live input has been measured. After the
 * last trial, ends the stream. */
void listen_trial_go_on(struct listen_session *session);
void listen_trial_begin(struct listen_session *session);

/* Logs the selected sound when it plays, and each change of the level. */
void listen_trial_update(struct listen_session *session);

size_t listen_trial_choice(const struct listen_session *session); /* the choice that should sound */
/* returns true if the test used the key */
bool listen_trial_key(struct listen_session *session, int key);
void listen_trial_stop(struct listen_session *session);
bool listen_trial_runs(const struct listen_session *session);
bool listen_trial_has_answers(const struct listen_session *session);

/* Gets lines that describe the current trial. The first *questions lines tell what to answer.
 * Returns the number of lines. */
size_t listen_trial_lines(struct listen_session *session, const char **lines, size_t *questions);

/* Prints the result and the key. Errors: those of writing, also of the log. */
MUST_CHECK enum status listen_trial_finish(struct listen_session *session);

/* Commits to the choices and settings, and opens the log. Errors: memory, writing; the log of a
 * continued test has other sounds, masks or settings. */
MUST_CHECK enum status listen_trial_commit(struct listen_session *session);

/* Logs the loop that the listener set; nothing without a test. */
void listen_trial_log_loop(struct listen_session *session, const char *loop);

/* Notes that a switch took `by` seconds longer. This is logged only at the end of the test, since
 * it depends on which mask X is. */
void listen_trial_log_late_switch(struct listen_session *session, double by);

#endif
