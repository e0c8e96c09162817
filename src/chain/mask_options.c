#include "chain/mask_options.h"

#include "base/decimal.h"
#include "base/plural.h"
#include "base/suggest.h"
#include "chain/stage_mix.h"
#include "design/design.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- map= ---- */

/* A part of a word: a pair, IN or TAP. */
struct span {
    const char *text;
    size_t length;
};

#define SPAN(SPAN) (int)(SPAN).length, (SPAN).text

/* Get the next part, up to `separator`. False: there is none. */
static bool next_span(const char **text, const char *end, char separator, struct span *span)
{
    if (*text > end)
        return false;
    const char *found = memchr(*text, separator, (size_t)(end - *text));
    *span = (struct span){*text, (size_t)((found ? found : end) - *text)};
    *text += span->length + 1;
    return true;
}

static enum status refuse_form(struct span pair)
{
    return fail(CAUSE_USAGE,
                "map= is auto, split, matrix or pairs of a channel of the sound and one or more of "
                "the mask, such as FL:FL,FR:FR,C:L+R, not '%.*s'",
                SPAN(pair));
}

/* Split IN:TAP+TAP into IN and the taps. */
static enum status split_pair(struct span pair, struct span *in, struct span *taps)
{
    const char *colon = memchr(pair.text, ':', pair.length);
    const char *end = pair.text + pair.length;
    if (!colon || colon == pair.text || colon + 1 == end ||
        memchr(colon + 1, ':', (size_t)(end - colon - 1)))
        return refuse_form(pair);
    *in = (struct span){pair.text, (size_t)(colon - pair.text)};
    *taps = (struct span){colon + 1, (size_t)(end - colon - 1)};
    const char *text = taps->text;
    for (struct span tap; next_span(&text, end, '+', &tap);)
        if (tap.length == 0)
            return refuse_form(pair);
    return STATUS_OK;
}

enum status mask_map_add(struct mask_map_pairs *map, const char *word)
{
    struct span pair, in, taps;
    const char *text = word;
    while (next_span(&text, word + strlen(word), ',', &pair))
        TRY(split_pair(pair, &in, &taps));
    if (map->count == MASK_MAP_PAIRS_MOST)
        return fail(CAUSE_USAGE, "map= has more than %d pairs", MASK_MAP_PAIRS_MOST);
    map->pairs[map->count++] = word;
    return STATUS_OK;
}

/* ---- names ---- */

/* The channels of a sound or a mask, by name. */
struct named {
    const char *what; /* for messages: "the sound", "mask hall.wav" */
    const char *advice;
    size_t channels;
    struct channel_layout layout;
};

static enum status find_channel(const struct named *of, struct span name, size_t *channel)
{
    return channel_layout_find("map=", of->what, of->advice, of->channels, of->layout, name.text,
                               name.length, channel);
}

void mask_map_guess_sound(const struct mask_map_pairs *map, struct stream_format *sound)
{
    struct span pair, in, taps;
    for (size_t w = 0; w < map->count; w++) {
        const char *text = map->pairs[w];
        while (next_span(&text, map->pairs[w] + strlen(map->pairs[w]), ',', &pair)) {
            size_t number;
            bool is_pair = split_pair(pair, &in, &taps) == STATUS_OK;
            if (is_pair && channel_number_read(in.text, in.length, &number)) {
                if (number > sound->channels)
                    sound->channels = number;
            } else if (is_pair) {
                enum channel_position position =
                    channel_position_named(in.text, in.length, sound->layout);
                sound->layout.speakers |= position < CHANNEL_OTHER ? UINT32_C(1) << position : 0;
            }
        }
    }
    size_t named = channel_layout_count(sound->layout);
    if (named > sound->channels)
        sound->channels = named;
    if (sound->channels == 0)
        sound->channels = 1;
}

/* ---- paths ---- */

struct routing {
    struct named sound, from;
    struct mask *mask; /* the original mask */
    struct mask *made; /* new mask with the requested columns and paths */
};

