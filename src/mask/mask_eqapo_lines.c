/* The lines of a configuration of Equalizer APO, with those of the files it includes. */
#include "base/files_read.h"
#include "base/text_stream.h"
#include "mask/eq_number.h"
#include "mask/mask_eqapo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FILES_MOST = 1000, LINES_MOST = 100000, CAPACITY_FIRST = 64, CHANNELS_USUAL = 2 };

struct eqapo_file {
    struct eqapo_file *next;
    char *path;
    struct mask_load_options options;
    struct mask_config config;
};

void eqapo_free(struct eqapo *reading)
{
    while (reading->files) {
        struct eqapo_file *file = reading->files;
        reading->files = file->next;
        mask_config_close(&file->config);
        free(file->path);
        free(file);
    }
    for (size_t i = 0; i < reading->created_count; i++)
        free(reading->created[i]);
    for (size_t i = 0; i < reading->line_count; i++)
        free(reading->lines[i].text);
    free(reading->lines);
    free(reading);
}

static enum status make_space(struct eqapo *reading)
{
    size_t capacity = reading->line_capacity ? 2 * reading->line_capacity : CAPACITY_FIRST;
    if (reading->line_count == LINES_MOST)
        return mask_config_refuse(
            reading->now, "it has more than %d commands, with those of its includes", LINES_MOST);
    if (reading->line_count < reading->line_capacity)
        return STATUS_OK;
    struct eqapo_line *lines = realloc(reading->lines, capacity * sizeof *lines);
    if (!lines)
        return fail_memory("a mask");
    reading->lines = lines;
    reading->line_capacity = capacity;
    return STATUS_OK;
}

/* The line owns its text, also if this fails. */
static enum status add_line(struct eqapo *reading, const struct eqapo_command *command, char *text)
{
    enum status status = make_space(reading);
    if (status == STATUS_OK)
        reading->lines[reading->line_count++] =
            (struct eqapo_line){reading->now, reading->now->line, command, text, reading->stages};
    else
        free(text);
    return status;
}

/* ---- remarks ---- */

/* From a # behind a blank on: Equalizer APO finds no such comment. */
static void cut_comment(struct eqapo *reading, const struct eqapo_command *command, char *text)
{
    char *at = text + strcspn(text, "#");
    while (*at && at > text && at[-1] != ' ' && at[-1] != '\t')
        at += 1 + strcspn(at + 1, "#");
    if (*at && !command->ends_itself && !reading->has_tail) {
        note(
            "mask %s: line %zu: Equalizer APO reads '%.40s' as well, since it has no remarks behind "
            "commands; they are left out here",
            reading->now->file, reading->now->line, at);
        reading->has_tail = true;
    }
    *at = '\0';
}

static void note_remark(struct eqapo *reading, const char *line)
{
    if (!reading->has_remark)
        note("mask %s: line %zu: '%.40s' is no command of Equalizer APO, which passes over such "
             "lines",
             reading->now->file, reading->now->line, line);
    reading->has_remark = true;
}

void eqapo_note_foreign(struct eqapo *reading, const char *word)
{
    if (!reading->has_foreign)
        note(
            "mask %s: line %zu: Equalizer APO would pass over this or read it otherwise, for '%s' (it "
            "minds spelling and units, and lacks some filters of REW); it is applied, as are "
            "others like it",
            reading->now->file, reading->now->line, word);
    reading->has_foreign = true;
}

/* Whether Equalizer APO would know it: it minds the case, and numbers behind it. */
static bool is_its_own(const struct eqapo_command *command, const char *line)
{
    size_t length = strlen(command->name);
    const char *after = line + length + strspn(line + length, " \t");
    return strncmp(line, command->name, length) == 0 && (command->is_numbered || *after == ':');
}

/* ---- expressions ---- */

static enum status evaluate(struct eqapo *reading, const char *text, double *value)
{
    struct eqapo_variables *variables = &reading->variables;
    const char *reason;
    if (strstr(text, "sampleRate")) {
        TRY(mask_config_settle_rate(reading->config));
        variables->sample_rate = reading->config->rate;
    }
    variables->channels = (double)reading->config->options->sound.channels;
    if (strstr(text, "ChannelCount") && variables->channels == 0) {
        variables->channels = CHANNELS_USUAL;
        note("mask %s: line %zu: the channels of the sound are taken as %d", reading->now->file,
             reading->now->line, CHANNELS_USUAL);
    }
    const char *wrong = eqapo_evaluate(variables, text, value, &reason);
    if (wrong)
        return mask_config_refuse(reading->now, "the expression %s at '%.40s'", reason, wrong);
    if (!isfinite(*value))
        return mask_config_refuse(reading->now, "the expression '%.40s' has no value", text);
    return STATUS_OK;
}

enum status eqapo_eval(struct eqapo *reading, char *text)
{
    double value;
    return evaluate(reading, mask_config_name(text), &value);
}

/* ---- If: ---- */

static enum status decide(struct eqapo *reading, char *text, bool *is_true)
{
    double value = 0;
    TRY(evaluate(reading, mask_config_name(text), &value));
    *is_true = value != 0;
    return STATUS_OK;
}

