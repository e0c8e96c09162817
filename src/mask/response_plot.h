/* Draws magnitude responses of several masks over each other, as lines of text.
 *
 * The frequency axis is logarithmic from 20 Hz to half the rate; the level axis fits the curves and
 * shows 80 dB at most, from the top. Every curve has a letter, so no colour is needed: drawn in
 * braille dots the letter appears at intervals, in plain ASCII the curve consists of it; where
 * curves coincide the letters alternate. A silent mask has no curve. Values are those of
 * response.h.
 */
#ifndef HALO_RESPONSE_PLOT_H
#define HALO_RESPONSE_PLOT_H

#include "base/status.h"
#include "mask/mask.h"

enum { RESPONSE_PLOT_MASKS = 9, RESPONSE_PLOT_WIDTH_LEAST = 30, RESPONSE_PLOT_HEIGHT_LEAST = 8 };

struct response_plot_settings {
    size_t width, height; /* of the whole picture, in characters */
    uint32_t rate;        /* of the masks */
    bool braille;         /* UTF-8; else ASCII alone */
};

/* *text: `height` lines of at most `width` characters, each ended by a newline; the caller's to
 * free. letters[i] is an ASCII character for masks[i]. Errors: memory, a smaller size than
 * the least. */
MUST_CHECK enum status response_plot(const struct response_plot_settings *settings,
                                     const struct mask *const *masks, const char *letters,
                                     size_t count, char **text);

#endif
