/* One line of an equaliser listing, as Equalizer APO, AutoEq and REW write them:
 *
 *   Filter 1: ON PK Fc 105 Hz Gain -6.4 dB Q 0.70
 *   Filter 2: ON IIR Order 2 Coefficients 0.04 0.08 0.04 1.27 -1.85 0.73
 *   Filter 3: ON PA Fc 36.8Hz ( 40 -7 ) Gain -15.5dB BW/60 10.0
 *
 * Numbers, defaults and the corner frequencies of LS and HS are Equalizer APO's. halo also reads
 * filters that only REW has, or whose spelling differs. Equalizer APO ignores these. */
#ifndef HALO_EQ_LISTING_H
#define HALO_EQ_LISTING_H

#include "import/mask_matrix.h"
#include "signal/eq_bands.h"

enum { EQ_NUMBER_MOST = 40 }; /* characters */

struct eq_filter {
    bool is_on;
    struct difference difference; /* only if `is_on`; its a[0] is 1 */
    double *coefficients;         /* numerator, then denominator; owned */
    bool is_band;                 /* the filter is a section, and `band` its values */
    struct eq_band band;
    /* the frequency as it is written, if it should be noted (eq_filter_note_grouped); else "" */
    char grouped[EQ_NUMBER_MOST + 1];
    const char *foreign; /* word unknown to Equalizer APO, or which it expects here; NULL: none */
};

/* Parses the text after the colon, in place. Errors (nothing to free): no such filter, memory. */
MUST_CHECK enum status eq_listing_filter(const struct mask_config *config, char *text, double rate,
                                         struct eq_filter *filter);
void eq_filter_free(struct eq_filter *filter);

/* Applies a filter that is on to selected outputs. Errors: those of mask_matrix_recursive_where. */
MUST_CHECK enum status eq_filter_apply(const struct eq_filter *filter, struct mask_matrix *matrix,
                                       const bool *is_selected);

/* Notes the first frequency in which a separator was read as one between thousands, and the first
 * that Equalizer APO reads as another frequency. has_noted: all false before the first call. */
void eq_filter_note_grouped(const struct eq_filter *filter, const struct mask_config *config,
                            bool has_noted[2]);

/* ---- numbers, as programs of all countries write them: -6.5 dB, -6,5 dB ---- */

/* Replaces no-break and thin spaces (UTF-8, Latin-1) by blanks; removes those between thousands. */
void eq_number_plain_blanks(char *text);

/* Reads the number at the start of *rest, after blanks, with or without `unit` (or NULL), and
 * advances *rest past it. The decimal mark is a point or a comma. False: no number; *rest stays. */
bool eq_number_read(char **rest, const char *unit, double *value);

/* Whether *rest begins with the word, in any case, after blanks. If so, *rest advances past it. */
bool eq_number_take(char **rest, const char *word);

#endif
