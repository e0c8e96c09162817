/* An instance of the CLAP plugin, and its session as text. The sound is processed in src/effect/.
 *
 * Threads as in plugin/clap/clap_abi.h. The main thread is the worker of the effect; it is called
 * by request_callback. */
#ifndef HALO_CLAP_EFFECT_H
#define HALO_CLAP_EFFECT_H

#include "effect/effect.h"
#include "plugin/clap/clap_abi.h"

extern const struct clap_plugin_descriptor clap_effect_descriptors[EFFECT_VARIANTS];

/* Creates an instance. NULL: no memory. */
const struct clap_plugin *clap_effect_create(enum effect_variant variant,
                                             const struct clap_host *host);

/* The value limited to the range of the parameter. */
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
 * Parameters are named by their symbol, in any order. The path comes last, after its length in
 * bytes. Without a mask there is no path. Threads: any. Not real-time. */

enum { SAVED_STATE_MOST = EFFECT_FILE_MOST + 1024 }; /* bytes, with a 0 at the end */

struct saved_state {
    double values[EFFECT_CONTROLS]; /* values of the parameters */
    char file[EFFECT_FILE_MOST];    /* file of the mask; "": none */
};

/* Writes the state as text. Returns the length of the text. */
size_t saved_state_print(const struct saved_state *state, char text[SAVED_STATE_MOST]);

/* Parses the state. Parameters that are missing in the text get their initial value. The text is
 * changed. Returns false if the text is damaged, or of a later version. */
bool saved_state_parse(struct saved_state *state, char *text);

#endif
