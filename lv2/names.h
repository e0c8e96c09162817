/* What the plugins and their parts are called: plugin.ttl.in says the same to hosts. */
#ifndef HALO_LV2_NAMES_H
#define HALO_LV2_NAMES_H

#include <lv2/atom/forge.h>
#include <lv2/urid/urid.h>

#define HALO_LV2_URI "urn:halo:convolver"
#define HALO_LV2_MONO HALO_LV2_URI ":mono"
#define HALO_LV2_STEREO HALO_LV2_URI ":stereo"
#define HALO_LV2_TRUE_STEREO HALO_LV2_URI ":true-stereo"

/* The parameter, and what the state keeps. */
#define HALO_LV2_MASK HALO_LV2_URI "#mask" /* atom:Path */
#define HALO_LV2_TRIM HALO_LV2_URI "#trim" /* atom:Float, ms: of the mask that is kept */

/* The mask of a bundle that has one of its own. */
#define HALO_LV2_BUNDLE_MASK "mask.wav"

enum port {
    PORT_CONTROL,
    PORT_NOTIFY,
    PORT_ENABLED,
    PORT_GAIN,
    PORT_MIX,
    PORT_PRE_DELAY,
    PORT_TRIM,
    PORT_PROCESSOR,
    PORT_LATENCY,
    PORT_AUDIO, /* the inputs, then the outputs */
};

enum backend_choice { BACKEND_AUTO, BACKEND_GPU };

struct urids {
    LV2_URID atom_float;
    LV2_URID atom_object;
    LV2_URID atom_path;
    LV2_URID atom_string;
    LV2_URID atom_urid;
    LV2_URID log_error;
    LV2_URID log_note;
    LV2_URID mask;
    LV2_URID patch_get;
    LV2_URID patch_property;
    LV2_URID patch_set;
    LV2_URID patch_value;
    LV2_URID trim;
};

#endif
