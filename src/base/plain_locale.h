/* Numbers with a decimal point in a host of halo's plugins, which may have set a locale with a
 * decimal comma. For the calling thread. Not real-time. */
#ifndef HALO_PLAIN_LOCALE_H
#define HALO_PLAIN_LOCALE_H

#include <locale.h>

struct plain_locale {
    locale_t plain, before;
};

/* If there is no memory for the locale, the thread's locale stays. */
struct plain_locale plain_locale_begin(void);
void plain_locale_end(struct plain_locale locale);

#endif
