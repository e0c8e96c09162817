/* Responses of a live stream's chain: magnitude, phase, group delay and impulse, as JSON for pages.
 *
 * A thread makes a copy of the chain beside the stream, on the CPU, and measures the copy. It plays
 * an impulse of -20 dBFS into one input and records one output, for at most ten seconds. The copy
 * has the present masks and values of controls, and the live chain's delay. It is without the
 * stream's gain, mute and limiter. Choice 0 is the dry sound of struct stream_slot.
 * Plugins run as second instances. For a plugin that is not linear, or that changes over time, the
 * curves show what it does to this one impulse, not to music. What a plugin has learnt or holds
 * besides its controls is not in the curves.
 * One measurement runs at a time. The last results are kept until `version` changes.
 * Threads: the control thread. The measuring thread does not use the stream. */
#ifndef HALO_RESPONSES_H
#define HALO_RESPONSES_H

#include "base/task.h"
#include "live/session/stream_session.h"

enum { RESPONSE_REASON = TASK_REASON };

struct response_request {
    unsigned client;
    json_int_t id;        /* number that the answer repeats */
    bool mask;            /* the choosing stage alone; false: the chain */
    size_t choice;        /* from 1; 0: dry */
    size_t input, output; /* channels of the chain or stage, from 1 */
};

struct response_answer {
    unsigned client;
    json_int_t id;
    char *text; /* the message "curves", for the caller to free; NULL: `reason` says why */
    char reason[RESPONSE_REASON]; /* one line */
};

struct responses;

/* Clients count from 0 to `clients` - 1. Errors: memory. */
MUST_CHECK enum status responses_create(size_t clients, struct responses **responses);

/* Gives up what is being measured. The measuring thread frees what it still uses. */
void responses_destroy(struct responses *responses);

/* Asks for a response. It replaces a request of this client that still waits. Errors (usage): the
 * chain has no such mask, choice or channel. */
MUST_CHECK enum status responses_ask(struct responses *responses,
                                     const struct stream_session *stream,
                                     const struct response_request *request);

/* A client has left: it gets no answers. */
void responses_forget(struct responses *responses, unsigned client);

/* Starts what waits, and gets the next answer. Call it often, until it returns false. `version`: a
 * number that changes with the chain, its masks and its controls. */
bool responses_take(struct responses *responses, const struct stream_session *stream,
                    uint64_t version, struct response_answer *answer);

#endif
