/* The nodes that convolve: convolvers, with impulses from files, text or computed; spatializers. */
#include "import/mask_pipewire.h"

#include "base/plural.h"
#include "import/sofa_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double DELAY_MOST = 10; /* seconds */

struct impulse {
    const struct mask *file; /* NULL: the impulse is in `taps` */
    size_t column;
    double gain;
    size_t delay;        /* frames */
    size_t first, count; /* the part of the file or the taps that is used */
    double *taps;
};

static void impulse_free(struct impulse *impulse)
{
    free(impulse->taps);
}

/* Chooses the file whose rate is nearest to audio.rate, or if there is none to the wanted rate. */
static enum status choose_file(struct pipewire_graph *graph, const json_t *names,
                               const struct mask **chosen)
{
    double nearest = INFINITY;
    double wanted = graph->rate ? graph->rate : mask_config_wanted_rate(graph->config);
    const json_t *name;
    size_t i;
    json_array_foreach(names, i, name)
    {
        const struct mask *mask;
        if (!json_is_string(name))
            return pipewire_refuse(graph, "'filename' must list names");
        TRY(mask_config_mask_any_rate(graph->config, json_string_value(name), NULL, &mask));
        double distance = fabs((double)mask->rate - wanted);
        if (wanted == 0)
            distance = *chosen != NULL; /* no rate is wanted, so the first file is chosen */
        if (distance < nearest) {
            nearest = distance;
            *chosen = mask;
        }
    }
    if (!*chosen)
        return pipewire_refuse(graph, "'filename' is missing");
    return mask_config_rate(graph->config, (*chosen)->rate);
}

/* Reads an impulse from text: "/ir:RATE,VALUE,VALUE". */
static enum status read_inline(struct pipewire_graph *graph, const char *text,
                               struct impulse *impulse)
{
    struct mask_values values = {0};
    enum status status = STATUS_OK;
    double number;
    char *words = strdup(text), *rest = words;
    if (!words)
        return fail_memory("a mask");
    for (const char *word; status == STATUS_OK && (word = strsep(&rest, ", \t"));) {
        if (!*word)
            continue;
        status = mask_config_number(word, &number)
                     ? mask_values_add(&values, number)
                     : pipewire_refuse(graph, "'%.40s' is not a number", word);
    }
    free(words);
    impulse->taps = values.values; /* set even after an error, so that it is freed */
    if (status != STATUS_OK)
        return status;
    if (values.count < 2 || values.values[0] < 1 || values.values[0] > MASK_RATE_MOST)
        return pipewire_refuse(graph, "/ir: needs a rate and values");
    uint32_t rate = (uint32_t)values.values[0];
    impulse->count = values.count - 1;
    memmove(values.values, values.values + 1, impulse->count * sizeof *values.values);
    return mask_config_rate(graph->config, rate);
}

static enum status make_hilbert(struct pipewire_graph *graph, size_t length,
                                struct impulse *impulse)
{
    static const uint64_t cosine = 16; /* a cosine takes as much work as so many taps */
    size_t half = length / 2;
    impulse->count = length;
    if (!graph->matrix)
        return STATUS_OK;
    TRY(mask_matrix_work(graph->matrix, cosine * length));
    impulse->taps = calloc(length, sizeof *impulse->taps);
    if (!impulse->taps)
        return fail_memory("a mask");
    for (size_t i = 1; i < half; i += 2) {
        double at = (double)i;
        double value = 2 / (M_PI * at) * (0.43 + 0.57 * cos(at * M_PI / (double)half));
        impulse->taps[half + i] = -value;
        impulse->taps[half - i] = value;
    }
    return STATUS_OK;
}

