/* Gathers the lines of an Equalizer APO configuration and its includes; evaluates expressions. */
#include "import/mask_eqapo.h"

#include "base/decimal.h"
#include "base/files_read.h"
#include "base/text_stream.h"
#include "import/eq_listing.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- numeric expressions, in Eval: lines and as `...` in others; no text, no arrays ---- */

enum { NESTED_MOST = 64 };

struct expression {
    struct eqapo_variables *variables;
    const char *at;
    const char *wrong; /* where the expression cannot be read; NULL: no error yet */
    const char *reason;
    size_t nested;
};

static double read_choice(struct expression *expression);

static double fail_for(struct expression *expression, const char *at, const char *reason)
{
    if (!expression->wrong) {
        expression->wrong = at;
        expression->reason = reason;
    }
    return NAN;
}

static double fail_at(struct expression *expression, const char *at)
{
    return fail_for(expression, at, "cannot be read");
}

static void skip_blanks(struct expression *expression)
{
    expression->at += strspn(expression->at, " \t");
}

/* Whether the text continues with this operator. If so, skips it. */
static bool take(struct expression *expression, const char *sign)
{
    size_t length = strlen(sign);
    skip_blanks(expression);
    if (strncmp(expression->at, sign, length) != 0)
        return false;
    bool is_word = isalpha((unsigned char)*sign);
    if (is_word && isalnum((unsigned char)expression->at[length]))
        return false;
    expression->at += length;
    return true;
}

/* The length of a name at the start of the text. 0: there is none. */
static size_t name_at(const char *text)
{
    size_t length = 0;
    while (isalpha((unsigned char)text[length]) || text[length] == '_' ||
           (length > 0 && isdigit((unsigned char)text[length])))
        length++;
    return length;
}

/* The value of a named constant. NULL: there is none. */
static const double *constant_named(const struct eqapo_variables *variables, const char *name)
{
    if (strcmp(name, "sampleRate") == 0)
        return &variables->sample_rate;
    return strcmp(name, "inputChannelCount") == 0 || strcmp(name, "outputChannelCount") == 0
               ? &variables->channels
               : NULL;
}

/* Reads a variable. False: there is no such variable. */
static bool get_variable(struct eqapo_variables *variables, const char *name, double *value)
{
    for (size_t i = 0; i < variables->count; i++)
        if (strcmp(variables->items[i].name, name) == 0) {
            *value = variables->items[i].value;
            variables->is_logical = variables->items[i].is_logical;
            return true;
        }
    const double *constant = constant_named(variables, name);
    *value = constant ? *constant : 0;
    variables->is_logical = false;
    return constant;
}

/* Sets a variable. Returns NULL, or why it cannot be set. */
static const char *set_variable(struct eqapo_variables *variables, const char *name, double value)
{
    size_t i = 0;
    while (i < variables->count && strcmp(variables->items[i].name, name) != 0)
        i++;
    if (constant_named(variables, name) == &variables->sample_rate)
        return "sets the rate, which is that of the sound or of rate=,";
    if (constant_named(variables, name))
        return "sets the channels, which are the sound's,";
    if (i == EQAPO_VARIABLES_MOST)
        return "has too many variables";
    if (i == variables->count)
        strcpy(variables->items[variables->count++].name, name);
    variables->items[i].value = value;
    variables->items[i].is_logical = variables->is_logical;
    return NULL;
}

/* ---- functions ---- */

static const struct {
    const char *name;
    double (*of)(double);
} functions[] = {
    {"abs", fabs},  {"sin", sin},     {"cos", cos},   {"tan", tan},
    {"sinh", sinh}, {"cosh", cosh},   {"tanh", tanh}, {"asin", asin},
    {"acos", acos}, {"atan", atan},   {"ln", log},    {"log", log},
    {"log2", log2}, {"log10", log10}, {"exp", exp},   {"sqrt", sqrt},
};

static double add(double a, double b)
{
    return a + b;
}

static const struct {
    const char *name;
    double (*of)(double, double);
} folds[] = {{"min", fmin}, {"max", fmax}, {"sum", add}};

/* Reads the arguments of min, max or sum, after the parenthesis. */
static double read_fold(struct expression *expression, double (*of)(double, double))
{
    double result = read_choice(expression);
    while (!expression->wrong && take(expression, ","))
        result = of(result, read_choice(expression));
    return take(expression, ")") ? result : fail_at(expression, expression->at);
}

