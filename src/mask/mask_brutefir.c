/* Configurations of BruteFIR: its coeff, input, output and filter blocks. Settings of devices,
 * processes and speed do not change the sound and are ignored; fractional delays, the equaliser
 * module and the like are refused. */
#include "mask/mask_brutefir.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* NAME[/ATTENUATION][/MULTIPLIER], ...; an unquoted number is an index, not a name. */
static enum status parse_links(struct brutefir_tokens *tokens, bool may_scale,
                               struct brutefir_links *links)
{
    do {
        if (brutefir_at(tokens, ','))
            TRY(brutefir_next(tokens));
        if (links->count == BRUTEFIR_NAMES_MOST)
            return mask_config_refuse(tokens->config, "more than %d names", BRUTEFIR_NAMES_MOST);
        struct brutefir_link *link = &links->at[links->count++];
        *link = (struct brutefir_link){
            .line = tokens->config->line, .gain = 1, .is_index = tokens->now.kind == TOKEN_WORD};
        TRY(brutefir_text(tokens, &link->name));
        if (brutefir_at(tokens, '/') && !may_scale)
            return mask_config_refuse(tokens->config,
                                      "%s/: BruteFIR scales from_inputs:, to_outputs: and "
                                      "from_filters: alone",
                                      link->name);
        for (int i = 0; i < 2 && brutefir_at(tokens, '/'); i++) {
            double value;
            TRY(brutefir_next(tokens));
            if (brutefir_at(tokens, '/'))
                continue;
            TRY(brutefir_number(tokens, &value));
            link->gain *= i == 0 ? audio_from_db(-value) : value;
        }
    } while (brutefir_at(tokens, ','));
    return STATUS_OK;
}

struct brutefir_field {
    const char *name;
    enum {
        FIELD_IGNORED,
        FIELD_TEXT,
        FIELD_COUNT,
        FIELD_BLOCKS,
        FIELD_DB,
        FIELD_LINKS,
        FIELD_NAMES
    } kind;
    size_t offset; /* in the struct that it sets */
};

#define COEFF(name) offsetof(struct brutefir_coeff, name)
#define FILTER(name) offsetof(struct brutefir_filter, name)
static const struct brutefir_field coeff_fields[] = {
    {"format", FIELD_TEXT, COEFF(format)}, {"attenuation", FIELD_DB, COEFF(gain)},
    {"skip", FIELD_COUNT, COEFF(skip)},    {"blocks", FIELD_BLOCKS, COEFF(blocks)},
    {"shared_mem", FIELD_IGNORED, 0},      {0},
};
static const struct brutefir_field filter_fields[] = {
    {"from_inputs", FIELD_LINKS, FILTER(from_inputs)},
    {"from_filters", FIELD_LINKS, FILTER(from_filters)},
    {"to_outputs", FIELD_LINKS, FILTER(to_outputs)},
    {"to_filters", FIELD_NAMES, FILTER(to_filters)},
    {"coeff", FIELD_TEXT, FILTER(coeff)},
    {"delay", FIELD_BLOCKS, FILTER(delay)},
    {"process", FIELD_IGNORED, 0},
    {"crossfade", FIELD_IGNORED, 0},
    {0},
};

static enum status refuse_field(struct brutefir_tokens *tokens, const char *block,
                                const char *field)
{
    return mask_config_refuse(tokens->config, "%s: of a BruteFIR %s cannot be read as a mask",
                              field, block);
}

static enum status parse_field(struct brutefir_tokens *tokens, const struct brutefir_field *field,
                               void *to)
{
    double number = 0;
    switch (field->kind) {
    case FIELD_TEXT:
        return brutefir_text(tokens, to);
    case FIELD_COUNT:
        return brutefir_count(tokens, "skip:", to);
    case FIELD_LINKS:
    case FIELD_NAMES:
        return parse_links(tokens, field->kind == FIELD_LINKS, to);
    case FIELD_BLOCKS:
        TRY(brutefir_number(tokens, &number));
        *(uint64_t *)to = number > 0 && number < 1e9 ? (uint64_t)number : 0;
        return STATUS_OK;
    case FIELD_DB:
        TRY(brutefir_number(tokens, &number));
        *(double *)to = audio_from_db(-number);
        return STATUS_OK;
    default:
        return brutefir_skip(tokens, false);
    }
}

