/* The user's words for a plugin, against what it says of itself:
 *
 *   SYMBOL=VALUE         a control input; a unique beginning of its name (case aside) or its index
 *                        name it too
 *   preset=URI           or the preset's name
 *   @state=FOLDER        all that a plugin was set to, as it was saved there
 *   param:URI=VALUE      a parameter set by a message; a path counts from the working folder
 *   at=TIME:PORT=VALUE   later, see automation.h
 *
 * A VALUE is a number, with the port's unit or a multiple of it (-6dB, 1kHz, 20ms for a port in
 * seconds), the label of one of its points (mode=Lowpass, case aside), or on, off, true, false
 * for a switch. A number goes before a label that reads alike.
 * Threads: any. Not real-time.
 */
#ifndef HALO_PLUGIN_SPEC_H
#define HALO_PLUGIN_SPEC_H

#include "plugin/plugin.h"
#include "sound/automation.h"

struct plugin_spec {
    const char *preset; /* its URI, in the plugin_info; NULL: none */
    char *state;        /* a folder, from the working folder; NULL: none */
    size_t value_count;
    struct plugin_value {
        size_t port;
        float value;
    } *values;
    size_t setting_count;
    struct plugin_setting *settings;
    char **kept;                  /* the settings' values */
    struct automation automation; /* targets are ports */
};

/* Errors (usage): the plugin has no such port, preset or parameter, naming those that it has; a
 * value that it cannot have, naming the range. Free in any case. */
MUST_CHECK enum status plugin_spec_take(struct plugin_spec *spec, const struct plugin_info *info,
                                         uint32_t rate, const char *word);
void plugin_spec_free(struct plugin_spec *spec);

/* One control input by name, and a value for it. Errors (usage): as above. */
MUST_CHECK enum status plugin_spec_port(const struct plugin_info *info, const char *name,
                                         size_t *port);
MUST_CHECK enum status plugin_spec_value(const struct plugin_info *info, size_t port,
                                          uint32_t rate, const char *text, float *value);

#endif
