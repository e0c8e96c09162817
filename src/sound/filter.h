/* A filter processes one block at a time: convolver, gain, chain, plugin.
 *
 * Every filter is created for one block length and always called with that many frames. Its first
 * member is a struct filter. kind->process may run on a real-time thread: no allocation, locks,
 * files or output. A filter has a process for one precision, or for both.
 * Ownership: the creator destroys it, or passes it to a chain.
 */
#ifndef HALO_FILTER_H
#define HALO_FILTER_H

#include "base/realtime.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct filter;

struct filter_kind {
    const char *name;
    /* in: `inputs` channels of `block` frames; out: `outputs`. They never overlap. */
    void (*process)(struct filter *filter, const float *const *in, float *const *out);
    /* The same, computed in double precision throughout. */
    void (*process_in_double)(struct filter *filter, const double *const *in, double *const *out);
    void (*reset)(struct filter *filter); /* discard all state; not real-time */
    void (*destroy)(struct filter *filter);
};

/* What may have made a block late, and is not the filter's own computing: bits. */
enum { FILTER_WORKER_LATE = 1, FILTER_GPU_LATE = 2 };

struct filter {
    const struct filter_kind *kind;
    size_t inputs;
    size_t outputs;
    size_t block;                 /* frames */
    uint64_t latency;             /* frames */
    uint64_t tail;                /* frames of output after the input's end, without latency */
    bool tail_unknown;            /* it may be longer */
    uint64_t late;                /* frames by which the true latency exceeded `latency` */
    bool absent;                  /* the block is silence, because it missed its deadline (live) */
    unsigned held_up;             /* the block: FILTER_... */
    int64_t deadline;             /* set by the caller: when the next block gives up waiting for
                                     other processes, in ns of the monotonic clock; 0: never */
    const char *failure;          /* cause of a permanent failure in a step, or NULL */
    _Atomic(const char *) notice; /* for the caller, on any thread, to print and clear, or NULL */
    struct filter *noticed;       /* the part whose notice this is, or NULL */
};

/* Show a part's notice as the filter's own. It is the part's until it was printed, so that its text
 * does not change meanwhile. */
HALO_REALTIME static inline void filter_pass_notice(struct filter *filter, struct filter *part)
{
    const char *notice = part->notice;
    if (filter->noticed == part && !filter->notice) {
        part->notice = notice = NULL;
        filter->noticed = NULL;
    }
    if (notice && !filter->noticed && !filter->notice) {
        filter->noticed = part;
        filter->notice = notice;
    }
}

HALO_REALTIME static inline void filter_process(struct filter *filter, const float *const *in,
                                                float *const *out)
{
    filter->kind->process(filter, in, out);
}

HALO_REALTIME static inline void
filter_process_in_double(struct filter *filter, const double *const *in, double *const *out)
{
    filter->kind->process_in_double(filter, in, out);
}

static inline void filter_reset(struct filter *filter)
{
    filter->kind->reset(filter);
}

static inline void filter_destroy(struct filter *filter)
{
    if (filter)
        filter->kind->destroy(filter);
}

#endif
