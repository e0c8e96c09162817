/* What can be changed of a chain's stages while the sound goes on: for keys, OSC, sliders.
 *
 * A control is a number: its value, range, default and unit are as in the port's words. The two of
 * a mix are there where the stage has one (see stage_mix.h): live, that is each plugin, and what
 * was given one in words.
 * A value that is set reaches the step through atomics and is taken at the beginning of its next
 * block; the mix moves there smoothly, a plugin's port at once, or as the plugin has it. Of values
 * that are set within one block the last counts.
 * Threads: one control thread, while the step runs; what is real-time may be called by the step
 * instead, before its block: then the frame of a change is known. Nothing here waits or allocates.
 */
#ifndef HALO_STAGE_CONTROLS_H
#define HALO_STAGE_CONTROLS_H

#include "chain/stages.h"

struct stage_control {
    enum stage_control_kind kind;
    size_t stage;                   /* its index in the list */
    const struct plugin_port *port; /* its symbol ("gain", "@mix"), points, and how it steps */
    size_t port_index;              /* of the stage's own, as the stage counts them */
    struct plugin_range range;
    float value; /* as it was last set */
};

/* Control `index` of all stages, in their order; false past the last. The list's chain has been
 * created, and lives on. */
bool stage_controls_at(const struct stage_list *list, size_t index, struct stage_control *control);

/* By stage and symbol, or as plugin_words_port finds a port. Errors (usage): there is none such,
 * naming those that are there. */
MUST_CHECK enum status stage_controls_find(const struct stage_list *list, size_t stage,
                                           const char *name, struct stage_control *control);

/* A value in words ("-6dB", "on", "Lowpass"). Errors (usage): it cannot be that. */
MUST_CHECK enum status stage_controls_parse(const struct stage_list *list,
                                            const struct stage_control *control, const char *text,
                                            float *value);

/* The value nearest to this one that is in the control's range. */
float stage_controls_fit(const struct stage_control *control, double value);

/* Real-time. Of the control only kind, stage and port_index are looked at. */
void stage_controls_set(const struct stage_list *list, const struct stage_control *control,
                        float value);

#endif
