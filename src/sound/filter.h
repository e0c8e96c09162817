/* A filter turns one block into the next: convolver, gain, chain, plugin.
 *
 * Every filter is made for one block length and called with exactly that many
 * frames each time. Its first member is a struct filter; kind->process may be
 * called on a real-time thread: it allocates nothing, takes no lock, opens
 * nothing and prints nothing.
 * Ownership: whoever created a filter destroys it, or gives it to a chain.
 */
#ifndef HALO_FILTER_H
#define HALO_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct filter;

struct filter_kind {
    const char *name;
    /* in: `inputs` channels of `block` frames; out: `outputs`. They never overlap. */
    void (*process)(struct filter *filter, const float *const *in, float *const *out);
    void (*reset)(struct filter *filter); /* forget all sound; not real-time */
    void (*destroy)(struct filter *filter);
};

struct filter {
    const struct filter_kind *kind;
    size_t inputs;
    size_t outputs;
    size_t block;        /* frames */
    uint64_t latency;    /* frames the output comes late */
    uint64_t tail;       /* frames the output goes on after the input ends, latency not counted */
    bool tail_unknown;   /* it may go on for longer than that */
    uint64_t late;       /* frames by which the output turned out to come later than `latency` */
    bool absent;         /* the block is silence, since it was not done in time (live) */
    const char *failure; /* what a step has failed at, for good; NULL while all is well */
    const char *notice;  /* what whoever drives the chain should print once and clear; NULL */
};

static inline void filter_process(struct filter *filter, const float *const *in, float *const *out)
{
    filter->kind->process(filter, in, out);
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
