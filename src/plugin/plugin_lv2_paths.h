/* Where an LV2 plugin may put files of its own: LV2's state:makePath, mapPath and freePath
 * for the life of an instance. While its state is kept or restored, lilv offers others. */
#ifndef HALO_PLUGIN_LV2_PATHS_H
#define HALO_PLUGIN_LV2_PATHS_H

#include "base/status.h"

#include <lv2/state/state.h>

struct lv2_paths {
    LV2_State_Make_Path make;
    LV2_State_Map_Path map; /* a path to itself */
    LV2_State_Free_Path release;
    char *folder; /* made, below TMPDIR or /tmp, when it is first needed; NULL until then */
};

void lv2_paths_init(struct lv2_paths *paths);

/* Removes the folder and all in it. */
void lv2_paths_free(struct lv2_paths *paths);

#endif
