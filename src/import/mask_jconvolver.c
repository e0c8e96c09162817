/* Configurations of jconvolver and fconvolver (README.CONFIG of their package), with the
 * /impulse/packedmatrix of mcfx_convolver.
 *
 * Settings of JACK and partitions are ignored. A relative /cd starts at the configuration's folder,
 * which differs from jconvolver. Errors are refused, even those of which jconvolver only warns. */
#include "base/plural.h"
#include "import/mask_config.h"
#include "import/mask_matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define refuse(reading, ...) mask_config_refuse((reading)->config, __VA_ARGS__)

enum { COPIES_MOST = 1 << 14, HILBERT_LEAST = 64, HILBERT_MOST = 65536 };

struct jconvolver_copy {
    size_t line;
    size_t input, output;
    size_t from_input, from_output;
};

struct jconvolver {
    struct mask_config *config;
    bool has_size;          /* /convolver/new gave the size */
    uint64_t longest;       /* taps of a response, from /convolver/new */
    size_t inputs, outputs; /* the most that responses use */
    struct jconvolver_copy *copies;
    size_t copy_count;
    bool has_response[MATRIX_CHANNELS_MOST][MATRIX_CHANNELS_MOST]; /* [input][output] */
};

struct jconvolver_numbers {
    uint64_t input, output, delay, offset, length, channel;
    double gain;
};

static enum status parse_count(struct jconvolver *reading, char **rest, const char *what,
                               uint64_t *value)
{
    const char *word = mask_config_word(rest);
    if (!word)
        return refuse(reading, "the %s is missing", what);
    if (!mask_config_count(word, value))
        return refuse(reading, "the %s must be a whole number, not '%.40s'", what, word);
    return STATUS_OK;
}

static enum status parse_gain(struct jconvolver *reading, char **rest, double *gain)
{
    const char *word = mask_config_word(rest);
    if (!word || !mask_config_number(word, gain))
        return refuse(reading, "the gain must be a number, not '%.40s'", word ? word : "");
    return STATUS_OK;
}

static enum status parse_channel(struct jconvolver *reading, char **rest, const char *what,
                                 size_t most, uint64_t *value)
{
    TRY(parse_count(reading, rest, what, value));
    if (*value < 1 || *value > most)
        return refuse(reading, "there is no %s %llu, but 1 to %zu", what,
                      (unsigned long long)*value, most);
    return STATUS_OK;
}

static enum status parse_pair(struct jconvolver *reading, char **rest, uint64_t *input,
                              uint64_t *output)
{
    size_t inputs = mask_matrix_inputs(reading->config->matrix);
    size_t outputs = mask_matrix_outputs(reading->config->matrix);
    TRY(parse_channel(reading, rest, "input", inputs, input));
    TRY(parse_channel(reading, rest, "output", outputs, output));
    if (*input > reading->inputs)
        reading->inputs = (size_t)*input;
    if (*output > reading->outputs)
        reading->outputs = (size_t)*output;
    return STATUS_OK;
}

static enum status parse_name(struct jconvolver *reading, char *rest, const char **name)
{
    *name = mask_config_word(&rest);
    if (!*name || !**name)
        return refuse(reading, "a file name is missing");
    rest += strspn(rest, " \t");
    if (*rest && *rest != '#')
        note("mask %s: line %zu: the name is '%s', without '%.40s' behind the blank, as jconvolver "
             "reads it; quotes keep a name with blanks together",
             reading->config->file, reading->config->line, *name, rest);
    return STATUS_OK;
}

/* Refuses to add to a copy. Copies are links, and jconvolver would lose the addition. */
static enum status check_no_copy(struct jconvolver *reading, uint64_t input, uint64_t output)
{
    for (size_t i = 0; i < reading->copy_count; i++)
        if (reading->copies[i].input == input - 1 && reading->copies[i].output == output - 1)
            return refuse(reading, "the path from input %llu to output %llu is a copy already",
                          (unsigned long long)input, (unsigned long long)output);
    return STATUS_OK;
}