/* Mark the mask's channels that a pair adds up. Errors: a channel is missing, or named twice. */
static enum status find_taps(const struct routing *routing, struct span taps, bool *is_taken,
                             size_t *first, size_t *count)
{
    struct span tap;
    const char *text = taps.text;
    memset(is_taken, 0, routing->mask->columns * sizeof *is_taken);
    *count = 0;
    while (next_span(&text, taps.text + taps.length, '+', &tap)) {
        size_t column;
        TRY(find_channel(&routing->from, tap, &column));
        if (is_taken[column])
            return fail(CAUSE_USAGE, "map=: '%.*s' has %.*s twice", SPAN(taps), SPAN(tap));
        is_taken[column] = true;
        if ((*count)++ == 0)
            *first = column;
    }
    return STATUS_OK;
}

static void add_column(struct routing *routing, const bool *is_taken)
{
    const struct mask *mask = routing->mask;
    double *sum = mask_column(routing->made, routing->made->path_count);
    for (size_t c = 0; c < mask->columns; c++)
        for (size_t k = 0; is_taken[c] && k < mask->taps; k++)
            sum[k] += mask_column(mask, c)[k];
}

static enum status add_pair(struct routing *routing, struct span pair, bool *is_taken)
{
    struct mask *made = routing->made;
    struct span in, taps;
    size_t input, first, count;
    TRY(split_pair(pair, &in, &taps));
    TRY(find_channel(&routing->sound, in, &input));
    for (size_t p = 0; p < made->path_count; p++)
        if (made->paths[p].input == input)
            return fail(CAUSE_USAGE, "map= has the sound's channel %.*s twice", SPAN(in));
    TRY(find_taps(routing, taps, is_taken, &first, &count));
    add_column(routing, is_taken);
    made->paths[made->path_count] = (struct mask_path){input, input, made->path_count};
    made->path_count++;
    return STATUS_OK;
}

static enum status add_pairs(struct routing *routing, const struct mask_map_pairs *map)
{
    bool *is_taken = calloc(routing->mask->columns, sizeof *is_taken);
    enum status status = is_taken ? STATUS_OK : fail_memory("a mask");
    for (size_t w = 0; w < map->count && status == STATUS_OK; w++) {
        struct span pair;
        const char *text = map->pairs[w];
        while (status == STATUS_OK &&
               next_span(&text, map->pairs[w] + strlen(map->pairs[w]), ',', &pair))
            status = add_pair(routing, pair, is_taken);
    }
    free(is_taken);
    return status;
}

/* Exchange the columns of two masks. The caller destroys `other`. */
static void take_columns(struct mask *mask, struct mask *other)
{
    double *coefficients = mask->coefficients;
    struct mask_path *paths = mask->paths;
    mask->coefficients = other->coefficients;
    mask->paths = other->paths;
    mask->path_count = other->path_count;
    mask->columns = other->columns;
    mask->taps = other->taps;
    other->coefficients = coefficients;
    other->paths = paths;
}

/* Make a column for each path. There are at most as many as channels. */
static enum status make_columns(const struct mask *mask, size_t columns, size_t taps,
                                size_t channels, struct mask **made)
{
    TRY(mask_create(mask->name, columns, taps, made));
    (*made)->paths = calloc(channels, sizeof *(*made)->paths);
    return (*made)->paths ? STATUS_OK : fail_memory("a mask");
}

static size_t count_pairs(const struct mask_map_pairs *map)
{
    size_t count = map->count;
    for (size_t w = 0; w < map->count; w++)
        for (const char *comma = map->pairs[w]; (comma = strchr(comma, ',')); comma++)
            count++;
    return count;
}

