/* Configurations of Equalizer APO, and listings of parametric equalisers in its format (AutoEq,
 * REW's "Filter Settings file").
 *
 * Linear commands are read: filters, delays, gains, copies. A filter becomes its impulse response.
 * Its rate is that of Convolution: files; without these rate=; without it the sound's. If a
 * configuration treats all channels alike, the mask has one column for all. Otherwise it has paths
 * for the sound's number of channels. If this is unknown, it is the least of 2, 4, 6, 7 and 8 that
 * has all channels the configuration names. */
#include "import/mask_eqapo.h"

#include "base/decimal.h"
#include "import/eq_listing.h"
#include "import/response_file.h"
#include "signal/phase.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    FILTERS_MOST = 1000,
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    GRAPHIC_TAPS = 1 << 8,
#else
    /* taps up to 48 kHz, more at higher rates; in Equalizer APO always the same number */
    GRAPHIC_TAPS = 1 << 14,
#endif
    GRAPHIC_TIMES_MOST = 8, /* longest filter, in units of the shortest, for steep curves */
    GRAPHIC_TURNS = 2,      /* designs of each length; the second corrects the first */
    GRAPHIC_WORK = 256,     /* most work of a configuration, in designs of the shortest length */
};
static const double DB_MOST = 300;
static const double GRAPHIC_CORRECTED = 0.5; /* dB; a larger error takes a longer filter */
static const double GRAPHIC_ERROR = 0.1;     /* dB; the error allowed at the curve's points */
static const double GRAPHIC_DEPTH = 0.01; /* below -40 dB of the largest gain errors count less */
static const double GRAPHIC_LEAST = 1e-5; /* -100 dB, the least gain, as in Equalizer APO */

static enum status count_filter(struct eqapo *reading)
{
    if (++reading->filters > FILTERS_MOST)
        return eqapo_refuse(reading, "more than %d filters", FILTERS_MOST);
    return mask_config_settle_rate(reading->config);
}

static enum status filter_all(struct eqapo *reading, double gain, uint64_t delay,
                              const double *taps, size_t count)
{
    size_t channels = mask_matrix_outputs(reading->matrix);
    for (size_t c = 0; c < channels; c++)
        if (reading->is_selected[c])
            TRY(mask_matrix_filter(reading->matrix, c, gain, delay, taps, count));
    return STATUS_OK;
}

static enum status gain_all(struct eqapo *reading, double gain, uint64_t delay)
{
    static const double one = 1;
    return filter_all(reading, gain, delay, &one, 1);
}

/* ---- Preamp:, Delay: and Filter: ---- */

static enum status run_preamp(struct eqapo *reading, char *text)
{
    double db;
    if (!eq_number_read(&text, "dB", &db) || fabs(db) > DB_MOST)
        return eqapo_refuse(reading, "Preamp: must be a number of dB");
    reading->bands.preamp += db;
    return gain_all(reading, audio_from_db(db), 0);
}

static enum status run_delay(struct eqapo *reading, char *text)
{
    double value;
    if (!eq_number_read(&text, NULL, &value))
        return eqapo_refuse(reading, "Delay: must be a number of ms or samples");
    if (value < 0)
        return eqapo_refuse(reading,
                            "Delay: %g would be before the sound; Equalizer APO passes over it: "
                            "delay the other channels instead, or leave it out",
                            value);
    bool is_ms = eq_number_take(&text, "ms");
    if ((!is_ms && !eq_number_take(&text, "samples")) || !strchr(" \t", *text))
        return eqapo_refuse(reading, "Delay: must be in ms or samples");
    if (is_ms)
        TRY(mask_config_settle_rate(reading->config));
    double frames = floor((is_ms ? value * reading->config->rate / 1000 : value) + 0.5);
    if (frames > MATRIX_TAPS_MOST)
        return eqapo_refuse(reading, "the delay is too long");
    return gain_all(reading, 1, (uint64_t)frames);
}

