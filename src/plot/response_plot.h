/* Plots magnitude responses of several masks as lines of text.
 *
 * The frequency axis is logarithmic, from 20 Hz to half the rate. The level axis fits the curves,
 * up to 80 dB. The settings can change both. Every curve has a letter: at intervals on braille
 * dots, or as the curve itself in ASCII. Where curves coincide, their letters alternate. Silent
 * masks have no curve. Values are those of response.h.
 */
#ifndef HALO_RESPONSE_PLOT_H
#define HALO_RESPONSE_PLOT_H

#include "base/status.h"
#include "mask/mask.h"

enum { RESPONSE_PLOT_MASKS = 32, RESPONSE_PLOT_WIDTH_LEAST = 30, RESPONSE_PLOT_HEIGHT_LEAST = 8 };

struct response_plot_settings {
    size_t width, height; /* characters */
    uint32_t rate;        /* rate of the masks */
    bool braille;         /* braille dots, which need UTF-8; false: ASCII only */
    double low, high;     /* Hz; 0: 20 Hz, or half the rate */
    double range;         /* dB, the most; 0: 80 */
    double smoothing;     /* octaves; 0: the default of response.h */
};

/* *text: `height` lines of at most `width` characters, which the caller frees. letters[i] is the
 * ASCII character for masks[i]. Errors: memory, a size that is too small. */
MUST_CHECK enum status response_plot(const struct response_plot_settings *settings,
                                     const struct mask *const *masks, const char *letters,
                                     size_t count, char **text);

#endif
