/* Configurations of BruteFIR: its coeff, input, output and filter blocks. Settings of devices,
 * processes and speed do not change the sound and are ignored. Fractional delays, the equaliser
 * module and the like are refused. Names point into the text, which the tokeniser changes. */
#include "import/mask_matrix.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MOST = 128, FILTERS_MOST = 256, BLOCK_DEPTH_MOST = 8 };
#define refuse(of, ...) mask_config_refuse((of)->config, __VA_ARGS__)

/* A link to a channel or filter. */
struct brutefir_link {
    char *name; /* name of a channel or filter */
    size_t line;
    double gain;
    bool is_index;                  /* `name` is an index */
    struct brutefir_filter *filter; /* the filter that `name` means */
};

struct brutefir_links {
    size_t count;
    struct brutefir_link at[NAMES_MOST];
};

struct brutefir_coeff {
    char *name, *file; /* file NULL: not given */
    size_t line;
    char *format; /* BruteFIR's name of the sample format */
    double gain;
    uint64_t skip, blocks; /* skip: bytes of the file before its taps; blocks: 0: all */
};

struct brutefir_channel {
    char *name;
    size_t device; /* number of the sound's channel */
    uint64_t delay;
    bool is_muted;
};

struct brutefir_channels {
    size_t count, devices; /* devices: number of the sound's channels */
    struct brutefir_channel at[NAMES_MOST];
};

struct brutefir_filter {
    char *name;
    size_t line;
    char *coeff; /* NULL: not given */
    bool has_coeff_index;
    uint64_t delay; /* in blocks */
    struct brutefir_links from_inputs, from_filters, to_outputs, to_filters;
    enum { FILTER_NEW, FILTER_ENTERED, FILTER_DONE } state;
    struct mask_matrix *response; /* the filter's response, a matrix with one output */
};

struct brutefir {
    struct mask_config *config;
    uint64_t block, blocks; /* block: frames, 0: not given; blocks: blocks of a filter */
    struct brutefir_channels inputs, outputs;
    size_t coeff_count, filter_count;
    struct brutefir_coeff coeffs[FILTERS_MOST];
    struct brutefir_filter filters[FILTERS_MOST];
};

struct tokens {
    struct mask_config *config; /* its `line` follows the tokens */
    char *at;
    char held; /* the character at `at`, where a terminator was written; 0: none was */
    struct {
        enum { TOKEN_END, TOKEN_STRING, TOKEN_WORD, TOKEN_SIGN } kind;
        char *text; /* text of a word or string */
        char sign;
    } now;
};

static bool is_sign(char c)
{
    return c && strchr("{}:;,/", c);
}

static enum status read_string(struct tokens *tokens)
{
    char *end = strchr(tokens->at + 1, '"');
    if (!end)
        return refuse(tokens, "an unterminated string");
    for (const char *c = tokens->at; c < end; c++)
        tokens->config->line += *c == '\n';
    *end = '\0';
    tokens->now.kind = TOKEN_STRING;
    tokens->now.text = tokens->at + 1;
    tokens->at = end + 1;
    return STATUS_OK;
}

/* Skips blanks and comments. Returns the next character, even one replaced by a terminator. */
static char skip_blanks(struct tokens *tokens)
{
    for (;; tokens->at++) {
        char c = tokens->held ? tokens->held : *tokens->at;
        if (c == '#') {
            tokens->held = '\0';
            tokens->at++;
            tokens->at += strcspn(tokens->at, "\n");
            c = *tokens->at;
        }
        if (!isspace((unsigned char)c))
            return c;
        tokens->held = '\0';
        tokens->config->line += c == '\n';
    }
}

static enum status next_token(struct tokens *tokens)
{
    char c = skip_blanks(tokens);
    tokens->held = '\0';
    if (c == '"')
        return read_string(tokens);
    if (!c || is_sign(c)) {
        tokens->now.kind = c ? TOKEN_SIGN : TOKEN_END;
        tokens->now.sign = c;
        tokens->at += c != '\0';
        return STATUS_OK;
    }
    char *end = tokens->at;
    while (*end && !isspace((unsigned char)*end) && !is_sign(*end) && *end != '#' && *end != '"')
        end++;
    tokens->now.kind = TOKEN_WORD;
    tokens->now.text = tokens->at;
    tokens->at = end;
    tokens->held = *end;
    *end = '\0';
    return STATUS_OK;
}