enum status mask_map_route(const struct mask_map_pairs *map, const struct stream_format *format,
                           struct mask *mask)
{
    char name[300];
    struct channel_layout implied = channel_layout_implied(format->channels);
    snprintf(name, sizeof name, "mask %s", mask->name);
    struct routing routing = {
        .sound = {"the sound", ", or --layout", format->channels,
                  channel_layout_is_known(format->layout) ? format->layout : implied},
        .from = {name, "", mask->columns,
                 channel_layout_is_known(mask->layout) ? mask->layout
                                                       : channel_layout_implied(mask->columns)},
        .mask = mask,
    };
    if (mask->has_own_paths)
        return fail(CAUSE_USAGE, "mask %s has its own routing; map= cannot change it", mask->name);
    size_t pairs = count_pairs(map);
    enum status status = make_columns(mask, pairs, mask->taps, pairs, &routing.made);
    if (status == STATUS_OK)
        status = add_pairs(&routing, map);
    if (status == STATUS_OK) {
        take_columns(mask, routing.made);
        mask->inputs = mask->outputs = format->channels;
    }
    mask_destroy(routing.made);
    return status;
}

enum status mask_map_pass(const struct stream_format *format, struct mask *mask)
{
    size_t named = mask->path_count, channels = format->channels;
    size_t taps = mask->origin < mask->taps ? mask->taps : mask->origin + 1;
    struct mask *made = NULL;
    if (named == channels)
        return STATUS_OK;
    enum status status = make_columns(mask, mask->columns + 1, taps, channels, &made);
    if (status == STATUS_OK) {
        for (size_t c = 0; c < mask->columns; c++)
            memcpy(mask_column(made, c), mask_column(mask, c), mask->taps * sizeof(double));
        mask_column(made, mask->columns)[mask->origin] = 1;
        memcpy(made->paths, mask->paths, named * sizeof *made->paths);
        made->path_count = named;
        for (size_t c = 0; c < channels; c++) {
            bool is_named = false;
            for (size_t p = 0; p < named; p++)
                is_named |= mask->paths[p].input == c;
            if (!is_named)
                made->paths[made->path_count++] = (struct mask_path){c, c, mask->columns};
        }
        take_columns(mask, made);
    }
    mask_destroy(made);
    return status;
}

/* ---- options ---- */

const char *const mask_options_trust[] = {"yes", "no", NULL};

/* Parse a LENGTH: frames, or a time with its unit. */
static enum status parse_span(void *options, const struct option_row *row, const char *text)
{
    char *end;
    double value;
    bool number = decimal_read(text, &end, &value) && isfinite(value) && value >= 0;
    bool seconds = strcmp(end, "s") == 0 || strcmp(end, "ms") == 0;
    struct mask_span *span = (void *)((char *)options + row->offset);
    if (!number || (*end && !seconds) || (!seconds && value != floor(value)))
        return fail(CAUSE_USAGE, "%s takes frames or a time, such as 480, 10ms or 0.5s, not '%s'",
                    row->name, text);
    *span = (struct mask_span){strcmp(end, "ms") == 0 ? value * 1e-3 : value, seconds};
    if (value == 0 && row->least > 0)
        return fail(CAUSE_USAGE, "%s must keep at least one tap, not '%s'", row->name, text);
    return STATUS_OK;
}

static const char *const order_names[] = {
    [MASK_ORDER_LL_LR_RL_RR] = "lllrrlrr",
    [MASK_ORDER_LL_RR_LR_RL] = "llrrlrrl",
    [MASK_ORDER_HESUVI] = "hesuvi",
    NULL,
};

static enum status parse_order(void *options, const struct option_row *row, const char *text)
{
    char near[SUGGEST_TEXT];
    for (size_t i = 0; order_names[i]; i++)
        if (strcasecmp(text, order_names[i]) == 0) {
            ((struct mask_options *)options)->order = (enum mask_order)i;
            ((struct mask_options *)options)->has_order = true;
            return STATUS_OK;
        }
    return fail(CAUSE_USAGE, "%s is lllrrlrr, llrrlrrl or hesuvi, not '%s'%s", row->name, text,
                suggest_from(near, text, order_names));
}

/* Parse an angle in degrees, within the same limit in both directions. */
static enum status parse_angle(void *options, const struct option_row *row, const char *text)
{
    double value;
    bool number = decimal_parse(text, &value);
    if (!number || !(fabs(value) <= row->most))
        return fail(CAUSE_USAGE, "%s takes degrees from -%g to %g, not '%s'", row->name, row->most,
                    row->most, text);
    *(double *)((char *)options + row->offset) = value;
    ((struct mask_options *)options)->load.directions.has_direction = true;
    return STATUS_OK;
}

