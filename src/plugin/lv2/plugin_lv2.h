/* The LV2 host: declarations that its files share. Threads: the control thread, except functions
 * marked real-time. Functions that return enum status fail if memory runs out, and as stated. */
#ifndef HALO_PLUGIN_LV2_H
#define HALO_PLUGIN_LV2_H

#include "plugin/lv2/lilv_library.h"
#include "plugin/plugin.h"

#include <lv2/atom/forge.h>
#include <lv2/log/log.h>
#include <lv2/options/options.h>
#include <lv2/state/state.h>
#include <lv2/urid/urid.h>
#include <lv2/worker/worker.h>

/* ---- plugin_lv2.c: the plugins of the bundles in use, one world for the process ---- */

/* The world, created by the first call without any bundle. */
MUST_CHECK enum status lv2_world_get(LilvWorld **world);

/* Errors: no bundle in use has a plugin with that URI. */
MUST_CHECK enum status lv2_world_find(const char *uri, const LilvPlugin **plugin);

/* The node of a URI, cached for the life of the process. Call lv2_world_get() before. */
const LilvNode *lv2_world_node(const char *uri);

/* Whether any bundle states (subject, predicate, object); NULL: any object. */
bool lv2_world_says(const LilvNode *subject, const char *predicate, const char *object);

/* The text of `node`, which the caller frees. Frees `node`. NULL: `node` is NULL, or no memory. */
char *lv2_world_text(LilvNode *node);

/* ---- plugin_lv2_describe.c: a plugin of a bundle as a struct plugin_info ---- */

MUST_CHECK enum status lv2_describe(const char *uri, struct plugin_info **info);

/* ---- plugin_lv2_worker.c: work that a plugin's run() postpones, such as loading a file ----
 *
 * Requests and responses pass through rings, in order. A worker with a thread polls for requests,
 * so that the step makes no system call. Without a thread, lv2_worker_respond does the work. */

struct lv2_worker;

/* Call before the plugin is instantiated, since instantiate() needs lv2_worker_feature(). */
MUST_CHECK enum status lv2_worker_create(struct lv2_worker **worker);

/* The feature for the plugin; its schedule_work is real-time. Valid until lv2_worker_destroy. */
LV2_Worker_Schedule *lv2_worker_feature(struct lv2_worker *worker);

/* Serve this instance from now on. _serves: whether the instance has the worker extension. */
void lv2_worker_serve(struct lv2_worker *worker, LilvInstance *instance);
bool lv2_worker_serves(const struct lv2_worker *worker);

/* Start a thread, unless the plugin has no work. Errors: no thread. */
MUST_CHECK enum status lv2_worker_start(struct lv2_worker *worker);

/* Call after run(), on its thread. Does the work if no worker thread does, delivers responses,
 * calls end_run(). Returns whether anything happened. Real-time with a worker thread. */
bool lv2_worker_respond(struct lv2_worker *worker);

/* Between pause and resume the worker's thread is idle and lv2_worker_respond does all work. For
 * calls of the plugin that must not run in parallel to work. The step does not run meanwhile. */
void lv2_worker_pause(struct lv2_worker *worker);
void lv2_worker_resume(struct lv2_worker *worker);

/* Drop all requests and responses, before another instance is served. The worker is paused. */
void lv2_worker_forget(struct lv2_worker *worker);

/* End the thread after its current request. Call before the instance is freed. */
void lv2_worker_stop(struct lv2_worker *worker);
void lv2_worker_destroy(struct lv2_worker *worker);

/* ---- plugin_lv2_features.c: features that halo offers to an instance ---- */

/* Map URIs to numbers from 1 on, and back. All plugins of the process share the numbers for good.
 * 0: no memory. Any thread; takes a lock, but hardRTCapable plugins do not map URIs in run(). */
LV2_URID_Map *lv2_urid_map(void);
LV2_URID_Unmap *lv2_urid_unmap(void);
LV2_URID lv2_urid(const char *uri);

/* Features that let a plugin create files: state:makePath, mapPath and freePath for the life of an
 * instance. While state is saved or restored, lilv offers its own instead. */
struct lv2_paths {
    LV2_State_Make_Path make;
    LV2_State_Map_Path map; /* maps each path to itself */
    LV2_State_Free_Path release;
    char *folder; /* created on first use below TMPDIR or /tmp; NULL until then */
};

