/* Instances of plugins for tests: opened by a plugin's id, and children of a process counted. */
#ifndef HALO_TESTS_PLUGIN_RIG_H
#define HALO_TESTS_PLUGIN_RIG_H

#include "plugin/plugin_instances.h"

#include <sys/types.h>

enum { PLUGIN_RIG_RATE = 48000, PLUGIN_RIG_BLOCK = 256 };

/* Ours first where plugins are looked for, halo itself as the program of children. Fixtures end
 * by signals also where a sanitizer would catch them. Before the first plugin. */
void plugin_rig_prepare(void);

/* NULL where this halo or machine lacks it; says why, and the suite is to exit with what
 * plugin_rig_code makes of its own code. */
struct plugin_info *plugin_rig_describe(const char *kind, const char *id);
int plugin_rig_code(int code);

/* A port by its symbol; the test fails unless it is there. */
size_t plugin_rig_port(const struct plugin_info *info, const char *symbol);

/* The number of processes that are children of `parent`, zombies among them; `first` (may be
 * NULL) becomes one of them. */
size_t plugin_rig_children(pid_t parent, pid_t *first);

/* False: it ended, though perhaps nobody has asked how. */
bool plugin_rig_runs(pid_t process);

/* Descriptors that are open in this process. */
size_t plugin_rig_descriptors(void);

#endif
