/* Compiled for each precision. */
#include "chain/chain.h"

#include "base/realtime.h"
#include "signal/real.h"

#include <stdlib.h>
#include <string.h>

struct chain {
    struct filter filter;
    size_t count;
    struct filter **filters;
    struct real_block *between; /* between[i] is what filters[i] hands to filters[i + 1] */
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