static enum status run_filter(struct eqapo *reading, char *text)
{
    struct eq_filter filter;
    TRY(count_filter(reading));
    TRY(eq_listing_filter(reading->now, text, reading->config->rate, &filter));
    eq_filter_note_grouped(&filter, reading->now, reading->has_grouped);
    if (filter.foreign)
        eqapo_note_foreign(reading, filter.foreign);
    if (filter.is_on)
        reading->has_more |=
            !filter.is_band || !eq_bands_add(&reading->bands, &filter.band, reading->config->rate);
    enum status status = eq_filter_apply(&filter, reading->matrix, reading->is_selected);
    eq_filter_free(&filter);
    return status;
}

/* ---- Convolution: ---- */

static enum status load(struct eqapo *reading, char *text, const struct mask **mask)
{
    reading->now->rate = reading->config->rate;
    TRY(mask_config_mask(reading->now, eqapo_file_name(reading, text), NULL, mask));
    return mask_config_rate(reading->config, reading->now->rate);
}

/* Notes whether a file has several channels, which makes channels differ. */
static enum status see_convolution(struct eqapo *reading, char *text)
{
    const struct mask *mask;
    TRY(load(reading, text, &mask));
    if (mask->columns == 1)
        return STATUS_OK;
    reading->has_routes = true;
    if (mask->columns > reading->channels_seen && mask->columns <= EQAPO_CHANNELS_MOST)
        reading->channels_seen = mask->columns;
    return STATUS_OK;
}

/* Filters the selected channels. The file's channels are used in turn. */
static enum status run_convolution(struct eqapo *reading, char *text)
{
    const struct mask *mask;
    size_t column = 0, channels = mask_matrix_outputs(reading->matrix);
    TRY(load(reading, text, &mask));
    for (size_t c = 0; c < channels; c++)
        if (reading->is_selected[c])
            TRY(mask_matrix_filter(reading->matrix, c, 1, 0,
                                   mask_column(mask, column++ % mask->columns), mask->taps));
    return STATUS_OK;
}

/* ---- GraphicEQ: ---- */

static double graphic_at(const void *context, double hertz)
{
    return fmax(audio_from_db(level_curve_at(context, hertz)), GRAPHIC_LEAST);
}

/* Reads points in any order, separated by semicolons. */
static enum status parse_points(const struct eqapo *reading, char *text, struct level_curve *curve)
{
    for (char *part; (part = strsep(&text, ";"));) {
        double hertz, level;
        char *rest = part += strspn(part, " \t");
        if (!*part)
            continue;
        if (!eq_number_read(&rest, "Hz", &hertz) || !eq_number_read(&rest, "dB", &level) ||
            rest[strspn(rest, " \t")])
            return eqapo_refuse(reading, "'%.40s' is not a frequency and a gain, such as 105 -6.4",
                                part);
        if (!(hertz > 0) || fabs(level) > DB_MOST)
            return eqapo_refuse(reading, "a gain of %g dB at %g Hz", level, hertz);
        TRY(level_curve_add(curve, hertz, level));
    }
    return level_curve_sort(curve);
}

/* Removes points that occur twice. */
static enum status drop_copies(const struct eqapo *reading, struct level_curve *curve)
{
    double *octaves = curve->octaves.values, *levels = curve->levels.values;
    size_t kept = 0;
    for (size_t i = 0; i < level_curve_count(curve); i++) {
        bool is_again = i > 0 && octaves[i] <= octaves[kept - 1];
        if (is_again && levels[i] != levels[kept - 1])
            return eqapo_refuse(reading, "two gains at %g Hz", level_curve_hertz(curve, i));
        kept += !is_again;
        octaves[kept - 1] = octaves[i];
        levels[kept - 1] = levels[i];
    }
    curve->octaves.count = curve->levels.count = kept;
    return STATUS_OK;
}

/* A filter that is being fitted to a curve. Its length limits how sharp corners can be. */
struct graphic {
    const struct level_curve *asked;
    /* the same frequencies, with levels that the design tries, to reach the wanted ones */
    struct level_curve tried;
    double rate;
    size_t shortest, count; /* numbers of taps */
    double *taps;
    double *gains; /* gains at the points */
    double error;  /* largest error at the points, in dB */
    double hertz;  /* frequency of that error */
};

