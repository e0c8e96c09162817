#include "api/api_call.h"

#include "chain/mask_options.h"
#include "chain/spec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)HALO_CHANNELS_MOST == (int)MASK_CHANNELS_MOST, "halo.h says so");
_Static_assert((int)HALO_RATE_MOST == (int)MASK_RATE_MOST, "halo.h says so");

/* Source of a mask: the words of a spec, or taps. */
struct mask_origin {
    char **spec;
    struct halo_taps taps;
};

static enum status check_name(const void *name)
{
    return name ? STATUS_OK : fail(CAUSE_USAGE, "cannot make a mask: none is named");
}

static enum status check_sound(const void *name, const struct stream_format *format)
{
    TRY(check_name(name));
    if (format->channels < 1 || format->channels > HALO_CHANNELS_MOST)
        return fail(CAUSE_USAGE, "cannot make a mask for %zu channels: 1 to %d are possible",
                    format->channels, HALO_CHANNELS_MOST);
    if (format->rate < 1 || format->rate > HALO_RATE_MOST)
        return fail(CAUSE_USAGE, "cannot make a mask for %u Hz: 1 to %d are possible", format->rate,
                    HALO_RATE_MOST);
    return STATUS_OK;
}

static enum status load(const struct mask_origin *origin, const struct stream_format *format,
                        struct mask **mask)
{
    struct mask_options options = {.load.sound = *format};
    TRY(mask_spec_load(origin->spec, &options, mask));
    if (options.level)
        return fail(CAUSE_USAGE, "level= is for halo render and halo batch: it needs the power of "
                                 "the whole sound, which is known at its end");
    if (format->rate == 0)
        return mask_options_study(&options, format, *mask);
    return mask_options_apply(&options, format, MASK_ALIGN_OWN, *mask);
}

static enum status check_taps(const struct halo_taps *taps)
{
    if (!taps->samples || taps->columns < 1 || taps->columns > HALO_CHANNELS_MOST || taps->taps < 1)
        return fail(CAUSE_USAGE,
                    "cannot make a mask of %zu columns of %zu taps: at least 1 and at "
                    "most %d columns are possible",
                    taps->columns, taps->taps, HALO_CHANNELS_MOST);
    if (taps->columns > 1 && taps->stride < taps->taps)
        return fail(CAUSE_USAGE, "cannot make a mask: its stride %zu is less than its %zu taps",
                    taps->stride, taps->taps);
    if (taps->rate > HALO_RATE_MOST)
        return fail(CAUSE_USAGE, "cannot make a mask of %u Hz: %d are possible", taps->rate,
                    HALO_RATE_MOST);
    for (size_t c = 0; c < taps->columns; c++) {
        const float *column = taps->samples + c * taps->stride;
        size_t at = audio_find_nonfinite(column, taps->taps);
        if (at < taps->taps)
            return fail(CAUSE_USAGE, "cannot make a mask: tap %zu of column %zu is not finite", at,
                        c);
    }
    return STATUS_OK;
}

static enum status copy_paths(const struct halo_taps *taps, size_t channels, struct mask *mask)
{
    if (!taps->paths || taps->path_count == 0)
        return taps->paths ? fail(CAUSE_USAGE, "cannot make a mask: it has no paths") : STATUS_OK;
    if (taps->path_count > (size_t)HALO_CHANNELS_MOST * HALO_CHANNELS_MOST)
        return fail(CAUSE_USAGE, "cannot make a mask of %zu paths: %d are possible",
                    taps->path_count, HALO_CHANNELS_MOST * HALO_CHANNELS_MOST);
    mask->paths = calloc(taps->path_count, sizeof *mask->paths);
    if (!mask->paths)
        return fail_memory("a mask");
    mask->inputs = channels;
    mask->path_count = taps->path_count;
    mask->has_own_paths = true;
    for (size_t p = 0; p < taps->path_count; p++) {
        const struct halo_path *path = &taps->paths[p];
        if (path->input >= channels || path->column >= taps->columns ||
            path->output >= HALO_CHANNELS_MOST)
            return fail(CAUSE_USAGE,
                        "cannot make a mask: path %zu leads from input %zu by column %zu to output "
                        "%zu, and there are %zu inputs, %zu columns and at most %d outputs",
                        p, path->input, path->column, path->output, channels, taps->columns,
                        HALO_CHANNELS_MOST);
        mask->paths[p] = (struct mask_path){path->input, path->output, path->column};
        mask->outputs = path->output >= mask->outputs ? path->output + 1 : mask->outputs;
    }
    return STATUS_OK;
}

static enum status copy(const struct mask_origin *origin, const struct stream_format *format,
                        struct mask **mask)
{
    const struct halo_taps *taps = &origin->taps;
    const struct mask_options options = {.load.sound = *format};
    TRY(check_taps(taps));
    TRY(mask_create("in memory", taps->columns, taps->taps, mask));
    for (size_t c = 0; c < taps->columns; c++)
        for (size_t k = 0; k < taps->taps; k++)
            mask_column(*mask, c)[k] = taps->samples[c * taps->stride + k];
    (*mask)->rate = taps->rate;
    TRY(copy_paths(taps, format->channels, *mask));
    return mask_options_apply(&options, format, MASK_ALIGN_OWN, *mask);
}

