/* One instance of the CLAP plugin: what its files share. What it does is in src/effect/.
 *
 *   clap_module.c      the module: its entry and factories
 *   clap_effect.c        creation, activation and end of a plugin, its ports, latency and tail
 *   clap_effect_step.c   sound and events
 *   clap_effect_params.c its parameters
 *   clap_effect_state.c  sessions, and masks as presets
 *   saved_state.c     a session as text
 *   mask_presets.c     the masks that are installed, for a host's list of presets
 *
 * Threads as in plugin/clap_abi.h. The worker of the effect is the main thread, by
 * request_callback. */
#ifndef HALO_CLAP_EFFECT_H
#define HALO_CLAP_EFFECT_H

#include "base/realtime.h"
#include "base/ring.h"
#include "effect/effect.h"
#include "plugin/clap_abi.h"

#include <stdatomic.h>

struct clap_effect {
    struct clap_plugin plugin; /* its plugin_data is this */
    const struct effect_kind *kind;
    const struct clap_host *host;
    /* Of the host; each may be NULL. */
    const struct clap_host_log *log;
    const struct clap_host_params *params;
    const struct clap_host_preset_load *preset_load;
    const struct clap_host_state *state;
    const struct clap_host_tail *tail;

    struct effect *effect;                   /* of the last rate; from init on */
    uint32_t rate;                           /* Hz */
    bool active;                             /* main thread */
    char cause[1024];                        /* main thread: the last error that was logged */
    struct ring *work;                       /* of struct clap_effect_work, to the main thread */
    uint32_t tail_reported;                  /* audio thread */
    _Atomic(double) values[EFFECT_CONTROLS]; /* as the parameters have them */
};

struct clap_effect_work {
    size_t size;
    char bytes[EFFECT_WORK_MOST];
};

HALO_REALTIME static inline struct clap_effect *clap_effect_of(const struct clap_plugin *plugin)
{
    return plugin->plugin_data;
}

/* ---- main thread ---- */

extern const struct clap_plugin_descriptor clap_effect_descriptors[EFFECT_VARIANTS];

/* NULL: no memory. */
const struct clap_plugin *clap_effect_create(enum effect_variant variant,
                                             const struct clap_host *host);

/* Make this the mask, with the parameters as they are. False: the cause is in `cause`. */
bool clap_effect_load(struct clap_effect *clap, const char *file, enum effect_loading loading);

extern const struct clap_plugin_params clap_effect_params;
extern const struct clap_plugin_state clap_effect_state;
extern const struct clap_plugin_preset_load clap_effect_preset_load;

/* The symbol of a parameter in sessions, and its range. */
const char *clap_effect_param_symbol(size_t param);
double clap_effect_param_initial(size_t param);
double clap_effect_param_clamped(size_t param, double value);

/* mask_presets.c: of the module at `path`. */
extern const struct clap_preset_discovery_factory mask_presets;
void mask_presets_locate(const char *path);

/* ---- real-time ---- */

int32_t clap_effect_process(const struct clap_plugin *plugin, const struct clap_process *process);

/* Take over the value of a parameter; other events are ignored. */
void clap_effect_param_event(struct clap_effect *clap, const struct clap_event_header *event);

/* The value of a control of the effect. */
float clap_effect_control(const struct clap_effect *clap, enum effect_control control);

#endif