/* Adds n->length taps. `stay`: they stay valid as long as the configuration. */
static enum status add(struct jconvolver *reading, const struct jconvolver_numbers *n,
                       const double *taps, bool stay)
{
    struct mask_matrix *matrix = reading->config->matrix;
    size_t input = (size_t)n->input - 1, output = (size_t)n->output - 1;
    uint64_t count = n->length;
    TRY(check_no_copy(reading, n->input, n->output));
    reading->has_response[input][output] = true;
    uint64_t capacity = n->delay < reading->longest ? reading->longest - n->delay : 0;
    if (reading->has_size && count > capacity) {
        note("mask %s: line %zu: %llu taps beyond the %llu of /convolver/new are ignored, as "
             "jconvolver does",
             reading->config->file, reading->config->line, (unsigned long long)(count - capacity),
             (unsigned long long)reading->longest);
        count = capacity;
    }
    return count == 0 ? STATUS_OK
           : stay     ? mask_matrix_lend(matrix, input, output, n->gain, n->delay, taps, count)
                      : mask_matrix_add(matrix, input, output, n->gain, n->delay, taps, count);
}

static enum status parse_size(struct jconvolver *reading, char *rest)
{
    uint64_t inputs = 0, outputs = 0, partition = 0;
    if (reading->has_size || reading->inputs)
        return refuse(reading, "/convolver/new must come first and once");
    TRY(parse_channel(reading, &rest, "inputs", MATRIX_CHANNELS_MOST, &inputs));
    TRY(parse_channel(reading, &rest, "outputs", MATRIX_CHANNELS_MOST, &outputs));
    /* mcfx_convolver gives the channels only */
    reading->has_size = rest[strspn(rest, " \t")] != '\0';
    if (reading->has_size) {
        TRY(parse_count(reading, &rest, "partition size", &partition));
        TRY(parse_count(reading, &rest, "maximum impulse length", &reading->longest));
    }
    if (reading->has_size && reading->longest == 0)
        return refuse(reading, "a maximum impulse length of 0");
    TRY(mask_matrix_crop(reading->config->matrix, (size_t)inputs, (size_t)outputs));
    reading->inputs = (size_t)inputs;
    reading->outputs = (size_t)outputs;
    return STATUS_OK;
}

static enum status parse_folder(struct jconvolver *reading, char *rest)
{
    const char *name;
    rest += strspn(rest, " \t");
    if (!*rest) /* without a name, as for mcfx_convolver: the file's folder */
        return mask_config_enter(reading->config, ".");
    TRY(parse_name(reading, rest, &name));
    return mask_config_enter(reading->config, name);
}

/* Limits *length to taps [offset, offset + *length) of the `have` taps. A length of 0 means all. */
static enum status cut(struct jconvolver *reading, uint64_t have, uint64_t offset, uint64_t *length)
{
    if (offset >= have)
        return refuse(reading, "an offset of %llu exceeds %llu taps", (unsigned long long)offset,
                      (unsigned long long)have);
    if (*length == 0 || *length > have - offset)
        *length = have - offset;
    return STATUS_OK;
}

static enum status parse_piece(struct jconvolver *reading, char **rest,
                               struct jconvolver_numbers *n)
{
    TRY(parse_gain(reading, rest, &n->gain));
    TRY(parse_count(reading, rest, "delay", &n->delay));
    TRY(parse_count(reading, rest, "offset", &n->offset));
    return parse_count(reading, rest, "length", &n->length);
}

static enum status parse_read(struct jconvolver *reading, char *rest)
{
    struct jconvolver_numbers n;
    const char *name;
    const struct mask *mask;
    TRY(parse_pair(reading, &rest, &n.input, &n.output));
    TRY(parse_piece(reading, &rest, &n));
    TRY(parse_count(reading, &rest, "channel", &n.channel));
    TRY(parse_name(reading, rest, &name));
    TRY(mask_config_mask(reading->config, name, NULL, &mask));
    if (n.channel < 1 || n.channel > mask->columns)
        return refuse(reading, "%s has no channel %llu, but 1 to %zu", name,
                      (unsigned long long)n.channel, mask->columns);
    TRY(cut(reading, mask->taps, n.offset, &n.length));
    return add(reading, &n, mask_column(mask, (size_t)n.channel - 1) + n.offset, true);
}