static void graphic_free(struct graphic *graphic)
{
    level_curve_free(&graphic->tried);
    free(graphic->taps);
    free(graphic->gains);
}

static enum status start_length(struct graphic *graphic, size_t count)
{
    size_t points = level_curve_count(graphic->asked);
    graphic_free(graphic);
    graphic->tried = (struct level_curve){0};
    graphic->count = count;
    graphic->taps = calloc(count, sizeof *graphic->taps);
    graphic->gains = calloc(points, sizeof *graphic->gains);
    if (!graphic->taps || !graphic->gains)
        return fail_memory("a mask");
    for (size_t i = 0; i < points; i++)
        TRY(level_curve_add(&graphic->tried, level_curve_hertz(graphic->asked, i),
                            graphic->asked->levels.values[i]));
    return STATUS_OK;
}

/* Measures the errors and subtracts them from the levels that are tried next. */
static void correct(struct graphic *graphic)
{
    size_t points = level_curve_count(graphic->asked);
    const double *levels = graphic->asked->levels.values;
    double largest = GRAPHIC_LEAST;
    for (size_t i = 0; i < points; i++)
        largest = fmax(largest, audio_from_db(levels[i]));
    graphic->error = 0;
    for (size_t i = 0; i < points && !isnan(graphic->gains[i]); i++) {
        double wanted = fmax(audio_from_db(levels[i]), GRAPHIC_LEAST), gain = graphic->gains[i];
        double error = level_curve_error(gain, wanted, largest * GRAPHIC_DEPTH);
        if (wanted > largest * GRAPHIC_DEPTH)
            graphic->tried.levels.values[i] += 20 * log10(wanted / fmax(gain, GRAPHIC_LEAST));
        if (error > graphic->error) {
            graphic->error = error;
            graphic->hertz = level_curve_hertz(graphic->asked, i);
        }
    }
}

static enum status try_length(struct eqapo *reading, struct graphic *graphic, size_t count)
{
    const struct phase_magnitude magnitude = {graphic_at, &graphic->tried};
    TRY(start_length(graphic, count));
    for (size_t turn = 0; turn < GRAPHIC_TURNS; turn++) {
        reading->designed += count / graphic->shortest;
        if (reading->designed > GRAPHIC_WORK)
            return eqapo_refuse(reading,
                                "its GraphicEQ: lines are too many or too steep: make one of "
                                "those that follow each other");
        TRY(phase_design(&magnitude, graphic->rate, PHASE_MINIMUM, graphic->taps, count));
        TRY(level_curve_measure(graphic->asked, graphic->rate, graphic->taps, count,
                                graphic->gains));
        correct(graphic);
        if (graphic->error <= GRAPHIC_ERROR || graphic->error > GRAPHIC_CORRECTED)
            break;
    }
    return STATUS_OK;
}

/* Fits the filter as Equalizer APO's documentation says. (The program's own grid is 0.7 Hz off.) */
static enum status fit(struct eqapo *reading, struct graphic *graphic)
{
    size_t count = GRAPHIC_TAPS;
    while (count < MATRIX_TAPS_MOST && (double)count / GRAPHIC_TAPS < graphic->rate / 48000.0)
        count *= 2;
    graphic->shortest = count;
    for (;; count *= 2) {
        TRY(try_length(reading, graphic, count));
        if (graphic->error <= GRAPHIC_ERROR || count == graphic->shortest * GRAPHIC_TIMES_MOST)
            break;
    }
    if (graphic->error > GRAPHIC_ERROR)
        note("mask %s: line %zu: GraphicEQ: is too steep for %zu taps: at %g Hz it is %.1f dB off",
             reading->now->file, reading->now->line, graphic->count, graphic->hertz,
             graphic->error);
    return filter_all(reading, 1, 0, graphic->taps, recursive_kept(graphic->taps, graphic->count));
}

