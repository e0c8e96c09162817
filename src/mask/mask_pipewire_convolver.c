/* The convolvers of a filter chain: impulses from files, from text, and made ones. */
#include "mask/mask_pipewire.h"

#include "base/plural.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double DELAY_MOST = 10; /* seconds */

struct impulse {
    const struct mask *file; /* NULL: `taps` */
    size_t column;
    double gain;
    size_t delay;        /* frames */
    size_t first, count; /* of the file or the taps */
    double *taps;
};

static void impulse_free(struct impulse *impulse)
{
    free(impulse->taps);
}

/* A file of several is the one whose rate is nearest to audio.rate, or to that asked for. */
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
            return mask_json_refuse(&graph->json, "'filename' must list names");
        TRY(mask_config_mask_any_rate(graph->config, json_string_value(name), NULL, &mask));
        double distance = fabs((double)mask->rate - wanted);
        if (wanted == 0)
            distance = *chosen != NULL; /* the first */
        if (distance < nearest) {
            nearest = distance;
            *chosen = mask;
        }
    }
    if (!*chosen)
        return mask_json_refuse(&graph->json, "'filename' is missing");
    return mask_config_rate(graph->config, (*chosen)->rate);
}

/* "/ir:RATE,VALUE,VALUE" */
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
                     : mask_json_refuse(&graph->json, "'%.40s' is not a number", word);
    }
    free(words);
    impulse->taps = values.values; /* also after an error, to be freed */
    if (status != STATUS_OK)
        return status;
    if (values.count < 2 || values.values[0] < 1 || values.values[0] > MASK_RATE_MOST)
        return mask_json_refuse(&graph->json, "/ir: needs a rate and values");
    uint32_t rate = (uint32_t)values.values[0];
    impulse->count = values.count - 1;
    memmove(values.values, values.values + 1, impulse->count * sizeof *values.values);
    return mask_config_rate(graph->config, rate);
}

static enum status make_hilbert(struct pipewire_graph *graph, size_t length,
                                struct impulse *impulse)
{
    static const uint64_t cosine = 16; /* as much work as so many taps */
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

/* Of a kind that `name` says; its whole length. */
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

/* A whole number is in frames, any other in seconds, at the rate that the files have set. */
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

/* `length` counts from the file's start, whatever the offset is. */
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
        return mask_json_refuse(&graph->json, "nothing is left after the offset");
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

/* Without a matrix the files are only loaded. */
static enum status run_convolver(struct pipewire_graph *graph, const struct pipewire_node *node)
{
    return convolve(graph, node->config, graph->instance, pipewire_row(graph, node, 0));
}

static enum status run_convolver2(struct pipewire_graph *graph, const struct pipewire_node *node)
{
    const json_t *impulses = mask_json_get(node->config, "impulses");
    size_t count = json_array_size(impulses);
    if (count == 0 || count > PIPEWIRE_PORTS)
        return mask_json_refuse(&graph->json, "'impulses' must list 1 to %d", PIPEWIRE_PORTS);
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
