#include "mask/mask.h"

#include "base/machine.h"
#include "base/plural.h"
#include "base/workers.h"
#include "mask/mask_share.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double NS_A_TAP = 1; /* ns to read a tap, or to scale it */

uint64_t mask_taps_most(void)
{
    /* Spectra and histories take about seven floats a tap, the tap itself takes two. */
    return memory_limit() / 9 / sizeof(float);
}

static enum status create_with(double *(*alloc)(size_t), const char *name, size_t columns,
                               uint64_t taps, struct mask **result)
{
    uint64_t limit = mask_taps_most();
    if (columns == 0 || taps > limit / columns)
        return fail(CAUSE_NO_MEMORY,
                    "cannot use mask %s: not enough memory for %llu taps in %zu channel%s", name,
                    (unsigned long long)taps, columns, plural_s(columns));
    struct mask *mask = calloc(1, sizeof *mask);
    if (!mask)
        return fail_memory("a mask");
    mask->name = strdup(name);
    mask->columns = columns;
    mask->taps = (size_t)taps;
    mask->coefficients = alloc(columns * (size_t)taps);
    if (!mask->name || !mask->coefficients) {
        mask_destroy(mask);
        return fail_memory("a mask");
    }
    *result = mask;
    return STATUS_OK;
}

enum status mask_create(const char *name, size_t columns, uint64_t taps, struct mask **result)
{
    return create_with(audio_alloc_in_double, name, columns, taps, result);
}

enum status mask_create_unset(const char *name, size_t columns, uint64_t taps, struct mask **result)
{
    return create_with(audio_alloc_unset_in_double, name, columns, taps, result);
}

enum status mask_create_passing(const char *name, size_t inputs, size_t first, size_t count,
                                size_t outputs, struct mask **result)
{
    TRY(mask_create(name, 1, 1, result));
    struct mask *mask = *result;
    mask->paths = calloc(outputs, sizeof *mask->paths);
    if (!mask->paths)
        return fail_memory("a mask");
    mask->inputs = inputs;
    mask->path_count = mask->outputs = outputs;
    for (size_t o = 0; o < outputs; o++)
        mask->paths[o] = (struct mask_path){first + o % count, o, 0};
    *mask_column(mask, 0) = 1;
    return STATUS_OK;
}

void mask_destroy(struct mask *mask)
{
    if (!mask || mask_share_give_back(mask))
        return;
    free(mask->paths);
    free(mask->coefficients);
    free(mask->contents);
    free(mask->measured);
    free(mask->bands);
    free(mask->name);
    free(mask);
}

struct workers *mask_workers(struct workers *workers, const struct mask *mask)
{
    return workers_worth(workers, NS_A_TAP * (double)(mask->columns * mask->taps));
}

double *mask_column(const struct mask *mask, size_t column)
{
    return mask->coefficients + column * mask->taps;
}

float *mask_round(const struct mask *mask)
{
    float *rounded = audio_alloc(mask->columns * mask->taps);
    for (size_t c = 0; rounded && c < mask->columns; c++)
        for (size_t k = 0; k < mask->taps; k++)
            rounded[c * mask->taps + k] = (float)mask_column(mask, c)[k];
    return rounded;
}

const double *mask_path_column(const struct mask *mask, struct mask_path path)
{
    for (size_t p = 0; p < mask->path_count; p++)
        if (mask->paths[p].input == path.input && mask->paths[p].output == path.output)
            return mask_column(mask, mask->paths[p].column);
    return NULL;
}

enum status mask_select(struct mask *mask, size_t column)
{
    if (mask->has_own_paths)
        return fail(CAUSE_USAGE, "mask %s has its own routing; channel=%zu cannot change it",
                    mask->name, column);
    if (column < 1 || column > mask->columns)
        return fail(CAUSE_USAGE, "mask %s has no channel %zu: it has %zu, counted from 1",
                    mask->name, column, mask->columns);
    memmove(mask->coefficients, mask_column(mask, column - 1), mask->taps * sizeof(double));
    mask->columns = 1;
    mask->layout = (struct channel_layout){0};
    return STATUS_OK;
}

double mask_norm(const struct mask *mask)
{
    double largest = 0;
    for (size_t o = 0; o < mask->outputs; o++) {
        double norm = 0;
        for (size_t p = 0; p < mask->path_count; p++)
            for (size_t k = 0; mask->paths[p].output == o && k < mask->taps; k++)
                norm += fabs((double)mask_column(mask, mask->paths[p].column)[k]);
        largest = fmax(largest, norm);
    }
    return largest;
}

struct scale_job {
    const struct mask *mask;
    double gain;
};

static void scale_column(void *context, size_t column, size_t worker)
{
    (void)worker;
    const struct scale_job *job = context;
    double *taps = mask_column(job->mask, column);
    for (size_t k = 0; k < job->mask->taps; k++)
        taps[k] *= job->gain;
}

void mask_scale(struct mask *mask, double gain, struct workers *workers)
{
    struct scale_job job = {mask, gain};
    workers_run(mask_workers(workers, mask), mask->columns, scale_column, &job);
}

void mask_discard_coefficients(struct mask *mask, struct workers *workers)
{
    if (mask->share)
        return;
    audio_free_in_double(mask->coefficients, mask->columns * mask->taps, workers);
    mask->coefficients = NULL;
}

