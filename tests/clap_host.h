/* What the host of halo.clap (clap_host.c) offers beyond effect_host.h. It is strict: a call back
 * into it from a thread that may not make it fails the test. */
#ifndef HALO_TESTS_CLAP_HOST_H
#define HALO_TESTS_CLAP_HOST_H

#include "effect_host.h"
#include "plugin/clap/clap_abi.h"

/* The module, opened and initialised once. */
const struct clap_plugin_entry *clap_host_entry(void);

const struct clap_plugin *clap_host_plugin(const struct effect_host *host);
const void *clap_host_extension(const struct effect_host *host, const char *id);

/* The number of a parameter, by its symbol in LV2. */
uint32_t clap_host_param(const char *symbol);

/* Queue an event for the next run: a value of a parameter at this frame. */
void clap_host_set_at(struct effect_host *host, uint32_t frame, uint32_t param, double value);
void clap_host_push(struct effect_host *host, const struct clap_event_header *event);

/* Hand over the queued events without sound. */
void clap_host_flush(struct effect_host *host);

/* What the last run returned. */
int32_t clap_host_status(const struct effect_host *host);

/* How often the plugin called these. */
struct clap_host_calls {
    size_t callbacks, process_requests, rescans, dirty, presets_loaded, preset_errors, tails;
};
struct clap_host_calls clap_host_calls(const struct effect_host *host);
const char *clap_host_preset_error(const struct effect_host *host); /* the last one */

/* The state as bytes, read and written in pieces of at most `piece`. */
struct clap_host_bytes {
    char data[16384];
    size_t size;
    size_t piece;
};
bool clap_host_save(struct effect_host *host, struct clap_host_bytes *bytes);
bool clap_host_load(struct effect_host *host, const struct clap_host_bytes *bytes);

/* As the host loads a preset, at once. */
bool clap_host_preset(struct effect_host *host, uint32_t kind, const char *location);

/* Run on buffers as they are. */
int32_t clap_host_process(struct effect_host *host, const struct clap_process *process);

#endif
