/* A thread of its own that works on numbered slots in turn, so that reading and writing
 * files goes on beside the filtering.
 *
 * Slots go round: the owner takes the next one, looks at it or fills it, and gives it to
 * the thread, which calls work(context, slot) and is done with it. Whatever a slot is lies
 * with the owner of the relay; it is touched by one side at a time.
 * Threads: one owner. Signals are the owner's: the thread never sees one.
 */
#ifndef HALO_RELAY_H
#define HALO_RELAY_H

#include "base/status.h"

struct relay;

/* Whose all slots are at first. */
enum relay_begin { RELAY_WITH_OWNER, RELAY_WITH_THREAD };

/* Errors: memory or threads. */
MUST_CHECK enum status relay_create(size_t slots, enum relay_begin begin,
                                    void (*work)(void *context, size_t slot), void *context,
                                    struct relay **relay);

/* Ends the thread after the slot it is at, and waits for that; what was given and not begun stays
 * undone. */
void relay_destroy(struct relay *relay);

/* Wait for the next slot to be the owner's. STATUS_INTERRUPTED where a signal asked to stop. */
MUST_CHECK enum status relay_take(struct relay *relay, size_t *slot);
void relay_give(struct relay *relay); /* the slot that was taken least recently */

/* Wait until the thread has done all that it was given. */
void relay_finish(struct relay *relay);

#endif
