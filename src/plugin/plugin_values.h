/* Describes ports for formats that give texts of values (CLAP, VST3): units, labels, names. */
#ifndef HALO_PLUGIN_VALUES_H
#define HALO_PLUGIN_VALUES_H

#include "plugin/plugin.h"

enum { PLUGIN_VALUE_TEXT = 128 };

struct plugin_value_texts {
    /* Write the text of a value of one parameter. False: it has none. */
    bool (*text)(const void *context, double value, char *text, uint32_t size);
    const void *context;
};

/* Complete a control port whose minimum, maximum and initial value are set: clamp the initial
 * value, and find the unit, and the labels of steps. Errors: memory. */
MUST_CHECK enum status plugin_values_describe(const struct plugin_value_texts *texts,
                                              bool is_stepped, struct plugin_port *port);

/* Set info->refusal. Errors: memory. */
MUST_CHECK enum status plugin_info_refuse(struct plugin_info *info, const char *format, ...)
    PRINTF_LIKE(2, 3);

/* Add a copy of the port, with a copy of its name. Errors: memory. */
MUST_CHECK enum status plugin_info_add_port(struct plugin_info *info,
                                            const struct plugin_port *port);

/* Name a channel of a bus by the bus's name, which has at most `most` bytes: "Main left", or
 * "Main 3". */
void plugin_channel_name(const char *bus, size_t most, uint32_t channels, uint32_t channel,
                         char *text, size_t size);

#endif
