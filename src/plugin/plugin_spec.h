/* The specification of a plugin, checked against its description:
 *
 *   SYMBOL=VALUE         a control input; also by a unique prefix of its name (case ignored) or by
 *                        its index
 *   preset=URI           or the name of the preset; where the plugin loads presets itself, also
 *                        FOLDER/FILE, with ?key=KEY behind it for one of several, and
 *                        plugin:KEY
 *   @state=FOLDER        the state that was saved there
 *   @reads=PATH          a file or folder that the plugin may read besides
 *   param:URI=VALUE      a parameter set by a message; paths are relative to the working folder
 *   at=TIME:PORT=VALUE   later, see automation.h; also at=TIME:param:URI=VALUE, no ramp
 *
 * A VALUE is a number, with the unit of the port or a multiple of it (-6dB, 1kHz, 20ms for a port
 * in seconds), the label of a point (mode=Lowpass, case ignored), or on, off, true, false for a
 * switch. A number takes precedence over a label. Threads: any. Not real-time. */
#ifndef HALO_PLUGIN_SPEC_H
#define HALO_PLUGIN_SPEC_H

#include "plugin/plugin.h"
#include "sound/automation.h"

struct plugin_spec {
    char *preset; /* URI of the preset; NULL: none */
    char *state;  /* folder, relative to the working folder; NULL: none */
    size_t read_count;
    char **reads; /* paths relative to the working folder */
    size_t value_count;
    struct plugin_value {
        size_t port;
        float value;
    } *values;
    size_t setting_count;
    struct plugin_setting *settings; /* sorted by time; the texts are owned */
    struct automation automation;    /* targets are ports */
};

/* Parse one argument. Errors (usage): no such port, preset or parameter (lists those that exist); a
 * value out of range (with the range). Call plugin_spec_free() also after an error. */
MUST_CHECK enum status plugin_spec_take(struct plugin_spec *spec, const struct plugin_info *info,
                                        struct automation_time time, const char *arg);

/* Find the path in the value of preset= or in the URI of a preset in a file: sets *start to its
 * offset and returns its length. */
size_t plugin_spec_preset_path(const char *text, size_t *start);

/* Call after the last argument. `named`: paths that the settings let the plugin read
 * (isolated_named_make). Errors: the state has links to other files. */
MUST_CHECK enum status plugin_spec_check_state(const struct plugin_spec *spec, char *const *named);

/* Whether a value or parameter changes after the sound's first frame. */
bool plugin_spec_is_automated(const struct plugin_spec *spec);
void plugin_spec_free(struct plugin_spec *spec);

/* Find a control input by name and parse its value. Errors (usage): those of plugin_spec_take(). */
MUST_CHECK enum status plugin_spec_port(const struct plugin_info *info, const char *name,
                                        size_t *port);
MUST_CHECK enum status plugin_spec_value(const struct plugin_info *info, size_t port, uint32_t rate,
                                         const char *text, float *value);

#endif
