/* The channels of a configuration of Equalizer APO: their names, Channel: and Copy: lines. */
#include "mask/mask_eqapo.h"

#include "base/decimal.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SPEAKERS = 9, LAYOUT_MOST = 8 };

static const char *const speakers[SPEAKERS] = {"L", "R", "C", "LFE", "RL", "RR", "RC", "SL", "SR"};

/* By number of channels; those of Windows, and for 3, 5 and 7 those of WAVE files. */
static const char *const layouts[LAYOUT_MOST + 1][LAYOUT_MOST] = {
    [1] = {"C"},
    [2] = {"L", "R"},
    [3] = {"L", "R", "C"},
    [4] = {"L", "R", "RL", "RR"},
    [5] = {"L", "R", "C", "RL", "RR"},
    [6] = {"L", "R", "C", "LFE", "SL", "SR"},
    [7] = {"L", "R", "C", "LFE", "RC", "SL", "SR"},
    [8] = {"L", "R", "C", "LFE", "RL", "RR", "SL", "SR"},
};

/* What stands for a speaker that a layout lacks. */
static const char *const others[][2] = {
    {"SL", "RL"}, {"SR", "RR"}, {"RL", "SL"}, {"RR", "SR"}, {"SUB", "LFE"},
};

static bool find_in_layout(size_t channels, const char *name, size_t *index)
{
    const char *const *layout = layouts[channels < LAYOUT_MOST ? channels : LAYOUT_MOST];
    for (size_t i = 0; i < LAYOUT_MOST && layout[i]; i++)
        if (strcmp(name, layout[i]) == 0) {
            *index = i;
            return true;
        }
    return false;
}

static const char *other_name(const char *name)
{
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(name, others[i][0]) == 0)
            return others[i][1];
    return NULL;
}

/* In any case; SPEAKERS: it is none. */
static size_t speaker_of(const char *name)
{
    size_t i = 0;
    if (strcasecmp(name, "SUB") == 0)
        name = "LFE";
    while (i < SPEAKERS && strcasecmp(name, speakers[i]) != 0)
        i++;
    return i;
}

static bool find_created(const struct eqapo *reading, const char *name, size_t *index)
{
    for (size_t i = 0; i < reading->created_count; i++)
        if (strcmp(name, reading->created[i]) == 0) {
            *index = reading->channels + i;
            return true;
        }
    return false;
}

/* A number counts all channels, those of the sound first. */
static bool find_channel(const struct eqapo *reading, const char *name, size_t *index)
{
    uint64_t number;
    const char *other = other_name(name);
    if (mask_config_count(name, &number)) {
        *index = (size_t)number - 1;
        return number >= 1 && number <= reading->channels + reading->created_count;
    }
    return find_in_layout(reading->channels, name, index) || find_created(reading, name, index) ||
           (other && find_in_layout(reading->channels, other, index));
}

/* A channel of other sounds: a speaker, or a number. */
static bool is_channel_elsewhere(const char *name)
{
    return speaker_of(name) < SPEAKERS || isdigit((unsigned char)*name);
}

/* ---- how many ---- */

static void see(struct eqapo *reading, const char *name)
{
    uint64_t number;
    size_t speaker = speaker_of(name);
    reading->has_routes = true;
    if (mask_config_count(name, &number) && number > reading->channels_seen &&
        number <= EQAPO_CHANNELS_MOST)
        reading->channels_seen = (size_t)number;
    else if (speaker < SPEAKERS)
        reading->names_seen |= 1u << speaker;
}

/* Whether it has all speakers that were seen, each a channel of its own. */
static bool is_enough(const struct eqapo *reading, size_t channels)
{
    unsigned used = 0;
    size_t index;
    if (channels < reading->channels_seen)
        return false;
    for (size_t s = 0; s < SPEAKERS; s++) {
        if (!(reading->names_seen & 1u << s))
            continue;
        const char *other = other_name(speakers[s]);
        if (!find_in_layout(channels, speakers[s], &index) &&
            !(other && find_in_layout(channels, other, &index)))
            return false;
        if (used & 1u << index)
            return false;
        used |= 1u << index;
    }
    return true;
}