enum status eqapo_if(struct eqapo *reading, char *text)
{
    struct eqapo_branches *branches = &reading->branches;
    bool is_true = false;
    if (branches->left_out == 0)
        TRY(decide(reading, text, &is_true));
    branches->has_else |= branches->left_out == 0 && !is_true;
    ++*(is_true ? &branches->taken : &branches->left_out);
    return STATUS_OK;
}

/* Another branch of the If: whose lines are gathered, or left out, now. */
static enum status go_on(struct eqapo *reading, const char *command, char *text)
{
    struct eqapo_branches *branches = &reading->branches;
    bool is_true = true;
    if (branches->left_out == 0 && branches->taken == 0)
        return mask_config_refuse(reading->now, "%s: without If:", command);
    if (branches->left_out == 0) {
        branches->taken--;
        branches->left_out = 1;
    } else if (branches->left_out == 1 && branches->has_else) {
        if (text)
            TRY(decide(reading, text, &is_true));
        if (is_true) {
            *branches = (struct eqapo_branches){.taken = branches->taken + 1};
        }
    }
    return STATUS_OK;
}

enum status eqapo_else_if(struct eqapo *reading, char *text)
{
    return go_on(reading, "ElseIf", text);
}

enum status eqapo_else(struct eqapo *reading, char *text)
{
    (void)text;
    return go_on(reading, "Else", NULL);
}

enum status eqapo_end_if(struct eqapo *reading, char *text)
{
    struct eqapo_branches *branches = &reading->branches;
    (void)text;
    if (branches->left_out == 0 && branches->taken == 0)
        return mask_config_refuse(reading->now, "EndIf: without If:");
    --*(branches->left_out ? &branches->left_out : &branches->taken);
    branches->has_else &= branches->left_out > 0;
    return STATUS_OK;
}

/* Text and expressions in turn, each ended by a `. */
static enum status print_parts(struct eqapo *reading, char *text, FILE *to)
{
    bool is_expression = false;
    for (char *part = text, *next; part; part = next, is_expression = !is_expression) {
        double value;
        next = strchr(part, '`');
        if (next)
            *next++ = '\0';
        else if (is_expression)
            return mask_config_refuse(reading->now, "a ` is missing");
        if (!is_expression) {
            fputs(part, to);
            continue;
        }
        TRY(evaluate(reading, part, &value));
        if (reading->variables.is_logical)
            return mask_config_refuse(
                reading->now,
                "the expression '%.40s' is true or false, which Equalizer APO "
                "does not take as a number: write (%.40s) ? 1 : 0",
                part, part);
        fprintf(to, "%.17g", value);
    }
    return STATUS_OK;
}

/* A copy of the text, with the value of each `expression` in its place. */
static enum status expand(struct eqapo *reading, char *text, char **expanded)
{
    size_t size;
    *expanded = NULL;
    FILE *to = text_stream_open(expanded, &size);
    enum status status = to ? print_parts(reading, text, to) : STATUS_OK;
    if (text_stream_finish(to) != 0 && status == STATUS_OK)
        status = fail_memory("a mask");
    if (status != STATUS_OK) {
        free(*expanded);
        *expanded = NULL;
    }
    return status;
}

/* ---- lines ---- */

static enum status gather_line(struct eqapo *reading, char *line, bool has_remarks)
{
    const char *found;
    char *colon = strchr(line, ':');
    line += strspn(line, " \t");
    if (!*line || *line == '#')
        return STATUS_OK;
    const struct eqapo_command *command = colon ? eqapo_command_of(line, &found) : NULL;
    if (!command) {
        if (!has_remarks)
            note_remark(reading, line);
        return STATUS_OK;
    }
    char *text = line + (found - line);
    if (!command->names_file) {
        eq_number_plain_blanks(text);
        cut_comment(reading, command, text);
    }
    if (!is_its_own(command, line))
        eqapo_note_foreign(reading, command->name);
    if (command->branch)
        return command->branch(reading, text);
    if (reading->branches.left_out > 0)
        return STATUS_OK;
    TRY(expand(reading, text, &text));
    TRY(add_line(reading, command, text));
    return command->gather ? command->gather(reading, text) : STATUS_OK;
}

enum status eqapo_gather(struct eqapo *reading)
{
    bool is_listing = strncasecmp(reading->now->text, "Filter Settings file", 20) == 0;
    struct eqapo_branches outer = reading->branches;
    reading->branches = (struct eqapo_branches){0};
    if (reading->now->has_cr_ends)
        note("mask %s: its lines end with CR alone: Equalizer APO takes all as one line",
             reading->now->file);
    for (char *line; (line = mask_config_line(reading->now));)
        TRY(gather_line(reading, line, is_listing));
    if (reading->branches.taken > 0 || reading->branches.left_out > 0)
        note("mask %s: an If: is not closed by EndIf:; Equalizer APO closes it with the file",
             reading->now->file);
    reading->branches = outer;
    return STATUS_OK;
}

