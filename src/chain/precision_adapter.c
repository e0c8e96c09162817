/* Compiled for each precision, that of the outside. */
#include "chain/precision_adapter.h"

#include "base/realtime.h"
#include "signal/real.h"

#include <math.h>
#include <stdlib.h>

/* The other precision. */
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

/* Whether a sample became infinite on its way to the inner precision. */
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
