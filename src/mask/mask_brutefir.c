/* Configurations of BruteFIR: its coeff, input, output and filter blocks. Settings of devices,
 * processes and speed do not change the sound and are ignored; fractional delays, the equaliser
 * module and the like are refused. */
#include "mask/mask_brutefir.h"
#include "mask/brutefir_tokens.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- fields ---- */

/* NAME[/ATTENUATION][/MULTIPLIER], ... */
static enum status parse_links(struct brutefir_tokens *tokens, struct brutefir_links *links)
{
    enum status status;
    do {
        if (brutefir_at(tokens, ',') && (status = brutefir_next(tokens)) != STATUS_OK)
            return status;
        if (links->count == BRUTEFIR_NAMES_MOST)
            return mask_config_refuse(tokens->config, "more than %d names", BRUTEFIR_NAMES_MOST);
        struct brutefir_link *link = &links->at[links->count++];
        *link = (struct brutefir_link){.line = tokens->config->line, .gain = 1};
        status = brutefir_text(tokens, &link->name);
        for (int i = 0; i < 2 && status == STATUS_OK && brutefir_at(tokens, '/'); i++) {
            double value;
            status = brutefir_next(tokens);
            if (status != STATUS_OK || brutefir_at(tokens, '/'))
                continue;
            status = brutefir_number(tokens, &value);
            if (status == STATUS_OK)
                link->gain *= i == 0 ? audio_from_db(-value) : value;
        }
    } while (status == STATUS_OK && brutefir_at(tokens, ','));
    return status;
}

static enum status refuse_field(struct brutefir_tokens *tokens, const char *block,
                                const char *field)
{
    return mask_config_refuse(tokens->config, "%s: of a BruteFIR %s cannot be read as a mask",
                              field, block);
}

static enum status parse_coeff_field(struct brutefir_tokens *tokens, void *context,
                                    const char *field)
{
    struct brutefir_coeff *coeff = context;
    char *text = NULL;
    double number = 0;
    enum status status;
    if (strcmp(field, "filename") == 0) {
        if (tokens->now.kind != TOKEN_STRING)
            return refuse_field(tokens, "coeff", "shared memory in filename");
        coeff->line = tokens->config->line;
        return brutefir_text(tokens, &coeff->file);
    }
    if (strcmp(field, "format") == 0) {
        status = brutefir_text(tokens, &text);
        coeff->format = text;
        return status;
    }
    if (strcmp(field, "attenuation") == 0) {
        status = brutefir_number(tokens, &number);
        coeff->gain = audio_from_db(-number);
        return status;
    }
    if (strcmp(field, "skip") == 0)
        return brutefir_count(tokens, "skip:", &coeff->skip);
    if (strcmp(field, "blocks") == 0) {
        status = brutefir_number(tokens, &number);
        coeff->blocks = number >= 1 && number < 1e9 ? (uint64_t)number : 0;
        return status;
    }
    return strcmp(field, "shared_mem") == 0 ? brutefir_pass_over(tokens, NULL)
                                            : refuse_field(tokens, "coeff", field);
}

static enum status parse_filter_field(struct brutefir_tokens *tokens, void *context,
                                     const char *field)
{
    struct brutefir_filter *filter = context;
    double number = 0;
    enum status status;
    if (strcmp(field, "from_inputs") == 0)
        return parse_links(tokens, &filter->from_inputs);
    if (strcmp(field, "from_filters") == 0)
        return parse_links(tokens, &filter->from_filters);
    if (strcmp(field, "to_outputs") == 0)
        return parse_links(tokens, &filter->to_outputs);
    if (strcmp(field, "to_filters") == 0)
        return parse_links(tokens, &filter->to_filters);
    if (strcmp(field, "coeff") == 0)
        return brutefir_text(tokens, &filter->coeff);
    if (strcmp(field, "delay") == 0) {
        status = brutefir_number(tokens, &number);
        filter->delay = number > 0 && number < 1e9 ? (uint64_t)number : 0;
        return status;
    }
    return strcmp(field, "process") == 0 || strcmp(field, "crossfade") == 0
               ? brutefir_pass_over(tokens, NULL)
               : refuse_field(tokens, "filter", field);
}

