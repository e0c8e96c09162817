/* What keys and OSC can change of a stream's stages: one control is chosen, and goes up and down.
 *
 *   c C   the next control, the one before
 *   + -   a step up or down (= is + too): the next point of an enumeration, a switch the other way,
 *         1 of whole numbers; else about a fiftieth of the range, by equal factors where the port
 *         is logarithmic
 *   b     the bypass of the control's stage
 *
 * A change is an event to the step (live.h), which says at which frame it took it. The values here
 * are those that were asked for last.
 * Threads: the control thread.
 */
#ifndef HALO_LIVE_CONTROLS_H
#define HALO_LIVE_CONTROLS_H

#include "chain/stage_controls.h"
#include "live/live.h"
#include "view/live_status.h"

struct live_controls {
    const struct stage_list *stages;
    struct live *live;
    size_t count;
    struct stage_control *controls; /* of all stages, in their order */
    size_t chosen;
    const char *notice; /* what whoever drives this should tell once and clear; NULL */
    char text[200];     /* of live_controls_show */
};

/* The stages' chain has been created; both outlive this. Errors: memory. */
MUST_CHECK enum status live_controls_init(struct live_controls *controls,
                                          const struct stage_list *stages, struct live *live);
void live_controls_free(struct live_controls *controls);

/* What the keys do, as live_status.keys has it; "" where there is no control. */
const char *live_controls_keys(const struct live_controls *controls);

/* False: it is none of these keys. */
bool live_controls_key(struct live_controls *controls, int key);

/* By a stage's number from 1, a symbol and a value in words, as in stage_controls.h; the control is
 * the chosen one then. Errors (usage): there is none such, or it cannot have that value. */
MUST_CHECK enum status live_controls_set(struct live_controls *controls, size_t stage,
                                         const char *symbol, const char *value);

/* The symbol of an event's control, as it came from here. */
const char *live_controls_symbol(const struct live_controls *controls,
                                 const struct live_event *event);

/* The chosen one; all zero where there is none. Good until the next call. */
struct live_status_control live_controls_show(struct live_controls *controls);

#endif
