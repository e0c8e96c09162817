/* One line of an equaliser listing, as Equalizer APO, AutoEq and REW write them:
 *
 *   Filter 1: ON PK Fc 105 Hz Gain -6.4 dB Q 0.70
 *   Filter 2: ON IIR Order 2 Coefficients 0.04 0.08 0.04 1.27 -1.85 0.73
 *
 *   Filter 3: ON PA Fc 36.8Hz ( 40 -7 ) Gain -15.5dB BW/60 10.0
 *
 * Numbers, defaults and the corner frequencies of LS and HS are those of Equalizer APO. It passes
 * over filters that only REW has, and over those in another spelling: they are read here.
 */
#ifndef HALO_EQ_LISTING_H
#define HALO_EQ_LISTING_H

#include "import/mask_matrix.h"

enum { EQ_NUMBER_MOST = 40 }; /* characters */

struct eq_filter {
    bool is_on;
    struct difference difference;     /* if it is on; its a[0] is 1 */
    double *coefficients;             /* of both; owned */
    char grouped[EQ_NUMBER_MOST + 1]; /* of a frequency: eq_number_read_hertz */
    const char *foreign; /* the word that Equalizer APO lacks, or wants there; NULL: none */
};

/* Parse the text after the colon, in place. Errors: not such a filter, memory; then there is
 * nothing to free. */
MUST_CHECK enum status eq_listing_filter(const struct mask_config *config, char *text, double rate,
                                         struct eq_filter *filter);
void eq_filter_free(struct eq_filter *filter);

/* Filter the selected of all outputs, if it is on. Errors: mask_matrix_recursive_where. */
MUST_CHECK enum status eq_filter_apply(const struct eq_filter *filter, struct mask_matrix *matrix,
                                       const bool *is_selected);

/* Say of the first filter whose frequency has one separator that it is between thousands, and of
 * the first whose frequency is another in Equalizer APO; has_noted: all false at first. */
void eq_filter_note_grouped(const struct eq_filter *filter, const struct mask_config *config,
                            bool has_noted[2]);

/* ---- numbers, as programs of all countries write them: -6.5 dB, -6,5 dB ---- */

/* Replace no-break and thin spaces, of UTF-8 or Latin-1, by blanks, and remove those that separate
 * thousands, in place. */
void eq_number_plain_blanks(char *text);

/* The number at the start of *rest, behind blanks, with or without its unit (NULL: none); *rest
 * advances past both. The decimal mark is a point or a comma. False: not a number; *rest stays. */
bool eq_number_read(char **rest, const char *unit, double *value);

/* Whether *rest begins with a word, in any case, behind blanks; then it advances past it. */
bool eq_number_take(char **rest, const char *word);

#endif