static enum status parse_dirac(struct jconvolver *reading, char *rest)
{
    static const double one = 1;
    struct jconvolver_numbers n;
    TRY(parse_pair(reading, &rest, &n.input, &n.output));
    TRY(parse_gain(reading, &rest, &n.gain));
    TRY(parse_count(reading, &rest, "delay", &n.delay));
    n.length = 1;
    return add(reading, &n, &one, true);
}

/* Adds a Hilbert transformer: every second 2/(pi k), times 0.43 + 0.57 cos (down to -0.14). */
static enum status add_hilbert(struct jconvolver *reading, const struct jconvolver_numbers *n)
{
    double *taps = calloc(n->length, sizeof *taps);
    if (!taps)
        return fail_memory("a mask");
    size_t half = (size_t)n->length / 2;
    for (size_t k = 1; k < half; k += 2) {
        double window = 0.43 + 0.57 * cos((double)k * M_PI / (double)half);
        double tap = 2 / M_PI / (double)k * window;
        taps[half + k] = -tap;
        taps[half - k] = tap;
    }
    struct jconvolver_numbers centred = *n;
    centred.delay -= half;
    enum status status = add(reading, &centred, taps, false);
    free(taps);
    return status;
}

static enum status parse_hilbert(struct jconvolver *reading, char *rest)
{
    struct jconvolver_numbers n;
    TRY(parse_pair(reading, &rest, &n.input, &n.output));
    TRY(parse_gain(reading, &rest, &n.gain));
    TRY(parse_count(reading, &rest, "delay", &n.delay));
    TRY(parse_count(reading, &rest, "length", &n.length));
    if (n.length < HILBERT_LEAST || n.length > HILBERT_MOST)
        return refuse(reading, "the length of /impulse/hilbert is %d to %d", HILBERT_LEAST,
                      HILBERT_MOST);
    if (n.delay < n.length / 2)
        return refuse(reading, "the delay of /impulse/hilbert must be half its length or more");
    return add_hilbert(reading, &n);
}

static enum status parse_copy(struct jconvolver *reading, char *rest)
{
    uint64_t input, output, from_input, from_output;
    TRY(parse_pair(reading, &rest, &input, &output));
    TRY(parse_pair(reading, &rest, &from_input, &from_output));
    TRY(check_no_copy(reading, input, output));
    TRY(check_no_copy(reading, from_input, from_output));
    if (reading->has_response[input - 1][output - 1])
        return refuse(reading, "the path from input %llu to output %llu has a response already",
                      (unsigned long long)input, (unsigned long long)output);
    if (!reading->has_response[from_input - 1][from_output - 1])
        return refuse(reading, "the path from input %llu to output %llu has no response to copy",
                      (unsigned long long)from_input, (unsigned long long)from_output);
    if (reading->copy_count == COPIES_MOST)
        return refuse(reading, "more than %d copies", COPIES_MOST);
    struct jconvolver_copy *copies =
        realloc(reading->copies, (reading->copy_count + 1) * sizeof *reading->copies);
    if (!copies)
        return fail_memory("a mask");
    reading->copies = copies;
    copies[reading->copy_count++] =
        (struct jconvolver_copy){reading->config->line, (size_t)input - 1, (size_t)output - 1,
                                 (size_t)from_input - 1, (size_t)from_output - 1};
    return STATUS_OK;
}

static enum status add_packed(struct jconvolver *reading, const struct jconvolver_numbers *n,
                              const struct mask *mask)
{
    uint64_t each = mask->taps / n->input;
    struct jconvolver_numbers one = *n;
    TRY(cut(reading, each, n->offset, &one.length));
    for (one.input = 1; one.input <= n->input; one.input++)
        for (one.output = 1; one.output <= mask->columns; one.output++)
            TRY(add(reading, &one,
                    mask_column(mask, one.output - 1) + (one.input - 1) * each + n->offset, true));
    return STATUS_OK;
}