/* ---- Include: ---- */

static enum status save_selection(struct eqapo *reading, char *text)
{
    (void)text;
    memcpy(reading->saved[reading->depth++], reading->is_selected, sizeof reading->is_selected);
    return STATUS_OK;
}

static enum status restore_selection(struct eqapo *reading, char *text)
{
    (void)text;
    memcpy(reading->is_selected, reading->saved[--reading->depth], sizeof reading->is_selected);
    return STATUS_OK;
}

static enum status gather_file(struct eqapo *reading)
{
    static const struct eqapo_command enter = {.run = save_selection};
    static const struct eqapo_command leave = {.run = restore_selection};
    struct eqapo_file *file = reading->files;
    struct mask_config *outer = reading->now;
    unsigned stages = reading->stages;
    reading->stages = EQAPO_PRE_MIX | EQAPO_POST_MIX; /* of the two lines */
    TRY(add_line(reading, &enter, NULL));
    reading->stages = stages;
    reading->now = &file->config;
    reading->depth++;
    TRY(eqapo_gather(reading));
    reading->depth--;
    reading->now = outer;
    reading->stages = EQAPO_PRE_MIX | EQAPO_POST_MIX;
    TRY(add_line(reading, &leave, NULL));
    reading->stages = stages;
    return STATUS_OK;
}

static enum status open_file(struct eqapo *reading, const char *name)
{
    struct mask_config *outer = reading->now;
    FILE *stream = NULL;
    struct eqapo_file *file = calloc(1, sizeof *file);
    if (!file)
        return fail_memory("a mask");
    file->next = reading->files;
    reading->files = file;
    reading->file_count++;
    TRY(mask_config_find(outer, name, &file->path));
    file->options = *reading->config->options;
    file->options.folder = outer->fence;
    struct flaw flaw = files_read_open_text(file->path, &stream);
    bool is_open = false;
    enum status status = STATUS_OK;
    if (!flaw.text)
        status = mask_config_open(&file->config, file->path, stream, &file->options, &is_open);
    if (!flaw.text && !is_open)
        flaw = (struct flaw){CAUSE_DAMAGED, "it is not a text file, or is empty"};
    if (stream)
        fclose(stream);
    if (status != STATUS_OK)
        return status;
    return flaw.text
               ? mask_config_refuse_for(flaw.cause, outer, "cannot include %s: %s", name, flaw.text)
               : STATUS_OK;
}

char *eqapo_file_name(struct eqapo *reading, char *text)
{
    char *name = mask_config_name(text);
    if (name > text && name[-1] == '"')
        eqapo_note_foreign(reading, "\"");
    for (char *at = name; *at; at++)
        if (*at == '\\')
            *at = '/';
    return name;
}

enum status eqapo_include(struct eqapo *reading, char *text)
{
    const char *name = eqapo_file_name(reading, text);
    if (reading->depth == EQAPO_INCLUDES_MOST)
        return mask_config_refuse(reading->now, "includes are circular or nested deeper than %d",
                                  EQAPO_INCLUDES_MOST);
    if (reading->file_count == FILES_MOST)
        return mask_config_refuse(reading->now, "more than %d includes", FILES_MOST);
    TRY(open_file(reading, name));
    return gather_file(reading);
}

/* ---- Device: and Stage: ---- */

/* One device's settings can be meant; of several, which ones cannot be known. */
enum status eqapo_device(struct eqapo *reading, char *text)
{
    char *patterns = mask_config_name(text);
    for (char *at = patterns; at; at = strchr(at, ';')) {
        at += *at == ';';
        at += strspn(at, " \t");
        size_t length = strcspn(at, " \t;");
        if (length == 3 && strncasecmp(at, "all", 3) == 0 &&
            strchr(";", at[3 + strspn(at + 3, " \t")]))
            return STATUS_OK;
    }
    if (!*patterns)
        return mask_config_refuse(reading->now, "Device: names no device");
    if (reading->device && strcasecmp(reading->device, patterns) != 0)
        return mask_config_refuse(reading->now,
                                  "it has settings for several devices, '%.60s' and '%.60s': make "
                                  "a file of those for one",
                                  reading->device, patterns);
    if (!reading->device)
        note("mask %s: line %zu: the settings for the device '%.60s' are used", reading->now->file,
             reading->now->line, patterns);
    reading->device = patterns;
    return STATUS_OK;
}

enum status eqapo_stage(struct eqapo *reading, char *text)
{
    static const char *const names[] = {"pre-mix", "post-mix", "capture"};
    unsigned stages = 0;
    for (const char *word; (word = mask_config_word(&text));) {
        size_t i = 0;
        while (i < 3 && strcasecmp(word, names[i]) != 0)
            i++;
        if (i == 3)
            return mask_config_refuse(reading->now, "there is no stage '%.40s'", word);
        stages |= 1u << i;
    }
    if (stages == EQAPO_CAPTURE)
        note("mask %s: line %zu: lines for the stage capture alone are left out",
             reading->now->file, reading->now->line);
    reading->stages = stages;
    return STATUS_OK;
}
