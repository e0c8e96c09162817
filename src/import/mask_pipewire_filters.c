/* The linear nodes of a filter chain, except the convolver. Sections are those of PipeWire from 1.4
 * on. In earlier versions, Q of bq_lowpass and bq_highpass was in dB. */
#include "import/mask_pipewire.h"

#include "base/files_read.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- sections ---- */

static const struct {
    const char *label;
    enum biquad_kind kind;
} sections[] = {
    {"bq_lowpass", BIQUAD_LOWPASS},      {"bq_highpass", BIQUAD_HIGHPASS},
    {"bq_bandpass", BIQUAD_BANDPASS},    {"bq_lowshelf", BIQUAD_LOW_SHELF},
    {"bq_highshelf", BIQUAD_HIGH_SHELF}, {"bq_peaking", BIQUAD_PEAK},
    {"bq_notch", BIQUAD_NOTCH},          {"bq_allpass", BIQUAD_ALLPASS},
};

/* The gain that a section becomes at a frequency of 0 Hz (`is_low`) or of half the rate. */
static double gain_at_limit(enum biquad_kind kind, bool is_low, double gain)
{
    double shelf = pow(10, gain / 20);
    switch (kind) {
    case BIQUAD_LOWPASS:
        return is_low ? 0 : 1;
    case BIQUAD_HIGHPASS:
        return is_low ? 1 : 0;
    case BIQUAD_BANDPASS:
        return 0;
    case BIQUAD_LOW_SHELF:
        return is_low ? 1 : shelf;
    case BIQUAD_HIGH_SHELF:
        return is_low ? shelf : 1;
    default:
        return 1;
    }
}

/* The gain that a section becomes as Q goes to zero. NAN: it has a usual Q. */
static double gain_without_q(enum biquad_kind kind, double gain)
{
    switch (kind) {
    case BIQUAD_BANDPASS:
        return 1;
    case BIQUAD_PEAK:
        return pow(10, gain / 20);
    case BIQUAD_NOTCH:
        return 0;
    case BIQUAD_ALLPASS:
        return -1;
    default:
        return NAN;
    }
}

/* Makes a section as PipeWire does, even at the limits of frequency and Q. False: no such label. */
static bool make_biquad(const char *label, double frequency, double q, double gain, double rate,
                        struct biquad *biquad)
{
    size_t i = 0, count = sizeof sections / sizeof *sections;
    while (i < count && strcmp(label, sections[i].label) != 0)
        i++;
    if (i == count)
        return false;
    enum biquad_kind kind = sections[i].kind;
    double flat = NAN;
    if (frequency <= 0 || frequency >= rate / 2)
        flat = gain_at_limit(kind, frequency <= 0, gain);
    else if (q <= 0)
        flat = gain_without_q(kind, gain);
    *biquad = isnan(flat) ? biquad_make(kind, frequency, gain, q > 0 ? q : M_SQRT1_2, rate)
                          : (struct biquad){{flat}, {0}};
    return true;
}

static const struct pipewire_control section_controls[] = {
    {"Freq", 0, 0, DBL_MAX},
    {"Q", 0, 0, FLT_MAX},
    {"Gain", 0, -760, 760},
};

static enum status run_section(struct pipewire_graph *graph, const struct pipewire_node *node)
{
    double frequency, q, gain, rate;
    struct biquad biquad;
    TRY(pipewire_control(graph, node, "Freq", &frequency));
    TRY(pipewire_control(graph, node, "Q", &q));
    TRY(pipewire_control(graph, node, "Gain", &gain));
    TRY(pipewire_rate(graph, &rate));
    if (!make_biquad(node->kind->label, frequency, q, gain, rate, &biquad))
        return STATUS_OK;
    return mask_matrix_biquads(graph->matrix, pipewire_row(graph, node, 0), &biquad, 1);
}

/* Chooses the coefficients with the nearest rate; of equal ones the first. */
static enum status choose_coefficients(struct pipewire_graph *graph, const json_t *list,
                                       double rate, const json_t **chosen)
{
    const json_t *item;
    double nearest = INFINITY;
    size_t i;
    json_array_foreach(list, i, item)
    {
        int64_t its = 0;
        TRY(mask_json_count(&graph->json, item, "rate", 1, MASK_RATE_MOST, &its));
        if (its > 0 && fabs((double)its - rate) < nearest) {
            nearest = fabs((double)its - rate);
            *chosen = item;
        }
    }
    if (!*chosen)
        return pipewire_refuse(graph, "there are no coefficients with a rate");
    if (nearest > 0)
        note("mask %s: %s has no coefficients for %g Hz; PipeWire takes the nearest",
             graph->config->file, graph->json.where, rate);
    return STATUS_OK;
}