static bool at_sign(const struct tokens *tokens, char sign)
{
    return tokens->now.kind == TOKEN_SIGN && tokens->now.sign == sign;
}

static enum status expect_sign(struct tokens *tokens, char sign)
{
    if (!at_sign(tokens, sign))
        return refuse(tokens, "'%c' is missing", sign);
    return next_token(tokens);
}

static enum status take_text(struct tokens *tokens, char **text)
{
    if (tokens->now.kind != TOKEN_STRING && tokens->now.kind != TOKEN_WORD)
        return refuse(tokens, "a name or a value is missing");
    *text = tokens->now.text;
    return next_token(tokens);
}

static enum status take_number(struct tokens *tokens, double *value)
{
    char *text = NULL;
    TRY(take_text(tokens, &text));
    if (!mask_config_number(text, value))
        return refuse(tokens, "'%.40s' is not a number", text);
    return STATUS_OK;
}

static enum status take_count(struct tokens *tokens, const char *what, uint64_t *value)
{
    char *text = NULL;
    TRY(take_text(tokens, &text));
    if (!mask_config_count(text, value))
        return refuse(tokens, "%s must be a whole number, not '%.40s'", what, text);
    return STATUS_OK;
}

/* Skips a setting up to its semicolon. Refuses logic modules, except a CLI without script. */
static enum status skip_setting(struct tokens *tokens, bool are_modules)
{
    for (int depth = 0; (depth > 0 || !at_sign(tokens, ';'));) {
        if (tokens->now.kind == TOKEN_END || (depth == 0 && at_sign(tokens, '}')))
            return refuse(tokens, "';' is missing");
        if (are_modules && depth == 0 && tokens->now.kind == TOKEN_STRING &&
            strcmp(tokens->now.text, "cli") != 0)
            return refuse(tokens, "the module %.40s cannot be read as a mask", tokens->now.text);
        if (are_modules && tokens->now.kind == TOKEN_WORD &&
            strcmp(tokens->now.text, "script") == 0)
            return refuse(tokens, "script: varies over time and cannot be read as a mask");
        depth += at_sign(tokens, '{') ? 1 : at_sign(tokens, '}') ? -1 : 0;
        if (depth > BLOCK_DEPTH_MOST)
            return refuse(tokens, "too many '{'");
        TRY(next_token(tokens));
    }
    return STATUS_OK;
}

/* ---- the network of filters ---- */

/* BruteFIR's names of formats that other programs give to other formats. They are those from
 * version 1.0m on, where S24_4LE is in the low bits, as in ALSA. */
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

/* Finds an item by name or index. Each item begins with its name. NULL: there is none. */
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

#define FIND(items, count, ...) find(items, count, sizeof *(items), __VA_ARGS__)

static enum status load_coeff(struct brutefir *brutefir, const struct brutefir_coeff *coeff,
                              const struct mask **mask)
{
    struct raw_layout raw = {.skip = coeff->skip};
    brutefir->config->line = coeff->line;
    if (!coeff->file)
        return refuse(brutefir, "coeff %s has no filename", coeff->name);
    bool is_text = !coeff->format || strcmp(coeff->format, "text") == 0;
    if (!is_text && !(raw.format = format_named(coeff->format)))
        return refuse(brutefir, "coefficients of the format '%.40s' cannot be read", coeff->format);
    if (is_text && coeff->skip)
        return refuse(brutefir, "skip: in a text cannot be read");
    TRY(mask_config_mask(brutefir->config, coeff->file, is_text ? NULL : &raw, mask));
    if ((*mask)->columns != 1)
        return refuse(brutefir, "%s has %zu channels instead of one", coeff->file,
                      (*mask)->columns);
    return STATUS_OK;
}

/* The taps that a filter uses. BruteFIR limits them to its length, with the delay in blocks. */
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
        return refuse(brutefir, "a delay in blocks, and no filter_length");
    if (filter->delay && filter->delay >= brutefir->blocks)
        return refuse(
            brutefir,
            "a delay of %llu blocks, but filter_length has %llu, and one block must be left",
            (unsigned long long)filter->delay, (unsigned long long)brutefir->blocks);
    if (!filter->coeff || strcmp(filter->coeff, "-1") == 0)
        return mask_matrix_gain(filter->response, 0, 1, delay);
    const struct brutefir_coeff *coeff =
        FIND(brutefir->coeffs, brutefir->coeff_count, filter->coeff, filter->has_coeff_index);
    if (!coeff)
        return refuse(brutefir, "there is no coeff %s", filter->coeff);
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
        const struct brutefir_channel *input =
            FIND(brutefir->inputs.at, brutefir->inputs.count, link->name, link->is_index);
        brutefir->config->line = link->line;
        if (!input)
            return refuse(brutefir, "there is no input %s", link->name);
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

