/* Compiled for each precision. */
#include "chain/chain.h"

#include "base/realtime.h"
#include "signal/real.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct chain {
    struct filter filter;
    size_t count;
    struct filter **filters;
    /* between[i] has the output of filters[i], which filters[i + 1] reads */
    struct real_block *between;
};

HALO_REALTIME static void chain_process(struct filter *filter, const real *const *in,
                                        real *const *out)
{
    struct chain *chain = (struct chain *)filter;
    uint64_t late = 0;
    filter->held_up = 0;
    if (chain->count == 0)
        for (size_t c = 0; c < filter->inputs; c++)
            memcpy(out[c], in[c], filter->block * sizeof(real));
    for (size_t i = 0; i < chain->count; i++) {
        real *const *next = i + 1 < chain->count ? chain->between[i].data : out;
        chain->filters[i]->deadline = filter->deadline;
        REAL(filter_process)(chain->filters[i], in, next);
        struct filter *one = chain->filters[i];
        late += one->late;
        filter->held_up |= one->held_up;
        if (one->failure)
            filter->failure = one->failure;
        filter_pass_notice(filter, one);
        in = (const real *const *)next;
    }
    filter->late = late;
}

static void chain_reset(struct filter *filter)
{
    struct chain *chain = (struct chain *)filter;
    for (size_t i = 0; i < chain->count; i++)
        filter_reset(chain->filters[i]);
}

static void chain_destroy(struct filter *filter)
{
    struct chain *chain = (struct chain *)filter;
    for (size_t i = 0; i < chain->count; i++) {
        filter_destroy(chain->filters[i]);
        block_free(&chain->between[i]);
    }
    free(chain->filters);
    free(chain->between);
    free(chain);
}

static const struct filter_kind chain_kind = {
    .name = "chain",
    .REAL(process) = chain_process,
    .reset = chain_reset,
    .destroy = chain_destroy,
};

enum status REAL(chain_create)(size_t channels, size_t block, struct filter **result)
{
    struct chain *chain = calloc(1, sizeof *chain);
    if (!chain)
        return fail_memory("a chain");
    chain->filter = (struct filter){
        .kind = &chain_kind, .inputs = channels, .outputs = channels, .block = block};
    *result = &chain->filter;
    return STATUS_OK;
}

enum status REAL(chain_append)(struct filter *filter, struct filter *next)
{
    struct chain *chain = (struct chain *)filter;
    size_t count = chain->count + 1;
    struct filter **filters = realloc(chain->filters, count * sizeof *filters);
    if (filters)
        chain->filters = filters;
    struct real_block *between = realloc(chain->between, count * sizeof *between);
    if (between)
        chain->between = between;
    if (!filters || !between) {
        filter_destroy(next);
        return fail_memory("a chain");
    }
    chain->filters[chain->count] = next;
    chain->between[chain->count] = (struct real_block){0};
    chain->count = count;
    filter->outputs = next->outputs;
    filter->latency += next->latency;
    filter->tail += next->tail;
    filter->tail_unknown |= next->tail_unknown;
    if (count < 2)
        return STATUS_OK;
    return block_init(&chain->between[count - 2], next->inputs, filter->block, "a chain");
}

/* ---- a filter of the other precision ---- */

/* Names for the other precision. */
#ifdef HALO_DOUBLE
#define inner_real float
#define INNER(name) name
#else
#define inner_real double
#define INNER(name) name##_in_double
#endif

#undef block_init
#undef block_free
#undef audio_peak

struct precision_adapter {
    struct filter filter;
    struct filter *inner;
    struct INNER(block) in;
    struct INNER(block) out;
};

/* Whether the conversion to the inner precision made a sample infinite. */
HALO_REALTIME static bool adapter_overflows(const struct precision_adapter *adapter,
                                            const real *const *in)
{
    for (size_t c = 0; c < adapter->filter.inputs; c++)
        if (!isfinite(INNER(audio_peak)(adapter->in.data[c], adapter->filter.block)) &&
            isfinite(REAL(audio_peak)(in[c], adapter->filter.block)))
            return true;
    return false;
}

HALO_REALTIME static void adapter_process(struct filter *filter, const real *const *in,
                                          real *const *out)
{
    struct precision_adapter *adapter = (struct precision_adapter *)filter;
    struct filter *inner = adapter->inner;
    for (size_t c = 0; c < filter->inputs; c++)
        for (size_t i = 0; i < filter->block; i++)
            adapter->in.data[c][i] = (inner_real)in[c][i];
    bool overflows = REAL_IS_DOUBLE && adapter_overflows(adapter, in);
    inner->deadline = filter->deadline;
    INNER(filter_process)(inner, (const inner_real *const *)adapter->in.data, adapter->out.data);
    for (size_t c = 0; c < filter->outputs; c++)
        for (size_t i = 0; i < filter->block; i++)
            out[c][i] = (real)adapter->out.data[c][i];
    filter->late = inner->late;
    filter->absent = inner->absent;
    filter->failure = overflows ? "a stage that computes in single precision got a sample beyond "
                                  "it; lower it with --gain"
                                : inner->failure;
    if (inner->notice && !filter->notice) {
        filter->notice = inner->notice;
        inner->notice = NULL;
    }
}

static void adapter_reset(struct filter *filter)
{
    filter_reset(((struct precision_adapter *)filter)->inner);
}

static void adapter_destroy(struct filter *filter)
{
    struct precision_adapter *adapter = (struct precision_adapter *)filter;
    filter_destroy(adapter->inner);
    INNER(block_free)(&adapter->in);
    INNER(block_free)(&adapter->out);
    free(adapter);
}

static const struct filter_kind adapter_kind = {
    .name = "precision adapter",
    .REAL(process) = adapter_process,
    .reset = adapter_reset,
    .destroy = adapter_destroy,
};

enum status REAL(precision_adapter_create)(struct filter *inner, struct filter **result)
{
    struct precision_adapter *adapter = calloc(1, sizeof *adapter);
    if (!adapter) {
        filter_destroy(inner);
        return fail_memory("a filter");
    }
    adapter->filter = *inner;
    adapter->filter.kind = &adapter_kind;
    adapter->inner = inner;
    enum status status = INNER(block_init)(&adapter->in, inner->inputs, inner->block, "a filter");
    if (status == STATUS_OK)
        status = INNER(block_init)(&adapter->out, inner->outputs, inner->block, "a filter");
    if (status != STATUS_OK)
        goto fail;
    *result = &adapter->filter;
    return STATUS_OK;
fail:
    adapter_destroy(&adapter->filter);
    return status;
}
