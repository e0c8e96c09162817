/* The description of a plugin for users, as text or JSON. */
#ifndef HALO_PLUGIN_SUMMARY_H
#define HALO_PLUGIN_SUMMARY_H

#include "plugin/plugin.h"

#include <jansson.h>

struct plugin_summary {
    const struct plugin_info *info;
    const json_t *latency; /* frames at 48 kHz; NULL: unknown */
    const char *failure;   /* why it is unknown; NULL */
};

/* On standard output. Ranges that depend on the rate are those at 48 kHz. */
void plugin_summary_print(const struct plugin_summary *summary);

/* A new reference, or NULL: memory. */
json_t *plugin_summary_object(const struct plugin_summary *summary);

#endif