void lv2_paths_init(struct lv2_paths *paths);
void lv2_paths_free(struct lv2_paths *paths); /* removes the folder and all in it */

enum { LV2_FEATURES_MOST = 24, LV2_OPTIONS_MOST = 6 };

struct lv2_features {
    int32_t block;    /* frames of the maximum and nominal block */
    int32_t least;    /* frames of the minimum block */
    int32_t sequence; /* bytes of the largest sequence of events */
    float rate;       /* Hz */
    LV2_Options_Option options[LV2_OPTIONS_MOST];
    LV2_Feature features[LV2_FEATURES_MOST];
    size_t count;
    const LV2_Feature *list[LV2_FEATURES_MOST + 1]; /* for instantiate(); ends with NULL */
    const LV2_Feature *state[4];    /* for save and restore; lilv adds the features for paths */
    const LV2_Feature *snapshot[5]; /* for a save without a folder: includes makePath */
};

/* Whether halo has a feature, perhaps only under conditions, or an option. */
bool lv2_features_know(const char *uri);
bool lv2_features_know_option(const char *uri);

/* `sequence`: most bytes of a sequence. Arguments outlive the features, which must not move. */
void lv2_features_init(struct lv2_features *features, const struct plugin_info *info,
                       const struct plugin_settings *settings, uint32_t sequence,
                       struct lv2_worker *worker, LV2_Log_Log *log, struct lv2_paths *paths);

/* Errors: the plugin requires a feature that is not available with these settings. */
MUST_CHECK enum status lv2_features_suffice(const struct lv2_features *features,
                                            const struct plugin_info *info);

/* ---- plugin_lv2_events.c: a buffer for each event port, and the settings as patch:Set ---- */

/* The control inputs that a plugin designates for the position or the tempo. */
enum { LV2_TIME_PORTS = 9 };

struct lv2_time_ports {
    struct plugin_tempo tempo;
    double rate; /* Hz */
    size_t count;
    struct lv2_time_port {
        double (*quantity)(const struct lv2_time_ports *ports, int64_t position);
        struct plugin_range range;
        uint32_t port;
        /* value that halo set last; a different value means that the user set the port */
        float written;
    } ports[LV2_TIME_PORTS];
};

/* Find the ports; without a tempo there are none. `controls`: values by port, set by a preset. */
void lv2_time_ports_find(struct lv2_time_ports *ports, const LilvPlugin *plugin,
                         const struct plugin_info *info, const struct plugin_settings *settings,
                         const float *controls);

/* Real-time. Set the ports for a run that begins at `position`. */
void lv2_time_ports_set(struct lv2_time_ports *ports, float *controls, int64_t position);

/* Data of the features of the old event extension, which atoms have replaced. */
void *lv2_old_map(void);
void *lv2_old_events(void);

struct lv2_events;

/* Errors: a setting names an unknown parameter, or has a value that the parameter cannot have. */
MUST_CHECK enum status lv2_events_create(const LilvPlugin *plugin, const struct plugin_info *info,
                                         const struct plugin_settings *settings,
                                         struct lv2_events **events);
void lv2_events_destroy(struct lv2_events *events);
uint32_t lv2_events_most(const struct lv2_events *events); /* bytes of the largest sequence */
void lv2_events_connect(struct lv2_events *events, LilvInstance *instance);

/* Send the messages again with the next run. `restored`: not those before the first block, since
 * the restored state of the instance has their values. */
void lv2_events_repeat(struct lv2_events *events, bool restored);

/* Real-time. Call before each run: empties outputs, writes the position, and each message once. */
void lv2_events_prepare(struct lv2_events *events, int64_t position, size_t frames);

/* ---- plugin_lv2_instance.c: implements struct plugin_kind ---- */

MUST_CHECK enum status lv2_instance_create(const struct plugin_info *info,
                                           const struct plugin_settings *settings,
                                           struct plugin **plugin);
void lv2_instance_process(struct plugin *plugin, const float *const *in, float *const *out,
                          size_t frames);
void lv2_instance_reset(struct plugin *plugin);
enum status lv2_instance_save(struct plugin *plugin, const char *folder);
void lv2_instance_destroy(struct plugin *plugin);

#endif