typedef enum status mask_maker(const struct mask_origin *origin, const struct stream_format *format,
                               struct mask **mask);

static enum status make(mask_maker *maker, const struct mask_origin *origin,
                        const struct stream_format *format, const struct api_call *call,
                        struct halo_mask **result)
{
    struct halo_mask *made = calloc(1, sizeof *made);
    enum status status = made ? maker(origin, format, &made->mask) : fail_memory("a mask");
    if (status == STATUS_OK) {
        made->rate = format->rate;
        made->notes = strdup(call->notes);
        status = made->notes ? STATUS_OK : fail_memory("a mask");
    }
    if (status == STATUS_OK)
        *result = made;
    else
        halo_mask_destroy(made);
    return status;
}

/* Make the mask of a spec. format: NULL: at the mask's own rate. */
static enum status make_of_spec(const char *spec, const struct stream_format *format,
                                const struct api_call *call, struct halo_mask **mask)
{
    const struct stream_format unknown = {0};
    const struct mask_origin origin = {.spec = spec_split(spec)};
    enum status status = origin.spec ? make(load, &origin, format ? format : &unknown, call, mask)
                                     : fail_memory("a mask");
    free(origin.spec);
    return status;
}

enum halo_status halo_mask_load(const char *spec, uint32_t rate, size_t channels,
                                struct halo_mask **mask, struct halo_error *error)
{
    struct api_call call;
    const struct stream_format format = {.rate = rate, .channels = channels};
    api_begin(&call);
    enum status status = check_sound(spec, &format);
    if (status == STATUS_OK)
        status = make_of_spec(spec, &format, &call, mask);
    return api_end(&call, status, error);
}

enum halo_status halo_mask_read(const char *spec, struct halo_mask **mask, struct halo_error *error)
{
    struct api_call call;
    api_begin(&call);
    enum status status = check_name(spec);
    if (status == STATUS_OK)
        status = make_of_spec(spec, NULL, &call, mask);
    if (status == STATUS_OK)
        (*mask)->rate = (*mask)->mask->rate;
    return api_end(&call, status, error);
}

/* The file with a slash in its name. So it cannot be taken for a filter to make. */
static char *as_path(const char *file)
{
    size_t size = strlen(file) + sizeof "./";
    char *path = malloc(size);
    if (path)
        snprintf(path, size, "%s%s", strchr(file, '/') || !*file ? "" : "./", file);
    return path;
}

enum halo_status halo_mask_load_file(const char *file, uint32_t rate, size_t channels,
                                     struct halo_mask **mask, struct halo_error *error)
{
    struct api_call call;
    const struct stream_format format = {.rate = rate, .channels = channels};
    char *words[] = {NULL, NULL};
    const struct mask_origin origin = {.spec = words};
    api_begin(&call);
    enum status status = check_sound(file, &format);
    if (status == STATUS_OK && !(words[0] = as_path(file)))
        status = fail_memory("a mask");
    char *path = words[0];
    if (status == STATUS_OK)
        status = make(load, &origin, &format, &call, mask);
    free(path);
    return api_end(&call, status, error);
}

enum halo_status halo_mask_from_taps(const struct halo_taps *taps, uint32_t rate, size_t channels,
                                     struct halo_mask **mask, struct halo_error *error)
{
    struct api_call call;
    struct mask_origin origin;
    const struct stream_format format = {.rate = rate, .channels = channels};
    api_begin(&call);
    enum status status = check_sound(taps, &format);
    if (status == STATUS_OK)
        status = api_read_struct(taps, &origin.taps, sizeof origin.taps, "struct halo_taps");
    if (status == STATUS_OK)
        status = make(copy, &origin, &format, &call, mask);
    return api_end(&call, status, error);
}

void halo_mask_destroy(struct halo_mask *mask)
{
    if (!mask)
        return;
    mask_destroy(mask->mask);
    free(mask->notes);
    free(mask);
}

void halo_mask_describe(const struct halo_mask *own, struct halo_mask_info *info)
{
    const struct mask *mask = own->mask;
    const struct halo_mask_info all = {
        .size = info->size,
        .inputs = mask->inputs,
        .outputs = mask->outputs,
        .columns = mask->columns,
        .paths = mask->path_count,
        .taps = mask->taps,
        .origin = mask->origin,
        .rate = own->rate,
    };
    memcpy(info, &all, info->size < sizeof all ? info->size : sizeof all);
}

const char *halo_mask_notes(const struct halo_mask *mask)
{
    return mask->notes;
}

void halo_mask_taps(const struct halo_mask *own, size_t column, float *taps)
{
    const double *from = mask_column(own->mask, column);
    for (size_t k = 0; k < own->mask->taps; k++)
        taps[k] = (float)from[k];
}