/* Channels that one input or output block adds to those before. */
struct channel_block {
    struct brutefir_channels *channels;
    size_t first;
    size_t used; /* of the device; 0: not said */
    bool is_mapped;
};

static enum status parse_values(struct brutefir_tokens *tokens, struct channel_block *block,
                               enum status (*take)(struct brutefir_tokens *, struct channel_block *,
                                                   struct brutefir_channel *))
{
    for (size_t i = block->first;; i++) {
        if (i == block->channels->count)
            return mask_config_refuse(tokens->config, "more values than channels");
        TRY(take(tokens, block, &block->channels->at[i]));
        if (!brutefir_at(tokens, ','))
            return STATUS_OK;
        TRY(brutefir_next(tokens));
    }
    return STATUS_OK;
}

static enum status parse_delay(struct brutefir_tokens *tokens, struct channel_block *block,
                              struct brutefir_channel *channel)
{
    (void)block;
    return brutefir_count(tokens, "delay:", &channel->delay);
}

static enum status parse_mute(struct brutefir_tokens *tokens, struct channel_block *block,
                             struct brutefir_channel *channel)
{
    (void)block;
    char *text = NULL;
    enum status status = brutefir_text(tokens, &text);
    channel->is_muted = status == STATUS_OK && strcmp(text, "true") == 0;
    return status;
}

static enum status parse_mapping(struct brutefir_tokens *tokens, struct channel_block *block,
                                struct brutefir_channel *channel)
{
    uint64_t device = 0;
    block->is_mapped = true;
    TRY(brutefir_count(tokens, "mapping:", &device));
    if (device >= BRUTEFIR_NAMES_MOST)
        return mask_config_refuse(tokens->config, "mapping: to channel %llu",
                                  (unsigned long long)device);
    channel->device = block->channels->devices + (size_t)device;
    return STATUS_OK;
}

/* OPEN[/USED, USED, ...]: how many of a device's channels there are. */
static enum status take_used(struct brutefir_tokens *tokens, struct channel_block *block)
{
    uint64_t value = 0;
    TRY(brutefir_count(tokens, "channels:", &value));
    block->used = value < BRUTEFIR_NAMES_MOST ? (size_t)value : BRUTEFIR_NAMES_MOST;
    if (!brutefir_at(tokens, '/'))
        return STATUS_OK;
    block->used = 0;
    do {
        TRY(brutefir_next(tokens));
        TRY(brutefir_count(tokens, "channels:", &value));
        block->used++;
    } while (brutefir_at(tokens, ',') && block->used < BRUTEFIR_NAMES_MOST);
    return STATUS_OK;
}

static enum status parse_subdelay(struct brutefir_tokens *tokens)
{
    double value = 0;
    do {
        TRY(brutefir_at(tokens, ',') ? brutefir_next(tokens) : STATUS_OK);
        TRY(brutefir_number(tokens, &value));
        if (value != 0 && fabs(value) <= 99)
            return mask_config_refuse(tokens->config,
                                      "a fractional delay (subdelay) cannot be read as a mask");
    } while (brutefir_at(tokens, ','));
    return STATUS_OK;
}

static enum status parse_channel_field(struct brutefir_tokens *tokens, void *context,
                                      const char *field)
{
    static const char *const silent[] = {"device", "sample", "maxdelay", "individual_maxdelay",
                                         "dither", "merge"};
    struct channel_block *block = context;
    if (strcmp(field, "delay") == 0)
        return parse_values(tokens, block, parse_delay);
    if (strcmp(field, "mute") == 0)
        return parse_values(tokens, block, parse_mute);
    if (strcmp(field, "mapping") == 0)
        return parse_values(tokens, block, parse_mapping);
    if (strcmp(field, "channels") == 0)
        return take_used(tokens, block);
    if (strcmp(field, "subdelay") == 0)
        return parse_subdelay(tokens);
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
        if (strcmp(field, silent[i]) == 0)
            return brutefir_pass_over(tokens, NULL);
    return refuse_field(tokens, "channel", field);
}

