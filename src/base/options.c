#include "base/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DB_MOST = 300 };
enum { FIRST_LONG = 0x100 }; /* getopt's numbers of rows, clear of characters */

static void fill_tables(const struct option_row *rows, size_t count, struct option *longs,
                        char *shorts)
{
    *shorts++ = '-'; /* positional arguments come in their place, as option 1 */
    *shorts++ = ':'; /* tell a missing value from an unknown option */
    for (size_t i = 0; i < count; i++) {
        longs[i] = (struct option){
            .name = rows[i].name,
            .has_arg = rows[i].argument ? required_argument : no_argument,
            .val = FIRST_LONG + (int)i,
        };
        if (!rows[i].letter)
            continue;
        *shorts++ = rows[i].letter;
        if (rows[i].argument)
            *shorts++ = ':';
    }
    *shorts = '\0';
}

static const struct option_row *row_of(int number, const struct option_row *rows, size_t count)
{
    if (number >= FIRST_LONG)
        return &rows[number - FIRST_LONG];
    for (size_t i = 0; i < count; i++)
        if (rows[i].letter && rows[i].letter == number)
            return &rows[i];
    return NULL;
}

static enum status refuse(int number, const char *word, const char *command)
{
    const char *problem = number == ':' ? "needs a value" : "is not an option";
    if (number != ':' && strncmp(word, "--", 2) == 0 && strchr(word, '='))
        problem = "is not an option or takes no value";
    return fail(STATUS_USAGE, "%s %s; %s --help lists them", word, problem, command);
}

static enum status take_position(const struct option_row *position, const char *command,
                                 void *context, const char *value)
{
    if (!position->take)
        return fail(STATUS_USAGE, "%s takes options only, not '%s'", command, value);
    return position->take(context, position, value);
}

static size_t rows_count(const struct option_row *rows)
{
    size_t count = 0;
    while (rows[count].name)
        count++;
    return count;
}

enum status options_parse(int argc, char **argv, const char *command, const struct option_row *rows,
                          void *context)
{
    size_t count = rows_count(rows);
    const struct option_row *position = &rows[count];
    struct option *longs = calloc(count + 1, sizeof *longs);
    char *shorts = calloc(2 * count + 3, 1);
    enum status status = longs && shorts ? STATUS_OK : fail_memory("options");
    if (status == STATUS_OK)
        fill_tables(rows, count, longs, shorts);
    opterr = 0;
    optind = 0; /* GNU: start afresh */
    while (status == STATUS_OK) {
        int number = getopt_long(argc, argv, shorts, longs, NULL);
        if (number == -1)
            break;
        if (number == '?' || number == ':') {
            char letter[3] = {'-', (char)optopt, '\0'};
            bool is_short = optopt > 0 && optopt < FIRST_LONG;
            status = refuse(number, is_short ? letter : argv[optind - 1], command);
            continue;
        }
        const struct option_row *row = number == 1 ? position : row_of(number, rows, count);
        status = row == position ? take_position(position, command, context, optarg)
                                 : row->take(context, row, optarg);
    }
    for (int i = optind; status == STATUS_OK && i < argc; i++)
        status = take_position(position, command, context, argv[i]); /* behind -- */
    free(longs);
    free(shorts);
    return status;
}

void options_print(FILE *stream, const struct option_row *rows, size_t count)
{
    for (size_t i = 0; i < count && rows[i].name; i++) {
        char head[64];
        char letter[8] = "    ";
        if (rows[i].letter)
            snprintf(letter, sizeof letter, "-%c, ", rows[i].letter);
        snprintf(head, sizeof head, "  %s--%s%s%s", letter, rows[i].name,
                 rows[i].argument ? " " : "", rows[i].argument ? rows[i].argument : "");
        for (const char *line = rows[i].help; line; head[0] = '\0') {
            size_t length = strcspn(line, "\n");
            if (strlen(head) > 28) {
                fprintf(stream, "%s\n", head);
                head[0] = '\0';
            }
            fprintf(stream, "%-28s %.*s\n", head, (int)length, line);
            line = line[length] ? line + length + 1 : NULL;
        }
    }
}