static enum status parse_map(void *context, const struct option_row *row, const char *text)
{
    struct mask_options *options = context;
    for (size_t i = 0; row->names[i]; i++)
        if (strcmp(text, row->names[i]) == 0) {
            options->map = (enum mask_map)i;
            return STATUS_OK;
        }
    char near[SUGGEST_TEXT];
    if (!strchr(text, ':') && *suggest_from(near, text, row->names))
        return fail(CAUSE_USAGE, "map= is not '%s'%s", text, near);
    return mask_map_add(&options->map_pairs, text);
}

static enum status parse_raw(void *options, const struct option_row *row, const char *text)
{
    char near[SUGGEST_TEXT];
    const struct raw_format *format = raw_format_named(text);
    ((struct mask_options *)options)->load.raw.format = format;
    return format ? STATUS_OK
                  : fail(CAUSE_USAGE, "%s is one of %s, not '%s'%s", row->name, raw_format_names(),
                         text, suggest_from_list(near, text, raw_format_names(), ""));
}

static enum status parse_folder(void *options, const struct option_row *row, const char *text)
{
    (void)row;
    ((struct mask_options *)options)->load.folder = text;
    ((struct mask_options *)options)->load.is_about_configs = true;
    return STATUS_OK;
}

static enum status parse_file(void *context, const struct option_row *row, const char *text)
{
    struct mask_options *options = context;
    struct mask_load_options *load = &options->load;
    const char *path = mask_file_given(text);
    if (!path || !*path)
        return fail(CAUSE_USAGE, "%s takes NAME=>PATH, not '%s'", row->name, text);
    if (load->file_count == MASK_OPTIONS_FILES_MOST)
        return fail(CAUSE_USAGE, "mask option %s is given more than %d times", row->name,
                    MASK_OPTIONS_FILES_MOST);
    options->files[load->file_count++] = text;
    load->files = options->files;
    load->is_about_configs = true;
    return STATUS_OK;
}

static enum status parse_trust(void *options, const struct option_row *row, const char *text)
{
    bool distrusts = strcmp(text, mask_options_trust[1]) == 0;
    if (!distrusts && strcmp(text, mask_options_trust[0]) != 0)
        return fail(CAUSE_USAGE, "%s is yes or no, not '%s'", row->name, text);
    ((struct mask_options *)options)->load.distrusts_configs = distrusts;
    ((struct mask_options *)options)->load.is_about_configs = true;
    return STATUS_OK;
}

static enum status parse_skip(void *options, const struct option_row *row, const char *text)
{
    if (strcmp(text, row->names[0]) != 0)
        return fail(CAUSE_USAGE, "%s is nonlinear, not '%s'", row->name, text);
    ((struct mask_options *)options)->load.skips_nonlinear = true;
    ((struct mask_options *)options)->load.is_about_configs = true;
    return STATUS_OK;
}

#define OPT_SPAN(NAME, FIELD, LEAST)                                                               \
    {.name = NAME,                                                                                 \
     .parse = parse_span,                                                                          \
     .offset = offsetof(struct mask_options, FIELD),                                               \
     .least = LEAST}

#define OPT_ANGLE(NAME, FIELD, MOST)                                                               \
    {.name = NAME,                                                                                 \
     .parse = parse_angle,                                                                         \
     .offset = offsetof(struct mask_options, load.directions.FIELD),                               \
     .most = MOST}

static const char *const phase_names[] = {"minimum", NULL};
static const char *const map_names[] = {"auto", "split", "matrix", NULL};
static const char *const align_names[] = {"peak", NULL};
static const char *const interpolate_names[] = {"nearest", "linear", NULL};
static const char *const level_names[] = {"input", "kaldi", NULL};
static const char *const skip_names[] = {"nonlinear", NULL};
static const char *const normalize_names[] = {"peak", "energy", "l1", NULL};

