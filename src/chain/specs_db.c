/* Decibels in words; apart from the stages, since masks have them too. */
#include "chain/specs.h"

#include <math.h>
#include <stdlib.h>
#include <strings.h>

enum { DB_MOST = 300 };

enum status specs_parse_db(const char *text, const char *what, double *db)
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
