/* A mask that has a share of its input within it: a choice of masks with a mix of its own. */
#include "mask/mask.h"

#include <stdlib.h>
#include <string.h>

static bool is_dry(const struct mask *mask, struct mask_path path)
{
    return path.input == path.output % mask->inputs;
}

/* The columns to come: `of[c]` is the one of dry paths through column c, a copy if others use it,
 * too; `of[columns]` that of dry paths which the mask does not have. Returns their number. */
static size_t plan_columns(const struct mask *mask, size_t *of)
{
    size_t count = mask->columns, missing = mask->outputs;
    bool used[mask->columns + 1], shared[mask->columns + 1];
    memset(used, 0, sizeof used);
    memset(shared, 0, sizeof shared);
    for (size_t p = 0; p < mask->path_count; p++)
        (is_dry(mask, mask->paths[p]) ? used : shared)[mask->paths[p].column] = true;
    for (size_t c = 0; c < mask->columns; c++)
        of[c] = !used[c] ? SIZE_MAX : shared[c] ? count++ : c;
    for (size_t o = 0; o < mask->outputs; o++)
        missing -= mask_path_column(mask, (struct mask_path){o % mask->inputs, o, 0}) != NULL;
    of[mask->columns] = missing > 0 ? count++ : SIZE_MAX;
    return count;
}

static enum status add_missing_paths(struct mask *mask, size_t column)
{
    size_t most = mask->path_count + mask->outputs;
    struct mask_path *paths = realloc(mask->paths, most * sizeof *paths);
    if (!paths)
        return fail_memory("a mask");
    mask->paths = paths;
    for (size_t o = 0; o < mask->outputs; o++) {
        const struct mask_path path = {o % mask->inputs, o, column};
        if (!mask_path_column(mask, path))
            mask->paths[mask->path_count++] = path;
    }
    return STATUS_OK;
}

static void fill(const struct mask *mask, const size_t *of, struct mask *mixed)
{
    const size_t bytes = mask->taps * sizeof(double);
    for (size_t c = 0; c < mask->columns; c++) {
        memcpy(mask_column(mixed, c), mask_column(mask, c), bytes);
        if (of[c] != SIZE_MAX)
            memmove(mask_column(mixed, of[c]), mask_column(mask, c), bytes);
    }
    mask_scale(mixed, mask->wet, NULL);
    for (size_t c = 0; c <= mask->columns; c++)
        if (of[c] != SIZE_MAX)
            mask_column(mixed, of[c])[mask->origin] += mask->dry;
}

enum status mask_mix(struct mask *mask)
{
    if (mask->dry <= 0)
        return STATUS_OK;
    struct mask *mixed = NULL;
    size_t *of = calloc(mask->columns + 1, sizeof *of);
    if (!of)
        return fail_memory("a mask");
    size_t columns = plan_columns(mask, of);
    size_t taps = mask->taps > mask->origin ? mask->taps : mask->origin + 1;
    enum status status = mask_create(mask->name, columns, taps, &mixed);
    if (status != STATUS_OK)
        goto end;
    fill(mask, of, mixed);
    for (size_t p = 0; p < mask->path_count; p++)
        if (is_dry(mask, mask->paths[p]))
            mask->paths[p].column = of[mask->paths[p].column];
    free(mask->coefficients);
    mask->coefficients = mixed->coefficients;
    mixed->coefficients = NULL;
    size_t missing = of[mask->columns];
    mask->columns = columns;
    mask->taps = taps;
    mask->dry = 0;
    if (missing != SIZE_MAX)
        status = add_missing_paths(mask, missing);
end:
    mask_destroy(mixed);
    free(of);
    return status;
}