const struct option_row mask_options_rows[] = {
    OPT_INTEGER("channel=", NULL, struct mask_options, channel, 1, MASK_CHANNELS_MOST, NULL),
    OPT_SPAN("trim=", trim, 0),
    OPT_SPAN("length=", length, 1),
    OPT_SPAN("fade=", fade, 0),
    OPT_SPAN("delay=", delay, 0),
    OPT_SPAN("early=", early, 1),
    OPT_CHOICE("align=", NULL, struct mask_options, aligns_peak, align_names, NULL, .value = true),
    OPT_CHOICE("phase=", NULL, struct mask_options, minimum_phase, phase_names, NULL,
               .value = true),
    OPT_PARSE("order=", NULL, parse_order, NULL, .names = order_names),
    OPT_PARSE("map=", NULL, parse_map, NULL, .names = map_names),
    OPT_CHOICE("normalize=", NULL, struct mask_options, normalize, normalize_names, NULL,
               .value = MASK_NORMALIZE_PEAK),
    OPT_CHOICE("level=", NULL, struct mask_options, level, level_names, NULL,
               .value = MASK_LEVEL_INPUT),
    OPT_FLAG("invert", struct mask_options, invert, NULL),
    OPT_DB("gain=", struct mask_options, gain, -OPTIONS_DB_MOST, OPTIONS_DB_MOST, NULL),
    OPT_PARSE("raw=", NULL, parse_raw, NULL),
    OPT_INTEGER("rate=", NULL, struct mask_options, load.raw.rate, 1, MASK_RATE_MOST, NULL),
    OPT_INTEGER("channels=", NULL, struct mask_options, load.raw.channels, 1, MASK_CHANNELS_MOST,
                NULL),
    OPT_PARSE("folder=", NULL, parse_folder, NULL),
    OPT_PARSE("file=", NULL, parse_file, NULL),
    OPT_PARSE("trust-config=", NULL, parse_trust, NULL, .names = mask_options_trust),
    OPT_PARSE("skip=", NULL, parse_skip, NULL, .names = skip_names),
    OPT_ANGLE("az=", azimuth, 360),
    OPT_ANGLE("el=", elevation, 90),
    OPT_STRING("speakers=", NULL, struct mask_options, load.directions.speakers, NULL),
    OPT_CHOICE("interpolate=", NULL, struct mask_options, load.directions.interpolate,
               interpolate_names, NULL, .value = MASK_INTERPOLATE_NEAREST),
    {0},
};

static enum status parse_once(const struct option_row *row, const char *text,
                              struct mask_options *options)
{
    uint32_t bit = UINT32_C(1) << (row - mask_options_rows);
    if (!*text && row->kind != OPTION_FLAG)
        return fail(CAUSE_USAGE, "%s of a mask needs a value; see halo render --help", row->name);
    if (options->given & bit && row->parse != parse_file)
        return fail(CAUSE_USAGE, "mask option %s is given twice", row->name);
    options->given |= bit;
    return option_store(row, options, text);
}

/* Write keys similar to the key of `word` into `near`. */
static const char *suggest_key(char near[SUGGEST_TEXT], const char *word, const char *others)
{
    char key[64];
    struct suggest all;
    snprintf(key, sizeof key, "%.*s", (int)strcspn(word, "="), word);
    suggest_init(&all, key);
    for (const struct option_row *row = mask_options_rows; row->name; row++)
        suggest_offer_list(&all, row->name, "");
    suggest_offer_list(&all, others ? "rate" : "", "=");
    suggest_offer_list(&all, others ? others : "", "=");
    suggest_offer_list(&all, "@mix=, @wet=, @bypass", "");
    snprintf(near, SUGGEST_TEXT, "%s", suggest_text(&all));
    suggest_free(&all);
    return near;
}

static bool is_word_of(const struct option_row *row, const char *word, size_t *length)
{
    *length = strcspn(row->name, "=");
    return strncmp(word, row->name, *length) == 0 &&
           (!word[*length] || (word[*length] == '=' && row->name[*length] == '='));
}