/* Adds the filters that feed this one. A link stated at one end or at both counts once. */
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

/* Computes a filter's response from the responses of the filters that feed it. */
static enum status solve(struct brutefir *brutefir, struct brutefir_filter *filter, size_t depth)
{
    brutefir->config->line = filter->line;
    if (filter->state == FILTER_DONE)
        return STATUS_OK;
    if (filter->state == FILTER_ENTERED || depth > FILTERS_MOST)
        return refuse(brutefir, "filter %s feeds itself", filter->name);
    filter->state = FILTER_ENTERED;
    TRY(mask_matrix_create(brutefir->config, brutefir->inputs.devices, 1, &filter->response));
    TRY(add_inputs(brutefir, filter));
    TRY(add_filters(brutefir, filter, depth));
    brutefir->config->line = filter->line;
    TRY(apply_coeff(brutefir, filter));
    filter->state = FILTER_DONE;
    return STATUS_OK;
}

static enum status add_outputs(struct brutefir *brutefir, const struct brutefir_filter *filter)
{
    for (size_t i = 0; i < filter->to_outputs.count; i++) {
        const struct brutefir_link *link = &filter->to_outputs.at[i];
        const struct brutefir_channel *output =
            FIND(brutefir->outputs.at, brutefir->outputs.count, link->name, link->is_index);
        brutefir->config->line = link->line;
        if (!output)
            return refuse(brutefir, "there is no output %s", link->name);
        if (output->is_muted)
            continue;
        struct mask_matrix *delayed;
        TRY(mask_matrix_create(brutefir->config, brutefir->inputs.devices, 1, &delayed));
        enum status status = mask_matrix_add_output(delayed, 0, filter->response, 0, link->gain);
        if (status == STATUS_OK)
            status = mask_matrix_gain(delayed, 0, 1, output->delay);
        if (status == STATUS_OK)
            status =
                mask_matrix_add_output(brutefir->config->matrix, output->device, delayed, 0, 1);
        mask_matrix_destroy(delayed);
        TRY(status);
    }
    return STATUS_OK;
}

static enum status resolve(struct brutefir *brutefir, struct brutefir_links *links)
{
    for (size_t i = 0; i < links->count; i++) {
        struct brutefir_link *link = &links->at[i];
        link->filter = FIND(brutefir->filters, brutefir->filter_count, link->name, link->is_index);
        brutefir->config->line = link->line;
        if (!link->filter)
            return refuse(brutefir, "there is no filter %s", link->name);
    }
    return STATUS_OK;
}

static enum status make_mask(struct brutefir *brutefir, struct mask **mask)
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

/* ---- the configuration ---- */

/* Parses NAME[/ATTENUATION][/MULTIPLIER], ... A number without quotes is an index, not a name. */
static enum status parse_links(struct tokens *tokens, bool may_scale, struct brutefir_links *links)
{
    do {
        if (at_sign(tokens, ','))
            TRY(next_token(tokens));
        if (links->count == NAMES_MOST)
            return refuse(tokens, "more than %d names", NAMES_MOST);
        struct brutefir_link *link = &links->at[links->count++];
        *link = (struct brutefir_link){
            .line = tokens->config->line, .gain = 1, .is_index = tokens->now.kind == TOKEN_WORD};
        TRY(take_text(tokens, &link->name));
        if (at_sign(tokens, '/') && !may_scale)
            return refuse(tokens,
                          "%s/: BruteFIR scales from_inputs:, to_outputs: and from_filters: alone",
                          link->name);
        for (int i = 0; i < 2 && at_sign(tokens, '/'); i++) {
            double value;
            TRY(next_token(tokens));
            if (at_sign(tokens, '/'))
                continue;
            TRY(take_number(tokens, &value));
            link->gain *= i == 0 ? audio_from_db(-value) : value;
        }
    } while (at_sign(tokens, ','));
    return STATUS_OK;
}

struct brutefir_field {
    const char *name;
    enum { IGNORED, TEXT, COUNT, BLOCKS, DB, LINKS, NAMES } kind;
    size_t offset; /* offset in the struct that the field sets */
};