static enum status parse_known(struct brutefir_tokens *tokens, const struct brutefir_field *fields,
                               const char *block, const char *name, void *object)
{
    for (const struct brutefir_field *field = fields; field->name; field++)
        if (strcmp(name, field->name) == 0)
            return parse_field(tokens, field, (char *)object + field->offset);
    return refuse_field(tokens, block, name);
}

static enum status parse_coeff_field(struct brutefir_tokens *tokens, void *context,
                                     const char *field)
{
    struct brutefir_coeff *coeff = context;
    if (strcmp(field, "filename") != 0)
        return parse_known(tokens, coeff_fields, "coeff", field, coeff);
    if (tokens->now.kind != TOKEN_STRING)
        return refuse_field(tokens, "coeff", "shared memory in filename");
    coeff->line = tokens->config->line;
    return brutefir_text(tokens, &coeff->file);
}

static enum status parse_filter_field(struct brutefir_tokens *tokens, void *context,
                                      const char *field)
{
    struct brutefir_filter *filter = context;
    if (strcmp(field, "coeff") == 0)
        filter->has_coeff_index = tokens->now.kind == TOKEN_WORD;
    return parse_known(tokens, filter_fields, "filter", field, filter);
}

/* Channels that one input or output block adds to the previous ones. */
struct channel_block {
    struct brutefir_channels *channels;
    size_t first;
    size_t used; /* channels of the device; 0: not given */
    bool is_mapped;
    size_t chosen_count; /* of them, where they are listed; 0: they are not */
    uint64_t chosen[BRUTEFIR_NAMES_MOST];
};

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

/* delay:, mute: or mapping:, a value for each channel of the block. */
static enum status parse_values(struct brutefir_tokens *tokens, struct channel_block *block,
                                const char *field)
{
    char *text = NULL;
    for (size_t i = block->first;; i++) {
        if (i == block->channels->count)
            return mask_config_refuse(tokens->config, "more values than channels");
        struct brutefir_channel *channel = &block->channels->at[i];
        if (*field == 'd') {
            TRY(brutefir_count(tokens, "delay:", &channel->delay));
        } else if (strcmp(field, "mute") == 0) {
            TRY(brutefir_text(tokens, &text));
            channel->is_muted = strcmp(text, "true") == 0;
        } else {
            TRY(parse_mapping(tokens, block, channel));
        }
        if (!brutefir_at(tokens, ','))
            return STATUS_OK;
        TRY(brutefir_next(tokens));
    }
}

/* OPEN[/USED, USED, ...]: the number of channels of the device, and which of them are used. */
static enum status parse_used(struct brutefir_tokens *tokens, struct channel_block *block)
{
    uint64_t open = 0, value = 0;
    TRY(brutefir_count(tokens, "channels:", &open));
    block->used = open < BRUTEFIR_NAMES_MOST ? (size_t)open : BRUTEFIR_NAMES_MOST;
    if (!brutefir_at(tokens, '/'))
        return STATUS_OK;
    do {
        TRY(brutefir_next(tokens));
        TRY(brutefir_count(tokens, "channels:", &value));
        if (value >= open)
            return mask_config_refuse(tokens->config, "channels: channel %llu of %llu, from 0",
                                      (unsigned long long)value, (unsigned long long)open);
        for (size_t i = 0; i < block->chosen_count; i++)
            if (block->chosen[i] == value)
                return mask_config_refuse(tokens->config, "channels: channel %llu is used twice",
                                          (unsigned long long)value);
        if (block->chosen_count == BRUTEFIR_NAMES_MOST)
            return mask_config_refuse(tokens->config, "more than %d channels", BRUTEFIR_NAMES_MOST);
        block->chosen[block->chosen_count++] = value;
    } while (brutefir_at(tokens, ','));
    block->used = block->chosen_count;
    return STATUS_OK;
}

/* The place among the used channels, in the device's order, of the one that is listed at `at`. */
static size_t place_of(const struct channel_block *block, size_t at)
{
    size_t place = 0;
    for (size_t i = 0; i < block->chosen_count; i++)
        place += block->chosen[i] < block->chosen[at];
    return place;
}

