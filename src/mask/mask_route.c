/* Which column of a mask filters which channels of a sound. */
#include "base/plural.h"
#include "mask/mask.h"

#include <stdlib.h>

static void add_path(struct mask *mask, size_t input, size_t output, size_t column)
{
    mask->paths[mask->path_count++] = (struct mask_path){input, output, column};
    if (input >= mask->inputs)
        mask->inputs = input + 1;
    if (output >= mask->outputs)
        mask->outputs = output + 1;
}

static enum status refuse_counts(const struct mask *mask, size_t channels, enum mask_map map)
{
    const char *hesuvi = mask_may_be_hesuvi(mask) ? "; order=hesuvi if it is one of HeSuVi" : "";
    if (map == MASK_MAP_SPLIT)
        return fail(CAUSE_USAGE,
                    "mask %s: map=split sends a mono sound through each of the mask's %zu "
                    "channels, but the sound has %zu; channel=N picks one%s",
                    mask->name, mask->columns, channels, hesuvi);
    if (map == MASK_MAP_MATRIX)
        return fail(CAUSE_USAGE,
                    "mask %s: map=matrix takes a mask channel for each input and output, but the "
                    "mask's %zu are no multiple of the sound's %zu%s",
                    mask->name, mask->columns, channels, hesuvi);
    return fail(CAUSE_USAGE,
                "mask %s has %zu channel%s and the sound %zu: a mask has 1 channel, as "
                "many as the sound, 4 for a stereo sound, or any number for a mono one; "
                "channel=N picks one, map=matrix takes one for each input and output%s",
                mask->name, mask->columns, plural_s(mask->columns), channels, hesuvi);
}

bool mask_is_true_stereo(const struct mask *mask, size_t channels, enum mask_map map)
{
    return !mask->has_own_paths && mask->columns == 4 &&
           (channels == 2 || (channels == 1 && map == MASK_MAP_AUTO));
}

/* Whether each input goes through one column, the same for all, to the output of its number. */
static bool is_alike(const struct mask *mask)
{
    const struct mask_path *paths = mask->paths;
    size_t p = 0;
    while (p < mask->path_count && paths[p].input == p && paths[p].output == p &&
           paths[p].column == paths[0].column)
        p++;
    return p > 0 && p == mask->path_count && p == mask->inputs && p == mask->outputs;
}

/* Own paths are for as many channels as they say, but where all are filtered alike. */
static enum status fit_own_paths(struct mask *mask, size_t channels)
{
    if (mask->inputs == channels)
        return STATUS_OK;
    if (!is_alike(mask))
        return fail(CAUSE_USAGE, "mask %s filters sound of %zu channel%s, but the sound has %zu",
                    mask->name, mask->inputs, plural_s(mask->inputs), channels);
    note("mask %s is for %zu channel%s, filtered alike; so is each of the sound's %zu", mask->name,
         mask->inputs, plural_s(mask->inputs), channels);
    struct mask_path *paths = realloc(mask->paths, channels * sizeof *paths);
    if (!paths)
        return fail_memory("a mask");
    mask->paths = paths;
    mask->inputs = mask->outputs = mask->path_count = 0;
    for (size_t c = 0; c < channels; c++)
        add_path(mask, c, c, paths[0].column);
    return STATUS_OK;
}

enum status mask_route(struct mask *mask, size_t channels, enum mask_order order, enum mask_map map)
{
    if (mask->has_own_paths && map != MASK_MAP_AUTO)
        return fail(CAUSE_USAGE, "mask %s has its own routing; map= cannot change it", mask->name);
    if (mask->has_own_paths)
        return fit_own_paths(mask, channels);
    if (order == MASK_ORDER_HESUVI)
        return mask_route_hesuvi(mask, channels, map);
    size_t columns = mask->columns;
    size_t most = channels > columns ? channels : columns;
    free(mask->paths);
    mask->inputs = mask->outputs = mask->path_count = 0;
    mask->paths = calloc(most, sizeof *mask->paths);
    if (!mask->paths)
        return fail_memory("a mask");
    if ((map == MASK_MAP_SPLIT && channels != 1) ||
        (map == MASK_MAP_MATRIX && columns % channels != 0))
        return refuse_counts(mask, channels, map);

    /* Columns of a true-stereo mask or matrix by (input, output). */
    bool rows = order == MASK_ORDER_LL_LR_RL_RR;
    size_t lr = rows ? 1 : 2, rl = rows ? 2 : 3, rr = rows ? 3 : 1;
    bool true_stereo = mask_is_true_stereo(mask, channels, map);
    if (map == MASK_MAP_MATRIX && !true_stereo) {
        for (size_t c = 0; c < columns; c++)
            add_path(mask, c / (columns / channels), c % (columns / channels), c);
    } else if (columns == 1 || columns == channels) {
        for (size_t c = 0; c < channels; c++)
            add_path(mask, c, c, columns == 1 ? 0 : c);
    } else if (true_stereo) {
        size_t right = channels - 1; /* a mono sound feeds both inputs */
        add_path(mask, 0, 0, 0);
        add_path(mask, 0, 1, lr);
        add_path(mask, right, 0, rl);
        add_path(mask, right, 1, rr);
    } else if (channels == 1) {
        if (map == MASK_MAP_AUTO && mask_may_be_hesuvi(mask))
            note("mask %s: a mono sound goes through each of its %zu channels; order=hesuvi if it "
                 "is one of HeSuVi",
                 mask->name, columns);
        for (size_t c = 0; c < columns; c++)
            add_path(mask, 0, c, c);
    } else {
        return refuse_counts(mask, channels, map);
    }
    return STATUS_OK;
}

enum status mask_widen(struct mask *mask, size_t outputs)
{
    size_t count = mask->path_count;
    if (outputs <= mask->outputs)
        return STATUS_OK;
    if (mask->outputs == 1) {
        struct mask_path *paths = realloc(mask->paths, 2 * count * sizeof *paths);
        if (!paths)
            return fail_memory("a mask");
        mask->paths = paths;
        for (size_t p = 0; p < count; p++)
            add_path(mask, paths[p].input, 1, paths[p].column);
    }
    mask->outputs = outputs;
    return STATUS_OK;
}
