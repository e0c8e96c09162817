/* Tables of options. A row has the type of a value and the field that stores it. The parser,
 * --help, shell completion and the man page use the same rows (program.h).
 *
 *   OPT_FLAG("json", struct settings, json, "print one JSON object")
 *   OPT_INTEGER("rate", "HZ", struct settings, rate, 1, RATE_MOST, "rate of the sound")
 *
 * Further members may follow the help: .letter = 'f', .given = OPT_GIVEN(struct settings, osc).
 */
#ifndef HALO_OPTIONS_H
#define HALO_OPTIONS_H

#include "base/status.h"

#include <stdint.h>

enum option_kind {
    OPTION_PARSE,    /* parsed by the row's function or, if it has none, its group's */
    OPTION_FLAG,     /* stores `value` */
    OPTION_STRING,   /* stores the text, which the command line owns */
    OPTION_STRINGS,  /* stores all further arguments in a struct string_list */
    OPTION_INTEGER,  /* a whole number, or a power such as 2^28, from `least` to `most` */
    OPTION_INTEGERS, /* whole numbers separated by commas, in a struct number_list */
    OPTION_CHOICE,   /* one of the names; stores `value` plus its index */
    OPTION_CHOICES,  /* names separated by commas; stores their indices in a struct number_list */
    OPTION_WORD,     /* one of the names; stores the text */
    OPTION_SECONDS,  /* seconds, with a fraction or a unit, such as 2, 0.5s or 20ms */
    OPTION_DB,       /* decibels, with or without "dB" */
};

struct option_row {
    const char *name;     /* without dashes; an argument's name in --help; NULL: end of the table */
    const char *argument; /* name of the value in --help; NULL: the option takes no value */
    enum option_kind kind;
    size_t offset, size;      /* of the field in the struct of options */
    const char *help;         /* words of --help; a \n is a blank */
    char letter;              /* short form, or 0 */
    const char *former_name;  /* older name that is still understood but not listed; or NULL */
    bool optional;            /* may be given as --NAME, which stores no value */
    bool is_file;             /* shells complete file names */
    size_t given;             /* OPT_GIVEN of a bool that is set if the option is given; 0: none */
    int value;                /* value of a flag, or of a choice's first name */
    double least, most;       /* bounds; for an argument, `least` 1 means required */
    const char *const *names; /* NULL-terminated; NULL: `name_at` is used */
    const char *(*name_at)(size_t index); /* NULL: no more names */
    /* stores the value; see OPTION_PARSE */
    enum status (*parse)(void *options, const struct option_row *row, const char *value);
    /* For completion, if the value is a spec. `keys`: the keys after its commas ("gain="), or NULL.
     * `made_at`: examples that are not files ("lowpass:1000"), with the keys that each takes
     * ("taps, window"); NULL after the last. */
    const struct option_row *keys;
    const char *(*made_at)(size_t index, const char **keys);
};

enum { OPTIONS_LIST_MOST = 64 };

struct number_list {
    size_t count;
    size_t values[OPTIONS_LIST_MOST];
};

struct string_list {
    size_t count;
    const char **values;
};

/* ---- rows; a field of the wrong type is a compile error ---- */

#define OPT_SIZE(TYPE, FIELD, WANTED) _Generic(&((TYPE *)0)->FIELD, WANTED *: sizeof(WANTED))
#define OPT_ROW(NAME, ARGUMENT, KIND, TYPE, FIELD, SIZE, ...)                                      \
    {.name = NAME,                                                                                 \
     .argument = ARGUMENT,                                                                         \
     .kind = KIND,                                                                                 \
     .offset = offsetof(TYPE, FIELD),                                                              \
     .size = SIZE,                                                                                 \
     .help = __VA_ARGS__}
#define OPT_GIVEN(TYPE, FIELD) (offsetof(TYPE, FIELD) + OPT_SIZE(TYPE, FIELD, bool))

#define OPT_FLAG(NAME, TYPE, FIELD, ...)                                                           \
    OPT_ROW(NAME, NULL, OPTION_FLAG, TYPE, FIELD, OPT_SIZE(TYPE, FIELD, bool), __VA_ARGS__,        \
            .value = true)
/* A flag that stores VALUE in an enum or a bool. */
#define OPT_VALUE(NAME, TYPE, FIELD, VALUE, ...)                                                   \
    OPT_ROW(NAME, NULL, OPTION_FLAG, TYPE, FIELD, sizeof(((TYPE *)0)->FIELD), __VA_ARGS__,         \
            .value = VALUE)
#define OPT_STRING(NAME, ARGUMENT, TYPE, FIELD, ...)                                               \
    OPT_ROW(NAME, ARGUMENT, OPTION_STRING, TYPE, FIELD, OPT_SIZE(TYPE, FIELD, const char *),       \
            __VA_ARGS__)
