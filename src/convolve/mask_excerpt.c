#include "convolve/mask_excerpt.h"

#include <stdlib.h>

static bool is_in(size_t channel, struct channel_span span)
{
    return channel >= span.first && channel - span.first < span.count;
}

struct channel_span mask_excerpt_inputs(const struct mask *mask, struct channel_span outputs)
{
    size_t first = mask->inputs, last = 0;
    for (size_t p = 0; p < mask->path_count; p++) {
        const struct mask_path *path = &mask->paths[p];
        if (!is_in(path->output, outputs))
            continue;
        first = path->input < first ? path->input : first;
        last = path->input > last ? path->input : last;
    }
    return first > last ? (struct channel_span){0, 1}
                        : (struct channel_span){first, last - first + 1};
}

static enum status fail_inputs(const struct mask *mask, struct channel_span outputs)
{
    return fail(STATUS_FAILED,
                "cannot use mask %s: outputs %zu to %zu are on another GPU than the inputs they "
                "need; use one GPU (--devices 0)",
                mask->name, outputs.first + 1, outputs.first + outputs.count);
}

/* The paths of the excerpt, with the columns of the whole mask. */
static enum status copy_paths(const struct mask *mask, struct channel_span inputs,
                              struct channel_span outputs, struct mask *excerpt)
{
    for (size_t p = 0; p < mask->path_count; p++) {
        struct mask_path path = mask->paths[p];
        if (!is_in(path.output, outputs))
            continue;
        if (!is_in(path.input, inputs))
            return fail_inputs(mask, outputs);
        path.input -= inputs.first;
        path.output -= outputs.first;
        excerpt->paths[excerpt->path_count++] = path;
    }
    return STATUS_OK;
}

/* The columns that the paths use, in their order; `place`: of each column of the whole mask, 0 or
 * its place from 1. */
static void choose_columns(struct mask *excerpt, size_t *place, size_t count)
{
    size_t *chosen = excerpt->chosen;
    for (size_t p = 0; p < excerpt->path_count; p++)
        place[excerpt->paths[p].column] = 1;
    excerpt->columns = 0;
    for (size_t c = 0; c < count; c++)
        if (place[c]) {
            chosen[excerpt->columns++] = c;
            place[c] = excerpt->columns;
        }
    for (size_t p = 0; p < excerpt->path_count; p++)
        excerpt->paths[p].column = place[excerpt->paths[p].column] - 1;
    if (excerpt->columns == 0) /* outputs that are silent: any column, which no path uses */
        chosen[excerpt->columns++] = 0;
}

static enum status fill(const struct mask *mask, struct channel_span inputs,
                        struct channel_span outputs, struct mask *excerpt)
{
    *excerpt = *mask;
    excerpt->share = NULL;
    excerpt->inputs = inputs.count;
    excerpt->outputs = outputs.count;
    excerpt->path_count = 0;
    excerpt->paths = calloc(mask->path_count + 1, sizeof *excerpt->paths);
    excerpt->chosen = calloc(mask->columns + 1, sizeof *excerpt->chosen);
    size_t *place = calloc(mask->columns + 1, sizeof *place);
    enum status status = excerpt->paths && excerpt->chosen && place
                             ? copy_paths(mask, inputs, outputs, excerpt)
                             : fail_memory("a mask");
    if (status == STATUS_OK)
        choose_columns(excerpt, place, mask->columns);
    free(place);
    return status;
}

enum status mask_excerpt_create(const struct mask *mask, struct channel_span inputs,
                                struct channel_span outputs, struct mask **result)
{
    struct mask *excerpt = calloc(1, sizeof *excerpt);
    if (!excerpt)
        return fail_memory("a mask");
    enum status status = fill(mask, inputs, outputs, excerpt);
    if (status != STATUS_OK) {
        mask_excerpt_destroy(excerpt);
        return status;
    }
    *result = excerpt;
    return STATUS_OK;
}

void mask_excerpt_destroy(struct mask *excerpt)
{
    if (!excerpt)
        return;
    free(excerpt->paths);
    free(excerpt->chosen);
    free(excerpt);
}
