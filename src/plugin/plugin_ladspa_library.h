/* LADSPA libraries and their ports.
 *
 * Search path: LADSPA_PATH, else /usr/local/lib/ladspa, /usr/lib/ladspa and the library folders of
 * the system. A library hides those of the same name in later folders.
 */
#ifndef HALO_PLUGIN_LADSPA_LIBRARY_H
#define HALO_PLUGIN_LADSPA_LIBRARY_H

#include "plugin/plugin.h"

#include <ladspa.h>

struct plugin_ladspa_library {
    void *handle;
    LADSPA_Descriptor_Function descriptor;
    char *path;
};

/* struct plugin_kind's list: the paths of all libraries, sorted within a folder, without hidden
 * ones; holder and file are the same. Errors: memory. */
MUST_CHECK enum status plugin_ladspa_libraries(void (*found)(void *context, const char *holder,
                                                             const char *file),
                                               void *context);

/* The path of "amp_1181", "amp_1181.so" or a path (with a "/"). Errors: there is none, with similar
 * names; memory. */
MUST_CHECK enum status plugin_ladspa_library_find(const char *name, char **path);

/* The name that finds this path again: without folder and ".so" if it is in the search path, else
 * the path. Errors: memory. */
MUST_CHECK enum status plugin_ladspa_library_name(const char *path, char **name);

/* An id is "LIBRARY:LABEL". A label may contain colons; one in the name of the library is written
 * "\:". The library ends at the first colon before which the name of one stands, so that a name
 * without backslashes is understood too. `label` points into the id: "" if there is none; where no
 * library is found, the first colon counts. Errors: memory. */
MUST_CHECK enum status plugin_ladspa_id_split(const char *id, char **library, const char **label);

/* With backslashes: the first colon without one ends the library. Errors: memory. */
MUST_CHECK enum status plugin_ladspa_id_make(const char *path, const char *label, char **id);

/* The label in an id of plugin_ladspa_id_make. */
const char *plugin_ladspa_id_label(const char *id);

/* Runs code of the library. Errors: it cannot be loaded, or is no LADSPA library. */
MUST_CHECK enum status plugin_ladspa_library_open(const char *path,
                                                  struct plugin_ladspa_library *library);
void plugin_ladspa_library_close(struct plugin_ladspa_library *library); /* also of zeros */

/* The descriptor of that index; NULL past the last. */
const LADSPA_Descriptor *plugin_ladspa_library_at(const struct plugin_ladspa_library *library,
                                                  unsigned long index);

/* Errors: no such label; the message lists the labels. */
MUST_CHECK enum status plugin_ladspa_library_label(const struct plugin_ladspa_library *library,
                                                   const char *label,
                                                   const LADSPA_Descriptor **descriptor);

/* Fill the zeroed ports of an info from the descriptor. Errors: memory.
 *
 * Symbols are made of the names (plugin_port_names.h). A list of numbers in brackets gives points:
 * "(0 = sine, 1 = square)". Audio inputs with "sidechain" in their name are side chains.
 *
 * Source: ladspa.h 1.1 for hints and defaults; that "latency" or "_latency" reports frames is a
 * convention of hosts. */
MUST_CHECK enum status plugin_ladspa_ports(const LADSPA_Descriptor *descriptor,
                                           struct plugin_info *info);

#endif