/* { FIELD: ...; ... }; */
static enum status parse_fields(struct brutefir_tokens *tokens, void *context,
                               enum status (*take)(struct brutefir_tokens *, void *, const char *))
{
    char *field = NULL;
    TRY(brutefir_expect(tokens, '{'));
    while (!brutefir_at(tokens, '}')) {
        TRY(brutefir_text(tokens, &field));
        TRY(brutefir_expect(tokens, ':'));
        TRY(take(tokens, context, field));
        TRY(brutefir_expect(tokens, ';'));
    }
    TRY(brutefir_expect(tokens, '}'));
    return brutefir_expect(tokens, ';');
}

/* ---- blocks ---- */

static enum status parse_coeff(struct brutefir_tokens *tokens)
{
    struct brutefir *brutefir = tokens->context;
    if (brutefir->coeff_count == BRUTEFIR_FILTERS_MOST)
        return mask_config_refuse(brutefir->config, "more than %d coeffs", BRUTEFIR_FILTERS_MOST);
    struct brutefir_coeff *coeff = &brutefir->coeffs[brutefir->coeff_count++];
    *coeff = (struct brutefir_coeff){.line = brutefir->config->line, .gain = 1};
    TRY(brutefir_text(tokens, &coeff->name));
    return parse_fields(tokens, coeff, parse_coeff_field);
}

static enum status parse_filter(struct brutefir_tokens *tokens)
{
    struct brutefir *brutefir = tokens->context;
    if (brutefir->filter_count == BRUTEFIR_FILTERS_MOST)
        return mask_config_refuse(brutefir->config, "more than %d filters", BRUTEFIR_FILTERS_MOST);
    struct brutefir_filter *filter = &brutefir->filters[brutefir->filter_count++];
    filter->line = brutefir->config->line;
    TRY(brutefir_text(tokens, &filter->name));
    return parse_fields(tokens, filter, parse_filter_field);
}

static enum status parse_channels(struct brutefir_tokens *tokens, struct brutefir_channels *channels)
{
    struct channel_block block = {.channels = channels, .first = channels->count};
    struct brutefir_links names = {0};
    TRY(parse_links(tokens, &names));
    if (names.count > BRUTEFIR_NAMES_MOST - channels->count)
        return mask_config_refuse(tokens->config, "more than %d channels", BRUTEFIR_NAMES_MOST);
    for (size_t i = 0; i < names.count; i++)
        channels->at[channels->count++] =
            (struct brutefir_channel){.name = names.at[i].name, .device = channels->devices + i};
    TRY(parse_fields(tokens, &block, parse_channel_field));
    if (block.used == 0 || !block.is_mapped)
        block.used = names.count;
    for (size_t i = block.first; i < channels->count; i++)
        if (channels->at[i].device >= channels->devices + block.used)
            return mask_config_refuse(tokens->config, "mapping: to channel %zu of %zu",
                                      channels->at[i].device - channels->devices, block.used);
    if (channels->devices + block.used > MATRIX_CHANNELS_MOST)
        return mask_config_refuse(tokens->config, "more than %d channels", MATRIX_CHANNELS_MOST);
    channels->devices += block.used;
    return STATUS_OK;
}