void mask_align(struct mask *mask, enum mask_align align)
{
    if (align != MASK_ALIGN_OWN)
        mask->origin = align == MASK_ALIGN_CENTRE ? (mask->taps - 1) / 2 : 0;
}

enum status mask_pad(struct mask *mask, size_t frames)
{
    struct mask *padded = NULL;
    if (frames == 0)
        return STATUS_OK;
    TRY(mask_create(mask->name, mask->columns, (uint64_t)mask->taps + frames, &padded));
    for (size_t c = 0; c < mask->columns; c++)
        memcpy(mask_column(padded, c) + frames, mask_column(mask, c), mask->taps * sizeof(double));
    free(mask->coefficients);
    mask->coefficients = padded->coefficients;
    mask->taps = padded->taps;
    mask->origin += frames;
    padded->coefficients = NULL;
    mask_destroy(padded);
    return STATUS_OK;
}

/* ---- routing: which column filters which channels ---- */

/* HeSuVi is a virtual surround for headphones: the sound of several loudspeakers goes to two ears.
 * PipeWire's virtual surround has the same order. */

enum { ALL = 14, HALF = 7, EARS = 2 };

enum hesuvi_speaker { FL, FR, FC, LFE, BL, BR, SL, SR, PLACES };

/* The columns from each loudspeaker to the left and the right ear. As in PipeWire, LFE is heard
 * from the front. Columns 7 to 13 mirror the first 7; a file for two equal ears has only those. */
static const size_t columns_of[PLACES][EARS] = {
    [FL] = {0, 1}, [FR] = {8, 7},   [FC] = {6, 13}, [LFE] = {6, 13},
    [BL] = {4, 5}, [BR] = {12, 11}, [SL] = {2, 3},  [SR] = {10, 9},
};

/* In WAV files' order of channels. With five and six channels the surrounds are at the sides. */
static const struct hesuvi_layout {
    size_t channels;
    enum hesuvi_speaker places[PLACES];
} layouts[] = {
    {1, {FC}},
    {2, {FL, FR}},
    {4, {FL, FR, BL, BR}},
    {5, {FL, FR, FC, SL, SR}},
    {6, {FL, FR, FC, LFE, SL, SR}},
    {8, {FL, FR, FC, LFE, BL, BR, SL, SR}},
};

static const struct hesuvi_layout *layout_of(size_t channels)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].channels == channels)
            return &layouts[i];
    return NULL;
}

static bool may_be_hesuvi(const struct mask *mask)
{
    return mask->columns == ALL || mask->columns == HALF;
}

static enum status route_hesuvi(struct mask *mask, size_t channels, enum mask_map map)
{
    const struct hesuvi_layout *layout = layout_of(channels);
    if (map != MASK_MAP_AUTO)
        return fail(CAUSE_USAGE, "mask %s: order=hesuvi and map= exclude each other", mask->name);
    if (!may_be_hesuvi(mask))
        return fail(CAUSE_USAGE,
                    "mask %s: order=hesuvi is for a mask of 14 or 7 channels, but it has %zu",
                    mask->name, mask->columns);
    if (!layout)
        return fail(CAUSE_USAGE,
                    "mask %s: order=hesuvi is for a sound of 1, 2, 4, 5, 6 or 8 channels (mono, "
                    "stereo, quad, 5.0, 5.1, 7.1), but it has %zu",
                    mask->name, channels);
    free(mask->paths);
    mask->paths = calloc(EARS * channels, sizeof *mask->paths);
    if (!mask->paths)
        return fail_memory("a mask");
    mask->path_count = EARS * channels;
    mask->inputs = channels;
    mask->outputs = EARS;
    for (size_t p = 0; p < mask->path_count; p++) {
        size_t column = columns_of[layout->places[p / EARS]][p % EARS];
        mask->paths[p] = (struct mask_path){p / EARS, p % EARS, column % mask->columns};
    }
    return STATUS_OK;
}

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
    const char *hesuvi = may_be_hesuvi(mask) ? "; order=hesuvi if it is one of HeSuVi" : "";
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

/* Whether each input goes to the output of the same number, all through the same column. */
static bool is_alike(const struct mask *mask)
{
    const struct mask_path *paths = mask->paths;
    size_t p = 0;
    while (p < mask->path_count && paths[p].input == p && paths[p].output == p &&
           paths[p].column == paths[0].column)
        p++;
    return p > 0 && p == mask->path_count && p == mask->inputs && p == mask->outputs;
}

/* Own paths fit only their own number of channels, unless they filter all channels equally. */
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
        return route_hesuvi(mask, channels, map);
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

    /* Columns of a true-stereo mask or a matrix, by (input, output). */
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
        if (map == MASK_MAP_AUTO && may_be_hesuvi(mask))
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

/* ---- masks that add a part of their input (mask_mix) ---- */

static bool is_dry(const struct mask *mask, struct mask_path path)
{
    return path.input == path.output % mask->inputs;
}

/* Plans the new columns and returns their number. of[c]: the column for dry paths through column c,
 * a copy if other paths use c, too. of[columns]: for dry paths that the mask does not have. */
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

static void fill_mixed(const struct mask *mask, const size_t *of, struct mask *mixed)
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
    fill_mixed(mask, of, mixed);
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
