#include "mask/mask_sofa.h"

#include "base/plural.h"
#include "mask/mask_matrix.h"
#include "mask/sofa_directions.h"
#include "mask/sofa_response.h"
#include "mask/speakers.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 600 };
static const double lag_seconds = 1e-3; /* more than sound takes around a head */
static const double exact = 0.1;        /* degrees */

/* A share of the response from an input to a receiver. */
struct sofa_part {
    struct sofa_response response;
    size_t column;
    double weight, delay;
};

struct sofa_text {
    char text[TEXT];
    size_t length;
};

struct sofa_reading {
    const char *name;
    const struct mask_load_options *options;
    const struct sofa_file *file;
    struct sofa_direction *directions;
    struct speakers speakers; /* a single one for a file with emitters */
    size_t inputs;
    bool ears_are_exchanged; /* the right one is the first receiver */
    struct sofa_part *parts;
    size_t part_count;
    uint32_t rate;
};

static void text_add(struct sofa_text *text, const char *format, ...) PRINTF_LIKE(2, 3);

static void text_add(struct sofa_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text->text + text->length, TEXT - text->length, format, arguments);
    va_end(arguments);
    text->length += (size_t)length;
    if (text->length >= TEXT)
        text->length = TEXT - 1;
}

/* To 0.01, without -0. */
static double rounded(double value)
{
    return round(100 * value) / 100 + 0.0;
}

/* ---- what the file holds ---- */

static enum status read_rate(struct sofa_reading *reading)
{
    const struct sofa_array *rate = &reading->file->arrays[SOFA_RATE];
    for (size_t i = 0; i < rate->count; i++)
        if (!(rate->values[i] >= 1 && rate->values[i] <= MASK_RATE_MOST) ||
            rate->values[i] != rate->values[0])
            return fail(CAUSE_DAMAGED, "cannot read mask %s: a rate of %g Hz", reading->name,
                        (double)rate->values[i]);
    if (rate->count == 0)
        return fail(CAUSE_DAMAGED, "cannot read mask %s: it has no rate", reading->name);
    reading->rate = (uint32_t)lrintf(rate->values[0]);
    return STATUS_OK;
}

/* How far left a receiver is; the position of the first measurement where each has its own. */
static double leftness(const struct sofa_file *file, size_t receiver)
{
    const struct sofa_array *all = &file->arrays[SOFA_RECEIVER];
    size_t each = all->count / (3 * file->receivers);
    if (each == 0)
        return 0;
    float values[3];
    double xyz[3];
    for (size_t i = 0; i < 3; i++)
        values[i] = all->values[(3 * receiver + i) * each];
    const struct sofa_array one = {.count = 3, .values = values};
    return sofa_position(&one, all->type, 0, xyz) ? xyz[1] : 0;
}

/* Early versions of the reference software wrote the ears' positions with the wrong sign. */
static bool has_wrong_ears(const struct sofa_file *file)
{
    static const char api[] = "ARI SOFA API for Matlab/Octave ";
    int major, minor, patch;
    if (strncmp(file->api, api, strlen(api)) != 0 ||
        sscanf(file->api + strlen(api), "%d.%d.%d", &major, &minor, &patch) != 3)
        return false;
    return major < 1 || (major == 1 && (minor < 1 || (minor == 1 && patch == 0)));
}

static void find_ears(struct sofa_reading *reading)
{
    const struct sofa_file *file = reading->file;
    if (file->receivers != 2 || leftness(file, 0) >= 0 || leftness(file, 1) <= 0)
        return;
    reading->ears_are_exchanged = !has_wrong_ears(file);
    note("mask %s: its first receiver stands at the right; %s", reading->name,
         reading->ears_are_exchanged
             ? "it is taken as the right ear"
             : "it is taken as the left ear, since the program that wrote it had the sign wrong");
}

