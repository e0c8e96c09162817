#include "base/plain_locale.h"

struct plain_locale plain_locale_begin(void)
{
    struct plain_locale locale = {.plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0)};
    if (locale.plain)
        locale.before = uselocale(locale.plain);
    return locale;
}

void plain_locale_end(struct plain_locale locale)
{
    if (!locale.plain)
        return;
    uselocale(locale.before);
    freelocale(locale.plain);
}