static enum status run_graphic(struct eqapo *reading, char *text)
{
    struct level_curve curve = {0};
    if (strchr(text, ',') && strchr(text, '.'))
        return eqapo_refuse(reading, "GraphicEQ: with commas and points: where there is a point, a "
                                     "comma ends a number in Equalizer APO: write points alone");
    TRY(count_filter(reading));
    struct graphic graphic = {.asked = &curve, .rate = reading->config->rate};
    enum status status = parse_points(reading, text, &curve);
    if (status == STATUS_OK)
        status = drop_copies(reading, &curve);
    if (status == STATUS_OK && level_curve_count(&curve) > 0)
        status = fit(reading, &graphic);
    graphic_free(&graphic);
    level_curve_free(&curve);
    return status;
}

/* ---- channels ---- */

enum { SPEAKERS = 9, LAYOUT_MOST = 8 };

static const char *const speakers[SPEAKERS] = {"L", "R", "C", "LFE", "RL", "RR", "RC", "SL", "SR"};

/* Layouts by number of channels: those of Windows, for 3, 5 and 7 channels those of WAVE files. */
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

/* Speakers that a layout may lack, each with the speaker that replaces it. */
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

/* The speaker that a name means, in upper or lower case. SPEAKERS: it means none. */
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

/* Finds a channel by name or number. Numbers count all channels, those of the sound first. */
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

/* Whether a name is a speaker or a number, which other sounds may have. */
static bool is_channel_elsewhere(const char *name)
{
    return speaker_of(name) < SPEAKERS || isdigit((unsigned char)*name);
}

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

/* Whether so many channels include all speakers that were named, each as a channel of its own. */
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

static size_t count_channels(const struct eqapo *reading)
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

static void select_all(struct eqapo *reading)
{
    for (size_t c = 0; c < EQAPO_CHANNELS_MOST; c++)
        reading->is_selected[c] = c < reading->channels + reading->created_count;
}

/* Equalizer APO separates names by blanks only. With a tab or quotes it finds no channel. */
static enum status check_separators(const struct eqapo *reading, const char *text)
{
    return strpbrk(text, "\t\"") ? eqapo_refuse(reading, "a tab or quotes: Equalizer APO separates "
                                                         "channels and copies by blanks alone")
                                 : STATUS_OK;
}

/* The next name in a Channel: line. The line ignores case. But a channel that Copy: created with
 * small letters in its name is not found. */
static char *next_selected(char **text)
{
    char *word = mask_config_word(text);
    for (char *at = word; at && *at; at++)
        *at = (char)toupper((unsigned char)*at);
    return word;
}

static enum status see_channel(struct eqapo *reading, char *text)
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

static enum status select_channels_of(struct eqapo *reading, char *text)
{
    memset(reading->is_selected, 0, sizeof reading->is_selected);
    for (const char *name; (name = next_selected(&text));) {
        size_t index;
        if (strcasecmp(name, "all") == 0)
            select_all(reading);
        else if (find_channel(reading, name, &index))
            reading->is_selected[index] = true;
        else if (is_channel_elsewhere(name))
            note_missing(reading, name, "it is passed over");
        else
            return eqapo_refuse(
                reading, "there is no channel '%.40s', as Channel: reads names in capitals", name);
    }
    return STATUS_OK;
}

/* ---- Copy: ---- */

/* The next part of *rest, up to a separator. NULL: no part is left. */
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

/* Reads a factor, as 0.5 or -6dB. */
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

/* Reads one term of a sum. *channel: its channel, or NULL for silence. */
static enum status parse_term(const struct eqapo *reading, char *text, double *factor,
                              const char **channel)
{
    char *star = strchr(text, '*');
    *factor = 1;
    *channel = star ? star + 1 : text;
    if (star)
        *star = '\0';
    if (star && !parse_factor(text, factor))
        return eqapo_refuse(reading, "'%.40s' is no factor, such as 0.5 or -6dB", text);
    if (!star && (strcmp(text, "0") == 0 || strchr(text, '.'))) {
        if (!parse_factor(text, factor) || *factor != 0)
            return eqapo_refuse(reading,
                                "the constant '%.40s' is added to any sound, which a mask "
                                "cannot do",
                                text);
        *channel = NULL;
    }
    return STATUS_OK;
}