#define COEFF(name) offsetof(struct brutefir_coeff, name)
#define FILTER(name) offsetof(struct brutefir_filter, name)
static const struct brutefir_field coeff_fields[] = {
    {"format", TEXT, COEFF(format)}, {"attenuation", DB, COEFF(gain)},
    {"skip", COUNT, COEFF(skip)},    {"blocks", BLOCKS, COEFF(blocks)},
    {"shared_mem", IGNORED, 0},      {0}};
static const struct brutefir_field filter_fields[] = {{"from_inputs", LINKS, FILTER(from_inputs)},
                                                      {"from_filters", LINKS, FILTER(from_filters)},
                                                      {"to_outputs", LINKS, FILTER(to_outputs)},
                                                      {"to_filters", NAMES, FILTER(to_filters)},
                                                      {"coeff", TEXT, FILTER(coeff)},
                                                      {"delay", BLOCKS, FILTER(delay)},
                                                      {"process", IGNORED, 0},
                                                      {"crossfade", IGNORED, 0},
                                                      {0}};

static enum status parse_field(struct tokens *tokens, const struct brutefir_field *field, void *to)
{
    double number = 0;
    switch (field->kind) {
    case TEXT:
        return take_text(tokens, to);
    case COUNT:
        return take_count(tokens, "skip:", to);
    case LINKS:
    case NAMES:
        return parse_links(tokens, field->kind == LINKS, to);
    case BLOCKS:
        TRY(take_number(tokens, &number));
        *(uint64_t *)to = number > 0 && number < 1e9 ? (uint64_t)number : 0;
        return STATUS_OK;
    case DB:
        TRY(take_number(tokens, &number));
        *(double *)to = audio_from_db(-number);
        return STATUS_OK;
    default:
        return skip_setting(tokens, false);
    }
}

static enum status parse_known(struct tokens *tokens, const struct brutefir_field *fields,
                               const char *block, const char *name, void *object)
{
    for (const struct brutefir_field *field = fields; field->name; field++)
        if (strcmp(name, field->name) == 0)
            return parse_field(tokens, field, (char *)object + field->offset);
    return refuse(tokens, "%s: of a BruteFIR %s cannot be read as a mask", name, block);
}

static enum status parse_coeff_field(struct tokens *tokens, void *context, const char *field)
{
    struct brutefir_coeff *coeff = context;
    if (strcmp(field, "filename") != 0)
        return parse_known(tokens, coeff_fields, "coeff", field, coeff);
    if (tokens->now.kind != TOKEN_STRING)
        return parse_known(tokens, coeff_fields, "coeff", "shared memory in filename", coeff);
    coeff->line = tokens->config->line;
    return take_text(tokens, &coeff->file);
}

static enum status parse_filter_field(struct tokens *tokens, void *context, const char *field)
{
    struct brutefir_filter *filter = context;
    if (strcmp(field, "coeff") == 0)
        filter->has_coeff_index = tokens->now.kind == TOKEN_WORD;
    return parse_known(tokens, filter_fields, "filter", field, filter);
}

/* Channels that one input or output block adds to those of earlier blocks. */
struct channel_block {
    struct brutefir_channels *channels;
    size_t first;
    size_t used; /* channels of the device; 0: not given */
    bool is_mapped;
    size_t chosen_count; /* number of channels that are listed; 0: there is no list */
    uint64_t chosen[NAMES_MOST];
};

/* Parses delay:, mute: or mapping:, which have a value for each channel of the block. */
static enum status parse_values(struct tokens *tokens, struct channel_block *block,
                                const char *field)
{
    char *text = NULL;
    uint64_t device = 0;
    for (size_t i = block->first;; i++) {
        if (i == block->channels->count)
            return refuse(tokens, "more values than channels");
        struct brutefir_channel *channel = &block->channels->at[i];
        if (*field == 'd') {
            TRY(take_count(tokens, "delay:", &channel->delay));
        } else if (strcmp(field, "mute") == 0) {
            TRY(take_text(tokens, &text));
            channel->is_muted = strcmp(text, "true") == 0;
        } else {
            TRY(take_count(tokens, "mapping:", &device));
            if (device >= NAMES_MOST)
                return refuse(tokens, "mapping: to channel %llu", (unsigned long long)device);
            block->is_mapped = true;
            channel->device = block->channels->devices + (size_t)device;
        }
        if (!at_sign(tokens, ','))
            return STATUS_OK;
        TRY(next_token(tokens));
    }
}

