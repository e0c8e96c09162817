/* Numbers with a decimal point, in a program whose locale is not ours: a host of our plugins may
 * have set a decimal comma. For the calling thread. Not real-time. */
#ifndef HALO_PLAIN_LOCALE_H
#define HALO_PLAIN_LOCALE_H

#include <locale.h>

struct plain_locale {
    locale_t plain, before;
};

/* Where there is no memory for it, the locale stays. */
struct plain_locale plain_locale_begin(void);
void plain_locale_end(struct plain_locale locale);

#endif
