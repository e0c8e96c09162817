/* Configurations of Equalizer APO, and listings of parametric equalisers in its format (AutoEq,
 * REW's "Filter Settings file").
 *
 * What is linear is read: filters, delays, gains, copies. A filter becomes its impulse response at
 * the rate of the files of Convolution:, else at rate=, else at that of the sound. A configuration
 * that treats all channels alike has one column for all; else it has paths for as many channels as
 * the sound has, or, if that is unknown, the fewest of 2, 4, 6, 7 and 8 that have all it names. */
#include "mask/mask_eqapo.h"

#include "mask/eq_number.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

/* Not a value of YAML. */
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
    return mask_config_refuse(reading->now, "%s: cannot be read as a mask", line->command->name);
}

static const struct eqapo_command commands[] = {
    {"Preamp", .ends_itself = true, .run = eqapo_preamp, .is_plausible = is_number},
    {"Filter", .is_numbered = true, .run = eqapo_filter, .is_plausible = is_filter},
    {"GraphicEQ", .run = eqapo_graphic, .is_plausible = is_number},
    {"Convolution", true, .prepare = eqapo_see_convolution, .run = eqapo_convolution,
     .is_plausible = is_name},
    {"Delay", .ends_itself = true, .run = eqapo_delay, .is_plausible = is_delay},
    {"Channel", .prepare = eqapo_see_channel, .run = eqapo_channel},
    {"Copy", .prepare = eqapo_see_copy, .run = eqapo_copy, .is_plausible = is_copy},
    {"Include", true, .gather = eqapo_include, .is_plausible = is_name},
    {"Device", .branch = eqapo_device}, /* Equalizer APO minds no If: there, either */
    {"Stage", .gather = eqapo_stage},
    {"Eval", .gather = eqapo_eval},
    {"If", .branch = eqapo_if},
    {"ElseIf", .branch = eqapo_else_if},
    {"Else", .branch = eqapo_else},
    {"EndIf", .branch = eqapo_end_if},
    {"VSTPlugin", .gather = refuse},
    {"LoudnessCorrection", .gather = refuse},
};

/* A number may follow the command ("Filter 1:"). */
const struct eqapo_command *eqapo_command_of(const char *line, const char **text)
{
    line += strspn(line, " \t");
    size_t length = strcspn(line, " \t:\r\n");
    const char *colon = line + length + strspn(line + length, " \t0123456789");
    if (*colon != ':')
        return NULL;
    *text = colon + 1;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (length == strlen(commands[i].name) && strncasecmp(line, commands[i].name, length) == 0)
            return &commands[i];
    return NULL;
}

bool eqapo_is_command(const char *line)
{
    const char *text;
    const struct eqapo_command *command = eqapo_command_of(line, &text);
    return command && command->is_plausible && command->is_plausible(text);
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

/* The rate, and how many channels the matrix needs. */
static enum status prepare(struct eqapo *reading)
{
    for (size_t i = 0; i < reading->line_count; i++)
        TRY(call(reading, &reading->lines[i], reading->lines[i].command->prepare));
    reading->channels = eqapo_count_channels(reading);
    TRY(mask_matrix_create(reading->config, reading->channels, reading->channels,
                           &reading->config->matrix));
    reading->matrix = reading->config->matrix;
    return mask_matrix_connect(reading->matrix);
}

static enum status run_stage(struct eqapo *reading, enum eqapo_stage stage)
{
    eqapo_select_all(reading);
    for (size_t i = 0; i < reading->line_count; i++)
        if (reading->lines[i].stages & stage)
            TRY(call(reading, &reading->lines[i], reading->lines[i].command->run));
    return eqapo_drop_created(reading);
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

static enum status read_eqapo(struct mask_config *config, struct mask **mask)
{
    struct eqapo *reading = calloc(1, sizeof *reading);
    if (!reading)
        return fail_memory("a mask");
    reading->config = reading->now = config;
    reading->stages = EQAPO_POST_MIX | EQAPO_CAPTURE; /* as Equalizer APO begins */
    enum status status = make(reading, mask);
    eqapo_free(reading);
    return status;
}

const struct mask_reader mask_reader_eqapo = {
    .kind = "Equalizer APO configuration",
    .is_my_config = is_eqapo,
    .read_config = read_eqapo,
};
