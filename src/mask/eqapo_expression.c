#include "mask/eqapo_expression.h"

#include "base/decimal.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NESTED_MOST = 64 };

struct expression {
    struct eqapo_variables *variables;
    const char *at;
    const char *wrong; /* where it cannot be read; NULL: nowhere yet */
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

/* ---- words ---- */

static void skip_blanks(struct expression *expression)
{
    expression->at += strspn(expression->at, " \t");
}

/* Whether the text goes on with this operator; then it is passed. */
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

/* The length of a name, 0: there is none. */
static size_t name_at(const char *text)
{
    size_t length = 0;
    while (isalpha((unsigned char)text[length]) || text[length] == '_' ||
           (length > 0 && isdigit((unsigned char)text[length])))
        length++;
    return length;
}

/* NULL: none. */
static const double *constant_named(const struct eqapo_variables *variables, const char *name)
{
    if (strcmp(name, "sampleRate") == 0)
        return &variables->sample_rate;
    return strcmp(name, "inputChannelCount") == 0 || strcmp(name, "outputChannelCount") == 0
               ? &variables->channels
               : NULL;
}

/* False: there is no such variable. */
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

/* NULL, or why it cannot be set. */
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

/* The arguments of min, max or sum, behind the parenthesis. */
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

/* ---- operators, from the strongest ---- */

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

/* Signs are weaker than powers: -2^2 is -4; 2^-2 is 0.25. `not` is as strong as they are. */
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

/* and, or: from the left, alike; both sides are read. */
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

/* a = 3, a += 3 */
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

const char *eqapo_evaluate(struct eqapo_variables *variables, const char *text, double *value,
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
