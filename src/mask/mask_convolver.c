/* Configurations of Convolver (convolver.sourceforge.net/config.html), as Roon, JRiver,
 * Acourate and Audiolense use them, in files named .cfg:
 *
 *   44100 2 2 0          rate, inputs, outputs, speakers (of no matter here)
 *   0 0                  delays of the inputs in ms
 *   0 0                  delays of the outputs in ms
 *   left.wav             then for every path: a sound file,
 *   0                      its channel, counted from 0,
 *   0.0                    the inputs that go in,
 *   0.0                    the outputs that it is added to
 *
 * A channel and its weight are one number: 1.5 is channel 1 at half, 1.0 channel 1 as it is,
 * -0.0 channel 0 with its sign turned. */
#include "mask/mask_config.h"
#include "mask/mask_matrix.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct convolver_reading {
    struct mask_config *config;
    struct mask_matrix *matrix;
    uint64_t input_delays[MATRIX_CHANNELS_MOST]; /* frames */
    uint64_t output_delays[MATRIX_CHANNELS_MOST];
};

struct weight {
    size_t channel;
    double gain;
};

/* The next line that holds anything. */
static char *next_line(struct mask_config *config)
{
    char *line;
    while ((line = mask_config_line(config))) {
        line += strspn(line, " \t");
        for (size_t end = strlen(line); end > 0 && strchr(" \t", line[end - 1]);)
            line[--end] = '\0';
        if (*line)
            break;
    }
    return line;
}

static enum status need_line(struct convolver_reading *reading, const char *what, char **line)
{
    *line = next_line(reading->config);
    return *line ? STATUS_OK : mask_config_refuse(reading->config, "it ends before %s", what);
}

static enum status read_head(struct convolver_reading *reading)
{
    char *line;
    uint64_t numbers[3];
    TRY(need_line(reading, "its first line", &line));
    for (size_t i = 0; i < 3; i++) {
        const char *word = mask_config_word(&line);
        if (!word || !mask_config_count(word, &numbers[i]) || numbers[i] == 0)
            return mask_config_refuse(reading->config,
                                      "the rate, inputs and outputs must be whole numbers");
    }
    if (numbers[0] > MASK_RATE_MOST || numbers[1] > MATRIX_CHANNELS_MOST ||
        numbers[2] > MATRIX_CHANNELS_MOST)
        return mask_config_refuse(reading->config, "at most %d Hz and %d channels", MASK_RATE_MOST,
                                  MATRIX_CHANNELS_MOST);
    TRY(mask_config_rate(reading->config, (uint32_t)numbers[0]));
    return mask_matrix_create(reading->config, (size_t)numbers[1], (size_t)numbers[2],
                              &reading->matrix);
}

/* On one line or two, wherever the lines break. */
static enum status read_delays(struct convolver_reading *reading)
{
    size_t inputs = mask_matrix_inputs(reading->matrix);
    size_t outputs = mask_matrix_outputs(reading->matrix);
    char *rest = NULL;
    for (size_t i = 0; i < inputs + outputs; i++) {
        double milliseconds;
        const char *word;
        while (!rest || !(word = mask_config_word(&rest)))
            TRY(need_line(reading, "all delays", &rest));
        if (!mask_config_number(word, &milliseconds) || milliseconds < 0)
            return mask_config_refuse(
                reading->config, "a delay must be a number of ms from 0 on, not '%.40s'", word);
        double frames = rint(milliseconds * reading->config->rate / 1000);
        if (frames > MATRIX_TAPS_MOST)
            return mask_config_refuse(reading->config, "a delay of %g ms is too long",
                                      milliseconds);
        *(i < inputs ? &reading->input_delays[i] : &reading->output_delays[i - inputs]) =
            (uint64_t)frames;
    }
    return STATUS_OK;
}

