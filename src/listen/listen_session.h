/* halo listen on a sound device: a player or an input, masks to choose from, perhaps a blind test.
 *
 * listen_session.c brings it up, does what keys ask for and brings it down; listen_switch.c
 * changes masks, listen_trial.c runs a blind test, listen_show.c shows and reports.
 * Threads: the control thread.
 */
#ifndef HALO_LISTEN_SESSION_H
#define HALO_LISTEN_SESSION_H

#include "listen/listen_match.h"
#include "listen/listen_options.h"
#include "listen/listen_source.h"
#include "listen/trial_abx.h"
#include "listen/trial_ranking.h"
#include "live/stream_session.h"

#define LISTEN_RECENT 3.0 /* seconds of a live input that its loudness is taken of */

struct listen_trial {
    struct trial_log *log;
    struct trial *test; /* NULL: there is none */
    size_t heard;       /* what was asked for last: an enum abx_sound, or a letter */
    bool begins;        /* a trial, with A, as soon as a live input is measured */
    bool stopping;      /* q was pressed: is that meant? */
    char lines[LISTEN_CHOICES_MOST + 3][160];
};

struct listen_session {
    struct stream_session stream;
    const struct listen_options *options;
    struct region *region; /* until the player has it */
    struct player *player; /* NULL: a live input */
    struct listen_match matching;
    struct listen_source source;

    size_t wanted;       /* a choice to switch to; SIZE_MAX: none */
    uint64_t put_off;    /* frames, of each switch in a test: all take as long */
    struct block recent; /* of a live input, to measure */
    double measured_at;  /* seconds of the stream */
    struct listen_trial trial;
    char *picture; /* of the masks' responses, or NULL */
};

/* ---- listen_session.c ---- */

/* Until the listener leaves or the test is over, then result and report. Errors: whatever is wrong
 * with sound, masks or device; a device that is lost. */
MUST_CHECK enum status listen_session_run(const struct listen_options *options);

/* ---- listen_switch.c ---- */

/* Before the stream: run silence through all masks, learn how long a switch takes to prepare, and
 * have `choice` sound. Errors: memory. */
MUST_CHECK enum status listen_switch_settle(struct listen_session *session, size_t choice);

/* The choice sounds as soon as the switch before is done. In a test, to the same one all the
 * same: nothing may tell whether it is another. */
void listen_switch_to(struct listen_session *session, size_t choice);
void listen_switch_update(struct listen_session *session);

/* ---- listen_trial.c ---- */

/* Draws the test that was asked for. Errors: memory, no random source, a log that cannot be
 * written. */
MUST_CHECK enum status listen_trial_open(struct listen_session *session);
void listen_trial_close(struct listen_session *session);

/* The trial at hand begins, with A: at once, or when a live input is measured. After the last
 * one comes the end. */
void listen_trial_go_on(struct listen_session *session);
void listen_trial_begin(struct listen_session *session);

size_t listen_trial_choice(const struct listen_session *session); /* that is to sound */
bool listen_trial_key(struct listen_session *session, int key);   /* true: it was the test's */
void listen_trial_stop(struct listen_session *session);
bool listen_trial_runs(const struct listen_session *session);

/* What there is to tell of the test at hand: lines, as many as are returned. */
size_t listen_trial_lines(struct listen_session *session, const char **lines);

/* Result and key, and the log. Errors: those of writing. */
MUST_CHECK enum status listen_trial_finish(struct listen_session *session);

/* ---- listen_show.c ---- */

void listen_show(struct listen_session *session);
void listen_show_picture(struct listen_session *session, bool shown);
MUST_CHECK enum status listen_report(struct listen_session *session);

#endif
