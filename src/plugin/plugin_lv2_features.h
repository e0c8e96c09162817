/* What halo offers to LV2 plugins: the features and options that an instance is made with. */
#ifndef HALO_PLUGIN_LV2_FEATURES_H
#define HALO_PLUGIN_LV2_FEATURES_H

#include "plugin/plugin.h"
#include "plugin/plugin_lv2_log.h"
#include "plugin/plugin_lv2_worker.h"

#include <lv2/options/options.h>
#include <lv2/state/state.h>
#include <lv2/urid/urid.h>

/* Numbers for URIs, the same for all LV2 plugins of the process; never removed. Threads: any, under
 * a lock; plugins that honour hardRTCapable do not call them in run(). */

/* For lilv and for the plugins' features. */
LV2_URID_Map *lv2_urid_map(void);
LV2_URID_Unmap *lv2_urid_unmap(void);

/* From 1 on; 0 where there is no memory. */
LV2_URID lv2_urid(const char *uri);

/* Where a plugin may put files of its own: state:makePath, mapPath and freePath for the life of an
 * instance. While its state is saved or restored, lilv offers others. */
struct lv2_paths {
    LV2_State_Make_Path make;
    LV2_State_Map_Path map; /* a path to itself */
    LV2_State_Free_Path release;
    char *folder; /* made, below TMPDIR or /tmp, when it is first needed; NULL until then */
};

void lv2_paths_init(struct lv2_paths *paths);

/* Removes the folder and all in it. */
void lv2_paths_free(struct lv2_paths *paths);

enum { LV2_FEATURES_MOST = 24, LV2_OPTIONS_MOST = 6 };

struct lv2_features {
    int32_t block;    /* frames: the least, the most and the usual block */
    int32_t sequence; /* bytes */
    float rate;       /* Hz */
    LV2_Options_Option options[LV2_OPTIONS_MOST];
    LV2_Feature features[LV2_FEATURES_MOST];
    size_t count;
    const LV2_Feature *list[LV2_FEATURES_MOST + 1]; /* for instantiate, ends with NULL */
    const LV2_Feature *state[4];    /* for save and restore, likewise; lilv adds those of paths */
    const LV2_Feature *snapshot[5]; /* and where lilv has no folder to make paths in */
};

/* Whether halo knows the feature, if not under all conditions; and the option. */
bool lv2_features_know(const char *uri);
bool lv2_features_know_option(const char *uri);

/* `sequence`: bytes of the largest one. All arguments outlive the features, which must not move. */
void lv2_features_init(struct lv2_features *features, const struct plugin_settings *settings,
                       uint32_t sequence, struct lv2_worker *worker, struct lv2_logbook *log,
                       struct lv2_paths *paths);

/* Errors: the plugin requires a feature that is not available with these settings. */
MUST_CHECK enum status lv2_features_suffice(const struct lv2_features *features,
                                            const struct plugin_info *info);

#endif