/* CHANNEL.WEIGHT; a weight of 0 is one of 1. */
static bool parse_weight(const char *word, struct weight *weight)
{
    bool is_negative = *word == '-';
    word += is_negative || *word == '+';
    size_t digits = strspn(word, "0123456789");
    if (digits == 0 || digits > 3)
        return false;
    weight->channel = strtoul(word, NULL, 10);
    const char *part = word + digits;
    if (*part && (*part != '.' || part[1 + strspn(part + 1, "0123456789")]))
        return false;
    weight->gain = *part ? strtod(part, NULL) : 0;
    if (!*part || !part[1] || weight->gain == 0)
        weight->gain = 1;
    if (is_negative)
        weight->gain = -weight->gain;
    return true;
}

static enum status read_weights(struct convolver_reading *reading, const char *what,
                                size_t channels, struct weight *weights, size_t *count)
{
    char *line;
    *count = 0;
    TRY(need_line(reading, what, &line));
    for (char *word; (word = mask_config_word(&line)); (*count)++) {
        if (*count == MATRIX_CHANNELS_MOST)
            return mask_config_refuse(reading->config, "too many %s", what);
        struct weight *weight = &weights[*count];
        if (!parse_weight(word, weight) || weight->channel >= channels)
            return mask_config_refuse(reading->config,
                                      "'%.40s' among the %s is not a channel from 0 to %zu with a "
                                      "weight",
                                      word, what, channels - 1);
    }
    return STATUS_OK;
}

static enum status add_path(struct convolver_reading *reading, const float *taps, size_t count,
                            const struct weight *in, const struct weight *out)
{
    return mask_matrix_add(
        reading->matrix, in->channel, out->channel, in->gain * out->gain,
        reading->input_delays[in->channel] + reading->output_delays[out->channel], taps, count);
}

static enum status read_path(struct convolver_reading *reading, const char *name)
{
    struct weight ins[MATRIX_CHANNELS_MOST], outs[MATRIX_CHANNELS_MOST];
    size_t in_count, out_count;
    uint64_t channel;
    char *line;
    const struct mask *mask;
    TRY(mask_config_mask(reading->config, name, NULL, &mask));
    TRY(need_line(reading, "the channel of a file", &line));
    if (!mask_config_count(line, &channel) || channel >= mask->columns)
        return mask_config_refuse(reading->config, "%s has channels 0 to %zu, not '%.40s'", name,
                                  mask->columns - 1, line);
    TRY(read_weights(reading, "inputs", mask_matrix_inputs(reading->matrix), ins, &in_count));
    TRY(read_weights(reading, "outputs", mask_matrix_outputs(reading->matrix), outs, &out_count));
    for (size_t i = 0; i < in_count; i++)
        for (size_t o = 0; o < out_count; o++)
            TRY(add_path(reading, mask_column(mask, (size_t)channel), mask->taps, &ins[i],
                         &outs[o]));
    return STATUS_OK;
}

static enum status read_all(struct convolver_reading *reading, struct mask **mask)
{
    char *name;
    TRY(read_head(reading));
    TRY(read_delays(reading));
    while ((name = next_line(reading->config)))
        TRY(read_path(reading, name));
    reading->config->line = 0;
    return mask_matrix_to_mask(reading->matrix, mask);
}

/* Four numbers, and the file's name ends with .cfg: numbers alone could be taps. */
static bool is_convolver(const struct mask_config *config)
{
    const char *dot = strrchr(config->file, '.');
    const char *text = config->text + strspn(config->text, " \t\r\n");
    size_t length = strspn(text, "0123456789abcdefABCDEFxX \t");
    return dot && strcasecmp(dot, ".cfg") == 0 && length >= 5 && isdigit((unsigned char)*text) &&
           (text[length] == '\r' || text[length] == '\n');
}

static enum status read_convolver(struct mask_config *config, struct mask **mask)
{
    struct convolver_reading reading = {.config = config};
    enum status status = read_all(&reading, mask);
    mask_matrix_destroy(reading.matrix);
    return status;
}

const struct mask_reader mask_reader_convolver = {
    .kind = "Convolver configuration",
    .is_my_config = is_convolver,
    .read_config = read_convolver,
};