static double read_call(struct expression *expression, const char *name, const char *at)
{
    for (size_t i = 0; i < sizeof folds / sizeof *folds; i++)
        if (strcmp(name, folds[i].name) == 0)
            return read_fold(expression, folds[i].of);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(name, functions[i].name) == 0) {
            double argument = read_choice(expression);
            return take(expression, ")") ? functions[i].of(argument)
                                         : fail_at(expression, expression->at);
        }
    return fail_at(expression, at);
}

static double read_name(struct expression *expression)
{
    static const struct {
        const char *name;
        double value;
        bool is_logical;
    } constants[] = {{"pi", M_PI, false}, {"e", M_E, false}, {"true", 1, true}, {"false", 0, true}};
    const char *at = expression->at;
    char name[EQAPO_VARIABLE_BYTES];
    double value = 0;
    size_t length = name_at(at);
    if (length == 0 || length >= sizeof name)
        return fail_at(expression, at);
    snprintf(name, sizeof name, "%.*s", (int)length, at);
    expression->at += length;
    if (take(expression, "("))
        return read_call(expression, name, at);
    if (get_variable(expression->variables, name, &value))
        return value;
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (strcmp(name, constants[i].name) == 0) {
            expression->variables->is_logical = constants[i].is_logical;
            return constants[i].value;
        }
    return fail_at(expression, at);
}

/* ---- operators, the strongest first ---- */

static double read_value(struct expression *expression)
{
    double value;
    char *end;
    skip_blanks(expression);
    if (take(expression, "(")) {
        value = read_choice(expression);
        return take(expression, ")") ? value : fail_at(expression, expression->at);
    }
    if (isdigit((unsigned char)*expression->at) || *expression->at == '.') {
        if (!decimal_read(expression->at, &end, &value))
            return fail_at(expression, expression->at);
        expression->at = end;
        expression->variables->is_logical = false;
        return value;
    }
    return read_name(expression);
}

/* Reads signs and `not`. They are weaker than powers: -2^2 is -4; 2^-2 is 0.25. */
static double read_sign(struct expression *expression)
{
    if (expression->nested == NESTED_MOST)
        return fail_at(expression, expression->at);
    expression->nested++;
    double value;
    if (take(expression, "not")) {
        value = read_sign(expression) == 0;
        expression->variables->is_logical = true;
    } else if (take(expression, "-")) {
        value = -read_sign(expression);
    } else if (take(expression, "+")) {
        value = read_sign(expression);
    } else {
        value = read_value(expression);
        if (take(expression, "^"))
            value = pow(value, read_sign(expression));
    }
    expression->nested--;
    return value;
}

static double read_product(struct expression *expression)
{
    double value = read_sign(expression);
    while (!expression->wrong)
        if (take(expression, "*"))
            value *= read_sign(expression);
        else if (take(expression, "/"))
            value /= read_sign(expression);
        else
            break;
    return value;
}

static double read_sum(struct expression *expression)
{
    double value = read_product(expression);
    while (!expression->wrong)
        if (take(expression, "+"))
            value += read_product(expression);
        else if (take(expression, "-"))
            value -= read_product(expression);
        else
            break;
    return value;
}

static double logical(struct expression *expression, bool value)
{
    expression->variables->is_logical = true;
    return value;
}

static double read_comparison(struct expression *expression)
{
    double value = read_sum(expression);
    if (take(expression, "=="))
        return logical(expression, value == read_sum(expression));
    if (take(expression, "!="))
        return logical(expression, value != read_sum(expression));
    if (take(expression, "<="))
        return logical(expression, value <= read_sum(expression));
    if (take(expression, ">="))
        return logical(expression, value >= read_sum(expression));
    if (take(expression, "<"))
        return logical(expression, value < read_sum(expression));
    if (take(expression, ">"))
        return logical(expression, value > read_sum(expression));
    return value;
}

/* Reads `and` and `or`, equally strong, from the left. Both sides are evaluated. */
static double read_logic(struct expression *expression)
{
    double value = read_comparison(expression);
    while (!expression->wrong) {
        bool is_and = take(expression, "and") || take(expression, "&&");
        if (!is_and && !take(expression, "or") && !take(expression, "||"))
            break;
        double other = read_comparison(expression);
        value = logical(expression, is_and ? value != 0 && other != 0 : value != 0 || other != 0);
    }
    return value;
}

