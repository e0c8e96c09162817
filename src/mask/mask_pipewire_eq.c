/* The parametric equaliser of a filter chain: sections for up to 8 channels, from its settings or
 * from a listing of AutoEq. */
#include "base/files_read.h"
#include "mask/mask_pipewire.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SECTIONS_MOST = 64,
    FREQUENCY_MOST = 8, /* characters of a listing that PipeWire reads, as in the next */
    GAIN_MOST = 6,
    Q_MOST = 6,
};

struct section_list {
    struct biquad biquads[SECTIONS_MOST];
    size_t count;
};

static enum status add_section(struct pipewire_graph *graph, const char *label, double frequency,
                               double q, double gain, struct section_list *list)
{
    double rate;
    if (list->count == SECTIONS_MOST)
        return mask_json_refuse(&graph->json, "more than %d filters", SECTIONS_MOST);
    if (fabs(gain) > 760)
        return mask_json_refuse(&graph->json, "a gain of %g dB", gain);
    TRY(pipewire_rate(graph, &rate));
    if (!pipewire_biquad(label, frequency, q, gain, rate, &list->biquads[list->count]))
        return mask_json_refuse(&graph->json, "there is no filter of the type '%.40s'", label);
    list->count++;
    return STATUS_OK;
}

static void cut(char *word, size_t most)
{
    if (strlen(word) > most)
        word[most] = '\0';
}

static enum status read_filters(struct pipewire_graph *graph, const json_t *filters,
                                struct section_list *list)
{
    const json_t *filter;
    size_t i;
    if (!json_is_array(filters))
        return mask_json_refuse(&graph->json, "'filters' must be a list");
    json_array_foreach(filters, i, filter)
    {
        static const char *const known[] = {"type", "freq", "gain", "q", NULL};
        const char *type = "";
        double frequency = 0, gain = 0, q = 1;
        TRY(pipewire_check_keys(graph, filter, "a filter", known));
        TRY(mask_json_text(&graph->json, filter, "type", &type));
        TRY(mask_json_number(&graph->json, filter, "freq", &frequency));
        TRY(mask_json_number(&graph->json, filter, "gain", &gain));
        TRY(mask_json_number(&graph->json, filter, "q", &q));
        TRY(add_section(graph, type, frequency, q, gain, list));
    }
    return STATUS_OK;
}

/* "Filter 1: ON PK Fc 105 Hz Gain -3.2 dB Q 0.70": words at fixed places, as PipeWire reads them.
 * Behind a number that is too long, its next words are out of place; Q is the last.
 */
static enum status read_line(struct pipewire_graph *graph, struct mask_config *file, char *line,
                             struct section_list *list)
{
    enum { TYPE = 3, FREQUENCY = 5, GAIN = 8, Q = 11, WORDS = 12 };
    static const char *const types[][2] = {
        {"PK", "bq_peaking"}, {"LSC", "bq_lowshelf"}, {"HSC", "bq_highshelf"}};
    char *words[WORDS] = {0};
    double frequency, gain, q;
    size_t count = 0, i = 0;
    while (count < WORDS && (words[count] = mask_config_word(&line)))
        count++;
    if (count == 0 || (count > 2 && strcmp(words[2], "ON") != 0))
        return STATUS_OK;
    while (i < 3 && (count <= TYPE || strcmp(words[TYPE], types[i][0]) != 0))
        i++;
    if (i == 3 || count < WORDS || strlen(words[FREQUENCY]) > FREQUENCY_MOST ||
        strlen(words[GAIN]) > GAIN_MOST) {
        note("mask %s: line %zu is not a PK, LSC or HSC filter with Fc, Gain and Q, of at most %d "
             "characters for Fc and %d for Gain; PipeWire leaves it out",
             file->file, file->line, FREQUENCY_MOST, GAIN_MOST);
        return STATUS_OK;
    }
    cut(words[Q], Q_MOST);
    if (!mask_config_number(words[FREQUENCY], &frequency) ||
        !mask_config_number(words[GAIN], &gain) || !mask_config_number(words[Q], &q))
        return mask_config_refuse(file, "Fc, Gain and Q must be numbers");
    return add_section(graph, types[i][1], frequency, q, gain, list);
}

