#include "convolve/split_head.h"

#include "base/realtime.h"
#include "signal/audio.h"
#include "signal/fir.h"

#include <stdlib.h>
#include <string.h>

enum status split_head_init(struct split_head *head, const struct mask *mask, size_t from)
{
    size_t taps = mask->taps - from;
    head->taps = taps < SPLIT_BLOCK ? taps : SPLIT_BLOCK;
    head->outputs = mask->outputs;
    head->columns = audio_alloc(mask->columns * head->taps);
    if (!head->columns)
        return fail_memory("a mask");
    for (size_t c = 0; c < mask->columns; c++)
        for (size_t k = 0; k < head->taps; k++)
            head->columns[c * head->taps + k] = (float)mask_column(mask, c)[from + k];
    return path_table_init(&head->paths, mask);
}

void split_head_free(struct split_head *head)
{
    path_table_free(&head->paths);
    free(head->columns);
    *head = (struct split_head){0};
}

enum status split_tail(const struct mask *mask, size_t from, struct mask **result)
{
    struct mask *tail = NULL;
    size_t taps = mask->taps > from ? mask->taps - from : 0;
    TRY(mask_create(mask->name, mask->columns, taps ? taps : 1, &tail));
    tail->paths = malloc(mask->path_count * sizeof *tail->paths);
    if (!tail->paths) {
        mask_destroy(tail);
        return fail_memory("a mask");
    }
    memcpy(tail->paths, mask->paths, mask->path_count * sizeof *tail->paths);
    tail->path_count = mask->path_count;
    tail->inputs = mask->inputs;
    tail->outputs = mask->outputs;
    tail->rate = mask->rate;
    for (size_t c = 0; c < mask->columns && taps > 0; c++)
        memcpy(mask_column(tail, c), mask_column(mask, c) + from,
               taps * sizeof *tail->coefficients);
    *result = tail;
    return STATUS_OK;
}

_Static_assert((int)FIR_TILE >= (int)SPLIT_BLOCK, "a block is summed up as one tile");

HALO_REALTIME void split_head_write(const struct split_head *head, const float *const *now,
                                    const float *const *add, size_t at, size_t frames,
                                    float *const *out)
{
    for (size_t o = 0; o < head->outputs; o++) {
        double sum[FIR_TILE] = {0};
        for (size_t i = 0; add && i < frames; i++)
            sum[i] = add[o][at + i];
        for (size_t p = head->paths.first[o]; p < head->paths.first[o + 1]; p++)
            fir_add(sum, now[head->paths.paths[p].input], frames,
                    head->columns + head->paths.paths[p].column * head->taps, head->taps);
        for (size_t i = 0; i < frames; i++)
            out[o][i] = (float)sum[i];
    }
}