enum status mask_options_parse(const char *word, const char *others, struct mask_options *options)
{
    char near[SUGGEST_TEXT];
    size_t length;
    if (options->map_pairs.count > 0 && strchr(word, ':') && !strchr(word, '='))
        return mask_map_add(&options->map_pairs, word);
    if (!*word)
        return fail(CAUSE_USAGE, "there is no mask option after a comma; remove the comma, or "
                                 "write \\, where it belongs to a name");
    if (stage_mix_is_word(word))
        return fail(CAUSE_USAGE, "%s says how much of a stage is heard: this mask is none", word);
    for (const struct option_row *row = mask_options_rows; row->name; row++)
        if (is_word_of(row, word, &length))
            return parse_once(row, word + length + (word[length] == '='), options);
    if (*suggest_key(near, word, others))
        return fail(CAUSE_USAGE, "unknown mask option '%s'%s", word, near);
    return fail(
        CAUSE_USAGE,
        "unknown mask option '%s'; use gain=DB, channel=N, trim=, length=, early=, fade= and "
        "delay=LENGTH, align=peak, phase=minimum, normalize=peak|energy|l1, invert, "
        "level=input|kaldi, order=lllrrlrr|llrrlrrl|hesuvi, map=auto|split|matrix or IN:TAP pairs, raw=FORMAT, rate=HZ, "
        "channels=N, folder=FOLDER, file=NAME=>PATH, trust-config=no, skip=nonlinear, and of SOFA files az=, el=, speakers= "
        "and interpolate=nearest|linear%s%s%s (a comma in a name is written \\,)",
        word, others ? "; this kind of mask has rate" : "", others && *others ? ", " : "",
        others ? others : "");
}

enum status mask_options_parse_gain(const char *word, double *db)
{
    struct mask_options options = {.gain = 0};
    TRY(mask_options_parse(word, NULL, &options));
    *db = options.gain;
    return STATUS_OK;
}

/* A LENGTH in whole frames, clamped to more than any mask has. */
static size_t frames_of(struct mask_span span, uint32_t rate)
{
    double frames = rint(span.seconds ? span.value * rate : span.value);
    return frames < 0x1p53 ? (size_t)frames : (size_t)1 << 53;
}

/* Keep `taps` taps of every column, beginning at `from`. */
static void cut(struct mask *mask, size_t from, size_t taps)
{
    for (size_t c = 0; c < mask->columns; c++)
        memmove(mask->coefficients + c * taps, mask_column(mask, c) + from,
                taps * sizeof *mask->coefficients);
    mask->taps = taps;
    mask->origin -= from < mask->origin ? from : mask->origin;
}

static void fade_out(struct mask *mask, size_t frames)
{
    for (size_t c = 0; c < mask->columns; c++) {
        double *end = mask_column(mask, c) + mask->taps - frames;
        for (size_t i = 0; i < frames; i++)
            end[i] *= pow(cos(M_PI_2 * ((double)i + 0.5) / (double)frames), 2);
    }
}

/* The position of the direct sound: the tap of largest magnitude in all columns. */
static size_t find_peak(const struct mask *mask)
{
    size_t peak = 0;
    double largest = 0;
    for (size_t c = 0; c < mask->columns; c++)
        for (size_t k = 0; k < mask->taps; k++)
            if (fabs(mask_column(mask, c)[k]) > largest) {
                largest = fabs(mask_column(mask, c)[k]);
                peak = k;
            }
    return peak;
}

static enum status shape(const struct mask_options *options, uint32_t rate, struct mask *mask)
{
    size_t trim = frames_of(options->trim, rate), fade = frames_of(options->fade, rate);
    size_t length = frames_of(options->length, rate);
    if (trim >= mask->taps)
        return fail(CAUSE_USAGE, "mask %s: trim= removes %zu tap%s, but it has only %zu",
                    mask->name, trim, plural_s(trim), mask->taps);
    size_t taps = mask->taps - trim;
    if (options->length.value > 0 && length < taps)
        taps = length > 0 ? length : 1;
    if (options->early.value > 0) {
        size_t end = find_peak(mask) + 1 + frames_of(options->early, rate);
        taps = end <= trim ? 1 : end - trim < taps ? end - trim : taps;
    }
    if (fade > taps)
        return fail(CAUSE_USAGE, "mask %s: fade= needs %zu tap%s, but it has only %zu", mask->name,
                    fade, plural_s(fade), taps);
    cut(mask, trim, taps);
    fade_out(mask, fade);
    return options->minimum_phase ? mask_minimum_phase(mask) : STATUS_OK;
}

