/* The network of a BruteFIR configuration, folded into a matrix of responses. */
#include "mask/mask_brutefir.h"

#include <string.h>

/* BruteFIR's names of formats that other programs use for another format; those of version 1.0m on,
 * which has S24_4LE in the low bits, as ALSA has it. */
static const struct raw_format *format_named(const char *name)
{
    static const struct {
        const char *theirs, *ours;
    } names[] = {
        {"S16_NE", "S16_LE"},   {"S24_LE", "S24_3_LE"},     {"S24_BE", "S24_3_BE"},
        {"S24_NE", "S24_3_LE"}, {"S24_4LE", "S24_4_RJ_LE"}, {"S24_4NE", "S24_4_RJ_LE"},
        {"S32_NE", "S32_LE"},   {"FLOAT_NE", "F32_LE"},     {"FLOAT64_NE", "F64_LE"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i].theirs) == 0)
            return raw_format_named(names[i].ours);
    return raw_format_named(name);
}

/* The item, whose first member is its name, of a name or an index; NULL: none. */
static void *find(void *items, size_t count, size_t size, const char *name, bool is_index)
{
    uint64_t number;
    is_index = is_index && mask_config_count(name, &number);
    for (size_t i = 0; i < count; i++) {
        void *item = (char *)items + i * size;
        if (is_index ? number == i : strcmp(name, *(char **)item) == 0)
            return item;
    }
    return NULL;
}

static struct brutefir_channel *find_channel(struct brutefir_channels *channels,
                                             const struct brutefir_link *link)
{
    return find(channels->at, channels->count, sizeof *channels->at, link->name, link->is_index);
}

static enum status load_coeff(struct brutefir *brutefir, const struct brutefir_coeff *coeff,
                              const struct mask **mask)
{
    struct raw_layout raw = {.skip = coeff->skip};
    brutefir->config->line = coeff->line;
    if (!coeff->file)
        return mask_config_refuse(brutefir->config, "coeff %s has no filename", coeff->name);
    bool is_text = !coeff->format || strcmp(coeff->format, "text") == 0;
    if (!is_text && !(raw.format = format_named(coeff->format)))
        return mask_config_refuse(
            brutefir->config, "coefficients of the format '%.40s' cannot be read", coeff->format);
    if (is_text && coeff->skip)
        return mask_config_refuse(brutefir->config, "skip: in a text cannot be read");
    TRY(mask_config_mask(brutefir->config, coeff->file, is_text ? NULL : &raw, mask));
    if ((*mask)->columns != 1)
        return mask_config_refuse(brutefir->config, "%s has %zu channels instead of one",
                                  coeff->file, (*mask)->columns);
    return STATUS_OK;
}

/* BruteFIR's filters are no longer than their length, of which a delay in blocks is a part. */
static size_t taps_of(const struct brutefir *brutefir, const struct brutefir_filter *filter,
                      const struct brutefir_coeff *coeff, size_t taps)
{
    uint64_t blocks = brutefir->blocks - filter->delay;
    if (coeff->blocks && coeff->blocks < blocks)
        blocks = coeff->blocks;
    if (brutefir->block == 0 || taps <= brutefir->block * blocks)
        return taps;
    note(
        "mask %s: line %zu: filter_length, less a filter's delay, holds %llu of %zu taps; the rest "
        "is ignored, as BruteFIR does",
        brutefir->config->file, coeff->line, (unsigned long long)(brutefir->block * blocks), taps);
    return (size_t)(brutefir->block * blocks);
}

static enum status apply_coeff(struct brutefir *brutefir, struct brutefir_filter *filter)
{
    const struct mask *mask;
    uint64_t delay = filter->delay * brutefir->block;
    if (filter->delay && !brutefir->block)
        return mask_config_refuse(brutefir->config, "a delay in blocks, and no filter_length");
    if (filter->delay && filter->delay >= brutefir->blocks)
        return mask_config_refuse(brutefir->config,
                                  "a delay of %llu blocks, but filter_length has %llu, of which it "
                                  "must leave one",
                                  (unsigned long long)filter->delay,
                                  (unsigned long long)brutefir->blocks);
    if (!filter->coeff || strcmp(filter->coeff, "-1") == 0)
        return mask_matrix_gain(filter->response, 0, 1, delay);
    const struct brutefir_coeff *coeff =
        find(brutefir->coeffs, brutefir->coeff_count, sizeof *brutefir->coeffs, filter->coeff,
             filter->has_coeff_index);
    if (!coeff)
        return mask_config_refuse(brutefir->config, "there is no coeff %s", filter->coeff);
    if (coeff->file && strcmp(coeff->file, "dirac pulse") == 0)
        return mask_matrix_gain(filter->response, 0, coeff->gain, delay);
    TRY(load_coeff(brutefir, coeff, &mask));
    return mask_matrix_filter(filter->response, 0, coeff->gain, delay, mask_column(mask, 0),
                              taps_of(brutefir, filter, coeff, mask->taps));
}