/* Parses OPEN[/USED, USED, ...]: the number of the device's channels, and those that are used. */
static enum status parse_used(struct tokens *tokens, struct channel_block *block)
{
    uint64_t open = 0, value = 0;
    TRY(take_count(tokens, "channels:", &open));
    block->used = open < NAMES_MOST ? (size_t)open : NAMES_MOST;
    if (!at_sign(tokens, '/'))
        return STATUS_OK;
    do {
        TRY(next_token(tokens));
        TRY(take_count(tokens, "channels:", &value));
        if (value >= open)
            return refuse(tokens, "channels: channel %llu of %llu, from 0",
                          (unsigned long long)value, (unsigned long long)open);
        for (size_t i = 0; i < block->chosen_count; i++)
            if (block->chosen[i] == value)
                return refuse(tokens, "channels: channel %llu is used twice",
                              (unsigned long long)value);
        if (block->chosen_count == NAMES_MOST)
            return refuse(tokens, "more than %d channels", NAMES_MOST);
        block->chosen[block->chosen_count++] = value;
    } while (at_sign(tokens, ','));
    block->used = block->chosen_count;
    return STATUS_OK;
}

/* The place of the channel listed at `at` among the used channels, in the device's order. */
static size_t place_of(const struct channel_block *block, size_t at)
{
    size_t place = 0;
    for (size_t i = 0; i < block->chosen_count; i++)
        place += block->chosen[i] < block->chosen[at];
    return place;
}

static enum status settle_channels(struct tokens *tokens, struct channel_block *block)
{
    struct brutefir_channels *channels = block->channels;
    if (block->used == 0 || (!block->is_mapped && block->chosen_count == 0))
        block->used = channels->count - block->first;
    for (size_t i = block->first; i < channels->count; i++) {
        size_t at = channels->at[i].device - channels->devices;
        if (at >= block->used)
            return refuse(tokens, "%s: to channel %zu of %zu",
                          block->is_mapped ? "mapping" : "channels", at, block->used);
        if (block->chosen_count > 0)
            channels->at[i].device = channels->devices + place_of(block, at);
    }
    if (channels->devices + block->used > MATRIX_CHANNELS_MOST)
        return refuse(tokens, "more than %d channels", MATRIX_CHANNELS_MOST);
    channels->devices += block->used;
    return STATUS_OK;
}

static enum status parse_subdelay(struct tokens *tokens)
{
    double value = 0;
    do {
        if (at_sign(tokens, ','))
            TRY(next_token(tokens));
        TRY(take_number(tokens, &value));
        if (value != 0 && fabs(value) <= 99)
            return refuse(tokens, "a fractional delay (subdelay) cannot be read as a mask");
    } while (at_sign(tokens, ','));
    return STATUS_OK;
}

static enum status parse_channel_field(struct tokens *tokens, void *context, const char *field)
{
    static const struct brutefir_field ignored[] = {{.name = "device"},
                                                    {.name = "sample"},
                                                    {.name = "maxdelay"},
                                                    {.name = "individual_maxdelay"},
                                                    {.name = "dither"},
                                                    {.name = "merge"},
                                                    {0}};
    if (strcmp(field, "delay") == 0 || strcmp(field, "mute") == 0 || strcmp(field, "mapping") == 0)
        return parse_values(tokens, context, field);
    if (strcmp(field, "channels") == 0)
        return parse_used(tokens, context);
    if (strcmp(field, "subdelay") == 0)
        return parse_subdelay(tokens);
    return parse_known(tokens, ignored, "channel", field, context);
}

/* Parses { FIELD: ...; ... }; */
static enum status parse_fields(struct tokens *tokens, void *context,
                                enum status (*parse)(struct tokens *, void *, const char *))
{
    char *field = NULL;
    TRY(expect_sign(tokens, '{'));
    while (!at_sign(tokens, '}')) {
        TRY(take_text(tokens, &field));
        TRY(expect_sign(tokens, ':'));
        TRY(parse(tokens, context, field));
        TRY(expect_sign(tokens, ';'));
    }
    TRY(expect_sign(tokens, '}'));
    return expect_sign(tokens, ';');
}

