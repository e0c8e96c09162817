/* Commands that change the chain itself, undo, and the blind comparison of the last two states.
 *
 * A state is a preset in memory: stages with the values of their controls, masks, choice, gain.
 * Before a command changes the sound, the present state is kept for undo. Commands of one kind for
 * one control that follow each other within UNDO_JOINS seconds are one change, so that a slider that
 * is dragged is undone at once. A program may send faster than that: see UNDO_JOINS_ALL.
 * An edit prepares a new chain beside the stream, which enters by the crossfade (live_preset.c).
 * Edits wait until the one before has entered.
 *
 * Blind comparison: version 1 and 2 are, in random order, the last state kept and the present one.
 * The louder gets a gain, so that both are as loud (R128) on the last ten seconds of input. Each
 * change of version takes as long as the slower of both needs, and is made anew even if nothing
 * changes. Meanwhile nothing shows which version is heard. Threads: the control thread. */
#ifndef HALO_LIVE_EDIT_H
#define HALO_LIVE_EDIT_H

#include "live/remote/live_command.h"
#include "live/session/preset.h"

#include <jansson.h>

enum { UNDO_MOST = 64, EDITS_WAIT_MOST = 16 };

#define UNDO_JOINS 2.0     /* seconds */
#define UNDO_JOINS_ALL 0.1 /* seconds within which commands of any kind are one change */

struct blind_match; /* the thread that matches the loudness */

struct live_edit {
    struct preset *states[UNDO_MOST]; /* for undo, the last at the end */
    size_t state_count;
    struct live_command last; /* the last command that changed the sound */
    double last_at;           /* monotonic seconds */
    struct live_command *waiting[EDITS_WAIT_MOST];
    size_t waiting_count;
    bool is_next;            /* a command that waited is being executed */
    struct preset *restores; /* state to go back to, once the stream runs again; or NULL */

    struct blind_match *match;  /* NULL: nothing is matched now */
    struct preset *versions[2]; /* the state before, and the present one; NULL: no comparison */
    double gains[2];            /* gains of these versions, in dB */
    double patience;            /* seconds that a change of version takes */
    bool is_matched;            /* versions can be heard */
    bool is_swapped;            /* version 1 is the present state */
    size_t heard;               /* 1 or 2; 0: none was chosen yet */
};

struct live_session;

/* Executes an edit. Errors: usage, memory. */
MUST_CHECK enum status live_edit_perform(struct live_session *session,
                                         const struct live_command *command);

/* Whether a command has to wait: an edit waits until masks are read and chains have entered, and
 * changes of the sound wait until edits have entered, which they would not reach otherwise. */
bool live_edit_waits(const struct live_session *session, enum command_action action);

/* Lets a command wait. Errors: too many wait; memory. */
MUST_CHECK enum status live_edit_queue(struct live_session *session,
                                       const struct live_command *command);

/* Executes commands that wait, by live_control_obey. Call it often. */
void live_edit_advance(struct live_session *session);

/* Errors (usage): a blind comparison does not allow the command. */
MUST_CHECK enum status live_edit_allows(const struct live_session *session,
                                        enum command_action action);

/* Keeps the present state, if the command will change the sound. *kept: call live_edit_drop if the
 * command failed. Errors: memory. */
MUST_CHECK enum status live_edit_keep(struct live_session *session,
                                      const struct live_command *command, bool *kept);
void live_edit_drop(struct live_session *session);

bool live_edit_can_undo(const struct live_session *session);

/* The state of the blind comparison: null if there is none. */
json_t *live_edit_blind_json(const struct live_session *session);

/* Ends a blind comparison. Call it before the stream's recent input is freed. */
void live_edit_interrupt(struct live_session *session);

/* Call it while no step runs. */
void live_edit_close(struct live_session *session);

#endif
