#include "names.h"

#include <lv2/atom/atom.h>
#include <lv2/log/log.h>
#include <lv2/patch/patch.h>

void urids_map(const LV2_URID_Map *map, struct urids *urids)
{
    const struct {
        LV2_URID *urid;
        const char *uri;
    } wanted[] = {
        {&urids->atom_float, LV2_ATOM__Float}, {&urids->atom_object, LV2_ATOM__Object},
        {&urids->atom_path, LV2_ATOM__Path},   {&urids->atom_string, LV2_ATOM__String},
        {&urids->atom_urid, LV2_ATOM__URID},   {&urids->log_error, LV2_LOG__Error},
        {&urids->log_note, LV2_LOG__Note},     {&urids->mask, HALO_LV2_MASK},
        {&urids->patch_get, LV2_PATCH__Get},   {&urids->patch_property, LV2_PATCH__property},
        {&urids->patch_set, LV2_PATCH__Set},   {&urids->patch_value, LV2_PATCH__value},
        {&urids->trim, HALO_LV2_TRIM},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        *wanted[i].urid = map->map(map->handle, wanted[i].uri);
}
