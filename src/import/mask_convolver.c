/* Configurations of Convolver (convolver.sourceforge.net/config.html), as Roon, JRiver, Acourate
 * and Audiolense use them, in files named .cfg or .txt:
 *
 *   44100 2 2 0          rate, inputs, outputs, speakers (ignored)
 *   0 0                  delays of the inputs in ms
 *   0 0                  delays of the outputs in ms
 *   left.wav             then for every path: a sound file,
 *   0                      its channel, counted from 0,
 *   0.0                    the inputs that it filters,
 *   0.0                    the outputs that it adds to
 *
 * One number gives a channel and its weight: 1.5 is channel 1 at half its level, 1.0 channel 1
 * unchanged, -0.0 channel 0 inverted. */
#include "import/mask_config.h"
#include "import/mask_matrix.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RATE_LEAST = 1000 /* Hz */ };

struct convolver_delays {
    uint64_t inputs[MATRIX_CHANNELS_MOST]; /* frames */
    uint64_t outputs[MATRIX_CHANNELS_MOST];
};

struct convolver_weight {
    size_t channel;
    double gain;
};

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

static enum status need_line(struct mask_config *config, const char *what, char **line)
{
    *line = next_line(config);
    return *line ? STATUS_OK : mask_config_refuse(config, "it ends before %s", what);
}

static enum status read_head(struct mask_config *config)
{
    char *line;
    uint64_t numbers[3];
    TRY(need_line(config, "its first line", &line));
    for (size_t i = 0; i < 3; i++) {
        const char *word = mask_config_word(&line);
        if (!word || !mask_config_count(word, &numbers[i]) || numbers[i] == 0)
            return mask_config_refuse(config, "the rate, inputs and outputs must be whole numbers");
    }
    if (numbers[0] > MASK_RATE_MOST || numbers[1] > MATRIX_CHANNELS_MOST ||
        numbers[2] > MATRIX_CHANNELS_MOST)
        return mask_config_refuse(config, "at most %d Hz and %d channels", MASK_RATE_MOST,
                                  MATRIX_CHANNELS_MOST);
    TRY(mask_config_rate(config, (uint32_t)numbers[0]));
    return mask_matrix_create(config, (size_t)numbers[1], (size_t)numbers[2], &config->matrix);
}

/* Reads the delays. Line breaks may be anywhere. */
static enum status read_delays(struct mask_config *config, struct convolver_delays *delays)
{
    size_t inputs = mask_matrix_inputs(config->matrix);
    size_t outputs = mask_matrix_outputs(config->matrix);
    char *rest = NULL;
    for (size_t i = 0; i < inputs + outputs; i++) {
        double milliseconds;
        const char *word;
        while (!rest || !(word = mask_config_word(&rest)))
            TRY(need_line(config, "all delays", &rest));
        if (!mask_config_number(word, &milliseconds) || milliseconds < 0)
            return mask_config_refuse(
                config, "a delay must be a number of ms from 0 on, not '%.40s'", word);
        double frames = rint(milliseconds * config->rate / 1000);
        if (frames > MATRIX_TAPS_MOST)
            return mask_config_refuse(config, "a delay of %g ms is too long", milliseconds);
        *(i < inputs ? &delays->inputs[i] : &delays->outputs[i - inputs]) = (uint64_t)frames;
    }
    return STATUS_OK;
}

/* Parses CHANNEL.WEIGHT. A weight of 0 means 1. */
static bool parse_weight(const char *word, struct convolver_weight *weight)
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

static enum status read_weights(struct mask_config *config, const char *what, size_t channels,
                                struct convolver_weight *weights, size_t *count)
{
    char *line;
    *count = 0;
    TRY(need_line(config, what, &line));
    for (char *word; (word = mask_config_word(&line)); (*count)++) {
        if (*count == MATRIX_CHANNELS_MOST)
            return mask_config_refuse(config, "too many %s", what);
        struct convolver_weight *weight = &weights[*count];
        if (!parse_weight(word, weight) || weight->channel >= channels)
            return mask_config_refuse(config,
                                      "'%.40s' among the %s is not a channel from 0 to %zu with a "
                                      "weight",
                                      word, what, channels - 1);
    }
    return STATUS_OK;
}

