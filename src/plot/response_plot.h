/* Plots magnitude responses of several masks as lines of text.
 *
 * The frequency axis is logarithmic from 20 Hz to half the rate; the level axis fits the curves, to
 * at most 80 dB, unless the settings say otherwise. Every curve has a letter: at intervals on
 * braille dots, or as the curve itself in ASCII; where curves coincide the letters alternate.
 * Silent masks have no curve. Values are those of response.h.
 */
#ifndef HALO_RESPONSE_PLOT_H
#define HALO_RESPONSE_PLOT_H

#include "base/status.h"
#include "mask/mask.h"

enum { RESPONSE_PLOT_MASKS = 32, RESPONSE_PLOT_WIDTH_LEAST = 30, RESPONSE_PLOT_HEIGHT_LEAST = 8 };

struct response_plot_settings {
    size_t width, height; /* characters */
    uint32_t rate;        /* of the masks */
    bool braille;         /* UTF-8; else ASCII alone */
    double low, high;     /* Hz; 0: as above, as are the following */
    double range;         /* dB at most */
    double smoothing;     /* octaves */
};

/* *text: `height` lines of at most `width` characters, freed by the caller. letters[i] is an ASCII
 * character for masks[i]. Errors: memory, a size below the least. */
MUST_CHECK enum status response_plot(const struct response_plot_settings *settings,
                                     const struct mask *const *masks, const char *letters,
                                     size_t count, char **text);

#endif