static void add_range(struct sofa_text *text, const struct sofa_reading *reading, const char *what,
                      double (*value)(const struct sofa_direction *))
{
    double least = value(&reading->directions[0]), most = least;
    for (size_t m = 1; m < reading->file->measurements; m++) {
        least = fmin(least, value(&reading->directions[m]));
        most = fmax(most, value(&reading->directions[m]));
    }
    text_add(text, ", %s %g", what, rounded(least));
    if (rounded(least) != rounded(most))
        text_add(text, " to %g", rounded(most));
}

static double distance_of(const struct sofa_direction *direction)
{
    return direction->distance;
}

static double longest_delay(const struct sofa_file *file)
{
    double longest = 0;
    for (size_t i = 0; i < file->arrays[SOFA_DELAY].count; i++)
        longest = fmax(longest, (double)file->arrays[SOFA_DELAY].values[i]);
    return longest;
}

/* For halo mask show. */
static enum status describe(const struct sofa_reading *reading, struct mask *mask)
{
    const struct sofa_file *file = reading->file;
    struct sofa_text text = {0};
    text_add(&text, "%s, %s%s%s%s%s\n", file->convention, file->data_type,
             *file->database ? ", " : "", file->database, *file->listener ? ", " : "",
             file->listener);
    text_add(&text, "%zu direction%s", file->measurements, plural_s(file->measurements));
    add_range(&text, reading, "azimuth", sofa_azimuth);
    add_range(&text, reading, "elevation", sofa_elevation);
    add_range(&text, reading, "metres", distance_of);
    text_add(&text, "\n%zu %s, %zu emitter%s, %zu tap%s, %u Hz, %s", file->receivers,
             file->receivers == 2   ? "ears"
             : file->receivers == 1 ? "receiver"
                                    : "receivers",
             file->emitters, plural_s(file->emitters), file->taps, plural_s(file->taps),
             reading->rate, longest_delay(file) > 0 ? "delays up to " : "no delays");
    if (longest_delay(file) > 0)
        text_add(&text, "%g frames", rounded(longest_delay(file)));
    mask->contents = strdup(text.text);
    return mask->contents ? STATUS_OK : fail_memory("a mask");
}

/* ---- which of it ---- */

static enum status choose_by_sound(struct sofa_reading *reading)
{
    size_t channels = reading->options->sound.channels;
    const char *layout = speakers_usual(channels > 0 ? channels : 1);
    if (!layout)
        return fail(CAUSE_USAGE,
                    "mask %s: a sound of %zu channels has no usual loudspeakers; tell them with "
                    "speakers=",
                    reading->name, channels);
    if (channels > 1)
        note("mask %s: speakers=%s, by the sound's %zu channels", reading->name, layout, channels);
    else
        note("mask %s: from the front; az= and el= choose another of its %zu directions, speakers= "
             "several",
             reading->name, reading->file->measurements);
    return speakers_parse(layout, &reading->speakers);
}

/* One direction serves one channel. */
static enum status refuse_channels(const struct sofa_reading *reading, bool is_single)
{
    size_t channels = reading->options->sound.channels;
    if (is_single)
        return fail(CAUSE_USAGE,
                    "mask %s has a single direction, for a mono sound, but the sound has %zu "
                    "channels; a file of several directions takes speakers=",
                    reading->name, channels);
    return fail(CAUSE_USAGE,
                "mask %s: az= and el= are for a mono sound, but the sound has %zu channels; "
                "speakers= names a direction for each, as speakers=%s",
                reading->name, channels,
                speakers_usual(channels) ? speakers_usual(channels) : "AZ/EL:AZ/EL:...");
}

