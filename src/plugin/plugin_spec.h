/* The specification of a plugin, checked against its description:
 *
 *   SYMBOL=VALUE         a control input; also by a unique prefix of its name (case ignored) or by
 *                        its index
 *   preset=URI           or the name of the preset
 *   @state=FOLDER        the state that was saved there
 *   param:URI=VALUE      a parameter set by a message; paths are relative to the working folder
 *   at=TIME:PORT=VALUE   later, see automation.h; also at=TIME:param:URI=VALUE, no ramp
 *
 * A VALUE is a number, with the unit of the port or a multiple of it (-6dB, 1kHz, 20ms for a port
 * in seconds), the label of a point (mode=Lowpass, case ignored), or on, off, true, false for a
 * switch. A number takes precedence over a label. Threads: any. Not real-time.
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
    struct plugin_setting *settings; /* by time; values are owned */
    struct automation automation;    /* targets are ports */
};

/* Parse one argument. Errors (usage): no such port, preset or parameter, listing those that there
 * are; a value out of range, with the range. plugin_spec_free() is required in any case. */
MUST_CHECK enum status plugin_spec_take(struct plugin_spec *spec, const struct plugin_info *info,
                                        uint32_t rate, const char *arg);

/* One parameter, URI=VALUE, at a frame of the sound. Errors: as above. */
MUST_CHECK enum status plugin_spec_take_setting(struct plugin_spec *spec,
                                                const struct plugin_info *info, const char *text,
                                                uint64_t at);

/* Whether something changes after the beginning. */
bool plugin_spec_is_automated(const struct plugin_spec *spec);
void plugin_spec_free(struct plugin_spec *spec);

/* One control input by name, and a value for it. Errors (usage): as above. */
MUST_CHECK enum status plugin_spec_port(const struct plugin_info *info, const char *name,
                                        size_t *port);
MUST_CHECK enum status plugin_spec_value(const struct plugin_info *info, size_t port, uint32_t rate,
                                         const char *text, float *value);

#endif