static enum status parse_setting(struct brutefir_tokens *tokens, const char *name)
{
    static const char *const silent[] = {
        "float_bits",      "config_file",  "overflow_warnings", "show_progress",
        "allow_poll_mode", "modules_path", "powersave",         "monitor_rate",
        "lock_memory",     "sdf_length",   "convolver_config",  "max_dither_table_size",
        "benchmark",       "safety_limit"};
    struct brutefir *brutefir = tokens->context;
    uint64_t value = 0;
    enum status status = brutefir_expect(tokens, ':');
    if (status != STATUS_OK)
        return status;
    if (strcmp(name, "sampling_rate") == 0) {
        status = brutefir_count(tokens, "the rate", &value);
        if (status == STATUS_OK && (value < 1 || value > MASK_RATE_MOST))
            status = mask_config_refuse(brutefir->config, "a rate from 1 to %d", MASK_RATE_MOST);
        return status == STATUS_OK ? mask_config_rate(brutefir->config, (uint32_t)value) : status;
    }
    if (strcmp(name, "filter_length") == 0) {
        status = brutefir_count(tokens, "filter_length", &brutefir->block);
        brutefir->blocks = 1;
        if (status == STATUS_OK && brutefir_at(tokens, ',') &&
            (status = brutefir_next(tokens)) == STATUS_OK)
            status = brutefir_count(tokens, "filter_length", &brutefir->blocks);
        if (status == STATUS_OK &&
            (brutefir->block > MATRIX_TAPS_MOST || brutefir->blocks > MATRIX_TAPS_MOST))
            status = mask_config_refuse(brutefir->config, "an invalid filter_length");
        return status;
    }
    if (strcmp(name, "logic") == 0 && tokens->now.kind == TOKEN_STRING &&
        strcmp(tokens->now.text, "cli") != 0)
        return mask_config_refuse(brutefir->config, "the module %.40s cannot be read as a mask",
                                  tokens->now.text);
    if (strcmp(name, "logic") == 0)
        return brutefir_pass_over(tokens, "script");
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
        if (strcmp(name, silent[i]) == 0)
            return brutefir_pass_over(tokens, NULL);
    return mask_config_refuse(brutefir->config, "BruteFIR has no setting '%.40s'", name);
}

static enum status read_all(struct brutefir *brutefir)
{
    struct brutefir_tokens tokens = {
        .config = brutefir->config, .context = brutefir, .at = brutefir->config->text};
    brutefir->config->line = 1;
    brutefir->coeffs = calloc(BRUTEFIR_FILTERS_MOST, sizeof *brutefir->coeffs);
    brutefir->filters = calloc(BRUTEFIR_FILTERS_MOST, sizeof *brutefir->filters);
    if (!brutefir->coeffs || !brutefir->filters)
        return fail_memory("a mask");
    TRY(brutefir_next(&tokens));
    while (tokens.now.kind != TOKEN_END) {
        char *name = NULL;
        TRY(brutefir_text(&tokens, &name));
        if (strcmp(name, "coeff") == 0)
            TRY(parse_coeff(&tokens));
        else if (strcmp(name, "input") == 0)
            TRY(parse_channels(&tokens, &brutefir->inputs));
        else if (strcmp(name, "output") == 0)
            TRY(parse_channels(&tokens, &brutefir->outputs));
        else if (strcmp(name, "filter") == 0)
            TRY(parse_filter(&tokens));
        else {
            TRY(parse_setting(&tokens, name));
            TRY(brutefir_expect(&tokens, ';'));
        }
    }
    return STATUS_OK;
}

/* Somewhere a line begins as a block does: coeff "name" { or filter 3 { */
static bool is_brutefir(const struct mask_config *config)
{
    static const char *const fields[] = {"coeff", "filter", "input", "output"};
    for (const char *line = config->text; *line; line += *line == '\n') {
        const char *at = line + strspn(line, " \t");
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
            size_t length = strlen(fields[i]);
            if (strncmp(at, fields[i], length) != 0)
                continue;
            const char *name = at + length + strspn(at + length, " \t");
            const char *brace = strpbrk(name, "{\n");
            if (name > at + length && (*name == '"' || isdigit((unsigned char)*name)) && brace &&
                *brace == '{')
                return true;
        }
        line += strcspn(line, "\n");
    }
    return false;
}

static enum status read_brutefir(struct mask_config *config, struct mask **mask)
{
    struct brutefir brutefir = {.config = config};
    enum status status = read_all(&brutefir);
    if (status == STATUS_OK)
        status = brutefir_to_mask(&brutefir, mask);
    free(brutefir.coeffs);
    free(brutefir.filters);
    return status;
}

const struct mask_reader mask_reader_brutefir = {
    .kind = "BruteFIR configuration",
    .is_my_config = is_brutefir,
    .read_config = read_brutefir,
};
