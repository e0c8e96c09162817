/* One instance of the CLAP plugin, and its session as text. What it does is in src/effect/.
 *
 * Threads as in plugin/clap/clap_abi.h. The worker of the effect is the main thread, by
 * request_callback. */
#ifndef HALO_CLAP_EFFECT_H
#define HALO_CLAP_EFFECT_H

#include "effect/effect.h"
#include "plugin/clap/clap_abi.h"

extern const struct clap_plugin_descriptor clap_effect_descriptors[EFFECT_VARIANTS];

/* NULL: no memory. */
const struct clap_plugin *clap_effect_create(enum effect_variant variant,
                                             const struct clap_host *host);

/* Within the range of the parameter. */
double clap_effect_param_clamped(size_t param, double value);

/* The state of the plugin in a session, as text:
 *
 *     halo.clap 1
 *     bypass 0
 *     gain -6
 *     ...
 *     mask 20
 *     /home/ann/s/hall.wav
 *
 * Parameters by symbol, in any order; the path comes last, with its length in bytes, and not at all
 * without a mask. Threads: any. Not real-time. */

enum { SAVED_STATE_MOST = EFFECT_FILE_MOST + 1024 }; /* bytes, with a 0 at the end */

struct saved_state {
    double values[EFFECT_CONTROLS]; /* values of the parameters */
    char file[EFFECT_FILE_MOST];    /* file of the mask; "": none */
};

/* The length of the text. */
size_t saved_state_print(const struct saved_state *state, char text[SAVED_STATE_MOST]);

/* Parameters that are not in it get their initial value. False: the text, which is changed, is
 * damaged, or of a later version. */
bool saved_state_parse(struct saved_state *state, char *text);

#endif
