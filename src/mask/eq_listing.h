/* One line of an equaliser listing, as Equalizer APO, AutoEq and REW write them:
 *
 *   Filter 1: ON PK Fc 105 Hz Gain -6.4 dB Q 0.70
 *
 * Defaults and the corner frequencies of LS and HS are those of Equalizer APO.
 */
#ifndef HALO_EQ_LISTING_H
#define HALO_EQ_LISTING_H

#include "mask/mask_config.h"
#include "signal/biquad.h"

struct eq_filter {
    bool is_on;
    enum biquad_kind kind;
    double frequency;
    double gain;
    double q;
};

/* Parse the text after the colon, in place. Errors: not such a filter. */
MUST_CHECK enum status eq_listing_filter(const struct mask_config *config, char *text, double rate,
                                         struct eq_filter *filter);

/* "-6.5 dB", with a point or a comma, with or without the unit. False: not a number. */
bool eq_listing_number(char **rest, const char *unit, double *value);

#endif
