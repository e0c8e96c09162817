/* A host for halo.lv2 as it was built, of no library: it opens the module and drives one
 * instance, with the features that a test wants it to have. What goes wrong fails the test.
 * Threads: each host is one thread's, but for lv2_host_work.
 */
#ifndef HALO_TESTS_LV2_HOST_H
#define HALO_TESTS_LV2_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum lv2_host_worker {
    LV2_HOST_WORKS_AT_ONCE,   /* within run */
    LV2_HOST_WORKS_WHEN_REPORTED, /* by lv2_host_work */
    LV2_HOST_WORKS_NEVER,     /* it has no such feature */
};

struct lv2_host_request {
    const char *name; /* "mono", "stereo", "true-stereo" */
    double rate;      /* 0: 48000 */
    enum lv2_host_worker worker;
    bool bare; /* no feature at all */
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

/* With the next run: patch:Set of the mask, patch:Get. A path that does not begin with '/' is
 * in command_folder(). */
void lv2_host_set_mask(struct lv2_host *host, const char *path);
void lv2_host_get_mask(struct lv2_host *host);
const char *lv2_host_reported(const struct lv2_host *host); /* patch:Set came with that; "" none */

/* The audio buffers are the caller's; in and out may be the same. */
void lv2_host_run(struct lv2_host *host, const float *const *in, float *const *out, size_t frames);
size_t lv2_host_allocations(const struct lv2_host *host); /* that the plugin made in run */
float lv2_host_latency(const struct lv2_host *host);

/* Do what was scheduled; how much that was. */
size_t lv2_host_work(struct lv2_host *host);

/* Lines that were logged, since the last call. */
const char *lv2_host_log(struct lv2_host *host);

/* State, with paths mapped to `folder` and back; abstract names are kept. */
struct lv2_host_state {
    char mask[4096]; /* abstract; "": there was none */
    float trim;
    bool portable;
};
void lv2_host_save(struct lv2_host *host, struct lv2_host_state *state);
bool lv2_host_restore(struct lv2_host *host, const struct lv2_host_state *state);

#endif
