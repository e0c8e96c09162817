#include "base/decimal.h"

#include <ctype.h>
#include <stdlib.h>

bool decimal_read(const char *text, char **end, double *value)
{
    const char *digits = text + (*text == '-' || *text == '+');
    bool begins = isdigit((unsigned char)digits[*digits == '.']);
    bool is_hexadecimal = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    *end = (char *)text;
    *value = 0;
    if (begins && !is_hexadecimal)
        *value = strtod(text, end);
    return *end != text;
}

bool decimal_parse(const char *text, double *value)
{
    char *end;
    return decimal_read(text, &end, value) && !*end;
}
