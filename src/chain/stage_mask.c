#include "chain/stage_mask.h"

#include "chain/mask_options.h"
#include "convolve/convolver.h"
#include "mask/design.h"

#include <stdlib.h>
#include <string.h>

/* Words that a mask that is made does not know are the stage's. */
static enum status load_spec(char **spec, struct mask_options *options, struct mask **mask)
{
    const struct mask_load_options *load = &options->load;
    const char *own = design_options(spec[0]);
    enum status status = STATUS_OK;
    if (own)
        status = design_load(spec, load->sound.rate, load, mask);
    for (char **word = spec + 1; status == STATUS_OK && *word; word++)
        status = mask_options_parse(*word, own, options);
    if (status == STATUS_OK && load->raw.channels && !load->raw.format)
        status = fail(STATUS_USAGE, "channels= goes with raw=; channel=N picks one");
    if (status == STATUS_OK && !own)
        status = design_load(spec, load->sound.rate, load, mask);
    return status;
}

static enum status load_mask(char **spec, const struct stream_format *format,
                             const struct stage_settings *settings, struct mask **mask)
{
    struct mask_options options = {
        .load = {.allow_truncated = settings->allow_truncated, .sound = *format},
    };
    enum status status = load_spec(spec, &options, mask);
    if (status == STATUS_OK)
        status = mask_options_apply(&options, format, settings->align, *mask);
    return status;
}

static void note_mask(const struct mask *mask)
{
    note_detail("mask %s: %zu channels, %zu taps, time zero at tap %zu", mask->name, mask->columns,
                mask->taps, mask->origin);
    for (size_t p = 0; p < mask->path_count; p++)
        note_detail("  input %zu -> mask channel %zu -> output %zu", mask->paths[p].input + 1,
                    mask->paths[p].column + 1, mask->paths[p].output + 1);
}

enum status stage_mask_load(struct stage *stage, char **spec, const struct stream_format *format,
                            const struct stage_settings *settings)
{
    stage->convolver = settings->convolver;
    stage->convolver.rate = format->rate;
    enum status status = load_mask(spec, format, settings, &stage->mask);
    if (status != STATUS_OK)
        return status;
    stage->outputs = stage->mask->outputs;
    note_mask(stage->mask);
    return STATUS_OK;
}

enum status stage_mask_read(const char *text, const struct stream_format *format,
                            const struct stage_settings *settings, struct mask **result)
{
    char **spec = specs_split(text);
    if (!spec)
        return fail_memory("a mask");
    struct mask *mask = NULL;
    enum status status = load_mask(spec, format, settings, &mask);
    free(spec);
    if (status != STATUS_OK) {
        mask_destroy(mask);
        return status;
    }
    note_mask(mask);
    *result = mask;
    return STATUS_OK;
}

/* The channels of a sound that goes with the mask as it is. */
static size_t channels_for(const struct mask *mask, const struct mask_options *options)
{
    size_t columns = options->channel ? 1 : mask->columns;
    if (mask->has_own_paths)
        return mask->inputs;
    return columns == 4 ? 2 : columns;
}

enum status stage_mask_study(const char *text, size_t channels, struct mask **result)
{
    char **spec = specs_split(text);
    if (!spec)
        return fail_memory("a mask");
    struct mask *mask = NULL;
    struct mask_options options = {.load.sound.channels = channels};
    enum status status = load_spec(spec, &options, &mask);
    free(spec);
    if (status == STATUS_OK) {
        struct stream_format format = {mask->rate ? mask->rate : STAGE_MASK_USUAL_RATE, channels};
        if (channels == 0)
            format.channels = channels_for(mask, &options);
        status = mask_options_apply(&options, &format, MASK_ALIGN_OWN, mask);
    }
    if (status != STATUS_OK) {
        mask_destroy(mask);
        return status;
    }
    *result = mask;
    return STATUS_OK;
}

enum status stage_mask_file(const char *text, char **file)
{
    char **spec = specs_split(text);
    bool is_file = spec && !design_is_spec(spec[0]);
    *file = is_file ? strdup(spec[0]) : NULL;
    bool failed = !spec || (is_file && !*file);
    free(spec);
    return failed ? fail_memory("a mask") : STATUS_OK;
}

size_t stage_mask_preferred_block(const struct stage *stage, struct workers *workers, size_t most)
{
    struct convolver_settings settings = stage->convolver;
    settings.workers = workers;
    return convolver_preferred_block(&settings, stage->mask, most);
}

enum status stage_mask_create(struct stage *stage, size_t block, struct workers *workers,
                              struct filter **filter)
{
    struct convolver_settings settings = stage->convolver;
    settings.block = block;
    settings.workers = workers;
    enum status status = convolver_create(&settings, stage->mask, filter);
    if (status != STATUS_OK)
        return status;
    note_detail("mask %s: backend %s, %s, blocks of %zu frames on %zu threads", stage->mask->name,
                convolver_backend(*filter), convolver_algorithm(*filter), block,
                workers_count(workers));
    if (*convolver_reason(*filter))
        note_detail("mask %s: auto took that backend: %s", stage->mask->name,
                    convolver_reason(*filter));
    return STATUS_OK;
}