static enum status run_raw(struct pipewire_graph *graph, const struct pipewire_node *node)
{
    static const char *const names[] = {"b0", "b1", "b2", "a0", "a1", "a2", "rate", NULL};
    double values[] = {1, 0, 0, 1, 0, 0}, rate;
    const json_t *chosen = NULL;
    TRY(pipewire_rate(graph, &rate));
    TRY(choose_coefficients(graph, mask_json_get(node->config, "coefficients"), rate, &chosen));
    TRY(pipewire_check_keys(graph, chosen, "a set of coefficients", names));
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        TRY(mask_json_number(&graph->json, chosen, names[i], &values[i]));
    double a0 = values[3];
    if (a0 == 0)
        return pipewire_refuse(graph, "a0 is zero");
    struct biquad biquad = {{values[0] / a0, values[1] / a0, values[2] / a0},
                            {values[4] / a0, values[5] / a0}};
    return mask_matrix_biquads(graph->matrix, pipewire_row(graph, node, 0), &biquad, 1);
}

static const struct pipewire_control dcblock_controls[] = {{"R", 0.995, 0, 1}};

static enum status run_dcblock(struct pipewire_graph *graph, const struct pipewire_node *node)
{
    double r;
    TRY(pipewire_control(graph, node, "R", &r));
    struct biquad biquad = {{1, -1, 0}, {-r, 0}};
    for (size_t o = 0; o < node->kind->outputs; o++)
        TRY(mask_matrix_biquads(graph->matrix, pipewire_row(graph, node, o), &biquad, 1));
    return STATUS_OK;
}

/* ---- gains and delays ---- */

static const struct pipewire_control mixer_controls[] = {
    {"Gain 1", 1, -FLT_MAX, FLT_MAX}, {"Gain 2", 1, -FLT_MAX, FLT_MAX},
    {"Gain 3", 1, -FLT_MAX, FLT_MAX}, {"Gain 4", 1, -FLT_MAX, FLT_MAX},
    {"Gain 5", 1, -FLT_MAX, FLT_MAX}, {"Gain 6", 1, -FLT_MAX, FLT_MAX},
    {"Gain 7", 1, -FLT_MAX, FLT_MAX}, {"Gain 8", 1, -FLT_MAX, FLT_MAX},
};

static enum status run_mixer(struct pipewire_graph *graph, const struct pipewire_node *node)
{
    for (size_t i = 0; i < node->kind->inputs; i++) {
        double gain;
        TRY(pipewire_control(graph, node, mixer_controls[i].name, &gain));
        TRY(pipewire_feed(graph, node->in[i], pipewire_row(graph, node, 0), gain));
    }
    return STATUS_OK;
}

static enum status run_invert(struct pipewire_graph *graph, const struct pipewire_node *node)
{
    return mask_matrix_gain(graph->matrix, pipewire_row(graph, node, 0), -1, 0);
}

static const struct pipewire_control linear_controls[] = {
    {"Control", 0, -FLT_MAX, FLT_MAX},
    {"Mult", 1, -FLT_MAX, FLT_MAX},
    {"Add", 0, -FLT_MAX, FLT_MAX},
};

static enum status run_linear(struct pipewire_graph *graph, const struct pipewire_node *node)
{
    double factor, offset;
    TRY(pipewire_control(graph, node, "Mult", &factor));
    TRY(pipewire_control(graph, node, "Add", &offset));
    if (offset != 0)
        return pipewire_refuse(graph, "Add is %g; a mask cannot add a constant", offset);
    return mask_matrix_gain(graph->matrix, pipewire_row(graph, node, 0), factor, 0);
}

size_t pipewire_frames(double seconds, double rate)
{
    float frames = (float)seconds * (float)rate;
    /* a longer delay is refused later */
    return frames > 0 ? (size_t)fminf(frames, MATRIX_TAPS_MOST) : 0;
}

