/* A minimal host for the built halo.lv2, without lilv: it opens the module and runs one instance
 * with the features that the test selects. Errors fail the test. Threads: one thread per host,
 * except for lv2_host_work. */
#ifndef HALO_TESTS_LV2_HOST_H
#define HALO_TESTS_LV2_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum lv2_host_worker {
    LV2_HOST_WORKS_AT_ONCE,       /* work is done within run */
    LV2_HOST_WORKS_WHEN_REPORTED, /* work is done by lv2_host_work */
    LV2_HOST_WORKS_NEVER,         /* the host has no worker feature */
};

struct lv2_host_request {
    const char *name; /* "mono", "stereo", "true-stereo" */
    double rate;      /* 0: 48000 */
    enum lv2_host_worker worker;
    bool bare; /* no features at all */
};

enum { LV2_HOST_CHANNELS_MOST = 2 };

struct lv2_host;
struct lv2_host *lv2_host_open(const struct lv2_host_request *request); /* and activates it */
struct lv2_host *lv2_host_open_idle(const struct lv2_host_request *request);
void lv2_host_close(struct lv2_host *host);
void lv2_host_activate(struct lv2_host *host);
void lv2_host_deactivate(struct lv2_host *host);

size_t lv2_host_channels(const struct lv2_host *host);
void lv2_host_set(struct lv2_host *host, const char *symbol, float value);

/* Queues patch:Set of the mask, or patch:Get, for the next run. A path that does not begin with
 * '/' is in command_folder(). */
void lv2_host_set_mask(struct lv2_host *host, const char *path);
void lv2_host_get_mask(struct lv2_host *host);
/* The path of the last patch:Set received; "" for none. */
const char *lv2_host_reported(const struct lv2_host *host);

/* The caller owns the audio buffers; in and out may be the same. */
void lv2_host_run(struct lv2_host *host, const float *const *in, float *const *out, size_t frames);
size_t lv2_host_allocations(const struct lv2_host *host); /* made by the plugin in run */
float lv2_host_latency(const struct lv2_host *host);

/* Does the scheduled work; returns the number of requests. */
size_t lv2_host_work(struct lv2_host *host);

/* Number of lines logged since the last call. */
const char *lv2_host_log(struct lv2_host *host);

/* State with file paths mapped to `folder` and back; abstract paths are kept. */
struct lv2_host_state {
    char mask[4096]; /* abstract path; "": there was none */
    float trim;
    bool portable;
};
void lv2_host_save(struct lv2_host *host, struct lv2_host_state *state);
bool lv2_host_restore(struct lv2_host *host, const struct lv2_host_state *state);

#endif