size_t eqapo_count_channels(const struct eqapo *reading)
{
    static const size_t usual[] = {2, 4, 6, 7, 8};
    size_t sound = reading->config->options->sound.channels;
    if (!reading->has_routes)
        return 1;
    if (sound > 0 && sound <= EQAPO_CHANNELS_MOST)
        return sound;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (is_enough(reading, usual[i]))
            return usual[i];
    return reading->channels_seen > LAYOUT_MOST ? reading->channels_seen : LAYOUT_MOST;
}

/* ---- Channel: ---- */

void eqapo_select_all(struct eqapo *reading)
{
    for (size_t c = 0; c < EQAPO_CHANNELS_MOST; c++)
        reading->is_selected[c] = c < reading->channels + reading->created_count;
}

/* Equalizer APO splits at blanks alone: with a tab or quotes it finds no channel. */
static enum status check_separators(const struct eqapo *reading, const char *text)
{
    return strpbrk(text, "\t\"")
               ? mask_config_refuse(reading->now, "a tab or quotes: Equalizer APO separates "
                                                  "channels and copies by blanks alone")
               : STATUS_OK;
}

/* Channel: minds no case; names that Copy: creates may have small letters, and are not found. */
static char *next_selected(char **text)
{
    char *word = mask_config_word(text);
    for (char *at = word; at && *at; at++)
        *at = (char)toupper((unsigned char)*at);
    return word;
}

enum status eqapo_see_channel(struct eqapo *reading, char *text)
{
    TRY(check_separators(reading, text));
    for (const char *name; (name = next_selected(&text));)
        if (strcasecmp(name, "all") != 0)
            see(reading, name);
    return STATUS_OK;
}

static void note_missing(const struct eqapo *reading, const char *name, const char *what)
{
    note("mask %s: line %zu: there is no channel %.40s in a sound of %zu: %s", reading->now->file,
         reading->now->line, name, reading->channels, what);
}

enum status eqapo_channel(struct eqapo *reading, char *text)
{
    memset(reading->is_selected, 0, sizeof reading->is_selected);
    for (const char *name; (name = next_selected(&text));) {
        size_t index;
        if (strcasecmp(name, "all") == 0)
            eqapo_select_all(reading);
        else if (find_channel(reading, name, &index))
            reading->is_selected[index] = true;
        else if (is_channel_elsewhere(name))
            note_missing(reading, name, "it is passed over");
        else
            return mask_config_refuse(
                reading->now, "there is no channel '%.40s', as Channel: reads names in capitals",
                name);
    }
    return STATUS_OK;
}

/* ---- Copy: ---- */

/* The next part of *rest, up to a separator; NULL: none left. */
static char *next_part(char **rest, char separator)
{
    char *part = *rest;
    if (!part)
        return NULL;
    char *end = strchr(part, separator);
    if (end)
        *end = '\0';
    *rest = end ? end + 1 : NULL;
    return part;
}

/* 0.5 or -6dB */
static bool parse_factor(const char *text, double *factor)
{
    char *end;
    if (!decimal_read(text, &end, factor) || !isfinite(*factor))
        return false;
    if (strcasecmp(end, "dB") == 0)
        *factor = audio_from_db(*factor);
    else if (*end)
        return false;
    return isfinite(*factor);
}

/* One term of a sum: a channel, or NULL for silence. */
static enum status parse_term(const struct eqapo *reading, char *text, double *factor,
                              const char **channel)
{
    char *star = strchr(text, '*');
    *factor = 1;
    *channel = star ? star + 1 : text;
    if (star)
        *star = '\0';
    if (star && !parse_factor(text, factor))
        return mask_config_refuse(reading->now, "'%.40s' is no factor, such as 0.5 or -6dB", text);
    if (!star && (strcmp(text, "0") == 0 || strchr(text, '.'))) {
        if (!parse_factor(text, factor) || *factor != 0)
            return mask_config_refuse(reading->now,
                                      "the constant '%.40s' is added to any sound, which a mask "
                                      "cannot do",
                                      text);
        *channel = NULL;
    }
    return STATUS_OK;
}