enum status options_choose(const char *option, const char *value, const char *const *names,
                           size_t *index)
{
    char list[128] = "";
    size_t length = 0;
    for (size_t i = 0; names[i]; i++) {
        if (strcmp(names[i], value) == 0) {
            *index = i;
            return STATUS_OK;
        }
        if (length < sizeof list)
            length += (size_t)snprintf(list + length, sizeof list - length, "%s%s", i ? ", " : "",
                                       names[i]);
    }
    return fail(STATUS_USAGE, "--%s is one of %s, not '%s'", option, list, value);
}

/* ---- numbers and lists ---- */

/* A number, or a power of two such as 2^28; `end` is behind it. */
static bool read_number(const char *text, char **end, size_t *value)
{
    if (!isdigit((unsigned char)*text)) /* strtoull takes blanks and signs */
        return false;
    errno = 0;
    unsigned long long number = strtoull(text, end, 10);
    if (!errno && **end == '^') {
        const char *power_text = *end + 1;
        if (number != 2 || !isdigit((unsigned char)*power_text))
            return false;
        unsigned long power = strtoul(power_text, end, 10);
        if (power >= sizeof(size_t) * CHAR_BIT)
            return false;
        number = 1ull << power;
    }
    *value = (size_t)number;
    return !errno && number <= SIZE_MAX;
}

enum status options_parse_number(const char *option, const char *text, size_t least, size_t most,
                                 size_t *value)
{
    char *end;
    size_t number;
    if (!read_number(text, &end, &number) || *end || number < least || number > most)
        return fail(STATUS_USAGE, "--%s takes a number from %zu to %zu, not '%s'", option, least,
                    most, text);
    *value = number;
    return STATUS_OK;
}

enum status options_parse_seconds(const char *option, const char *text, double least, double most,
                                  double *seconds)
{
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    bool number = end != text && !errno;
    if (strcmp(end, "ms") == 0) {
        value *= 1e-3;
        end += 2;
    } else if (strcmp(end, "s") == 0) {
        end++;
    }
    if (!number || *end || !(value >= least && value <= most))
        return fail(STATUS_USAGE,
                    "--%s takes seconds from %g to %g, such as 2, 0.5s or 20ms, not '%s'", option,
                    least, most, text);
    *seconds = value;
    return STATUS_OK;
}

enum status options_parse_list(const char *option, const char *text, size_t least, size_t most,
                               struct number_list *list)
{
    list->count = 0;
    for (const char *at = text;; at++) {
        char *end;
        size_t value;
        if (list->count == OPTIONS_LIST_MOST || !read_number(at, &end, &value) || value < least ||
            value > most || (*end && *end != ','))
            return fail(STATUS_USAGE,
                        "--%s takes up to %d numbers from %zu to %zu, separated by commas, "
                        "not '%s'",
                        option, OPTIONS_LIST_MOST, least, most, text);
        list->values[list->count++] = value;
        at = end;
        if (!*end)
            return STATUS_OK;
    }
}

enum status options_choose_list(const char *option, const char *text, const char *const *names,
                                struct number_list *list)
{
    list->count = 0;
    for (const char *at = text;; at++) {
        char name[64];
        size_t index, length = strcspn(at, ",");
        if (list->count == OPTIONS_LIST_MOST)
            return fail(STATUS_USAGE, "--%s takes at most %d names, not '%s'", option,
                        OPTIONS_LIST_MOST, text);
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        enum status status = options_choose(option, name, names, &index);
        if (status != STATUS_OK)
            return status;
        list->values[list->count++] = index;
        at += length;
        if (!*at)
            return STATUS_OK;
    }
}

enum status options_parse_db(const char *text, const char *what, double *db)
{
    char *end;
    double value = strtod(text, &end);
    bool number = end != text;
    if (number && strcasecmp(end, "dB") == 0)
        end += 2;
    if (!number || *end || !isfinite(value) || fabs(value) > DB_MOST)
        return fail(STATUS_USAGE, "%s must be a number of dB from -%d to %d, such as -6, not '%s'",
                    what, DB_MOST, DB_MOST, text);
    *db = value;
    return STATUS_OK;
}