static enum status make_dirac(struct impulse *impulse)
{
    impulse->taps = calloc(1, sizeof *impulse->taps);
    if (!impulse->taps)
        return fail_memory("a mask");
    impulse->taps[0] = 1;
    impulse->count = 1;
    return STATUS_OK;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Computes or loads the whole impulse that `filename` names. */
static enum status open_impulse(struct pipewire_graph *graph, const json_t *filename, size_t length,
                                struct impulse *impulse)
{
    enum { HILBERT_USUAL = 64 };
    const char *name = json_string_value(filename);
    if (name && begins(name, "/hilbert"))
        return make_hilbert(graph, length ? length : HILBERT_USUAL, impulse);
    if (name && begins(name, "/dirac"))
        return make_dirac(impulse);
    if (name && begins(name, "/ir:"))
        return read_inline(graph, name + strlen("/ir:"), impulse);
    if (name)
        TRY(mask_config_mask(graph->config, name, NULL, &impulse->file));
    else
        TRY(choose_file(graph, filename, &impulse->file));
    impulse->count = impulse->file->taps;
    return STATUS_OK;
}

/* Reads a delay. Whole numbers are frames, others seconds, at the rate that the files have set. */
static enum status read_delay(struct pipewire_graph *graph, const json_t *json, size_t *delay)
{
    double value = 0, rate;
    TRY(mask_json_number(&graph->json, json, "delay", &value));
    if (value <= 0)
        return STATUS_OK;
    TRY(pipewire_rate(graph, &rate));
    if (json_is_integer(mask_json_get(json, "delay")))
        *delay = (size_t)fmin(value, DELAY_MOST * rate);
    else
        *delay = pipewire_frames(fmin(value, DELAY_MOST), rate);
    return STATUS_OK;
}

#define STREAM_SETTINGS "blocksize", "tailsize", "latency"
static const char *const impulse_settings[] = {
    STREAM_SETTINGS,    "gain", "delay", "filename", "offset", "length", "channel",
    "resample_quality", NULL};
static const char *const convolver2_settings[] = {STREAM_SETTINGS, "impulses", NULL};

/* Reads an impulse. `length` counts from the file's start, not from the offset. */
static enum status read_impulse(struct pipewire_graph *graph, const json_t *json, size_t usual,
                                struct impulse *impulse)
{
    int64_t offset = 0, length = 0, channel = (int64_t)usual;
    impulse->gain = 1;
    TRY(pipewire_check_keys(graph, json, "an impulse", impulse_settings));
    TRY(mask_json_number(&graph->json, json, "gain", &impulse->gain));
    TRY(mask_json_count(&graph->json, json, "offset", INT32_MIN, MATRIX_TAPS_MOST, &offset));
    TRY(mask_json_count(&graph->json, json, "length", INT32_MIN, MATRIX_TAPS_MOST, &length));
    TRY(mask_json_count(&graph->json, json, "channel", 0, INT32_MAX, &channel));
    TRY(open_impulse(graph, mask_json_get(json, "filename"), length > 0 ? (size_t)length : 0,
                     impulse));
    if (graph->matrix)
        TRY(read_delay(graph, json, &impulse->delay));
    if (length > 0 && (size_t)length < impulse->count)
        impulse->count = (size_t)length;
    impulse->first = offset > 0 ? (size_t)offset : 0;
    if (impulse->first >= impulse->count)
        return pipewire_refuse(graph, "nothing is left after the offset");
    impulse->count -= impulse->first;
    if (!impulse->file)
        return STATUS_OK;
    impulse->column = (size_t)channel % impulse->file->columns;
    if (!mask_json_get(json, "channel") && impulse->file->columns > graph->file_columns)
        graph->file_columns = impulse->file->columns;
    else if ((size_t)channel >= impulse->file->columns && mask_json_get(json, "channel"))
        note("mask %s: %s: there %s %zu channel%s in the file; PipeWire takes %zu for %lld",
             graph->config->file, graph->json.where, plural_are(impulse->file->columns),
             impulse->file->columns, plural_s(impulse->file->columns), impulse->column,
             (long long)channel);
    return STATUS_OK;
}

static enum status convolve(struct pipewire_graph *graph, const json_t *json, size_t usual,
                            size_t row)
{
    struct impulse impulse = {0};
    enum status status = read_impulse(graph, json, usual, &impulse);
    const double *taps = impulse.file ? mask_column(impulse.file, impulse.column) : impulse.taps;
    if (status == STATUS_OK && graph->matrix)
        status = mask_matrix_filter(graph->matrix, row, impulse.gain, impulse.delay,
                                    taps + impulse.first, impulse.count);
    impulse_free(&impulse);
    return status;
}

/* Runs a convolver. Before there is a matrix, it only loads the files. */
static enum status run_convolver(struct pipewire_graph *graph, const struct pipewire_node *node)
{
    return convolve(graph, node->config, graph->instance, pipewire_row(graph, node, 0));
}

static enum status run_convolver2(struct pipewire_graph *graph, const struct pipewire_node *node)
{
    const json_t *impulses = mask_json_get(node->config, "impulses");
    size_t count = json_array_size(impulses);
    if (count == 0 || count > PIPEWIRE_PORTS)
        return pipewire_refuse(graph, "'impulses' must list 1 to %d", PIPEWIRE_PORTS);
    for (size_t o = 0; o < PIPEWIRE_PORTS; o++) {
        size_t row = pipewire_row(graph, node, o);
        if (o < count)
            TRY(convolve(graph, json_array_get(impulses, o), o, row));
        else if (graph->matrix)
            TRY(mask_matrix_gain(graph->matrix, row, 0, 0));
    }
    return STATUS_OK;
}

const struct pipewire_kind pipewire_convolver = {
    .label = "convolver",
    .inputs = 1,
    .outputs = 1,
    .settings = impulse_settings,
    .prepare = run_convolver,
    .run = run_convolver,
};

const struct pipewire_kind pipewire_convolver2 = {
    .label = "convolver2",
    .inputs = 1,
    .outputs = PIPEWIRE_PORTS,
    .settings = convolver2_settings,
    .prepare = run_convolver2,
    .run = run_convolver2,
};

/* ---- the spatializer ----
 *
 * It makes two ears' responses for a direction of a SOFA file, as libmysofa does for PipeWire.
 *
 * The whole file is scaled so that its first response, with the least sum of azimuth and elevation,
 * has the energy 2. A measured direction has its own response. Other directions have up to four
 * responses, weighted by one over their distance and not aligned in time. The file's delays are
 * ignored. (C. Hoene, libmysofa 1.3; PipeWire 1.4.) */

enum { EARS = 2, AXES = 3, NEIGHBOURS = 6 };
static const double degree = M_PI / 180, same = 1e-5;
static const double steps[AXES] = {0.5, 0.5, 0.01}; /* degrees, degrees, metres */
static const double AWAY_MOST = 45;                 /* degrees */

struct pipewire_sofa {
    char *path;
    struct sofa_file file;
    double (*at)[AXES];             /* [measurement] position in metres */
    double least[AXES], most[AXES]; /* range of all positions: azimuth, elevation, distance */
    double gain;
};

/* ---- places ---- */

static void to_angles(const double at[AXES], double angles[AXES])
{
    angles[0] = atan2(at[1], at[0]) / degree;
    angles[0] += angles[0] < 0 ? 360 : 0;
    angles[1] = atan2(at[2], hypot(at[0], at[1])) / degree;
    angles[2] = sqrt(at[0] * at[0] + at[1] * at[1] + at[2] * at[2]);
}

static void from_angles(const double angles[AXES], double at[AXES])
{
    struct sofa_direction direction = sofa_direction_of(angles[0], angles[1]);
    for (size_t i = 0; i < AXES; i++)
        at[i] = direction.at[i] * angles[2];
}

static double distance(const double a[AXES], const double b[AXES])
{
    return sqrt(pow(a[0] - b[0], 2) + pow(a[1] - b[1], 2) + pow(a[2] - b[2], 2));
}

/* Finds the nearest measurement. Moves `at` first if it is nearer or farther than all of them. */
static size_t find_nearest(const struct pipewire_sofa *sofa, double at[AXES])
{
    static const double origin[AXES] = {0};
    double radius = distance(at, origin), nearest = INFINITY;
    double limited = fmin(fmax(radius, sofa->least[2]), sofa->most[2]);
    size_t found = 0;
    for (size_t i = 0; radius > 0 && i < AXES; i++)
        at[i] *= limited / radius;
    for (size_t m = 0; m < sofa->file.measurements; m++)
        if (distance(at, sofa->at[m]) < nearest) {
            nearest = distance(at, sofa->at[m]);
            found = m;
        }
    return found;
}

/* The first other measurement along an axis from measurement `from`, or `from` if there is none. */
static size_t find_neighbour(const struct pipewire_sofa *sofa, size_t from, size_t axis,
                             double step)
{
    double angles[AXES], moved[AXES], at[AXES];
    to_angles(sofa->at[from], angles);
    double first = axis < 2 ? -AWAY_MOST : sofa->least[2] - angles[2] - steps[2];
    double last = axis < 2 ? AWAY_MOST : sofa->most[2] - angles[2] + steps[2];
    size_t found = from;
    bool varies = sofa->most[axis] - sofa->least[axis] > same;
    for (size_t n = 1; varies && found == from; n++) {
        double away = step * (double)n;
        if (away < first || away > last)
            break;
        memcpy(moved, angles, sizeof moved);
        moved[axis] += away;
        from_angles(moved, at);
        found = find_nearest(sofa, at);
    }
    return found;
}

/* The measurements that make a place, with their weights. Returns their number. */
static size_t find_weights(const struct pipewire_sofa *sofa, double at[AXES],
                           struct sofa_weight weights[1 + AXES])
{
    size_t nearest = find_nearest(sofa, at), count = 1;
    double away = distance(at, sofa->at[nearest]), sum = 1 / away;
    weights[0] = (struct sofa_weight){nearest, away < same ? 1 : sum};
    for (size_t axis = 0; away >= same && axis < AXES; axis++) {
        size_t up = find_neighbour(sofa, nearest, axis, steps[axis]);
        size_t down = find_neighbour(sofa, nearest, axis, -steps[axis]);
        double to_up = up == nearest ? INFINITY : distance(at, sofa->at[up]);
        double to_down = down == nearest ? INFINITY : distance(at, sofa->at[down]);
        if (up == nearest && down == nearest)
            continue;
        if (up != nearest && down != nearest && fabs(to_up - to_down) < same)
            continue;
        double weight = 1 / fmin(to_up, to_down);
        weights[count++] = (struct sofa_weight){to_up < to_down ? up : down, weight};
        sum += weight;
    }
    for (size_t i = 0; away >= same && i < count; i++)
        weights[i].weight /= sum;
    return count;
}

/* ---- the file ---- */

/* libmysofa's gain for loudness, by the measurement with the least sum of (signed) angles. */
static double loudness_gain(const struct sofa_file *file)
{
    const struct sofa_array *source = &file->arrays[SOFA_SOURCE], *ir = &file->arrays[SOFA_IR];
    size_t front = 0, each = file->receivers * file->taps;
    double least = INFINITY, radius = 0, energy = 0;
    for (size_t m = 0; m < file->measurements; m++) {
        const float *values = source->values + m * AXES;
        double angles[AXES] = {(double)values[0], (double)values[1], (double)values[2]};
        if (strcmp(source->type, "cartesian") == 0)
            to_angles((double[]){angles[0], angles[1], angles[2]}, angles);
        double sum = angles[0] + angles[1];
        if (sum < least || (fabs(sum - least) <= 0 && radius < angles[2])) {
            least = sum;
            radius = floor(angles[2]);
            front = m;
        }
    }
    for (size_t k = 0; k < each; k++)
        energy += pow((double)ir->values[front * each + k], 2);
    return energy > 0 ? sqrt(2 / energy) : 1;
}

static enum status measure(struct pipewire_graph *graph, struct pipewire_sofa *sofa)
{
    const struct sofa_file *file = &sofa->file;
    const struct sofa_array *source = &file->arrays[SOFA_SOURCE];
    if (file->receivers != EARS || file->emitters != 1 ||
        source->count != AXES * file->measurements)
        return pipewire_refuse(graph, "%s has no two ears for each of its directions", sofa->path);
    sofa->at = calloc(file->measurements, sizeof *sofa->at);
    if (!sofa->at)
        return fail_memory("a mask");
    for (size_t m = 0; m < file->measurements; m++) {
        double angles[AXES];
        if (!sofa_position(source, source->type, m, sofa->at[m]))
            return pipewire_refuse(graph, "%s has a position that is no number", sofa->path);
        to_angles(sofa->at[m], angles);
        for (size_t axis = 0; axis < AXES; axis++) {
            sofa->least[axis] = m ? fmin(sofa->least[axis], angles[axis]) : angles[axis];
            sofa->most[axis] = m ? fmax(sofa->most[axis], angles[axis]) : angles[axis];
        }
    }
    sofa->gain = loudness_gain(file);
    return STATUS_OK;
}

void pipewire_sofa_free(struct pipewire_sofa *sofa)
{
    if (!sofa)
        return;
    free(sofa->at);
    free(sofa->path);
    sofa_file_free(&sofa->file);
    free(sofa);
}

/* Opens a SOFA file; takes over `path`. The graph keeps the last one: most graphs use one only. */
static enum status open_file(struct pipewire_graph *graph, char *path)
{
    FILE *stream = NULL;
    if (graph->sofa && strcmp(graph->sofa->path, path) == 0) {
        free(path);
        return STATUS_OK;
    }
    pipewire_sofa_free(graph->sofa);
    graph->sofa = calloc(1, sizeof *graph->sofa);
    if (!graph->sofa) {
        free(path);
        return fail_memory("a mask");
    }
    graph->sofa->path = path;
    TRY(mask_file_open(path, true, &stream));
    enum status status = sofa_file_is_one(stream)
                             ? sofa_file_load(path, stream, &graph->sofa->file)
                             : pipewire_refuse(graph, "%s is no SOFA file", path);
    fclose(stream);
    if (status == STATUS_OK)
        status = sofa_response_check(path, &graph->sofa->file);
    return status == STATUS_OK ? measure(graph, graph->sofa) : status;
}

static enum status load_file(struct pipewire_graph *graph, const struct pipewire_node *node)
{
    const char *name = NULL;
    char *path;
    TRY(mask_json_text(&graph->json, node->config, "filename", &name));
    if (!name)
        return pipewire_refuse(graph, "'filename' is missing");
    TRY(mask_config_find(graph->config, name, &path));
    TRY(open_file(graph, path));
    const struct sofa_array *rate = &graph->sofa->file.arrays[SOFA_RATE];
    if (rate->count == 0 || !(rate->values[0] >= 1 && rate->values[0] <= MASK_RATE_MOST))
        return pipewire_refuse(graph, "%s has no rate", name);
    return mask_config_rate(graph->config, (uint32_t)lrintf(rate->values[0]));
}

static enum status add_ear(struct pipewire_graph *graph, const struct pipewire_node *node,
                           const struct sofa_weight *weights, size_t count, size_t ear, double gain)
{
    const struct sofa_file *file = &graph->sofa->file;
    double *taps = calloc(file->taps, sizeof *taps);
    if (!taps)
        return fail_memory("a mask");
    for (size_t i = 0; i < count; i++) {
        const struct sofa_response response = {file, weights[i].measurement, ear, 0};
        sofa_response_add(&response, weights[i].weight, 0, taps);
    }
    enum status status = mask_matrix_filter(graph->matrix, pipewire_row(graph, node, ear),
                                            gain * graph->sofa->gain, 0, taps, file->taps);
    free(taps);
    return status;
}

static enum status run_spatializer(struct pipewire_graph *graph, const struct pipewire_node *node)
{
    double angles[AXES], at[AXES], gain = 1;
    struct sofa_weight weights[1 + AXES];
    TRY(load_file(graph, node));
    TRY(mask_json_number(&graph->json, node->config, "gain", &gain));
    for (size_t axis = 0; axis < AXES; axis++)
        TRY(pipewire_control(graph, node, node->kind->controls[axis].name, &angles[axis]));
    from_angles(angles, at);
    size_t count = find_weights(graph->sofa, at, weights);
    const struct sofa_response nearest = {&graph->sofa->file, weights[0].measurement, 0, 0};
    if (sofa_response_delay(&nearest) > 0 && graph->instance == 0)
        note("mask %s: %s: the delays in its file are left out, as PipeWire does",
             graph->config->file, graph->json.where);
    for (size_t ear = 0; ear < EARS; ear++)
        TRY(add_ear(graph, node, weights, count, ear, gain));
    return STATUS_OK;
}

static const struct pipewire_control controls[AXES] = {
    {"Azimuth", 0, 0, 360},
    {"Elevation", 0, -90, 90},
    {"Radius", 1, 0, 100},
};
static const char *const settings[] = {"blocksize", "tailsize", "latency", "normalize",
                                       "filename",  "gain",     NULL};
static const char *const ears[] = {"Out L", "Out R"};

const struct pipewire_kind pipewire_spatializer = {
    .type = "sofa",
    .label = "spatializer",
    .inputs = 1,
    .outputs = EARS,
    .output_names = ears,
    .controls = controls,
    .control_count = AXES,
    .settings = settings,
    .prepare = load_file,
    .run = run_spatializer,
};