static enum status choose(struct sofa_reading *reading)
{
    const struct mask_directions *wanted = &reading->options->directions;
    bool is_single = reading->file->emitters > 1 || reading->file->measurements == 1;
    if (wanted->speakers && wanted->has_direction)
        return fail(CAUSE_USAGE, "mask %s: speakers= and az= or el= exclude each other",
                    reading->name);
    if (wanted->speakers && is_single)
        return fail(CAUSE_USAGE,
                    "mask %s: speakers= needs responses from several directions, but it has %zu "
                    "measurement%s of %zu source%s",
                    reading->name, reading->file->measurements,
                    plural_s(reading->file->measurements), reading->file->emitters,
                    plural_s(reading->file->emitters));
    reading->speakers = (struct speakers){1, {{wanted->azimuth, wanted->elevation, false}}};
    if (!wanted->speakers && (wanted->has_direction || is_single) && reading->file->emitters == 1 &&
        reading->options->sound.channels > 1)
        return refuse_channels(reading, is_single);
    if (wanted->speakers)
        TRY(speakers_parse(wanted->speakers, &reading->speakers));
    else if (!wanted->has_direction && !is_single)
        TRY(choose_by_sound(reading));
    reading->inputs =
        reading->file->emitters > 1 ? reading->file->emitters : reading->speakers.count;
    if (reading->inputs <= MATRIX_CHANNELS_MOST && reading->file->receivers <= MATRIX_CHANNELS_MOST)
        return STATUS_OK;
    return fail(CAUSE_UNSUPPORTED, "cannot read mask %s: it has more than %d channels",
                reading->name, MATRIX_CHANNELS_MOST);
}

static void add_direction(struct sofa_text *text, const struct sofa_direction *direction)
{
    text_add(text, "az %g el %g", rounded(sofa_azimuth(direction)),
             rounded(sofa_elevation(direction)));
    if (direction->distance > 0)
        text_add(text, " at %g m", rounded(direction->distance));
}

/* Only with --verbose where it is what was asked for. */
static void note_choice(const struct sofa_reading *reading, const struct speaker *speaker,
                        const struct sofa_weight *weights, size_t count)
{
    struct sofa_direction wanted = sofa_direction_of(speaker->azimuth, speaker->elevation);
    struct sofa_text text = {0};
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            text_add(&text, " and ");
        if (count > 1)
            text_add(&text, "%.3f of ", weights[i].weight);
        add_direction(&text, &reading->directions[weights[i].measurement]);
    }
    bool is_exact = sofa_angle(&wanted, &reading->directions[weights[0].measurement]) < exact;
    (is_exact ? note_detail
              : note)("mask %s: az %g el %g%s is %s%s", reading->name, speaker->azimuth,
                      speaker->elevation, speaker->is_low ? " (LFE)" : "",
                      count > 1 ? "interpolated: " : "taken from the measurement at ", text.text);
}

/* The responses of several directions are aligned before they are added, as a difference in time
 * would cancel treble, and get the weighted mean of their delays. */
static enum status add_parts(struct sofa_reading *reading, const struct sofa_weight *weights,
                             size_t count, size_t input, size_t receiver)
{
    struct sofa_part *parts = reading->parts + reading->part_count;
    double lags[SOFA_AROUND] = {0}, mean = 0;
    size_t emitter = reading->file->emitters > 1 ? input : 0;
    for (size_t i = 0; i < count; i++) {
        parts[i].response =
            (struct sofa_response){reading->file, weights[i].measurement, receiver, emitter};
        parts[i].column = input * reading->file->receivers + receiver;
        parts[i].weight = weights[i].weight;
        if (i > 0)
            TRY(sofa_response_lag(&parts[0].response, &parts[i].response,
                                  lag_seconds * reading->rate, &lags[i]));
        mean += weights[i].weight * lags[i];
    }
    for (size_t i = 0; i < count; i++)
        parts[i].delay = sofa_response_delay(&parts[i].response) + mean - lags[i];
    reading->part_count += count;
    return STATUS_OK;
}