/* Runs a comb filter: ff + z^-delay / (1 - fb z^-delay), until it has decayed by 160 dB. */
static enum status run_comb(struct pipewire_graph *graph, const struct pipewire_node *node,
                            size_t delay, double feedback, double forward)
{
    if (fabs(feedback) >= 1 || delay == 0)
        return pipewire_refuse(graph, "a delay of %zu frames with a feedback of %g does not decay",
                               delay, feedback);
    size_t echoes = feedback == 0 ? 1 : 1 + (size_t)(log(1e-8) / log(fabs(feedback)));
    if (echoes > MATRIX_TAPS_MOST / delay)
        return pipewire_refuse(graph, "its echoes last too long");
    double *taps = calloc(echoes * delay + 1, sizeof *taps);
    if (!taps)
        return fail_memory("a mask");
    taps[0] = forward;
    for (size_t i = 1; i <= echoes; i++)
        taps[i * delay] = pow(feedback, (double)i - 1);
    enum status status = mask_matrix_filter(graph->matrix, pipewire_row(graph, node, 0), 1, 0, taps,
                                            echoes * delay + 1);
    free(taps);
    return status;
}

static const struct pipewire_control delay_controls[] = {
    {"Delay (s)", 0, 0, 100},
    {"Feedback", 0, -10, 10},
    {"Feedforward", 0, -10, 10},
};

static enum status run_delay(struct pipewire_graph *graph, const struct pipewire_node *node)
{
    enum { BUFFER = 64 }; /* frames; PipeWire's buffer is a multiple */
    double seconds, feedback, forward, most = 1, rate;
    TRY(pipewire_control(graph, node, "Delay (s)", &seconds));
    TRY(pipewire_control(graph, node, "Feedback", &feedback));
    TRY(pipewire_control(graph, node, "Feedforward", &forward));
    TRY(mask_json_number(&graph->json, node->config, "max-delay", &most));
    TRY(pipewire_rate(graph, &rate));
    size_t limit = pipewire_frames(most > 0 ? most : 1, rate);
    limit = (limit + BUFFER - 1) / BUFFER * BUFFER;
    size_t delay = pipewire_frames(seconds, rate);
    if (limit == 0 || delay > limit - 1) {
        note("mask %s: %s: the delay is above max-delay, %g seconds, which PipeWire allows",
             graph->config->file, graph->json.where, most);
        delay = limit ? limit - 1 : 0;
    }
    if (feedback != 0 || forward != 0)
        return run_comb(graph, node, delay, feedback, forward);
    return mask_matrix_gain(graph->matrix, pipewire_row(graph, node, 0), 1, delay);
}

/* ---- the parametric equaliser ---- */

