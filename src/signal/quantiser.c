#include "signal/quantiser_state.h"

#include <math.h>
#include <stdlib.h>

enum { AUTO_BITS_MOST = 16 }; /* that are dithered unless asked for */

const char *const dither_names[] = {"none", "tpdf", "shaped", "auto", NULL};

/* Wannamaker 1992: the error is weighted as the ear does at its threshold. */
static const double shaped_taps[QUANTISER_TAPS] = {2.412,  -3.370, 3.937,  -4.174, 3.353,
                                                   -2.205, 1.281,  -0.569, 0.0847};

enum status quantiser_create(const struct quantiser_settings *settings, struct quantiser **result)
{
    bool shaped = settings->dither == DITHER_SHAPED;
    if (shaped && settings->rate != 44100 && settings->rate != 48000)
        return fail(STATUS_USAGE,
                    "--dither shaped is made for 44100 and 48000 Hz, not for %u Hz; use --dither "
                    "tpdf",
                    settings->rate);
    struct quantiser *quantiser =
        calloc(1, sizeof *quantiser + settings->channels * sizeof *quantiser->channel);
    if (!quantiser)
        return fail_memory("writing");
    quantiser->scale = ldexp(1.0, (int)settings->bits - 1);
    quantiser->shift = 32 - settings->bits;
    quantiser->dithered = settings->dither == DITHER_AUTO ? settings->bits <= AUTO_BITS_MOST
                                                          : settings->dither != DITHER_NONE;
    quantiser->taps = shaped ? shaped_taps : NULL;
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
