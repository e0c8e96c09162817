#include "chain/mask_map.h"

#include "base/plural.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Part of a word: a pair, IN or TAP. */
struct span {
    const char *text;
    size_t length;
};

#define SPAN(SPAN) (int)(SPAN).length, (SPAN).text

bool mask_map_is_pair(const char *word)
{
    return strchr(word, ':') && !strchr(word, '=');
}

/* The next part up to one of `ends`, or false. */
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

/* IN:TAP+TAP as IN and the taps. */
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

/* Channels of the sound or of the mask. */
struct named {
    const char *what; /* "the sound", "mask hall.wav" */
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
    struct mask *mask; /* as it was */
    struct mask *made; /* with the columns and paths that are asked for */
};

/* The mask's channels that a pair adds up. Errors: one that is not there, or twice. */
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

/* Exchange what the two hold; the caller destroys `other`. */
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

/* A column for each path, of which there are at most as many as channels. */
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
