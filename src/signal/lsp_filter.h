/* Filters of the parametric equaliser of Linux Studio Plugins, which EasyEffects uses, in its mode
 * IIR without decramping.
 *
 * Analogue prototypes (RLC, Butterworth, Linkwitz-Riley) are made digital by the bilinear or the
 * matched Z transform. APO is the cookbook's section. The only description is the source,
 * lsp-dsp-units, Filter.cpp, which this follows. Threads: any.
 */
#ifndef HALO_LSP_FILTER_H
#define HALO_LSP_FILTER_H

#include "signal/biquad.h"

#include <stdbool.h>

enum { LSP_SECTIONS_MOST = 32 };

enum lsp_family { LSP_RLC, LSP_BWC, LSP_LRX, LSP_APO };

enum lsp_type {
    LSP_BELL,
    LSP_HIGHPASS,
    LSP_HIGH_SHELF,
    LSP_LOWPASS,
    LSP_LOW_SHELF,
    LSP_NOTCH,
    LSP_RESONANCE,
    LSP_ALLPASS, /* not for RLC, since versions of the plugin differ there */
};

struct lsp_filter {
    enum lsp_type type;
    enum lsp_family family;
    bool is_matched;  /* true: matched Z transform; false: bilinear transform */
    size_t slope;     /* 1 to 4 */
    double frequency; /* Hz */
    double gain;      /* linear, above 0 */
    double quality;   /* Q, at least 0 */
};

/* Makes the filter's sections. Returns their number. */
size_t lsp_filter_make(const struct lsp_filter *filter, double rate,
                       struct biquad sections[LSP_SECTIONS_MOST]);

#endif
