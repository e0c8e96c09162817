/* Configurations of Equalizer APO, and listings of parametric equalisers in its format (AutoEq,
 * REW's "Filter Settings file").
 *
 * Preamp, Filter, Convolution, Delay, Channel and Include are supported, the rest is refused. A
 * filter becomes its impulse response, down to -160 dB of its peak. Without a Channel line the mask
 * has one column for all channels; else it has paths for as many channels as the sound has, or, if
 * that is unknown, the least of 2, 4, 6 and 8 that includes every named one. */
#include "base/files_read.h"
#include "mask/eq_listing.h"
#include "mask/mask_config.h"
#include "mask/mask_matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    CHANNELS_MOST = 32,
    INCLUDES_MOST = 8, /* nested */
    FILTERS_MOST = 1000,
    RATE_USUAL = 48000, /* if neither the sound nor a mask has one */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    EQ_TAPS_MOST = 1 << 10,
#else
    EQ_TAPS_MOST = 1 << 18, /* 5 seconds at 48 kHz */
#endif
};
static const double EQ_FLOOR = 1e-8; /* of the peak; the end below it is cut */

struct eqapo {
    struct mask_config *config; /* the current file */
    struct mask_matrix *matrix; /* of the outermost file */
    size_t channels;
    bool is_selected[CHANNELS_MOST];
    bool is_rew; /* unknown lines are remarks */
    size_t filters;
    size_t depth; /* of includes */
};

static const struct {
    size_t channels; /* 0: any */
    const char *name;
    size_t index;
} speakers[] = {
    {0, "L", 0},   {0, "R", 1},  {4, "RL", 2}, {4, "RR", 3}, {0, "C", 2},  {0, "SUB", 3},
    {0, "LFE", 3}, {7, "RC", 4}, {7, "SL", 5}, {7, "SR", 6}, {8, "SL", 6}, {8, "SR", 7},
    {0, "RL", 4},  {0, "RR", 5}, {0, "SL", 4}, {0, "SR", 5},
};

static bool find_channel(const char *name, size_t channels, size_t *index)
{
    uint64_t number;
    if (mask_config_count(name, &number)) {
        *index = (size_t)number - 1;
        return number >= 1 && number <= CHANNELS_MOST;
    }
    for (size_t i = 0; i < sizeof speakers / sizeof *speakers; i++)
        if ((speakers[i].channels == 0 || speakers[i].channels == channels) &&
            strcasecmp(name, speakers[i].name) == 0) {
            *index = speakers[i].index;
            return true;
        }
    return false;
}

static enum status parse_channel(struct eqapo *reading, char *text)
{
    const char *name;
    bool selected[CHANNELS_MOST] = {0};
    while ((name = mask_config_word(&text))) {
        size_t index;
        if (strcasecmp(name, "all") == 0) {
            for (size_t c = 0; c < reading->channels; c++)
                selected[c] = true;
            continue;
        }
        if (!find_channel(name, reading->channels, &index))
            return mask_config_refuse(reading->config, "there is no channel '%.40s'", name);
        if (index >= reading->channels)
            return mask_config_refuse(reading->config, "channel %s, but there are only %zu", name,
                                      reading->channels);
        selected[index] = true;
    }
    memcpy(reading->is_selected, selected, sizeof selected);
    return STATUS_OK;
}

static enum status gain_all(struct eqapo *reading, double gain, uint64_t delay)
{
    for (size_t c = 0; c < reading->channels; c++)
        if (reading->is_selected[c])
            TRY(mask_matrix_gain(reading->matrix, c, gain, delay));
    return STATUS_OK;
}

static enum status parse_preamp(struct eqapo *reading, char *text)
{
    double db;
    if (!eq_listing_number(&text, "dB", &db) || fabs(db) > 300)
        return mask_config_refuse(reading->config, "Preamp: must be a number of dB");
    return gain_all(reading, audio_from_db(db), 0);
}

static uint32_t rate_of(const struct eqapo *reading)
{
    uint32_t sound = reading->config->options->sound.rate;
    return reading->config->rate ? reading->config->rate : sound ? sound : RATE_USUAL;
}

static enum status parse_delay(struct eqapo *reading, char *text)
{
    double value;
    if (!eq_listing_number(&text, NULL, &value) || value < 0)
        return mask_config_refuse(reading->config, "Delay: must be a number of ms or samples");
    const char *unit = mask_config_word(&text);
    if (!unit || (strcasecmp(unit, "ms") != 0 && strcasecmp(unit, "samples") != 0))
        return mask_config_refuse(reading->config, "Delay: must be in ms or samples");
    double frames = strcasecmp(unit, "ms") == 0 ? rint(value * rate_of(reading) / 1000) : value;
    if (frames > MATRIX_TAPS_MOST)
        return mask_config_refuse(reading->config, "the delay is too long");
    TRY(mask_config_rate(reading->config, rate_of(reading)));
    return gain_all(reading, 1, (uint64_t)frames);
}