static enum status settle_channels(struct brutefir_tokens *tokens, struct channel_block *block)
{
    struct brutefir_channels *channels = block->channels;
    if (block->used == 0 || (!block->is_mapped && block->chosen_count == 0))
        block->used = channels->count - block->first;
    for (size_t i = block->first; i < channels->count; i++) {
        size_t at = channels->at[i].device - channels->devices;
        if (at >= block->used)
            return mask_config_refuse(tokens->config, "%s: to channel %zu of %zu",
                                      block->is_mapped ? "mapping" : "channels", at, block->used);
        if (block->chosen_count > 0)
            channels->at[i].device = channels->devices + place_of(block, at);
    }
    if (channels->devices + block->used > MATRIX_CHANNELS_MOST)
        return mask_config_refuse(tokens->config, "more than %d channels", MATRIX_CHANNELS_MOST);
    channels->devices += block->used;
    return STATUS_OK;
}

static enum status parse_subdelay(struct brutefir_tokens *tokens)
{
    double value = 0;
    do {
        if (brutefir_at(tokens, ','))
            TRY(brutefir_next(tokens));
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
    static const struct brutefir_field ignored[] = {
        {.name = "device"},
        {.name = "sample"},
        {.name = "maxdelay"},
        {.name = "individual_maxdelay"},
        {.name = "dither"},
        {.name = "merge"},
        {0},
    };
    if (strcmp(field, "delay") == 0 || strcmp(field, "mute") == 0 || strcmp(field, "mapping") == 0)
        return parse_values(tokens, context, field);
    if (strcmp(field, "channels") == 0)
        return parse_used(tokens, context);
    if (strcmp(field, "subdelay") == 0)
        return parse_subdelay(tokens);
    return parse_known(tokens, ignored, "channel", field, context);
}

/* { FIELD: ...; ... }; */
static enum status parse_fields(struct brutefir_tokens *tokens, void *context,
                                enum status (*parse)(struct brutefir_tokens *, void *,
                                                     const char *))
{
    char *field = NULL;
    TRY(brutefir_expect(tokens, '{'));
    while (!brutefir_at(tokens, '}')) {
        TRY(brutefir_text(tokens, &field));
        TRY(brutefir_expect(tokens, ':'));
        TRY(parse(tokens, context, field));
        TRY(brutefir_expect(tokens, ';'));
    }
    TRY(brutefir_expect(tokens, '}'));
    return brutefir_expect(tokens, ';');
}

static enum status parse_coeff(struct brutefir_tokens *tokens, struct brutefir *brutefir)
{
    if (brutefir->coeff_count == BRUTEFIR_FILTERS_MOST)
        return mask_config_refuse(tokens->config, "more than %d coeffs", BRUTEFIR_FILTERS_MOST);
    struct brutefir_coeff *coeff = &brutefir->coeffs[brutefir->coeff_count++];
    *coeff = (struct brutefir_coeff){.line = tokens->config->line, .gain = 1};
    TRY(brutefir_text(tokens, &coeff->name));
    return parse_fields(tokens, coeff, parse_coeff_field);
}

static enum status parse_filter(struct brutefir_tokens *tokens, struct brutefir *brutefir)
{
    if (brutefir->filter_count == BRUTEFIR_FILTERS_MOST)
        return mask_config_refuse(tokens->config, "more than %d filters", BRUTEFIR_FILTERS_MOST);
    struct brutefir_filter *filter = &brutefir->filters[brutefir->filter_count++];
    filter->line = tokens->config->line;
    TRY(brutefir_text(tokens, &filter->name));
    return parse_fields(tokens, filter, parse_filter_field);
}

static enum status parse_channels(struct brutefir_tokens *tokens,
                                  struct brutefir_channels *channels)
{
    struct channel_block block = {.channels = channels, .first = channels->count};
    struct brutefir_links names = {0};
    TRY(parse_links(tokens, false, &names));
    if (names.count > BRUTEFIR_NAMES_MOST - channels->count)
        return mask_config_refuse(tokens->config, "more than %d channels", BRUTEFIR_NAMES_MOST);
    for (size_t i = 0; i < names.count; i++)
        channels->at[channels->count++] =
            (struct brutefir_channel){.name = names.at[i].name, .device = channels->devices + i};
    TRY(parse_fields(tokens, &block, parse_channel_field));
    return settle_channels(tokens, &block);
}

static enum status parse_setting(struct brutefir_tokens *tokens, struct brutefir *brutefir,
                                 const char *name)
{
    static const char *const ignored[] = {
        "float_bits",      "config_file",  "overflow_warnings", "show_progress",
        "allow_poll_mode", "modules_path", "powersave",         "monitor_rate",
        "lock_memory",     "benchmark",    "convolver_config",  "max_dither_table_size",
        "safety_limit"};
    uint64_t value = 0;
    double half = 0;
    TRY(brutefir_expect(tokens, ':'));
    if (strcmp(name, "sampling_rate") == 0) {
        TRY(brutefir_count(tokens, "the rate", &value));
        if (value < 1 || value > MASK_RATE_MOST)
            return mask_config_refuse(tokens->config, "a rate from 1 to %d", MASK_RATE_MOST);
        return mask_config_rate(tokens->config, (uint32_t)value);
    }
    if (strcmp(name, "filter_length") == 0) {
        TRY(brutefir_count(tokens, "filter_length", &brutefir->block));
        brutefir->blocks = 1;
        if (brutefir_at(tokens, ',')) {
            TRY(brutefir_next(tokens));
            TRY(brutefir_count(tokens, "filter_length", &brutefir->blocks));
        }
        if (brutefir->block > MATRIX_TAPS_MOST || brutefir->blocks > MATRIX_TAPS_MOST)
            return mask_config_refuse(tokens->config, "an invalid filter_length");
        return STATUS_OK;
    }
    if (strcmp(name, "logic") == 0)
        return brutefir_skip(tokens, true);
    if (strcmp(name, "powersave") == 0 && tokens->now.kind == TOKEN_WORD &&
        *tokens->now.text == '-')
        note("mask %s: line %zu: powersave: %s: BruteFIR silences inputs below these dB, a mask "
             "does not",
             tokens->config->file, tokens->config->line, tokens->now.text);
    if (strcmp(name, "sdf_length") == 0) {
        TRY(brutefir_number(tokens, &half));
        if (half >= 1)
            note("mask %s: line %zu: sdf_length: %g: BruteFIR delays all channels by %g samples, a "
                 "mask does not",
                 tokens->config->file, tokens->config->line, half, 2 * half);
        return brutefir_skip(tokens, false);
    }
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        if (strcmp(name, ignored[i]) == 0)
            return brutefir_skip(tokens, false);
    return mask_config_refuse(tokens->config, "BruteFIR has no setting '%.40s'", name);
}

static enum status parse_blocks(struct brutefir *brutefir)
{
    struct brutefir_tokens tokens = {.config = brutefir->config, .at = brutefir->config->text};
    brutefir->config->line = 1;
    TRY(brutefir_next(&tokens));
    while (tokens.now.kind != TOKEN_END) {
        char *name = NULL;
        TRY(brutefir_text(&tokens, &name));
        if (strcmp(name, "coeff") == 0) {
            TRY(parse_coeff(&tokens, brutefir));
        } else if (strcmp(name, "input") == 0) {
            TRY(parse_channels(&tokens, &brutefir->inputs));
        } else if (strcmp(name, "output") == 0) {
            TRY(parse_channels(&tokens, &brutefir->outputs));
        } else if (strcmp(name, "filter") == 0) {
            TRY(parse_filter(&tokens, brutefir));
        } else {
            TRY(parse_setting(&tokens, brutefir, name));
            TRY(brutefir_expect(&tokens, ';'));
        }
    }
    return STATUS_OK;
}

/* A line begins as a block does: coeff "name" { or filter 3 { */
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
    struct brutefir *brutefir = calloc(1, sizeof *brutefir);
    if (!brutefir)
        return fail_memory("a mask");
    brutefir->config = config;
    enum status status = parse_blocks(brutefir);
    if (status == STATUS_OK)
        status = brutefir_to_mask(brutefir, mask);
    for (size_t i = 0; i < brutefir->filter_count; i++)
        mask_matrix_destroy(brutefir->filters[i].response);
    free(brutefir);
    return status;
}

const struct mask_reader mask_reader_brutefir = {
    .kind = "BruteFIR configuration",
    .is_my_config = is_brutefir,
    .read_config = read_brutefir,
};
