#include "import/sofa_file.h"

#include "base/decimal.h"
#include "base/plural.h"
#include "base/status.h"
#include "import/mask_matrix.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- loudspeakers ----
 *
 * Where a layout's loudspeakers stand, seen by a listener. Channels are in the order of WAV files:
 * FL FR FC LFE BL BR SL SR TFL TFR TBL TBR. Angles are those of ITU-R BS.2051 and BS.775, in
 * degrees as in SOFA: azimuth from the front to the left, elevation upwards. */

enum { SPEAKERS_MOST = 64 };

struct speaker {
    double azimuth, elevation;
    bool is_low; /* an LFE, which is placed at the front centre */
};

struct speakers {
    size_t count;
    struct speaker at[SPEAKERS_MOST];
};

#define LFE {0, 0, true}
#define FRONT {30, 0, false}, {-30, 0, false}, {0, 0, false}, LFE
#define SIDES                                                                                      \
    {110, 0, false},                                                                               \
    {                                                                                              \
        -110, 0, false                                                                             \
    }
#define REAR_AND_SIDES                                                                             \
    {135, 0, false}, {-135, 0, false}, {90, 0, false},                                             \
    {                                                                                              \
        -90, 0, false                                                                              \
    }

static const struct speaker_layout {
    const char *name;
    struct speakers speakers;
} layouts[] = {
    {"mono", {1, {{0, 0, false}}}},
    {"stereo", {2, {{30, 0, false}, {-30, 0, false}}}},
    {"quad", {4, {{45, 0, false}, {-45, 0, false}, {135, 0, false}, {-135, 0, false}}}},
    {"5.1", {6, {FRONT, SIDES}}},
    {"7.1", {8, {FRONT, REAR_AND_SIDES}}},
    {"5.1.4",
     {10, {FRONT, SIDES, {30, 30, false}, {-30, 30, false}, {110, 30, false}, {-110, 30, false}}}},
    {"7.1.4",
     {12,
      {FRONT,
       REAR_AND_SIDES,
       {45, 30, false},
       {-45, 30, false},
       {135, 30, false},
       {-135, 30, false}}}},
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

static bool parse_one(const char **text, struct speaker *speaker)
{
    char *end;
    *speaker = (struct speaker){0};
    if (!decimal_read(*text, &end, &speaker->azimuth))
        return false;
    if (*end == '/' && !decimal_read(end + 1, &end, &speaker->elevation))
        return false;
    *text = end;
    return fabs(speaker->azimuth) <= 360 && fabs(speaker->elevation) <= 90;
}

/* Parses a list of at least two directions: a single number (3.1) would be an unknown layout. */
static bool parse_list(const char *text, struct speakers *speakers)
{
    speakers->count = 0;
    do {
        if (speakers->count == SPEAKERS_MOST || !parse_one(&text, &speakers->at[speakers->count]))
            return false;
        speakers->count++;
    } while (*text++ == ':');
    return text[-1] == '\0' && speakers->count > 1;
}

static enum status parse_speakers(const char *text, struct speakers *speakers)
{
    for (size_t i = 0; i < LAYOUTS; i++)
        if (strcmp(text, layouts[i].name) == 0) {
            *speakers = layouts[i].speakers;
            return STATUS_OK;
        }
    if (parse_list(text, speakers))
        return STATUS_OK;
    return fail(
        CAUSE_USAGE,
        "speakers= is mono, stereo, quad, 5.1, 7.1, 5.1.4, 7.1.4 or a list of at most %d "
        "directions in degrees, azimuth to the left and elevation, as 30:-30:110/15, not '%s'",
        SPEAKERS_MOST, text);
}

static const char *usual_speakers(size_t channels)
{
    for (size_t i = 0; i < LAYOUTS; i++)
        if (layouts[i].speakers.count == channels)
            return layouts[i].name;
    return NULL;
}

/* ---- directions of a file's measurements, as the listener's head sees them ---- */

enum { NEIGHBOURS = 24, SOFA_AROUND = 3 };
static const double same_degrees = 0.05, same_distance = 0.05;
static const double degree = M_PI / 180;

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double a[3], const double b[3], double result[3])
{
    for (size_t i = 0; i < 3; i++)
        result[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

/* Scales a vector to length 1 and returns its former length. A vector of length 0 stays. */
static double scale_to_one(double a[3])
{
    double length = sqrt(dot(a, a));
    for (size_t i = 0; length > 0 && i < 3; i++)
        a[i] /= length;
    return length;
}

static double azimuth_of(const struct sofa_direction *direction)
{
    return atan2(direction->at[1], direction->at[0]) / degree;
}

static double elevation_of(const struct sofa_direction *direction)
{
    return asin(fmax(-1, fmin(direction->at[2], 1))) / degree;
}

/* The angle, computed by the chord, which keeps small angles exact. */
static double angle_between(const struct sofa_direction *a, const struct sofa_direction *b)
{
    double between[3] = {a->at[0] - b->at[0], a->at[1] - b->at[1], a->at[2] - b->at[2]};
    return 2 * asin(fmin(sqrt(dot(between, between)) / 2, 1)) / degree;
}

/* The axes of the listener's head: front, left, top. */
static void head_of(const struct sofa_file *file, size_t measurement, double head[3][3])
{
    const struct sofa_array *view = &file->arrays[SOFA_VIEW], *up = &file->arrays[SOFA_UP];
    static const double level[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    memcpy(head, level, sizeof level);
    if (!sofa_position(view, view->type, measurement, head[0]) || scale_to_one(head[0]) == 0)
        memcpy(head[0], level[0], sizeof level[0]);
    if (!sofa_position(up, *up->type ? up->type : view->type, measurement, head[2]))
        memcpy(head[2], level[2], sizeof level[2]);
    cross(head[2], head[0], head[1]);
    if (scale_to_one(head[1]) < 1e-6) /* there is no up vector, or it is in the direction of view */
        memcpy(head[1], level[1], sizeof level[1]);
    cross(head[0], head[1], head[2]);
}

static bool find_direction(const struct sofa_file *file, size_t measurement,
                           struct sofa_direction *direction)
{
    const struct sofa_array *source = &file->arrays[SOFA_SOURCE];
    const struct sofa_array *listener = &file->arrays[SOFA_LISTENER];
    double head[3][3], from[3], to[3] = {0};
    head_of(file, measurement, head);
    if (file->emitters > 1) {
        *direction = (struct sofa_direction){{head[0][0], head[0][1], head[0][2]}, 1};
        return true;
    }
    if (!sofa_position(source, source->type, measurement, from))
        return false;
    if (!sofa_position(listener, listener->type, measurement, to))
        memset(to, 0, sizeof to);
    for (size_t i = 0; i < 3; i++)
        from[i] -= to[i];
    for (size_t i = 0; i < 3; i++)
        direction->at[i] = dot(head[i], from);
    direction->distance = scale_to_one(direction->at);
    return true;
}

static bool has_one_for_each(const struct sofa_file *file, enum sofa_variable variable)
{
    size_t count = file->arrays[variable].count;
    return count <= 3 || count == 3 * file->measurements;
}

/* The direction of each measurement: of its source, relative to its listener. In files with several
 * sources at once (data type FIR-E): the listener's direction of view. The caller frees it. */
static enum status measure_directions(const char *name, const struct sofa_file *file,
                                      struct sofa_direction **result)
{
    bool fits = has_one_for_each(file, SOFA_SOURCE) && has_one_for_each(file, SOFA_LISTENER) &&
                has_one_for_each(file, SOFA_VIEW) && has_one_for_each(file, SOFA_UP);
    struct sofa_direction *directions = calloc(file->measurements, sizeof *directions);
    if (!directions)
        return fail_memory("a mask");
    for (size_t m = 0; fits && m < file->measurements; m++)
        fits = find_direction(file, m, &directions[m]);
    if (!fits) {
        free(directions);
        return fail(
            CAUSE_DAMAGED,
            "cannot read mask %s: its positions are damaged, or not one for each of its %zu "
            "measurements",
            name, file->measurements);
    }
    *result = directions;
    return STATUS_OK;
}

/* The nearest measurement. If several have the same direction, the farthest away of them. */
static size_t find_nearest(const struct sofa_direction *directions, size_t count,
                           const struct sofa_direction *wanted)
{
    size_t best = 0;
    for (size_t m = 1; m < count; m++) {
        double gain =
            angle_between(&directions[best], wanted) - angle_between(&directions[m], wanted);
        bool is_farther = directions[m].distance > directions[best].distance;
        if (gain > same_degrees || (gain > -same_degrees && is_farther))
            best = m;
    }
    return best;
}

/* The nearest measurements, ascending: one a direction, all at about the first one's distance. */
static size_t find_neighbours(const struct sofa_direction *directions, size_t count,
                              const struct sofa_direction *wanted, size_t near[NEIGHBOURS])
{
    size_t found = 1;
    near[0] = find_nearest(directions, count, wanted);
    double distance = directions[near[0]].distance;
    for (size_t m = 0; m < count; m++) {
        double angle = angle_between(&directions[m], wanted);
        bool is_new = fabs(directions[m].distance - distance) <= same_distance * distance;
        for (size_t i = 0; i < found; i++)
            is_new = is_new && angle_between(&directions[m], &directions[near[i]]) > same_degrees;
        size_t at = found;
        while (at > 1 && angle_between(&directions[near[at - 1]], wanted) > angle)
            at--;
        if (!is_new || at == NEIGHBOURS)
            continue;
        found = found < NEIGHBOURS ? found + 1 : found;
        memmove(near + at + 1, near + at, (found - at - 1) * sizeof *near);
        near[at] = m;
    }
    return found;
}

/* Weights with which three vectors add up to `wanted` (Cramer's rule). False: it is outside. */
static bool weigh(const double a[3], const double b[3], const double c[3], const double wanted[3],
                  double weights[3])
{
    static const double least = -1e-6;
    double bc[3], ca[3], ab[3];
    cross(b, c, bc);
    cross(c, a, ca);
    cross(a, b, ab);
    double volume = dot(a, bc);
    if (fabs(volume) < 1e-9)
        return false;
    weights[0] = dot(wanted, bc) / volume;
    weights[1] = dot(wanted, ca) / volume;
    weights[2] = dot(wanted, ab) / volume;
    return weights[0] > least && weights[1] > least && weights[2] > least;
}

/* Weights for a group. `c` NULL: a group of two; the third vector, across them, gets no weight. */
static bool weigh_group(const struct sofa_direction *a, const struct sofa_direction *b,
                        const struct sofa_direction *c, const struct sofa_direction *wanted,
                        double weights[3])
{
    double third[3];
    if (c)
        memcpy(third, c->at, sizeof third);
    else
        cross(a->at, b->at, third);
    if (!c && scale_to_one(third) == 0)
        return false;
    if (!c && fabs(dot(third, wanted->at)) > sin(same_degrees * degree))
        return false;
    double across = c ? 0 : dot(third, wanted->at);
    double within[3];
    for (size_t i = 0; i < 3; i++)
        within[i] = wanted->at[i] - across * third[i];
    return weigh(a->at, b->at, third, within, weights);
}

static size_t keep(const size_t near[], const size_t chosen[], const double weights[3],
                   struct sofa_weight result[SOFA_AROUND])
{
    double sum = weights[0] + weights[1] + weights[2];
    size_t count = 0;
    for (size_t i = 0; i < SOFA_AROUND; i++)
        if (weights[i] / sum > 1e-6)
            result[count++] = (struct sofa_weight){near[chosen[i]], weights[i] / sum};
    return count;
}

/* Finds the two or three nearest measurements that surround `wanted`, at about the nearest one's
 * distance. Their weighted sum points to `wanted`. If there are none, takes the nearest alone.
 * Neighbours are in ascending order, so the first group found is the smallest by its farthest
 * member. A pair is tried before triples that end with the same neighbour. Returns how many. */
static size_t find_around(const struct sofa_direction *directions, size_t count,
                          const struct sofa_direction *wanted,
                          struct sofa_weight result[SOFA_AROUND])
{
    size_t near[NEIGHBOURS], found = find_neighbours(directions, count, wanted, near);
    double weights[3];
    result[0] = (struct sofa_weight){near[0], 1};
    if (angle_between(&directions[near[0]], wanted) <= same_degrees)
        return 1;
    for (size_t last = 1; last < found; last++)
        for (size_t a = 0; a < last; a++) {
            const struct sofa_direction *one = &directions[near[a]], *end = &directions[near[last]];
            if (weigh_group(one, end, NULL, wanted, weights))
                return keep(near, (size_t[]){a, last, a}, weights, result);
            for (size_t b = a + 1; b < last; b++)
                if (weigh_group(one, &directions[near[b]], end, wanted, weights))
                    return keep(near, (size_t[]){a, b, last}, weights, result);
        }
    return 1;
}

enum { TEXT = 600 };
static const double lag_seconds = 1e-3; /* longer than sound takes around a head */
static const double exact = 0.1;        /* degrees */

/* One term of the response from an input to a receiver. */
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
    struct speakers speakers; /* a single one if the file has several emitters */
    size_t inputs;
    bool ears_are_exchanged; /* the first receiver is the right ear */
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

/* Rounds to 0.01 and avoids -0. */
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

/* How far left a receiver is. If each measurement has its own positions, the first one's counts. */
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

/* Whether the ears are exchanged: early reference software wrote positions with the wrong sign. */
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

/* Describes the file for halo mask show. */
static enum status describe(const struct sofa_reading *reading, struct mask *mask)
{
    const struct sofa_file *file = reading->file;
    struct sofa_text text = {0};
    text_add(&text, "%s, %s%s%s%s%s\n", file->convention, file->data_type,
             *file->database ? ", " : "", file->database, *file->listener ? ", " : "",
             file->listener);
    text_add(&text, "%zu direction%s", file->measurements, plural_s(file->measurements));
    add_range(&text, reading, "azimuth", azimuth_of);
    add_range(&text, reading, "elevation", elevation_of);
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

/* ---- the choice of directions ---- */

static enum status choose_by_sound(struct sofa_reading *reading)
{
    size_t channels = reading->options->sound.channels;
    const char *layout = usual_speakers(channels > 0 ? channels : 1);
    if (!layout)
        return fail(
            CAUSE_USAGE,
            "mask %s: a sound of %zu channels has no usual loudspeakers; tell them with speakers=",
            reading->name, channels);
    if (channels > 1)
        note("mask %s: speakers=%s, by the sound's %zu channels", reading->name, layout, channels);
    else
        note("mask %s: from the front; az= and el= choose another of its %zu directions, speakers= "
             "several",
             reading->name, reading->file->measurements);
    return parse_speakers(layout, &reading->speakers);
}

/* Refuses a sound of several channels, since one direction serves one channel. */
static enum status refuse_channels(const struct sofa_reading *reading, bool is_single)
{
    size_t channels = reading->options->sound.channels;
    if (is_single)
        return fail(
            CAUSE_USAGE,
            "mask %s has a single direction, for a mono sound, but the sound has %zu channels; a "
            "file of several directions takes speakers=",
            reading->name, channels);
    return fail(
        CAUSE_USAGE,
        "mask %s: az= and el= are for a mono sound, but the sound has %zu channels; speakers= "
        "names a direction for each, as speakers=%s",
        reading->name, channels,
        usual_speakers(channels) ? usual_speakers(channels) : "AZ/EL:AZ/EL:...");
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
        TRY(parse_speakers(wanted->speakers, &reading->speakers));
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
    text_add(text, "az %g el %g", rounded(azimuth_of(direction)), rounded(elevation_of(direction)));
    if (direction->distance > 0)
        text_add(text, " at %g m", rounded(direction->distance));
}

/* Notes the chosen directions. If they are exactly the wanted ones, only with --verbose. */
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
    bool is_exact = angle_between(&wanted, &reading->directions[weights[0].measurement]) < exact;
    (is_exact ? note_detail
              : note)("mask %s: az %g el %g%s is %s%s", reading->name, speaker->azimuth,
                      speaker->elevation, speaker->is_low ? " (LFE)" : "",
                      count > 1 ? "interpolated: " : "taken from the measurement at ", text.text);
}

/* Adds the responses of several directions. They are aligned first, since a difference in time
 * would cancel treble. They get the weighted mean of their delays. */
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
            count = find_around(reading->directions, file->measurements, &to, weights);
        else
            weights[0].measurement = find_nearest(reading->directions, file->measurements, &to);
        if (place == input)
            note_choice(reading, speaker, weights, count);
        for (size_t receiver = 0; receiver < file->receivers; receiver++)
            TRY(add_parts(reading, weights, count, input, receiver));
    }
    return STATUS_OK;
}

/* ---- the mask ---- */

/* Makes the mask. Time zero is where the earliest response begins, or tap 0. */
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
    TRY(measure_directions(reading->name, reading->file, &reading->directions));
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