/* PipeWire takes the first line as the preamp, whatever it is. */
static enum status read_lines(struct pipewire_graph *graph, struct mask_config *file,
                              struct section_list *list)
{
    double preamp;
    char *line = mask_config_line(file);
    const char *word = line ? mask_config_word(&line) : NULL;
    char *number = NULL;
    if (word && strcmp(word, "Preamp:") == 0)
        number = mask_config_word(&line);
    if (number)
        cut(number, GAIN_MOST);
    if (!number || !mask_config_number(number, &preamp))
        return mask_config_refuse(file, "the first line must be 'Preamp: NUMBER dB'");
    TRY(add_section(graph, "bq_highshelf", 0, 1, preamp, list));
    while ((line = mask_config_line(file)))
        TRY(read_line(graph, file, line, list));
    return STATUS_OK;
}

static enum status read_listing(struct pipewire_graph *graph, const json_t *name,
                                struct section_list *list)
{
    struct mask_config file;
    char *path;
    FILE *stream;
    if (!json_is_string(name))
        return mask_json_refuse(&graph->json, "'filename' must be text");
    TRY(mask_config_find(graph->config, json_string_value(name), &path));
    struct flaw flaw = files_read_open_text(path, &stream);
    bool is_open = false;
    enum status status = STATUS_OK;
    if (!flaw.text)
        status = mask_config_open(&file, path, stream, graph->config->options, &is_open);
    if (!flaw.text && !is_open)
        flaw = (struct flaw){CAUSE_DAMAGED, "it is not a text file"};
    if (status == STATUS_OK)
        status = is_open ? read_lines(graph, &file, list)
                         : mask_json_refuse_for(flaw.cause, &graph->json, "cannot open %s: %s",
                                                json_string_value(name), flaw.text);
    if (is_open)
        mask_config_close(&file);
    if (stream)
        fclose(stream);
    free(path);
    return status;
}

/* A number after the key is that of a channel, from 1; without one it is for all. */
static bool is_for(const char *key, const char *name, size_t channel)
{
    uint64_t number;
    size_t length = strlen(name);
    if (strncmp(key, name, length) != 0)
        return false;
    return !key[length] || (mask_config_count(key + length, &number) && number == channel + 1);
}

/* The last setting for a channel counts. */
static enum status read_channel(struct pipewire_graph *graph, const struct pipewire_node *node,
                                size_t channel, struct section_list *list)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)node->config, key, value)
    {
        bool is_file = is_for(key, "filename", channel);
        if (!is_file && !is_for(key, "filters", channel))
            continue;
        list->count = 0;
        TRY((is_file ? read_listing : read_filters)(graph, value, list));
    }
    return STATUS_OK;
}

static enum status run_param_eq(struct pipewire_graph *graph, const struct pipewire_node *node)
{
    for (size_t o = 0; o < node->kind->outputs; o++) {
        struct section_list list = {.count = 0};
        if (node->in[o].from == PIPEWIRE_NOTHING)
            continue;
        TRY(read_channel(graph, node, o, &list));
        TRY(mask_matrix_biquads(graph->matrix, pipewire_row(graph, node, o), list.biquads,
                                list.count));
    }
    return STATUS_OK;
}

static const char *const settings[] = {
    "filename",  "filename1", "filename2", "filename3", "filename4", "filename5", "filename6",
    "filename7", "filename8", "filters",   "filters1",  "filters2",  "filters3",  "filters4",
    "filters5",  "filters6",  "filters7",  "filters8",  NULL};

const struct pipewire_kind pipewire_param_eq = {
    .label = "param_eq",
    .inputs = PIPEWIRE_PORTS,
    .outputs = PIPEWIRE_PORTS,
    .settings = settings,
    .run = run_param_eq,
};