static enum status resample(struct mask *mask, uint32_t rate, struct workers *workers)
{
    size_t taps = mask->taps;
    uint32_t old = mask->rate;
    if (old == 0 || old == rate)
        return STATUS_OK;
    TRY(mask_resample(mask, rate, workers));
    note("mask %s is resampled from %u to %u Hz (%zu to %zu tap%s)", mask->name, old, rate, taps,
         mask->taps, plural_s(mask->taps));
    return STATUS_OK;
}

/* The sum of the magnitudes of a column, or of their squares. */
static double size_of(const struct mask *mask, size_t column, enum mask_normalize normalize)
{
    const double *taps = mask_column(mask, column);
    double sum = 0;
    for (size_t k = 0; k < mask->taps; k++)
        sum += normalize == MASK_NORMALIZE_L1 ? fabs(taps[k]) : taps[k] * taps[k];
    return sum;
}

static double largest_output(const struct mask *mask, enum mask_normalize normalize)
{
    double largest = 0;
    for (size_t output = 0; output < mask->outputs; output++) {
        double sum = 0;
        for (size_t p = 0; p < mask->path_count; p++)
            if (mask->paths[p].output == output)
                sum += size_of(mask, mask->paths[p].column, normalize);
        largest = fmax(largest, sum);
    }
    return normalize == MASK_NORMALIZE_ENERGY ? sqrt(largest) : largest;
}

static void scale(const struct mask_options *options, struct mask *mask)
{
    double gain = audio_from_db(options->gain), size = 0;
    double factor = (options->invert ? -1 : 1) * (options->level ? 1 : gain);
    mask->level = options->level;
    mask->level_gain = options->level ? gain : 0;
    if (options->normalize == MASK_NORMALIZE_PEAK)
        size = audio_peak_in_double(mask->coefficients, mask->columns * mask->taps);
    else if (options->normalize != MASK_NORMALIZE_NONE)
        size = largest_output(mask, options->normalize);
    if (size > 0)
        factor /= size;
    if (factor != 1)
        mask_scale(mask, factor, options->load.workers);
}

/* Give the mask its paths, by the sound, map= and order=. */
static enum status route(const struct mask_options *options, const struct stream_format *format,
                         struct mask *mask)
{
    size_t channels = format->channels;
    if (options->map_pairs.count > 0) {
        if (options->has_order)
            return fail(CAUSE_USAGE, "mask %s: order= and map= exclude each other", mask->name);
        TRY(mask_map_route(&options->map_pairs, format, mask));
        mask->has_own_paths = true;
        return STATUS_OK;
    }
    bool has_own_paths = mask->has_own_paths;
    bool takes_order =
        options->order == MASK_ORDER_HESUVI || mask_is_true_stereo(mask, channels, options->map);
    TRY(mask_route(mask, channels, options->order, options->map));
    if (options->has_order && has_own_paths)
        return fail(CAUSE_USAGE, "mask %s has its own routing; order= cannot change it",
                    mask->name);
    if (options->has_order && !takes_order)
        return fail(CAUSE_USAGE,
                    "mask %s: order= sorts the four channels of a true-stereo mask; this one has "
                    "%zu, for %zu of the sound",
                    mask->name, mask->columns, channels);
    if (options->has_order || options->map != MASK_MAP_AUTO)
        mask->has_own_paths = true;
    return STATUS_OK;
}

/* Whether all options given are among `names`, such as "map= order=". */
static bool gives_only(const struct mask_options *options, const char *names)
{
    for (size_t i = 0; mask_options_rows[i].name; i++)
        if (options->given & UINT32_C(1) << i && !strstr(names, mask_options_rows[i].name))
            return false;
    return true;
}