static double read_choice(struct expression *expression)
{
    double value = read_logic(expression);
    if (expression->wrong || !take(expression, "?"))
        return value;
    if (expression->nested == NESTED_MOST)
        return fail_at(expression, expression->at);
    expression->nested++;
    double yes = read_choice(expression);
    bool is_yes_logical = expression->variables->is_logical;
    if (!take(expression, ":"))
        return fail_at(expression, expression->at);
    double no = read_choice(expression);
    expression->nested--;
    if (value != 0)
        expression->variables->is_logical = is_yes_logical;
    return value != 0 ? yes : no;
}

/* ---- assignments ---- */

static double apply(char sign, double old, double value)
{
    return sign == '+'   ? old + value
           : sign == '-' ? old - value
           : sign == '*' ? old * value
                         : old / value;
}

/* Reads an assignment, as a = 3 or a += 3. */
static double read_assignment(struct expression *expression)
{
    char name[EQAPO_VARIABLE_BYTES];
    skip_blanks(expression);
    const char *at = expression->at;
    size_t length = name_at(at);
    const char *sign = at + length + strspn(at + length, " \t");
    size_t signs = strchr("+-*/", *sign) && *sign && sign[1] == '=' ? 2 : *sign == '=';
    if (length == 0 || signs == 0 || sign[signs] == '=')
        return read_choice(expression);
    snprintf(name, sizeof name, "%.*s", (int)length, at);
    expression->at = sign + signs;
    double old = 0, value = read_choice(expression);
    if (signs == 2 && !get_variable(expression->variables, name, &old))
        return fail_at(expression, at);
    if (signs == 2)
        value = apply(*sign, old, value);
    const char *reason = length < sizeof name ? set_variable(expression->variables, name, value)
                                              : "has too long a name";
    return reason ? fail_for(expression, at, reason) : value;
}

/* Evaluates expressions separated by semicolons. *value: the last one's. Returns NULL, or the place
 * that cannot be read; *reason says why, as "cannot be read". */
static const char *evaluate_text(struct eqapo_variables *variables, const char *text, double *value,
                                 const char **reason)
{
    struct expression expression = {.variables = variables, .at = text};
    do
        *value = read_assignment(&expression);
    while (!expression.wrong && take(&expression, ";") &&
           expression.at[strspn(expression.at, " \t")]);
    if (!expression.wrong && *expression.at)
        (void)fail_at(&expression, expression.at);
    *reason = expression.reason;
    return expression.wrong;
}

/* The lines of a configuration of Equalizer APO, with those of the files it includes. */

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
        return eqapo_refuse(reading, "it has more than %d commands, with those of its includes",
                            LINES_MOST);
    if (reading->line_count < reading->line_capacity)
        return STATUS_OK;
    struct eqapo_line *lines = realloc(reading->lines, capacity * sizeof *lines);
    if (!lines)
        return fail_memory("a mask");
    reading->lines = lines;
    reading->line_capacity = capacity;
    return STATUS_OK;
}

/* Adds a line, which then owns its text, even after an error. */
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

