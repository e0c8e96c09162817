/* The controls of a stream's stages, changed by keys and OSC. One is selected for the keys.
 *
 *   c C   the next, the previous control
 *   + -   a step up or down (= is +): the next point of an enumeration, the other state of a
 * switch, 1 for integers, else about a fiftieth of the range, geometric for a logarithmic port b
 * bypass of the control's stage
 *
 * A change is an event to the step (live.h), which reports its frame. Values here are those last
 * requested.
 * Threads: the control thread.
 */
#ifndef HALO_LIVE_CONTROLS_H
#define HALO_LIVE_CONTROLS_H

#include "chain/stages.h"
#include "live/live.h"
#include "view/view.h"

struct live_controls {
    const struct stage_list *stages;
    struct live *live;
    size_t count;
    struct stage_control *controls; /* of all stages: first those that their words set */
    bool *changed;                  /* of each: by key or OSC */
    size_t chosen;
    const char *notice; /* a message to show and clear, or NULL */
    char text[200];     /* of live_controls_show */
};

/* After the stages' chain was created; both must outlive this. Errors: memory. */
MUST_CHECK enum status live_controls_init(struct live_controls *controls,
                                          const struct stage_list *stages, struct live *live);
void live_controls_free(struct live_controls *controls);

/* Help for the keys, as in live_status.keys; "" without controls. */
const char *live_controls_keys(const struct live_controls *controls);

/* False: not one of these keys. */
bool live_controls_key(struct live_controls *controls, int key);

/* Select and set a control by stage (from 1), symbol and value, as in stages.h. Errors
 * (usage): no such control or value. */
MUST_CHECK enum status live_controls_set(struct live_controls *controls, size_t stage,
                                         const char *symbol, const char *value);

/* The symbol of the control in an event. */
const char *live_controls_symbol(const struct live_controls *controls,
                                 const struct live_event *event);

/* The spec of a stage, from 0, with the changed values in place of its own, for free(). Errors:
 * memory. */
MUST_CHECK enum status live_controls_spec(const struct live_controls *controls, size_t stage,
                                          const char *spec, char **text);

/* The selected control, or all zero. Valid until the next call. */
struct live_status_control live_controls_show(struct live_controls *controls);

#endif
