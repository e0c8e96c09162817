#include "mask/eq_number.h"

#include "base/decimal.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { GROUP = 3 }; /* digits between separators of thousands */

static size_t digits_at(const char *text)
{
    return strspn(text, "0123456789");
}

/* The bytes of a no-break, narrow no-break or thin space; 0: none. */
static size_t wide_blank(const char *text, bool after_ascii)
{
    static const char *const blanks[] = {"\xC2\xA0", "\xE2\x80\xAF", "\xE2\x80\x89"};
    for (size_t i = 0; i < sizeof blanks / sizeof *blanks; i++)
        if (strncmp(text, blanks[i], strlen(blanks[i])) == 0)
            return strlen(blanks[i]);
    return after_ascii && *text == '\xA0' ? 1 : 0;
}

void eq_number_plain_blanks(char *text)
{
    char *to = text;
    for (const char *from = text; *from;) {
        bool begins = to == text;
        size_t length = wide_blank(from, begins || !(to[-1] & 0x80));
        if (length == 0) {
            *to++ = *from++;
            continue;
        }
        from += length;
        if (begins || !isdigit((unsigned char)to[-1]) || digits_at(from) != GROUP)
            *to++ = ' ';
    }
    *to = '\0';
}

bool eq_number_take(char **rest, const char *word)
{
    char *at = *rest + strspn(*rest, " \t");
    size_t length = strlen(word);
    if (strncasecmp(at, word, length) != 0 || isalpha((unsigned char)at[length]))
        return false;
    *rest = at + length;
    return true;
}

bool eq_number_is_exact(const char *end, const char *word)
{
    for (size_t left = strlen(word); left > 0;) {
        while (end[-1] == ' ' || end[-1] == '\t')
            end--;
        if (*--end != word[--left])
            return false;
    }
    return true;
}

/* Units may be torn ("100H z"), as Room EQ Wizard does to keep its columns. */
static void skip_unit(char **rest, const char *unit)
{
    char *at = *rest;
    for (; unit && *unit; unit++, at++) {
        at += strspn(at, " \t");
        if (tolower((unsigned char)*at) != tolower((unsigned char)*unit))
            return;
    }
    if (!isalpha((unsigned char)*at))
        *rest = at;
}

/* The characters of a number, and the text after them; NULL: there are none, or too many. */
static char *number_at(char *rest, char number[EQ_NUMBER_MOST + 1])
{
    rest += strspn(rest, " \t");
    size_t length = strspn(rest, "+-0123456789.,'");
    if (length > 0 && strchr("eE", rest[length]) && rest[length])
        length += 1 + strspn(rest + length + 1, "+-0123456789");
    if (length == 0 || length > EQ_NUMBER_MOST)
        return NULL;
    memcpy(number, rest, length);
    number[length] = '\0';
    return rest + length;
}

/* With any one separator as its decimal mark. */
static bool parse(char *number, double *value)
{
    char *mark = strchr(number, ',');
    if (mark)
        *mark = '.';
    return decimal_parse(number, value) && isfinite(*value);
}

/* Whether `length` characters are digits in groups: 1,155,000. */
static bool is_grouped(const char *number, size_t length, char separator)
{
    size_t at = digits_at(number);
    bool is_first_good = at >= 1 && at <= GROUP && *number != '0';
    while (at < length && number[at] == separator && digits_at(number + at + 1) == GROUP)
        at += 1 + GROUP;
    return is_first_good && at == length;
}

static void remove_separators(char *number, char separator)
{
    char *to = number;
    for (const char *from = number; *from; from++)
        if (*from != separator)
            *to++ = *from;
    *to = '\0';
}

bool eq_number_read(char **rest, const char *unit, double *value)
{
    char number[EQ_NUMBER_MOST + 1];
    char *after = number_at(*rest, number);
    if (!after || !parse(number, value))
        return false;
    skip_unit(&after, unit);
    *rest = after;
    return true;
}

double eq_number_hertz_elsewhere(const char *number)
{
    char text[EQ_NUMBER_MOST + 1], *end;
    double value;
    snprintf(text, sizeof text, "%s", number);
    for (char *at = text; (at = strchr(at, ','));)
        *at = '.';
    size_t length = strlen(text);
    if (strchr(text, '\'') || !decimal_read(text, &end, &value))
        return 0;
    bool is_in_thousands = length >= 5 && text[length - 4] == '.' && !strpbrk(text, "eE");
    return is_in_thousands ? round(value * 1000) : value;
}

bool eq_number_read_hertz(char **rest, double *value, char grouped[EQ_NUMBER_MOST + 1])
{
    char number[EQ_NUMBER_MOST + 1];
    char *after = number_at(*rest, number);
    char written[EQ_NUMBER_MOST + 1];
    *grouped = '\0';
    if (!after)
        return false;
    strcpy(written, number);
    size_t length = strlen(number), first = strcspn(number, ".,'");
    char separator = number[first];
    size_t last = separator ? (size_t)(strrchr(number, separator) - number) : length;
    size_t end = last + strcspn(number + last + (last < length), ".,'") + (last < length);
    bool is_doubtful = false;
    if (separator && is_grouped(number, end, separator)) {
        is_doubtful = first == last && end == length;
        remove_separators(number, separator);
    }
    if (!parse(number, value))
        return false;
    if (is_doubtful || eq_number_hertz_elsewhere(written) != *value)
        strcpy(grouped, written);
    skip_unit(&after, "Hz");
    *rest = after;
    return true;
}
