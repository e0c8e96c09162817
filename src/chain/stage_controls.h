/* Controls of the stages of a running chain: for keys, OSC, sliders.
 *
 * A control is a number with a range, default and unit, those of a plugin's port. A stage has the
 * two of a mix if it has one (stage_mix.h): live, plugins and stages given @mix or @bypass. A value
 * reaches the step through atomics and applies from its next block on, with the last value set in a
 * block; the mix ramps, a plugin's port changes at once or as the plugin smooths it. Threads: one
 * control thread, while the step runs; real-time functions may also be called by the step before
 * its block, so that the frame of a change is known. Nothing here waits or allocates.
 */
#ifndef HALO_STAGE_CONTROLS_H
#define HALO_STAGE_CONTROLS_H

#include "chain/stages.h"

struct stage_control {
    enum stage_control_kind kind;
    size_t stage;                   /* its index in the list */
    const struct plugin_port *port; /* symbol ("gain", "@mix"), scale points, steps */
    size_t port_index;              /* of a plugin */
    struct plugin_range range;
    float value; /* as last set */
};

/* Control `index` of all stages, in order; false past the last. The chain of the list exists. */
bool stage_controls_at(const struct stage_list *list, size_t index, struct stage_control *control);

/* By stage and symbol, or as plugin_spec_port finds a port. Errors (usage): no such control; the
 * message lists those of the stage. */
MUST_CHECK enum status stage_controls_find(const struct stage_list *list, size_t stage,
                                           const char *name, struct stage_control *control);

/* Parse a value ("-6dB", "on", "Lowpass"). Errors (usage): invalid value. */
MUST_CHECK enum status stage_controls_parse(const struct stage_list *list,
                                            const struct stage_control *control, const char *text,
                                            float *value);

/* Clamp a value to the range of the control. */
float stage_controls_fit(const struct stage_control *control, double value);

/* Real-time. Uses only kind, stage and port_index of the control. */
void stage_controls_set(const struct stage_list *list, const struct stage_control *control,
                        float value);

#endif