static enum status read_path(struct mask_config *config, const struct convolver_delays *delays,
                             const char *name)
{
    struct convolver_weight ins[MATRIX_CHANNELS_MOST], outs[MATRIX_CHANNELS_MOST];
    size_t in_count, out_count;
    uint64_t channel;
    char *line;
    const struct mask *mask;
    TRY(mask_config_mask(config, name, NULL, &mask));
    TRY(need_line(config, "the channel of a file", &line));
    if (!mask_config_count(line, &channel) || channel >= mask->columns)
        return mask_config_refuse(config, "%s has channels 0 to %zu, not '%.40s'", name,
                                  mask->columns - 1, line);
    TRY(read_weights(config, "inputs", mask_matrix_inputs(config->matrix), ins, &in_count));
    TRY(read_weights(config, "outputs", mask_matrix_outputs(config->matrix), outs, &out_count));
    for (size_t i = 0; i < in_count; i++)
        for (size_t o = 0; o < out_count; o++)
            TRY(mask_matrix_lend(config->matrix, ins[i].channel, outs[o].channel,
                                 ins[i].gain * outs[o].gain,
                                 delays->inputs[ins[i].channel] + delays->outputs[outs[o].channel],
                                 mask_column(mask, (size_t)channel), mask->taps));
    return STATUS_OK;
}

/* Skips `count` numbers. Returns the text after them. NULL: one of them is not a number. */
static const char *skip_numbers(const char *text, size_t count)
{
    for (; count > 0; count--) {
        text += strspn(text, " \t\r\n");
        size_t length = strspn(text, "+-.0123456789");
        if (length == 0 || !strchr(" \t\r\n", text[length]))
            return NULL;
        text += length;
    }
    return text;
}

/* Whether the text is a head of 3 or 4 numbers, delays for all channels, then a line of text. */
static bool has_path(const char *text)
{
    char *rest;
    if (!skip_numbers(text, 3))
        return false;
    unsigned long rate = strtoul(text, &rest, 10);
    unsigned long inputs = strtoul(rest, &rest, 10), outputs = strtoul(rest, &rest, 10);
    if (rate < RATE_LEAST || inputs - 1 >= MATRIX_CHANNELS_MOST ||
        outputs - 1 >= MATRIX_CHANNELS_MOST || memchr(text, '\n', (size_t)(rest - text)))
        return false;
    text = skip_numbers(rest + strcspn(rest, "\n"), inputs + outputs);
    if (!text)
        return false;
    text += strspn(text, " \t\r\n");
    return *text && !skip_numbers(text, 1);
}

/* Whether this is such a configuration. In a file named .cfg, a head of four numbers is enough. */
static bool is_convolver(const struct mask_config *config)
{
    const char *text = config->text + strspn(config->text, " \t\r\n");
    size_t length = strspn(text, "0123456789abcdefABCDEFxX \t");
    if (!isdigit((unsigned char)*text) || (text[length] != '\r' && text[length] != '\n'))
        return false;
    return (length >= 5 && mask_file_ends_with(config->file, ".cfg")) || has_path(text);
}

static enum status read_convolver(struct mask_config *config, struct mask **mask)
{
    struct convolver_delays delays = {0};
    char *name;
    TRY(read_head(config));
    TRY(read_delays(config, &delays));
    while ((name = next_line(config)))
        TRY(read_path(config, &delays, name));
    config->line = 0;
    return mask_matrix_to_mask(config->matrix, mask);
}

const struct mask_reader mask_reader_convolver = {
    .kind = "Convolver configuration",
    .is_my_config = is_convolver,
    .read_config = read_convolver,
};
