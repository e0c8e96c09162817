/* Opens plugin instances by id, and counts child processes. */
#ifndef HALO_TESTS_PLUGIN_RIG_H
#define HALO_TESTS_PLUGIN_RIG_H

#include "plugin/plugin_instances.h"
#include "signal/audio.h"

#include <sys/types.h>

enum { PLUGIN_RIG_RATE = 48000, PLUGIN_RIG_BLOCK = 256 };

/* Searches the test plugins first and runs halo itself in children. Makes fixtures die by
 * signals even under a sanitizer. Call it before opening a plugin. */
void plugin_rig_prepare(void);

/* NULL, with a message, where the plugin is missing or the build cannot host it; the suite then
 * exits with plugin_rig_code of its own exit code. */
struct plugin_info *plugin_rig_describe(const char *kind, const char *id);
int plugin_rig_code(int code);

/* A port by its symbol; the test fails if there is none. */
size_t plugin_rig_port(const struct plugin_info *info, const char *symbol);

/* Frames [from, to) of a file are those of in.wav, `late` frames before, times a gain. */
void plugin_rig_expect_gain(const char *name, size_t from, size_t to, size_t late, double gain);
double plugin_rig_from_db(double db);

/* A live instance of a stereo plugin in this process, which gets samples of 0.25. */
struct plugin_rig_live {
    struct plugin_info *info;
    struct plugin_instances *instances;
    struct block in, out;
};
void plugin_rig_open(struct plugin_rig_live *live, const char *kind, const char *id);
void plugin_rig_run(struct plugin_rig_live *live, const struct plugin_change *change);
void plugin_rig_close(struct plugin_rig_live *live);

/* Runs blocks at their pace until a latency is reported. Returns the number of blocks. */
size_t plugin_rig_await(struct plugin_rig_live *live, uint64_t latency);

/* Resets it again and again while it is stopped for a restart that its main thread owes. */
void plugin_rig_reset_early(struct plugin_rig_live *live, struct plugin_change *change);

/* Number of child processes of `parent`, zombies included; `first` (may be NULL) is set to one
 * of them. */
size_t plugin_rig_children(pid_t parent, pid_t *first);

/* False once it has ended, even if nobody has waited for it. */
bool plugin_rig_runs(pid_t process);

/* Open file descriptors of this process. */
size_t plugin_rig_descriptors(void);

#endif