/* L=0.5*L+0.5*R: *sum is what follows the sign. */
static enum status parse_target(const struct eqapo *reading, char *word, char **sum)
{
    char *sign = strchr(word, '=');
    if (!sign || sign == word || !sign[1])
        return mask_config_refuse(
            reading->now, "'%.40s' is not a copy such as L=0.5*L+0.5*R, without blanks", word);
    if (strpbrk(word, "()"))
        return mask_config_refuse(reading->now,
                                  "Copy: takes no parentheses: write the factor before each "
                                  "channel, such as L=0.7*L+0.7*R");
    *sign = '\0';
    *sum = sign + 1;
    return STATUS_OK;
}

enum status eqapo_see_copy(struct eqapo *reading, char *text)
{
    reading->has_routes = true;
    TRY(check_separators(reading, text));
    for (char *word; (word = mask_config_word(&text));) {
        char *sum = NULL;
        double factor;
        const char *channel;
        TRY(parse_target(reading, word, &sum));
        see(reading, word);
        for (char *term; (term = next_part(&sum, '+'));) {
            TRY(parse_term(reading, term, &factor, &channel));
            if (channel)
                see(reading, channel);
        }
    }
    return STATUS_OK;
}

/* The row of a target, which is created where there is none. */
static enum status find_target(struct eqapo *reading, const char *name, size_t *row)
{
    if (find_channel(reading, name, row))
        return STATUS_OK;
    if (reading->channels + reading->created_count == EQAPO_CHANNELS_MOST)
        return mask_config_refuse(reading->now, "more than %d channels", EQAPO_CHANNELS_MOST);
    if (is_channel_elsewhere(name))
        note_missing(reading, name, "it can be copied, but is not heard");
    char *copy = strdup(name);
    if (!copy)
        return fail_memory("a mask");
    *row = reading->channels + reading->created_count;
    reading->created[reading->created_count++] = copy;
    return STATUS_OK;
}

/* `columns`: the channels before the line, which alone it copies from. */
static enum status add_terms(const struct eqapo *reading, char *sum, size_t columns, double *gains)
{
    memset(gains, 0, columns * sizeof *gains);
    for (char *term; (term = next_part(&sum, '+'));) {
        double factor;
        const char *channel;
        size_t column;
        TRY(parse_term(reading, term, &factor, &channel));
        if (!channel)
            continue;
        if (find_channel(reading, channel, &column) && column < columns)
            gains[column] += factor;
        else if (is_channel_elsewhere(channel))
            note_missing(reading, channel, "it is taken as silent");
        else
            return mask_config_refuse(reading->now, "there is no channel '%.40s' to copy", channel);
    }
    return STATUS_OK;
}

/* All copies of a line are made at once. */
static enum status fill_gains(struct eqapo *reading, char *text, size_t columns, double *gains)
{
    for (size_t c = 0; c < columns; c++)
        gains[c * columns + c] = 1;
    for (char *word; (word = mask_config_word(&text));) {
        char *sum = NULL;
        size_t row;
        TRY(parse_target(reading, word, &sum));
        TRY(find_target(reading, word, &row));
        TRY(add_terms(reading, sum, columns, gains + row * columns));
    }
    return STATUS_OK;
}

enum status eqapo_copy(struct eqapo *reading, char *text)
{
    size_t columns = mask_matrix_outputs(reading->matrix);
    double *gains = calloc(EQAPO_CHANNELS_MOST * columns, sizeof *gains);
    enum status status = gains ? fill_gains(reading, text, columns, gains) : fail_memory("a mask");
    if (status == STATUS_OK)
        status =
            mask_matrix_mix(reading->matrix, reading->channels + reading->created_count, gains);
    free(gains);
    return status;
}

enum status eqapo_drop_created(struct eqapo *reading)
{
    while (reading->created_count > 0)
        free(reading->created[--reading->created_count]);
    return mask_matrix_crop(reading->matrix, reading->channels, reading->channels);
}