/* Checks a target, as in L=0.5*L+0.5*R. *sum: the text after the equals sign. */
static enum status parse_target(const struct eqapo *reading, char *word, char **sum)
{
    char *sign = strchr(word, '=');
    if (!sign || sign == word || !sign[1])
        return eqapo_refuse(reading, "'%.40s' is not a copy such as L=0.5*L+0.5*R, without blanks",
                            word);
    if (strpbrk(word, "()"))
        return eqapo_refuse(reading, "Copy: takes no parentheses: write the factor before each "
                                     "channel, such as L=0.7*L+0.7*R");
    *sign = '\0';
    *sum = sign + 1;
    return STATUS_OK;
}

static enum status see_copy(struct eqapo *reading, char *text)
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

/* The row of a target. It is created if there is none. */
static enum status find_target(struct eqapo *reading, const char *name, size_t *row)
{
    if (find_channel(reading, name, row))
        return STATUS_OK;
    if (reading->channels + reading->created_count == EQAPO_CHANNELS_MOST)
        return eqapo_refuse(reading, "more than %d channels", EQAPO_CHANNELS_MOST);
    if (is_channel_elsewhere(name))
        note_missing(reading, name, "it can be copied, but is not heard");
    char *copy = strdup(name);
    if (!copy)
        return fail_memory("a mask");
    *row = reading->channels + reading->created_count;
    reading->created[reading->created_count++] = copy;
    return STATUS_OK;
}

/* Adds the terms of a sum. `columns`: the channels before the line. Only these are copied from. */
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
            return eqapo_refuse(reading, "there is no channel '%.40s' to copy", channel);
    }
    return STATUS_OK;
}

/* Fills in the gains of a line, whose copies are all made at once. */
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

static enum status run_copy(struct eqapo *reading, char *text)
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

static enum status drop_created(struct eqapo *reading)
{
    while (reading->created_count > 0)
        free(reading->created[--reading->created_count]);
    return mask_matrix_crop(reading->matrix, reading->channels, reading->channels);
}

/* ---- commands ---- */

static bool is_filter(const char *text)
{
    char start[16], *word = start;
    snprintf(start, sizeof start, "%s", text);
    return eq_number_take(&word, "ON") || eq_number_take(&word, "OFF");
}

static bool is_number(const char *text)
{
    text += strspn(text, " \t+-.,");
    return isdigit((unsigned char)*text) || *text == '`';
}

static bool is_copy(const char *text)
{
    return text[strcspn(text, "=\r\n")] == '=';
}

/* Whether a text can be a file's name and is not a value of YAML. */
static bool is_name(const char *text)
{
    text += strspn(text, " \t");
    return !strchr("{[&*|>\r\n", *text);
}

static bool is_delay(const char *text)
{
    size_t length = strcspn(text, "\r\n");
    const char *unit = text + strspn(text, " \t+-0123456789.,");
    return is_number(text) && unit < text + length &&
           (strncasecmp(unit, "ms", 2) == 0 || strncasecmp(unit, "samples", 7) == 0);
}

static enum status refuse(struct eqapo *reading, char *text)
{
    (void)text;
    const struct eqapo_line *line = &reading->lines[reading->line_count - 1];
    return eqapo_refuse(reading, "%s: cannot be read as a mask", line->command->name);
}

static const struct eqapo_command commands[] = {
    {"Preamp", .ends_itself = true, .makes_bands = true, .run = run_preamp,
     .is_plausible = is_number},
    {"Filter", .is_numbered = true, .makes_bands = true, .run = run_filter,
     .is_plausible = is_filter},
    {"GraphicEQ", .run = run_graphic, .is_plausible = is_number},
    {"Convolution", true, .prepare = see_convolution, .run = run_convolution},
    {"Delay", .ends_itself = true, .run = run_delay, .is_plausible = is_delay},
    {"Channel", .prepare = see_channel, .run = select_channels_of},
    {"Copy", .prepare = see_copy, .run = run_copy, .is_plausible = is_copy},
    {"VSTPlugin", .gather = refuse},
    {"LoudnessCorrection", .gather = refuse},
    {0},
};

