/* A filter processes one block at a time: convolver, gain, chain, plugin.
 *
 * Every filter is created for one block length and always called with that many frames. Its first
 * member is a struct filter. kind->process may run on a real-time thread: no allocation, locks,
 * files or output. A filter has a process function for one precision, or for both. Ownership: the
 * creator destroys the filter, or passes it to a chain. */
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
    /* Process a block: `inputs` channels in, `outputs` out. The buffers never overlap. */
    void (*process)(struct filter *filter, const float *const *in, float *const *out);
    /* process() in double precision throughout. */
    void (*process_in_double)(struct filter *filter, const double *const *in, double *const *out);
    void (*reset)(struct filter *filter); /* discard all state; not real-time */
    void (*destroy)(struct filter *filter);
};

/* Causes of a late block other than the filter's own computing, as bits. */
enum { FILTER_WORKER_LATE = 1, FILTER_GPU_LATE = 2 };

struct filter {
    const struct filter_kind *kind;
    size_t inputs;
    size_t outputs;
    size_t block;      /* frames */
    uint64_t latency;  /* frames */
    uint64_t tail;     /* frames of output after the end of the input, without latency */
    bool tail_unknown; /* the tail may be longer than `tail` */
    uint64_t late;     /* frames by which the true latency exceeded `latency` */
    bool absent;       /* the last block is silence, because it missed its deadline (live) */
    unsigned held_up;  /* causes that made the last block late: bits FILTER_... */
    /* time at which the next block stops waiting for other processes, in ns of the monotonic clock,
     * set by the caller; 0: none */
    int64_t deadline;
    const char *failure; /* cause of a permanent failure; NULL: none */
    /* line that the caller prints and clears, on any thread; NULL: none */
    _Atomic(const char *) notice;
    struct filter *noticed; /* part whose notice this is; NULL: none */
};

/* Show a part's notice as the filter's own. The part's notice is cleared only when the filter's was
 * printed, so that its text does not change meanwhile. */
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
