/* LADSPA libraries: where they are, and the descriptors in one.
 *
 * Places: LADSPA_PATH, else /usr/local/lib/ladspa, /usr/lib/ladspa and the library folders of the
 * system. A library hides those of the same name in later places.
 */
#ifndef HALO_PLUGIN_LADSPA_LIBRARY_H
#define HALO_PLUGIN_LADSPA_LIBRARY_H

#include "base/status.h"

#include <ladspa.h>

struct plugin_ladspa_library {
    void *handle;
    LADSPA_Descriptor_Function descriptor;
    char *path;
};

/* Calls found() with the paths of all libraries, sorted within a place, hidden ones left out; none
 * is opened. Errors: memory. */
MUST_CHECK enum status plugin_ladspa_libraries(void (*found)(void *context, const char *path),
                                               void *context);

/* Where "amp_1181", "amp_1181.so" or a path (that is one with a "/") lies. Errors: there is none,
 * with what has a like name; memory. */
MUST_CHECK enum status plugin_ladspa_library_find(const char *name, char **path);

/* The name that finds this path again: without folder and ".so" if it lies in one of the places,
 * else the path itself. Errors: memory. */
MUST_CHECK enum status plugin_ladspa_library_name(const char *path, char **name);

/* Runs code of the library. Errors: it cannot be loaded, or is none of LADSPA's. */
MUST_CHECK enum status plugin_ladspa_library_open(const char *path,
                                                  struct plugin_ladspa_library *library);
void plugin_ladspa_library_close(struct plugin_ladspa_library *library); /* also of zeros */

/* The descriptor after so many others; NULL past the last. */
const LADSPA_Descriptor *plugin_ladspa_library_at(const struct plugin_ladspa_library *library,
                                                  unsigned long index);

/* Errors: there is no such label, with those that there are. */
MUST_CHECK enum status plugin_ladspa_library_label(const struct plugin_ladspa_library *library,
                                                   const char *label,
                                                   const LADSPA_Descriptor **descriptor);

#endif