static enum status add_inputs(struct brutefir *brutefir, struct brutefir_filter *filter)
{
    static const double one = 1;
    for (size_t i = 0; i < filter->from_inputs.count; i++) {
        const struct brutefir_link *link = &filter->from_inputs.at[i];
        const struct brutefir_channel *input = find_channel(&brutefir->inputs, link);
        brutefir->config->line = link->line;
        if (!input)
            return mask_config_refuse(brutefir->config, "there is no input %s", link->name);
        if (!input->is_muted)
            TRY(mask_matrix_add(filter->response, input->device, 0, link->gain, input->delay, &one,
                                1));
    }
    return STATUS_OK;
}

static enum status solve(struct brutefir *brutefir, struct brutefir_filter *filter, size_t depth);

static bool names(const struct brutefir_links *links, const struct brutefir_filter *filter)
{
    for (size_t i = 0; i < links->count; i++)
        if (links->at[i].filter == filter)
            return true;
    return false;
}

/* A link may be stated at either end or at both; it counts once. */
static enum status add_filters(struct brutefir *brutefir, struct brutefir_filter *filter,
                               size_t depth)
{
    for (size_t i = 0; i < filter->from_filters.count; i++) {
        const struct brutefir_link *link = &filter->from_filters.at[i];
        TRY(solve(brutefir, link->filter, depth + 1));
        TRY(mask_matrix_add_output(filter->response, 0, link->filter->response, 0, link->gain));
    }
    for (size_t i = 0; i < brutefir->filter_count; i++) {
        struct brutefir_filter *from = &brutefir->filters[i];
        if (!names(&from->to_filters, filter) || names(&filter->from_filters, from))
            continue;
        TRY(solve(brutefir, from, depth + 1));
        TRY(mask_matrix_add_output(filter->response, 0, from->response, 0, 1));
    }
    return STATUS_OK;
}

/* The response of a filter, from those of the filters that feed it. */
static enum status solve(struct brutefir *brutefir, struct brutefir_filter *filter, size_t depth)
{
    brutefir->config->line = filter->line;
    if (filter->state == FILTER_DONE)
        return STATUS_OK;
    if (filter->state == FILTER_ENTERED || depth > BRUTEFIR_FILTERS_MOST)
        return mask_config_refuse(brutefir->config, "filter %s feeds itself", filter->name);
    filter->state = FILTER_ENTERED;
    TRY(mask_matrix_create(brutefir->config, brutefir->inputs.devices, 1, &filter->response));
    TRY(add_inputs(brutefir, filter));
    TRY(add_filters(brutefir, filter, depth));
    brutefir->config->line = filter->line;
    TRY(apply_coeff(brutefir, filter));
    filter->state = FILTER_DONE;
    return STATUS_OK;
}

static enum status add_delayed(struct brutefir *brutefir, const struct brutefir_filter *filter,
                               double gain, const struct brutefir_channel *output,
                               struct mask_matrix *delayed)
{
    TRY(mask_matrix_add_output(delayed, 0, filter->response, 0, gain));
    TRY(mask_matrix_gain(delayed, 0, 1, output->delay));
    return mask_matrix_add_output(brutefir->config->matrix, output->device, delayed, 0, 1);
}

static enum status add_outputs(struct brutefir *brutefir, const struct brutefir_filter *filter)
{
    for (size_t i = 0; i < filter->to_outputs.count; i++) {
        const struct brutefir_link *link = &filter->to_outputs.at[i];
        const struct brutefir_channel *output = find_channel(&brutefir->outputs, link);
        brutefir->config->line = link->line;
        if (!output)
            return mask_config_refuse(brutefir->config, "there is no output %s", link->name);
        if (output->is_muted)
            continue;
        struct mask_matrix *delayed;
        TRY(mask_matrix_create(brutefir->config, brutefir->inputs.devices, 1, &delayed));
        enum status status = add_delayed(brutefir, filter, link->gain, output, delayed);
        mask_matrix_destroy(delayed);
        TRY(status);
    }
    return STATUS_OK;
}

static enum status resolve(struct brutefir *brutefir, struct brutefir_links *links)
{
    for (size_t i = 0; i < links->count; i++) {
        struct brutefir_link *link = &links->at[i];
        link->filter = find(brutefir->filters, brutefir->filter_count, sizeof *brutefir->filters,
                            link->name, link->is_index);
        brutefir->config->line = link->line;
        if (!link->filter)
            return mask_config_refuse(brutefir->config, "there is no filter %s", link->name);
    }
    return STATUS_OK;
}

enum status brutefir_to_mask(struct brutefir *brutefir, struct mask **mask)
{
    struct mask_config *config = brutefir->config;
    config->line = 0;
    if (brutefir->inputs.devices == 0 || brutefir->outputs.devices == 0)
        return mask_config_refuse(config, "it has no inputs or no outputs");
    for (size_t i = 0; i < brutefir->filter_count; i++) {
        TRY(resolve(brutefir, &brutefir->filters[i].from_filters));
        TRY(resolve(brutefir, &brutefir->filters[i].to_filters));
    }
    TRY(mask_matrix_create(config, brutefir->inputs.devices, brutefir->outputs.devices,
                           &config->matrix));
    for (size_t i = 0; i < brutefir->filter_count; i++) {
        TRY(solve(brutefir, &brutefir->filters[i], 0));
        TRY(add_outputs(brutefir, &brutefir->filters[i]));
    }
    return mask_matrix_to_mask(config->matrix, mask);
}
