/* The controls of a stream's stages, which keys and OSC change. One control is selected for the
 * keys.
 *
 *   c C   select the next, the previous control
 *   + -   change the control a step up or down (= is +)
 *   b     bypass the stage of the control, or end the bypass
 *
 * The bands of equalisers follow the stages' own controls: first all gains, then frequencies, then
 * Qs. Their symbols are eq1.gain, eq1.hz and eq1.q. A step is 1 dB, a semitone, or a quarter of an
 * octave of Q.
 *
 * A step is the next point of an enumeration, the other state of a switch, or 1 for integers.
 * Otherwise it is about a fiftieth of the range; for a logarithmic port it is a factor.
 *
 * A change is an event to the step (live.h), which reports the frame where it applied it. The
 * values here are those that were requested last. Threads: the control thread. */
#ifndef HALO_LIVE_CONTROLS_H
#define HALO_LIVE_CONTROLS_H

#include "chain/stages.h"
#include "live/live.h"
#include "live/live_chain.h"
#include "view/view.h"

struct live_controls {
    const struct stage_list *stages;
    struct live *live;
    size_t count;
    struct stage_control *controls; /* controls of all stages, first those in the stages' specs */
    bool *changed;                  /* by control: a key or OSC has changed it */
    struct live_chain *chain;       /* chain with equalisers; NULL: none are changed */
    const struct choices_way *way;  /* how bands are changed */
    size_t chosen;                  /* index of the selected control; from `count` on: of bands */
    char symbol[32];                /* symbol of a band's control for live_controls_show */
    const char *notice;             /* message to display and then clear, or NULL */
    char text[200];                 /* text for live_controls_show */
};

/* Call it after the chain was created. `stages` and `live` must outlive it. Errors: memory. */
MUST_CHECK enum status live_controls_init(struct live_controls *controls,
                                          const struct stage_list *stages, struct live *live);
void live_controls_free(struct live_controls *controls);

/* Help for the keys, for live_status.keys. "" if there are no controls. */
const char *live_controls_keys(const struct live_controls *controls);

/* Handles a key. Returns false if it is not one of the keys above. */
bool live_controls_key(struct live_controls *controls, int key);

/* Selects and sets a control of a stage (from 1). Errors (usage): no such control or value. */
MUST_CHECK enum status live_controls_set(struct live_controls *controls, size_t stage,
                                         const char *symbol, const char *value);

/* Symbol of the control that an event changed. */
const char *live_controls_symbol(const struct live_controls *controls,
                                 const struct live_event *event);

/* The spec of a stage (from 0) with changed values, for the caller to free. Errors: memory. */
MUST_CHECK enum status live_controls_spec(const struct live_controls *controls, size_t stage,
                                          const char *spec, char **text);

/* State of the selected control; all zero if there are no controls. Valid until the next call. */
struct live_status_control live_controls_show(struct live_controls *controls);

#endif