#define OPT_FILE(NAME, ARGUMENT, TYPE, FIELD, ...)                                                 \
    OPT_STRING(NAME, ARGUMENT, TYPE, FIELD, __VA_ARGS__, .is_file = true)
/* The field is a size_t or a uint32_t. */
#define OPT_INTEGER(NAME, ARGUMENT, TYPE, FIELD, LEAST, MOST, ...)                                 \
    OPT_ROW(NAME, ARGUMENT, OPTION_INTEGER, TYPE, FIELD,                                           \
            _Generic(&((TYPE *)0)->FIELD, size_t *: sizeof(size_t), uint32_t *: sizeof(uint32_t)), \
            __VA_ARGS__, .least = LEAST, .most = MOST)
#define OPT_FRAMES(NAME, TYPE, FIELD, LEAST, MOST, ...)                                            \
    OPT_INTEGER(NAME, "FRAMES", TYPE, FIELD, LEAST, MOST, __VA_ARGS__)
#define OPT_INTEGERS(NAME, ARGUMENT, TYPE, FIELD, LEAST, MOST, ...)                                \
    OPT_ROW(NAME, ARGUMENT, OPTION_INTEGERS, TYPE, FIELD,                                          \
            OPT_SIZE(TYPE, FIELD, struct number_list), __VA_ARGS__, .least = LEAST, .most = MOST)
/* The field is an enum or a bool, and gets the index of the name. */
#define OPT_CHOICE(NAME, ARGUMENT, TYPE, FIELD, NAMES, ...)                                        \
    OPT_ROW(NAME, ARGUMENT, OPTION_CHOICE, TYPE, FIELD, sizeof(((TYPE *)0)->FIELD), __VA_ARGS__,   \
            .names = NAMES)
#define OPT_CHOICES(NAME, ARGUMENT, TYPE, FIELD, ...)                                              \
    OPT_ROW(NAME, ARGUMENT, OPTION_CHOICES, TYPE, FIELD,                                           \
            OPT_SIZE(TYPE, FIELD, struct number_list), __VA_ARGS__)
#define OPT_WORD(NAME, ARGUMENT, TYPE, FIELD, ...)                                                 \
    OPT_ROW(NAME, ARGUMENT, OPTION_WORD, TYPE, FIELD, OPT_SIZE(TYPE, FIELD, const char *),         \
            __VA_ARGS__)
#define OPT_SECONDS(NAME, ARGUMENT, TYPE, FIELD, LEAST, MOST, ...)                                 \
    OPT_ROW(NAME, ARGUMENT, OPTION_SECONDS, TYPE, FIELD, OPT_SIZE(TYPE, FIELD, double),            \
            __VA_ARGS__, .least = LEAST, .most = MOST)
#define OPT_DB(NAME, TYPE, FIELD, LEAST, MOST, ...)                                                \
    OPT_ROW(NAME, "DB", OPTION_DB, TYPE, FIELD, OPT_SIZE(TYPE, FIELD, double), __VA_ARGS__,        \
            .least = LEAST, .most = MOST)
/* For an option with its own parser. */
#define OPT_PARSE(NAME, ARGUMENT, PARSE, ...)                                                      \
    {.name = NAME, .argument = ARGUMENT, .parse = PARSE, .help = __VA_ARGS__}
/* For arguments. After FIELD comes 1 if an argument is required, else 0. */
#define OPT_ARGUMENT(NAME, TYPE, FIELD, ...)                                                       \
    OPT_ROW(NAME, NULL, OPTION_STRING, TYPE, FIELD, OPT_SIZE(TYPE, FIELD, const char *), NULL,     \
            .least = __VA_ARGS__)
#define OPT_ARGUMENTS(NAME, TYPE, FIELD, ...)                                                      \
    OPT_ROW(NAME, NULL, OPTION_STRINGS, TYPE, FIELD, OPT_SIZE(TYPE, FIELD, struct string_list),    \
            NULL, .least = __VA_ARGS__)

/* Parses `value` and stores it in `options`. A flag's value is NULL. Errors: usage, memory. */
MUST_CHECK enum status option_store(const struct option_row *row, void *options, const char *value);

/* Name number `index` of the choices. NULL: there are no more, or none at all. */
const char *option_choice(const struct option_row *row, size_t index);

/* ---- parsing values; usage errors name the option ---- */

MUST_CHECK enum status options_parse_seconds(const char *option, const char *text, double least,
                                             double most, double *seconds);
MUST_CHECK enum status options_parse_number(const char *option, const char *text, size_t least,
                                            size_t most, size_t *value);

enum { OPTIONS_DB_MOST = 300 };

/* `what` is the option in the message, such as "--gain" or "gain=". */
MUST_CHECK enum status options_parse_db(const char *what, const char *text, double least,
                                        double most, double *db);

#endif
