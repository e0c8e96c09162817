/* A minimal host for one of the built plugins: halo.lv2 (lv2_host.c) or halo.clap (clap_host.c),
 * whichever is linked. It opens the module and runs one instance with the features that the test
 * selects. Errors fail the test. Threads: one thread per host, except for effect_host_work. */
#ifndef HALO_TESTS_EFFECT_HOST_H
#define HALO_TESTS_EFFECT_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum effect_host_worker {
    EFFECT_HOST_WORKS_AT_ONCE,       /* work is done within run; CLAP: before and after it */
    EFFECT_HOST_WORKS_WHEN_REPORTED, /* work is done by effect_host_work */
    EFFECT_HOST_WORKS_NEVER,         /* the host does none; LV2: it has no worker feature */
};

struct effect_host_request {
    const char *name; /* "mono", "stereo", "true-stereo" */
    double rate;      /* 0: 48000 */
    enum effect_host_worker worker;
    bool bare; /* no features at all */
};

enum { EFFECT_HOST_CHANNELS_MOST = 2 };

struct effect_host;
struct effect_host *
effect_host_open(const struct effect_host_request *request); /* and activates it */
struct effect_host *effect_host_open_idle(const struct effect_host_request *request);
void effect_host_close(struct effect_host *host);
void effect_host_activate(struct effect_host *host);
void effect_host_deactivate(struct effect_host *host);

size_t effect_host_channels(const struct effect_host *host);
/* By the symbol that it has in LV2. */
void effect_host_set(struct effect_host *host, const char *symbol, float value);

/* Queues patch:Set of the mask, or patch:Get, for the next run; CLAP: loads it as a preset when
 * work is done. A path that does not begin with '/' is in command_folder(). */
void effect_host_set_mask(struct effect_host *host, const char *path);
void effect_host_get_mask(struct effect_host *host);
/* The path of the last patch:Set received, or of the state; "" for none. */
const char *effect_host_reported(const struct effect_host *host);

/* The caller owns the audio buffers; in and out may be the same. */
void effect_host_run(struct effect_host *host, const float *const *in, float *const *out,
                     size_t frames);
size_t effect_host_allocations(const struct effect_host *host); /* made by the plugin in run */
float effect_host_latency(const struct effect_host *host);

/* Does the scheduled work; returns the number of requests. */
size_t effect_host_work(struct effect_host *host);

/* The lines logged since the last call. */
const char *effect_host_log(struct effect_host *host);

/* State with file paths mapped to command_folder() and back; abstract paths are kept. */
struct effect_host_state {
    char mask[4096]; /* abstract path; "": there was none */
    float trim;
    bool portable; /* LV2 */
};
void effect_host_save(struct effect_host *host, struct effect_host_state *state);
bool effect_host_restore(struct effect_host *host, const struct effect_host_state *state);

/* Whether paths in states are portable, and the symbol that the module exports. */
extern const bool effect_host_is_portable;
extern const char effect_host_entry[];

#endif