static enum status find_parts(struct sofa_reading *reading)
{
    const struct sofa_file *file = reading->file;
    bool is_linear = reading->options->directions.interpolate == MASK_INTERPOLATE_LINEAR;
    reading->parts =
        calloc(reading->inputs * file->receivers * SOFA_AROUND, sizeof *reading->parts);
    if (!reading->parts)
        return fail_memory("a mask");
    for (size_t input = 0; input < reading->inputs; input++) {
        struct sofa_weight weights[SOFA_AROUND] = {{0, 1}};
        size_t count = 1, place = file->emitters > 1 ? 0 : input;
        const struct speaker *speaker = &reading->speakers.at[place];
        struct sofa_direction to = sofa_direction_of(speaker->azimuth, speaker->elevation);
        if (is_linear)
            count = sofa_around(reading->directions, file->measurements, &to, weights);
        else
            weights[0].measurement = sofa_nearest(reading->directions, file->measurements, &to);
        if (place == input)
            note_choice(reading, speaker, weights, count);
        for (size_t receiver = 0; receiver < file->receivers; receiver++)
            TRY(add_parts(reading, weights, count, input, receiver));
    }
    return STATUS_OK;
}

/* ---- the mask ---- */

/* Time zero is where the earliest begins, or tap 0. */
static enum status make_mask(const struct sofa_reading *reading, struct mask **mask)
{
    double before = 0, after = 0;
    for (size_t i = 0; i < reading->part_count; i++) {
        double delay = reading->parts[i].delay, margin = (double)sofa_delay_margin(delay);
        before = fmax(before, margin - delay);
        after = fmax(after, delay + margin);
    }
    size_t origin = (size_t)ceil(before - 1e-3);
    TRY(mask_create(reading->name, reading->inputs * reading->file->receivers,
                    origin + (uint64_t)ceil(after - 1e-3) + reading->file->taps, mask));
    (*mask)->rate = reading->rate;
    (*mask)->origin = origin;
    for (size_t i = 0; i < reading->part_count; i++) {
        const struct sofa_part *part = &reading->parts[i];
        sofa_response_add(&part->response, part->weight, part->delay + (double)origin,
                          mask_column(*mask, part->column));
    }
    return STATUS_OK;
}

static enum status set_paths(const struct sofa_reading *reading, struct mask *mask)
{
    size_t receivers = reading->file->receivers;
    mask->paths = calloc(mask->columns, sizeof *mask->paths);
    if (!mask->paths)
        return fail_memory("a mask");
    for (size_t c = 0; c < mask->columns; c++) {
        size_t receiver = c % receivers;
        mask->paths[c] = (struct mask_path){
            c / receivers, reading->ears_are_exchanged ? 1 - receiver : receiver, c};
    }
    mask->path_count = mask->columns;
    mask->inputs = reading->inputs;
    mask->outputs = receivers;
    mask->has_own_paths = true;
    return STATUS_OK;
}

static enum status read_contents(struct sofa_reading *reading, struct mask **mask)
{
    TRY(sofa_response_check(reading->name, reading->file));
    TRY(read_rate(reading));
    TRY(sofa_directions_create(reading->name, reading->file, &reading->directions));
    TRY(choose(reading));
    find_ears(reading);
    TRY(find_parts(reading));
    TRY(make_mask(reading, mask));
    TRY(set_paths(reading, *mask));
    return describe(reading, *mask);
}

enum status mask_sofa_make(const char *name, const struct sofa_file *file,
                           const struct mask_load_options *options, struct mask **mask)
{
    struct sofa_reading reading = {.name = name, .file = file, .options = options};
    enum status status = read_contents(&reading, mask);
    free(reading.parts);
    free(reading.directions);
    return status;
}

static enum status is_sofa(const char *name, FILE *stream, const struct mask_load_options *options,
                           bool *mine)
{
    (void)name, (void)options;
    *mine = sofa_file_is_one(stream);
    return STATUS_OK;
}

static enum status read_sofa(const char *name, FILE *stream,
                             const struct mask_load_options *options, struct mask **mask)
{
    struct sofa_file file;
    enum status status = sofa_file_load(name, stream, &file);
    if (status == STATUS_OK)
        status = mask_sofa_make(name, &file, options, mask);
    sofa_file_free(&file);
    return status;
}

const struct mask_reader mask_reader_sofa = {
    .kind = "SOFA",
    .has_directions = true,
    .is_mine = is_sofa,
    .read = read_sofa,
};
