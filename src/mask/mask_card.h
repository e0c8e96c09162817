/* Everything that halo mask show tells of a mask, for people and for programs. */
#ifndef HALO_MASK_CARD_H
#define HALO_MASK_CARD_H

#include "mask/mask.h"
#include "mask/mask_doctor.h"
#include "mask/mask_facts.h"

#include <jansson.h>

struct mask_card {
    const char *text; /* what the user called it, options and all */
    const struct mask *mask;
    const struct mask_facts *facts;
    const struct mask_trouble *troubles;
    size_t trouble_count;
};

/* On standard output. */
void mask_card_print(const struct mask_card *card);

/* A new reference. Levels that are nothing are null, gains and levels are in dB, times in
 * frames. NULL: memory. */
json_t *mask_card_object(const struct mask_card *card);

#endif
