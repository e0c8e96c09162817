#include "signal/quantiser_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AUTO_BITS_MOST = 16 }; /* most bits that DITHER_AUTO dithers */

const char *const dither_names[] = {"none", "tpdf", "shaped", "auto", NULL};

/* Wannamaker 1992. Errors are weighted by the ear's threshold. */
static const double wannamaker_taps[] = {2.412,  -3.370, 3.937,  -4.174, 3.353,
                                         -2.205, 1.281,  -0.569, 0.0847};

static void set_shaping(struct quantiser *quantiser, uint32_t rate)
{
    bool known = rate == 44100 || rate == 48000;
    quantiser->tap_count = known ? QUANTISER_TAPS_KNOWN : QUANTISER_TAPS;
    if (known)
        memcpy(quantiser->taps, wannamaker_taps, sizeof wannamaker_taps);
    else
        noise_shaping_design(rate, quantiser->taps);
}

enum status quantiser_create(const struct quantiser_settings *settings, struct quantiser **result)
{
    struct quantiser *quantiser =
        calloc(1, sizeof *quantiser + settings->channels * sizeof *quantiser->channel);
    if (!quantiser)
        return fail_memory("writing");
    quantiser->scale = ldexp(1.0, (int)settings->bits - 1);
    quantiser->shift = 32 - settings->bits;
    quantiser->dithered = settings->dither == DITHER_AUTO ? settings->bits <= AUTO_BITS_MOST
                                                          : settings->dither != DITHER_NONE;
    if (settings->dither == DITHER_SHAPED)
        set_shaping(quantiser, settings->rate);
    quantiser->channels = settings->channels;
    for (size_t c = 0; c < settings->channels; c++)
        quantiser->channel[c].exact = QUANTISER_HOLD;
    *result = quantiser;
    return STATUS_OK;
}

void quantiser_destroy(struct quantiser *quantiser)
{
    free(quantiser);
}
