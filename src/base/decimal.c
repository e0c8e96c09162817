#include "base/decimal.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>

enum { DIGITS_MOST = 18, POWER_MOST = 22 };

/* Reads most numbers: a count below 2^53 and a power of ten, both exact in double, with one
 * rounding (Clinger, How to read floating point numbers accurately, 1990). False: use strtod(). */
static bool read_short(const char *text, char **end, double *value)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *at = text + (*text == '-' || *text == '+');
    uint64_t count = 0;
    int digits = 0, power = 0, exponent = 0;
    for (; *at >= '0' && *at <= '9'; at++, digits += count > 0)
        count = 10 * count + (uint64_t)(*at - '0');
    if (*at == '.')
        for (at++; *at >= '0' && *at <= '9'; at++, digits += count > 0, power--) {
            count = 10 * count + (uint64_t)(*at - '0');
            if (digits >= DIGITS_MOST)
                return false;
        }
    if (digits > DIGITS_MOST)
        return false;
    if (*at == 'e' || *at == 'E') {
        const char *first = at + 1 + (at[1] == '-' || at[1] == '+');
        if (!isdigit((unsigned char)*first))
            return false;
        for (at++; first < at + 5 && isdigit((unsigned char)*first); first++)
            exponent = 10 * exponent + (*first - '0');
        if (isdigit((unsigned char)*first))
            return false;
        power += *at == '-' ? -exponent : exponent;
        at = first;
    }
    if (count >> 53 || power < -POWER_MOST || power > POWER_MOST)
        return false;
    double size = power < 0 ? (double)count / powers[-power] : (double)count * powers[power];
    *value = *text == '-' ? -size : size;
    *end = (char *)at;
    return true;
}

bool decimal_read(const char *text, char **end, double *value)
{
    const char *digits = text + (*text == '-' || *text == '+');
    bool begins = isdigit((unsigned char)digits[*digits == '.']);
    bool is_hexadecimal = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    *end = (char *)text;
    *value = 0;
    if (begins && !is_hexadecimal && !read_short(text, end, value))
        *value = strtod(text, end);
    return *end != text;
}

bool decimal_parse(const char *text, double *value)
{
    char *end;
    return decimal_read(text, &end, value) && !*end;
}