/* Reads a file with a channel for each output: the responses from all inputs in sequence. */
static enum status parse_packed(struct jconvolver *reading, char *rest)
{
    struct jconvolver_numbers n;
    const char *name;
    const struct mask *mask;
    TRY(parse_channel(reading, &rest, "inputs", mask_matrix_inputs(reading->config->matrix),
                      &n.input));
    TRY(parse_piece(reading, &rest, &n));
    TRY(parse_name(reading, rest, &name));
    TRY(mask_config_mask(reading->config, name, NULL, &mask));
    if (mask->taps % n.input != 0)
        return refuse(reading, "%s: %zu tap%s cannot be divided by %llu inputs", name, mask->taps,
                      plural_s(mask->taps), (unsigned long long)n.input);
    if (mask->columns > mask_matrix_outputs(reading->config->matrix))
        return refuse(reading, "%s has %zu channels for %zu output%s", name, mask->columns,
                      mask_matrix_outputs(reading->config->matrix),
                      plural_s(mask_matrix_outputs(reading->config->matrix)));
    if (n.input > reading->inputs)
        reading->inputs = (size_t)n.input;
    if (mask->columns > reading->outputs)
        reading->outputs = mask->columns;
    return add_packed(reading, &n, mask);
}

static const struct {
    const char *name;
    enum status (*parse)(struct jconvolver *reading, char *rest); /* NULL: the command is ignored */
} commands[] = {
    {"/convolver/new", parse_size},
    {"/cd", parse_folder},
    {"/impulse/read", parse_read},
    {"/impulse/dirac", parse_dirac},
    {"/impulse/hilbert", parse_hilbert},
    {"/impulse/copy", parse_copy},
    {"/impulse/packedmatrix", parse_packed},
    {"/input/name", NULL},
    {"/output/name", NULL},
    {"/jack/client", NULL},
    {"/jack/server", NULL},
};

static enum status parse_line(struct jconvolver *reading, char *line)
{
    line += strspn(line, " \t");
    if (*line != '/') {
        return !*line || *line == '#'
                   ? STATUS_OK
                   : refuse(reading, "not a command or a # comment: '%.40s'", line);
    }
    char *rest = line;
    const char *name = mask_config_word(&rest);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(name, commands[i].name) == 0)
            return commands[i].parse ? commands[i].parse(reading, rest) : STATUS_OK;
    return refuse(reading, "jconvolver has no command '%.40s'", name);
}

static bool is_jconvolver(const struct mask_config *config)
{
    const char *text = config->text;
    static const char *const begins[] = {"/convolver/", "/impulse/", "/cd",
                                         "/jack/",      "/input/",   "/output/"};
    while (*text) {
        const char *line = text + strspn(text, " \t\r\n");
        if (*line != '#') {
            for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
                if (strncmp(line, begins[i], strlen(begins[i])) == 0)
                    return true;
            return false;
        }
        text = line + strcspn(line, "\n");
    }
    return false;
}

static enum status read_commands(struct jconvolver *reading, struct mask **mask)
{
    struct mask_config *config = reading->config;
    char *line;
    TRY(mask_matrix_create(config, MATRIX_CHANNELS_MOST, MATRIX_CHANNELS_MOST, &config->matrix));
    while ((line = mask_config_line(config)))
        TRY(parse_line(reading, line));
    for (size_t i = 0; i < reading->copy_count; i++) {
        const struct jconvolver_copy *copy = &reading->copies[i];
        config->line = copy->line;
        TRY(mask_matrix_copy(config->matrix, copy->input, copy->output, copy->from_input,
                             copy->from_output));
    }
    config->line = 0;
    if (reading->inputs == 0)
        return mask_config_refuse(config, "it has no /convolver/new and no response");
    TRY(mask_matrix_crop(config->matrix, reading->inputs, reading->outputs));
    return mask_matrix_to_mask(config->matrix, mask);
}

static enum status read_jconvolver(struct mask_config *config, struct mask **mask)
{
    struct jconvolver reading = {.config = config};
    enum status status = read_commands(&reading, mask);
    free(reading.copies);
    return status;
}

const struct mask_reader mask_reader_jconvolver = {
    .kind = "jconvolver configuration",
    .is_my_config = is_jconvolver,
    .read_config = read_jconvolver,
};