/* Sections for up to 8 channels, from the node's settings or from an AutoEq listing. */
enum {
    SECTIONS_MOST = 64,
    FREQUENCY_MOST = 8, /* characters of each number that PipeWire reads */
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
        return pipewire_refuse(graph, "more than %d filters", SECTIONS_MOST);
    if (fabs(gain) > 760)
        return pipewire_refuse(graph, "a gain of %g dB", gain);
    TRY(pipewire_rate(graph, &rate));
    if (!make_biquad(label, frequency, q, gain, rate, &list->biquads[list->count]))
        return pipewire_refuse(graph, "there is no filter of the type '%.40s'", label);
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
        return pipewire_refuse(graph, "'filters' must be a list");
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

/* Reads a line such as "Filter 1: ON PK Fc 105 Hz Gain -3.2 dB Q 0.70", with words at fixed places.
 * As PipeWire does, leaves it out if Fc or Gain is too long, and cuts a long Q. */
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

/* Reads a listing. PipeWire takes the first line as the preamp, even if it is something else. */
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
        return pipewire_refuse(graph, "'filename' must be text");
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

/* Whether a key is for a channel: it ends with the channel's number, from 1, or has no number. */
static bool is_for(const char *key, const char *name, size_t channel)
{
    uint64_t number;
    size_t length = strlen(name);
    if (strncmp(key, name, length) != 0)
        return false;
    return !key[length] || (mask_config_count(key + length, &number) && number == channel + 1);
}

/* Reads the settings of a channel. If it has several, the last one counts. */
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

static const char *const eq_settings[] = {
    "filename",  "filename1", "filename2", "filename3", "filename4", "filename5", "filename6",
    "filename7", "filename8", "filters",   "filters1",  "filters2",  "filters3",  "filters4",
    "filters5",  "filters6",  "filters7",  "filters8",  NULL};

/* ---- the table ---- */

#define CONTROLS(rows) .controls = (rows), .control_count = sizeof(rows) / sizeof *(rows)
static const char *const raw_settings[] = {"coefficients", NULL};
static const char *const delay_settings[] = {"max-delay", "latency", NULL};
#define SECTION(name)                                                                              \
    {.label = (name), .inputs = 1, .outputs = 1, CONTROLS(section_controls), .run = run_section}

static const struct pipewire_kind own_kinds[] = {
    {.label = "copy", .inputs = 1, .outputs = 1},
    {.label = "mixer",
     .inputs = PIPEWIRE_PORTS,
     .outputs = 1,
     CONTROLS(mixer_controls),
     .run = run_mixer},
    {.label = "invert", .inputs = 1, .outputs = 1, .run = run_invert},
    {.label = "linear", .inputs = 1, .outputs = 1, CONTROLS(linear_controls), .run = run_linear},
    {.label = "delay",
     .inputs = 1,
     .outputs = 1,
     CONTROLS(delay_controls),
     .settings = delay_settings,
     .run = run_delay},
    {.label = "dcblock",
     .inputs = PIPEWIRE_PORTS,
     .outputs = PIPEWIRE_PORTS,
     CONTROLS(dcblock_controls),
     .run = run_dcblock},
    {.label = "param_eq",
     .inputs = PIPEWIRE_PORTS,
     .outputs = PIPEWIRE_PORTS,
     .settings = eq_settings,
     .run = run_param_eq},
    {.label = "bq_raw", .inputs = 1, .outputs = 1, .settings = raw_settings, .run = run_raw},
    SECTION("bq_lowpass"),
    SECTION("bq_highpass"),
    SECTION("bq_bandpass"),
    SECTION("bq_lowshelf"),
    SECTION("bq_highshelf"),
    SECTION("bq_peaking"),
    SECTION("bq_notch"),
    SECTION("bq_allpass"),
};

static const struct pipewire_kind *const other_kinds[] = {
    &pipewire_convolver,
    &pipewire_convolver2,
    &pipewire_spatializer,
};

static bool is_kind(const struct pipewire_kind *kind, const char *type, const char *label)
{
    return strcmp(label, kind->label) == 0 &&
           strcmp(type, kind->type ? kind->type : "builtin") == 0;
}

const struct pipewire_kind *pipewire_kind_named(const char *type, const char *label)
{
    for (size_t i = 0; i < sizeof own_kinds / sizeof *own_kinds; i++)
        if (is_kind(&own_kinds[i], type, label))
            return &own_kinds[i];
    for (size_t i = 0; i < sizeof other_kinds / sizeof *other_kinds; i++)
        if (is_kind(other_kinds[i], type, label))
            return other_kinds[i];
    return NULL;
}

/* The key of a control, which is its name or its index. */
static const char *key_of(const struct pipewire_node *node, size_t index, char number[8])
{
    const char *name = node->kind->controls[index].name;
    snprintf(number, 8, "%zu", index % 1000);
    return json_object_get(node->control, name) ? name : number;
}

enum status pipewire_check_controls(struct pipewire_graph *graph, const struct pipewire_node *node)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)node->control, key, value)
    {
        char number[8];
        size_t i = 0, count = node->kind->control_count;
        while (i < count && strcmp(key, key_of(node, i, number)) != 0)
            i++;
        if (i == count)
            return pipewire_refuse(graph, "a %s has no control '%.40s'", node->kind->label, key);
    }
    return STATUS_OK;
}

enum status pipewire_control(struct pipewire_graph *graph, const struct pipewire_node *node,
                             const char *name, double *value)
{
    size_t index = 0;
    char number[8];
    while (strcmp(node->kind->controls[index].name, name) != 0)
        index++;
    const struct pipewire_control *control = &node->kind->controls[index];
    *value = control->usual;
    TRY(mask_json_number(&graph->json, node->control, key_of(node, index, number), value));
    double limited = fmin(fmax(*value, control->least), control->most);
    if (limited != *value)
        note("mask %s: %s: %s is %g, as PipeWire limits %g", graph->config->file, graph->json.where,
             name, limited, *value);
    *value = limited;
    return STATUS_OK;
}