static size_t audible(const double *taps, size_t count)
{
    double peak = 0;
    for (size_t k = 0; k < count; k++)
        peak = fmax(peak, fabs(taps[k]));
    while (count > 1 && fabs(taps[count - 1]) <= EQ_FLOOR * peak)
        count--;
    return count;
}

static enum status apply_eq(struct eqapo *reading, const struct eq_filter *filter, uint32_t rate)
{
    struct biquad biquad =
        biquad_make(filter->kind, filter->frequency, filter->gain, filter->q, (double)rate);
    double *taps = calloc(EQ_TAPS_MOST, sizeof *taps);
    enum status status = taps ? STATUS_OK : fail_memory("a mask");
    if (status == STATUS_OK) {
        taps[0] = 1;
        biquad_filter(&biquad, taps, EQ_TAPS_MOST);
        size_t count = audible(taps, EQ_TAPS_MOST);
        if (count == EQ_TAPS_MOST)
            note("mask %s: line %zu: the filter rings longer than %d taps and is cut there",
                 reading->config->file, reading->config->line, EQ_TAPS_MOST);
        for (size_t c = 0; c < reading->channels && status == STATUS_OK; c++)
            if (reading->is_selected[c])
                status = mask_matrix_filter(reading->matrix, c, 1, 0, taps, count);
    }
    free(taps);
    return status;
}

static enum status parse_filter(struct eqapo *reading, char *text)
{
    struct eq_filter filter;
    uint32_t rate = rate_of(reading);
    TRY(eq_listing_filter(reading->config, text, (double)rate, &filter));
    if (!filter.is_on)
        return STATUS_OK;
    if (++reading->filters > FILTERS_MOST)
        return mask_config_refuse(reading->config, "more than %d filters", FILTERS_MOST);
    TRY(mask_config_rate(reading->config, rate));
    return apply_eq(reading, &filter, rate);
}

/* The file's channels serve the selected channels in turn. */
static enum status parse_convolution(struct eqapo *reading, char *text)
{
    const struct mask *mask;
    size_t column = 0;
    TRY(mask_config_mask(reading->config, mask_config_name(text), NULL, &mask));
    for (size_t c = 0; c < reading->channels; c++)
        if (reading->is_selected[c])
            TRY(mask_matrix_filter(reading->matrix, c, 1, 0,
                                   mask_column(mask, column++ % mask->columns), mask->taps));
    return STATUS_OK;
}

static enum status read_lines(struct eqapo *reading);

static enum status parse_include(struct eqapo *reading, char *text)
{
    struct mask_config *outer = reading->config, inner;
    bool selected[CHANNELS_MOST];
    char *path;
    text += strspn(text, " \t");
    if (reading->depth == INCLUDES_MOST)
        return mask_config_refuse(outer, "includes are circular or nested deeper than %d",
                                  INCLUDES_MOST);
    TRY(mask_config_find(outer, text, &path));
    struct mask_load_options options = *outer->options;
    options.folder = outer->fence;
    enum status status;
    FILE *stream;
    const char *flaw = files_read_open(path, &stream);
    if (!flaw && !mask_config_open(&inner, path, stream, &options))
        flaw = "it is not a text file";
    if (flaw) {
        status = mask_config_refuse(outer, "cannot include %s: %s", text, flaw);
    } else {
        memcpy(selected, reading->is_selected, sizeof selected);
        inner.rate = outer->rate;
        reading->config = &inner;
        reading->depth++;
        status = read_lines(reading);
        reading->depth--;
        reading->config = outer;
        outer->rate = inner.rate;
        memcpy(reading->is_selected, selected, sizeof selected);
        mask_config_close(&inner);
    }
    if (stream)
        fclose(stream);
    free(path);
    return status;
}

static enum status parse_device(struct eqapo *reading, char *text)
{
    const char *word = mask_config_word(&text);
    if (word && strcasecmp(word, "all") == 0)
        return STATUS_OK;
    return mask_config_refuse(reading->config,
                              "settings for one device (Device:) cannot be read as a mask");
}

static const struct {
    const char *name;
    enum status (*parse)(struct eqapo *reading, char *text);
} commands[] = {
    {"Preamp", parse_preamp}, {"Filter", parse_filter},   {"Convolution", parse_convolution},
    {"Delay", parse_delay},   {"Channel", parse_channel}, {"Include", parse_include},
    {"Device", parse_device},
};

