/* One instance of the LV2 plugin: what its files share. What it does is in src/effect/.
 *
 *   instance.c         the plugins, creation and end of an instance, its ports and run
 *   messages.c         the path of the mask in and out of the atom ports
 *   state.c            and in and out of a session
 */
#ifndef HALO_LV2_INSTANCE_H
#define HALO_LV2_INSTANCE_H

#include "effect/effect.h"

#include <lv2/atom/forge.h>
#include <lv2/core/lv2.h>
#include <lv2/log/log.h>
#include <lv2/state/state.h>
#include <lv2/urid/urid.h>
#include <lv2/worker/worker.h>

/* ---- names and indices, as in plugin.ttl.in ---- */

#define HALO_LV2_URI "urn:halo:convolver"

/* The parameter, and the keys of the state. */
#define HALO_LV2_MASK HALO_LV2_URI "#mask" /* atom:Path */
#define HALO_LV2_TRIM HALO_LV2_URI "#trim" /* atom:Float, ms */

/* The mask of a bundle that includes one. */
#define HALO_LV2_BUNDLE_MASK "mask.wav"

enum port {
    PORT_CONTROL,
    PORT_NOTIFY,
    PORT_VALUES, /* the controls of the effect, in its order */
    PORT_LATENCY = PORT_VALUES + EFFECT_CONTROLS,
    PORT_AUDIO, /* the inputs, then the outputs */
};

struct urids {
    LV2_URID atom_float, atom_object, atom_path, atom_string, atom_urid;
    LV2_URID log_error, log_note;
    LV2_URID patch_get, patch_property, patch_set, patch_value;
    LV2_URID mask, trim;
};

struct instance {
    const struct effect_kind *kind;
    struct effect *effect;
    const LV2_URID_Map *map;             /* NULL: no messages and no state */
    const LV2_Worker_Schedule *schedule; /* NULL: masks come from the state only */
    const LV2_Log_Log *log;              /* NULL: failures are not reported */
    struct urids urids;
    LV2_Atom_Forge forge;

    /* Ports; any may be NULL. */
    const LV2_Atom_Sequence *control;
    LV2_Atom_Sequence *notify;
    const float *values[EFFECT_CONTROLS];
    float *latency;
    const float *in[EFFECT_CHANNELS_MOST];
    float *out[EFFECT_CHANNELS_MOST];
};

extern const LV2_State_Interface instance_state;

/* messages.c: real-time */
void messages_read(struct instance *instance);
void messages_write(struct instance *instance);

#endif
