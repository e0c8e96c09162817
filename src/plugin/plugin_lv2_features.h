/* What halo offers to LV2 plugins: the features and options that an instance is made with. */
#ifndef HALO_PLUGIN_LV2_FEATURES_H
#define HALO_PLUGIN_LV2_FEATURES_H

#include "plugin/plugin.h"
#include "plugin/plugin_lv2_log.h"
#include "plugin/plugin_lv2_paths.h"
#include "plugin/plugin_lv2_worker.h"

#include <lv2/options/options.h>

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

/* Does halo have the feature, if not at all times; has it the option? */
bool lv2_features_know(const char *uri);
bool lv2_features_know_option(const char *uri);

/* `sequence`: bytes of the largest one. What it is handed must outlive it, and it stay where
 * it is. */
void lv2_features_init(struct lv2_features *features, const struct plugin_settings *settings,
                       uint32_t sequence, struct lv2_worker *worker, struct lv2_logbook *log,
                       struct lv2_paths *paths);

/* Errors: the plugin requires what is not offered with these settings; it is named. */
MUST_CHECK enum status lv2_features_suffice(const struct lv2_features *features,
                                            const struct plugin_info *info);

#endif