/* Finds the command. A number may follow its name ("Filter 1:"). */
const struct eqapo_command *eqapo_command_of(const char *line, const char **text)
{
    line += strspn(line, " \t");
    size_t length = strcspn(line, " \t:\r\n");
    const char *colon = line + length + strspn(line + length, " \t0123456789");
    if (*colon != ':')
        return NULL;
    *text = colon + 1;
    const struct eqapo_command *const tables[] = {commands, eqapo_line_commands};
    for (size_t i = 0; i < 2; i++)
        for (const struct eqapo_command *at = tables[i]; at->name; at++)
            if (length == strlen(at->name) && strncasecmp(line, at->name, length) == 0)
                return at;
    return NULL;
}

bool eqapo_is_command(const char *line)
{
    const char *text;
    const struct eqapo_command *command = eqapo_command_of(line, &text);
    return command && (command->names_file     ? is_name(text)
                       : command->is_plausible ? command->is_plausible(text)
                                               : false);
}

static bool is_eqapo(const struct mask_config *config)
{
    for (const char *line = config->text; *line; line += *line == '\n') {
        if (eqapo_is_command(line))
            return true;
        line += strcspn(line, "\n");
    }
    return false;
}

/* ---- running ---- */

static enum status call(struct eqapo *reading, const struct eqapo_line *line,
                        enum status (*step)(struct eqapo *reading, char *text))
{
    if (!step)
        return STATUS_OK;
    char *text = strdup(line->text ? line->text : "");
    if (!text)
        return fail_memory("a mask");
    reading->now = line->config;
    line->config->line = line->number;
    enum status status = step(reading, text);
    free(text);
    return status;
}

/* Settles the rate and the matrix's number of channels. */
static enum status prepare(struct eqapo *reading)
{
    for (size_t i = 0; i < reading->line_count; i++)
        TRY(call(reading, &reading->lines[i], reading->lines[i].command->prepare));
    reading->channels = count_channels(reading);
    TRY(mask_matrix_create(reading->config, reading->channels, reading->channels,
                           &reading->config->matrix));
    reading->matrix = reading->config->matrix;
    return mask_matrix_connect(reading->matrix);
}

static enum status run_stage(struct eqapo *reading, enum eqapo_stage stage)
{
    select_all(reading);
    for (size_t i = 0; i < reading->line_count; i++)
        if (reading->lines[i].stages & stage)
            TRY(call(reading, &reading->lines[i], reading->lines[i].command->run));
    return drop_created(reading);
}

static enum status make(struct eqapo *reading, struct mask **mask)
{
    TRY(eqapo_gather(reading));
    TRY(prepare(reading));
    TRY(run_stage(reading, EQAPO_PRE_MIX));
    TRY(run_stage(reading, EQAPO_POST_MIX));
    return reading->has_routes ? mask_matrix_to_mask(reading->matrix, mask)
                               : mask_matrix_to_column(reading->matrix, mask);
}

static enum status keep_bands(const struct eqapo *reading, struct mask *mask)
{
    if (reading->has_more || fabs(reading->bands.preamp) > EQ_DB_MOST)
        return STATUS_OK;
    mask->bands = malloc(sizeof *mask->bands);
    if (!mask->bands)
        return fail_memory("a mask");
    *mask->bands = reading->bands;
    return STATUS_OK;
}

static enum status read_eqapo(struct mask_config *config, struct mask **mask)
{
    struct eqapo *reading = calloc(1, sizeof *reading);
    if (!reading)
        return fail_memory("a mask");
    reading->config = reading->now = config;
    /* the stages before any Stage: line, as in Equalizer APO */
    reading->stages = EQAPO_POST_MIX | EQAPO_CAPTURE;
    enum status status = make(reading, mask);
    if (status == STATUS_OK)
        status = keep_bands(reading, *mask);
    eqapo_free(reading);
    return status;
}

const struct mask_reader mask_reader_eqapo = {
    .kind = "Equalizer APO configuration",
    .is_my_config = is_eqapo,
    .read_config = read_eqapo,
};