/* Removes a comment, from a # after a blank on. Equalizer APO has no such comments. */
static void cut_comment(struct eqapo *reading, const struct eqapo_command *command, char *text)
{
    char *at = text + strcspn(text, "#");
    while (*at && at > text && at[-1] != ' ' && at[-1] != '\t')
        at += 1 + strcspn(at + 1, "#");
    if (*at && !command->ends_itself && !reading->has_tail) {
        note("mask %s: line %zu: Equalizer APO reads '%.40s' as well, since it has no remarks "
             "behind commands; they are left out here",
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
        note("mask %s: line %zu: Equalizer APO would pass over this or read it otherwise, for '%s' "
             "(it minds spelling and units, and lacks some filters of REW); it is applied, as are "
             "others like it",
             reading->now->file, reading->now->line, word);
    reading->has_foreign = true;
}

/* Whether Equalizer APO knows the command in this form. It minds the case, and numbers after it. */
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
    const char *wrong = evaluate_text(variables, text, value, &reason);
    if (wrong)
        return eqapo_refuse(reading, "the expression %s at '%.40s'", reason, wrong);
    if (!isfinite(*value))
        return eqapo_refuse(reading, "the expression '%.40s' has no value", text);
    return STATUS_OK;
}

static enum status eval(struct eqapo *reading, char *text)
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

static enum status begin_if(struct eqapo *reading, char *text)
{
    struct eqapo_branches *branches = &reading->branches;
    bool is_true = false;
    if (branches->left_out == 0)
        TRY(decide(reading, text, &is_true));
    branches->has_else |= branches->left_out == 0 && !is_true;
    ++*(is_true ? &branches->taken : &branches->left_out);
    return STATUS_OK;
}

/* Begins another branch of the If: whose lines are now gathered or left out. */
static enum status go_on(struct eqapo *reading, const char *command, char *text)
{
    struct eqapo_branches *branches = &reading->branches;
    bool is_true = true;
    if (branches->left_out == 0 && branches->taken == 0)
        return eqapo_refuse(reading, "%s: without If:", command);
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

static enum status else_if(struct eqapo *reading, char *text)
{
    return go_on(reading, "ElseIf", text);
}

static enum status else_alone(struct eqapo *reading, char *text)
{
    (void)text;
    return go_on(reading, "Else", NULL);
}

static enum status end_if(struct eqapo *reading, char *text)
{
    struct eqapo_branches *branches = &reading->branches;
    (void)text;
    if (branches->left_out == 0 && branches->taken == 0)
        return eqapo_refuse(reading, "EndIf: without If:");
    --*(branches->left_out ? &branches->left_out : &branches->taken);
    branches->has_else &= branches->left_out > 0;
    return STATUS_OK;
}

/* Prints text and the values of expressions in turn. Each part ends with a `. */
static enum status print_parts(struct eqapo *reading, char *text, FILE *to)
{
    bool is_expression = false;
    for (char *part = text, *next; part; part = next, is_expression = !is_expression) {
        double value;
        next = strchr(part, '`');
        if (next)
            *next++ = '\0';
        else if (is_expression)
            return eqapo_refuse(reading, "a ` is missing");
        if (!is_expression) {
            fputs(part, to);
            continue;
        }
        TRY(evaluate(reading, part, &value));
        if (reading->variables.is_logical)
            return eqapo_refuse(
                reading,
                "the expression '%.40s' is true or false, which Equalizer APO does not take as a "
                "number: write (%.40s) ? 1 : 0",
                part, part);
        fprintf(to, "%.17g", value);
    }
    return STATUS_OK;
}

/* A copy of the text, in which each `expression` is replaced by its value. */
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
    reading->has_more |= !command->makes_bands || strchr(text, '`');
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
    reading->stages = EQAPO_PRE_MIX | EQAPO_POST_MIX; /* for the lines of the included file */
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

static enum status include(struct eqapo *reading, char *text)
{
    const char *name = eqapo_file_name(reading, text);
    if (reading->depth == EQAPO_INCLUDES_MOST)
        return eqapo_refuse(reading, "includes are circular or nested deeper than %d",
                            EQAPO_INCLUDES_MOST);
    if (reading->file_count == FILES_MOST)
        return eqapo_refuse(reading, "more than %d includes", FILES_MOST);
    TRY(open_file(reading, name));
    return gather_file(reading);
}

/* ---- Device: and Stage: ---- */

/* Reads a Device: line. Refuses settings for a second device: it is unknown which one is meant. */
static enum status device(struct eqapo *reading, char *text)
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
        return eqapo_refuse(reading, "Device: names no device");
    if (reading->device && strcasecmp(reading->device, patterns) != 0)
        return eqapo_refuse(
            reading,
            "it has settings for several devices, '%.60s' and '%.60s': make a file of those for "
            "one",
            reading->device, patterns);
    if (!reading->device)
        note("mask %s: line %zu: the settings for the device '%.60s' are used", reading->now->file,
             reading->now->line, patterns);
    reading->device = patterns;
    return STATUS_OK;
}

static enum status set_stage(struct eqapo *reading, char *text)
{
    static const char *const names[] = {"pre-mix", "post-mix", "capture"};
    unsigned stages = 0;
    for (const char *word; (word = mask_config_word(&text));) {
        size_t i = 0;
        while (i < 3 && strcasecmp(word, names[i]) != 0)
            i++;
        if (i == 3)
            return eqapo_refuse(reading, "there is no stage '%.40s'", word);
        stages |= 1u << i;
    }
    if (stages == EQAPO_CAPTURE)
        note("mask %s: line %zu: lines for the stage capture alone are left out",
             reading->now->file, reading->now->line);
    reading->stages = stages;
    return STATUS_OK;
}

const struct eqapo_command eqapo_line_commands[] = {
    {"Include", true, .gather = include},
    {"Device", .branch = device}, /* Equalizer APO ignores If: for this command, too */
    {"Stage", .gather = set_stage},
    {"Eval", .gather = eval},
    {"If", .branch = begin_if},
    {"ElseIf", .branch = else_if},
    {"Else", .branch = else_alone},
    {"EndIf", .branch = end_if},
    {0},
};