static enum status parse_coeff(struct tokens *tokens, struct brutefir *brutefir)
{
    if (brutefir->coeff_count == FILTERS_MOST)
        return refuse(tokens, "more than %d coeffs", FILTERS_MOST);
    struct brutefir_coeff *coeff = &brutefir->coeffs[brutefir->coeff_count++];
    *coeff = (struct brutefir_coeff){.line = tokens->config->line, .gain = 1};
    TRY(take_text(tokens, &coeff->name));
    return parse_fields(tokens, coeff, parse_coeff_field);
}

static enum status parse_filter(struct tokens *tokens, struct brutefir *brutefir)
{
    if (brutefir->filter_count == FILTERS_MOST)
        return refuse(tokens, "more than %d filters", FILTERS_MOST);
    struct brutefir_filter *filter = &brutefir->filters[brutefir->filter_count++];
    filter->line = tokens->config->line;
    TRY(take_text(tokens, &filter->name));
    return parse_fields(tokens, filter, parse_filter_field);
}

static enum status parse_channels(struct tokens *tokens, struct brutefir_channels *channels)
{
    struct channel_block block = {.channels = channels, .first = channels->count};
    struct brutefir_links names = {0};
    TRY(parse_links(tokens, false, &names));
    if (names.count > NAMES_MOST - channels->count)
        return refuse(tokens, "more than %d channels", NAMES_MOST);
    for (size_t i = 0; i < names.count; i++)
        channels->at[channels->count++] =
            (struct brutefir_channel){.name = names.at[i].name, .device = channels->devices + i};
    TRY(parse_fields(tokens, &block, parse_channel_field));
    return settle_channels(tokens, &block);
}

static enum status parse_setting(struct tokens *tokens, struct brutefir *brutefir, const char *name)
{
    static const char *const ignored[] = {
        "float_bits",      "config_file",  "overflow_warnings", "show_progress",
        "allow_poll_mode", "modules_path", "powersave",         "monitor_rate",
        "lock_memory",     "benchmark",    "convolver_config",  "max_dither_table_size",
        "safety_limit"};
    uint64_t value = 0;
    double half = 0;
    TRY(expect_sign(tokens, ':'));
    if (strcmp(name, "sampling_rate") == 0) {
        TRY(take_count(tokens, "the rate", &value));
        if (value < 1 || value > MASK_RATE_MOST)
            return refuse(tokens, "a rate from 1 to %d", MASK_RATE_MOST);
        return mask_config_rate(tokens->config, (uint32_t)value);
    }
    if (strcmp(name, "filter_length") == 0) {
        TRY(take_count(tokens, "filter_length", &brutefir->block));
        brutefir->blocks = 1;
        if (at_sign(tokens, ',')) {
            TRY(next_token(tokens));
            TRY(take_count(tokens, "filter_length", &brutefir->blocks));
        }
        if (brutefir->block > MATRIX_TAPS_MOST || brutefir->blocks > MATRIX_TAPS_MOST)
            return refuse(tokens, "an invalid filter_length");
        return STATUS_OK;
    }
    if (strcmp(name, "logic") == 0)
        return skip_setting(tokens, true);
    if (strcmp(name, "powersave") == 0 && tokens->now.kind == TOKEN_WORD &&
        *tokens->now.text == '-')
        note("mask %s: line %zu: powersave: %s: BruteFIR silences inputs below these dB, a mask "
             "does not",
             tokens->config->file, tokens->config->line, tokens->now.text);
    if (strcmp(name, "sdf_length") == 0) {
        TRY(take_number(tokens, &half));
        if (half >= 1)
            note("mask %s: line %zu: sdf_length: %g: BruteFIR delays all channels by %g samples, a "
                 "mask does not",
                 tokens->config->file, tokens->config->line, half, 2 * half);
        return skip_setting(tokens, false);
    }
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        if (strcmp(name, ignored[i]) == 0)
            return skip_setting(tokens, false);
    return refuse(tokens, "BruteFIR has no setting '%.40s'", name);
}

static enum status parse_blocks(struct brutefir *brutefir)
{
    struct tokens tokens = {.config = brutefir->config, .at = brutefir->config->text};
    brutefir->config->line = 1;
    TRY(next_token(&tokens));
    while (tokens.now.kind != TOKEN_END) {
        char *name = NULL;
        TRY(take_text(&tokens, &name));
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
            TRY(expect_sign(&tokens, ';'));
        }
    }
    return STATUS_OK;
}

/* Whether any line begins a block of BruteFIR, such as `coeff "name" {` or `filter 3 {`. */
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
        status = make_mask(brutefir, mask);
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