/* Drops the bands of a mask that an option other than gain= changes. */
static void settle_bands(const struct mask_options *options, struct mask *mask)
{
    bool is_kept = mask->bands && (!mask->rate || mask->rate == options->load.sound.rate) &&
                   gives_only(options, "gain=");
    is_kept = is_kept && fabs(mask->bands->preamp + options->gain) <= EQ_DB_MOST;
    if (is_kept) {
        mask->bands->preamp += options->gain;
        return;
    }
    free(mask->bands);
    mask->bands = NULL;
}

/* Drops the measurement of a mask if an option may change its columns. */
static void settle_measured(const struct mask_options *options, uint32_t rate, struct mask *mask)
{
    bool is_kept = gives_only(options, "map= order=") && options->map_pairs.count == 0;
    if (is_kept && mask->rate == rate)
        return;
    free(mask->measured);
    mask->measured = NULL;
}

enum status mask_options_apply(const struct mask_options *options,
                               const struct stream_format *format, enum mask_align align,
                               struct mask *mask)
{
    uint32_t rate = mask->rate ? mask->rate : format->rate;
    settle_bands(options, mask);
    settle_measured(options, format->rate, mask);
    if (options->level && options->normalize)
        return fail(CAUSE_USAGE,
                    "mask %s: normalize= has no effect beside level=, which scales the "
                    "output",
                    mask->name);
    if (options->channel)
        TRY(mask_select(mask, options->channel));
    TRY(shape(options, rate, mask));
    mask_align(mask, align);
    if (options->aligns_peak)
        mask->origin = find_peak(mask);
    size_t origin = mask->origin;
    TRY(mask_pad(mask, frames_of(options->delay, rate)));
    mask->origin = origin; /* a delay keeps time zero in place */
    TRY(resample(mask, format->rate, options->load.workers));
    TRY(route(options, format, mask));
    scale(options, mask);
    return options->map_pairs.count > 0 ? mask_map_pass(format, mask) : STATUS_OK;
}

enum { HESUVI_CHANNELS = 8 }; /* 7.1, which has all channels that HeSuVi knows */

enum status mask_options_study(const struct mask_options *options,
                               const struct stream_format *sound, struct mask *mask)
{
    struct stream_format format = *sound;
    format.rate = mask->rate ? mask->rate : sound->rate ? sound->rate : MASK_USUAL_RATE;
    if (sound->channels == 0 && options->map_pairs.count > 0)
        mask_map_guess_sound(&options->map_pairs, &format);
    else if (sound->channels == 0) /* use the channels of a sound that fits the mask */
        format.channels = mask->has_own_paths                   ? mask->inputs
                          : options->channel                    ? 1
                          : options->order == MASK_ORDER_HESUVI ? HESUVI_CHANNELS
                          : mask->columns == 4                  ? 2
                                                                : mask->columns;
    return mask_options_apply(options, &format, MASK_ALIGN_OWN, mask);
}

enum status mask_spec_load(char **spec, struct mask_options *options, struct mask **mask)
{
    const struct mask_load_options *load = &options->load;
    const char *own = design_options(spec[0]);
    if (own)
        TRY(design_load(spec, load->sound.rate, load, mask));
    for (char **word = spec + 1; *word; word++)
        TRY(mask_options_parse(*word, own, options));
    if (own && (load->raw.format || load->is_about_configs))
        return fail(CAUSE_USAGE, "mask %s is made by halo: %s is for files", spec[0],
                    load->raw.format ? "raw=" : mask_config_option(load));
    if (load->raw.channels && !load->raw.format)
        return fail(CAUSE_USAGE, "channels= needs raw=; channel=N selects one channel");
    if (own && mask_directions_given(&load->directions))
        return fail(CAUSE_USAGE, "az=, el=, speakers= and interpolate= are for SOFA files");
    return own ? STATUS_OK : design_load(spec, load->sound.rate, load, mask);
}
