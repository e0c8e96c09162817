/* Prints what a plugin is, as text or JSON. */
#ifndef HALO_PLUGIN_SUMMARY_H
#define HALO_PLUGIN_SUMMARY_H

#include "plugin/plugin.h"

#include <jansson.h>

struct plugin_summary {
    const struct plugin_info *info;
    const json_t *latency; /* frames at 48 kHz; NULL: not known */
    const char *failure;   /* why not; NULL */
};

/* For a rate of 48 kHz where ranges depend on that. */
void plugin_summary_print(const struct plugin_summary *summary);

/* A new reference, or NULL: memory. */
json_t *plugin_summary_object(const struct plugin_summary *summary);

#endif