/* The index of a line's command, which may be followed by a number ("Filter 1:"). */
static size_t command_of(const char *line, const char *colon)
{
    size_t length = strcspn(line, " \t:"), i = 0;
    const char *number = line + length + strspn(line + length, " \t");
    number += strspn(number, "0123456789");
    number += strspn(number, " \t");
    for (; i < sizeof commands / sizeof *commands; i++)
        if (number == colon && length == strlen(commands[i].name) &&
            strncasecmp(line, commands[i].name, length) == 0)
            break;
    return i;
}

static enum status parse_line(struct eqapo *reading, char *line)
{
    line += strspn(line, " \t");
    char *colon = strchr(line, ':');
    if (!*line || *line == '#')
        return STATUS_OK;
    size_t i = colon ? command_of(line, colon) : sizeof commands / sizeof *commands;
    if (i < sizeof commands / sizeof *commands)
        return commands[i].parse(reading, colon + 1);
    if (reading->is_rew)
        return STATUS_OK;
    if (colon)
        return mask_config_refuse(reading->config, "'%.*s:' cannot be read as a mask",
                                  (int)(colon - line < 40 ? colon - line : 40), line);
    return mask_config_refuse(reading->config, "'%.40s' is not a command", line);
}

static enum status read_lines(struct eqapo *reading)
{
    char *line;
    while ((line = mask_config_line(reading->config)))
        TRY(parse_line(reading, line));
    return STATUS_OK;
}

/* The value of the next line of command `name` in `text`, or NULL; *rest: the text after it. */
static const char *find_command(const char *text, const char *name, const char **rest)
{
    size_t length = strlen(name);
    for (const char *line = text; *line; line += *line == '\n') {
        const char *at = line + strspn(line, " \t\r");
        line += strcspn(line, "\n");
        const char *after = at + length;
        if (strncasecmp(at, name, length) != 0)
            continue;
        after += strspn(after, " \t0123456789");
        if (*after == ':') {
            *rest = line;
            return after + 1;
        }
    }
    return NULL;
}

/* The least number of channels that the Channel lines need; 0: none is named. */
static size_t channels_named(const char *text)
{
    size_t least = 0;
    for (const char *value; (value = find_command(text, "Channel", &text));) {
        char line[256];
        snprintf(line, sizeof line, "%.*s", (int)strcspn(value, "\r\n"), value);
        char *rest = line;
        size_t index;
        for (const char *name; (name = mask_config_word(&rest));)
            if (find_channel(name, 8, &index) && index + 1 > least)
                least = index + 1;
    }
    return least;
}

static size_t count_channels(const struct eqapo *reading)
{
    static const size_t layouts[] = {2, 4, 6, 8, CHANNELS_MOST};
    size_t least = channels_named(reading->config->text), i = 0;
    size_t sound = reading->config->options->sound.channels;
    const char *rest;
    bool includes = find_command(reading->config->text, "Include", &rest) != NULL;
    if (least == 0 && !includes)
        return 1;
    if (sound > 0 && sound <= CHANNELS_MOST)
        return sound;
    while (layouts[i] < least)
        i++;
    return layouts[i];
}

static bool is_eqapo(const struct mask_config *config)
{
    static const char *const names[] = {"Filter", "Preamp", "Convolution", "GraphicEQ", "Include"};
    const char *rest;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (find_command(config->text, names[i], &rest))
            return true;
    return false;
}

static enum status read_eqapo(struct mask_config *config, struct mask **mask)
{
    struct eqapo reading = {.config = config};
    reading.is_rew = strncasecmp(config->text, "Filter Settings file", 20) == 0;
    reading.channels = count_channels(&reading);
    bool is_for_each = reading.channels == 1 && channels_named(config->text) == 0;
    for (size_t c = 0; c < reading.channels; c++)
        reading.is_selected[c] = true;
    TRY(mask_matrix_create(config, reading.channels, reading.channels, &config->matrix));
    reading.matrix = config->matrix;
    TRY(mask_matrix_connect(reading.matrix));
    TRY(read_lines(&reading));
    TRY(mask_matrix_to_mask(reading.matrix, mask));
    if (is_for_each) {
        (*mask)->has_own_paths = false;
        (*mask)->inputs = (*mask)->outputs = (*mask)->path_count = 0;
    }
    return STATUS_OK;
}

const struct mask_reader mask_reader_eqapo = {
    .kind = "Equalizer APO configuration",
    .is_my_config = is_eqapo,
    .read_config = read_eqapo,
};
