/* The options after the name of a mask: hall.wav,trim=10ms,fade=50ms,gain=-6.
 *
 * These describe the file (see mask.h and raw_format.h):
 *
 *   raw=FORMAT, rate=HZ, channels=N    samples without a header; rate= also of text
 *   folder=FOLDER                      folder whose files a configuration may name in any case
 *   file=NAME=>PATH                    PATH in the place of what a configuration calls NAME; any
 *                                      number of them
 *   trust-config=no                    a configuration may name no others (mask_config.h)
 *   skip=nonlinear                     what is no filter in it (a limiter) is left out
 *   az=DEGREES, el=DEGREES, speakers=LAYOUT, interpolate=nearest|linear
 *                                      directions of a SOFA file (mask_sofa.c)
 *
 * The others apply in this order, however they are written:
 *
 *   channel=N            keep one channel, counted from 1
 *   trim=LENGTH          remove that much of the beginning
 *   length=LENGTH        keep at most that much
 *   early=LENGTH         keep the direct sound, the largest tap of all, and that much after it: the
 *                        early reflections of a room
 *   fade=LENGTH          fade out over that much: tap i of n by cos^2(pi/2 (i + 1/2) / n)
 *   phase=minimum        the same magnitudes with the least delay (mask_resample.c)
 *   delay=LENGTH         silence before it; time zero stays where it is
 *   align=peak           time zero is the direct sound: with --tail none the output begins with it,
 *                        and has the length of the input
 *   (the mask is resampled to the rate of the sound)
 *   order=, map=         see mask_route; map=IN:TAP+TAP,IN:TAP,... by name: mask_map.h
 *   normalize=peak       the largest tap becomes 1
 *            =energy     the sum of squares of the loudest output becomes 1, which keeps the
 *                        level of white noise
 *            =l1         its sum of magnitudes becomes 1, so that nothing can clip
 *   invert               reverse the polarity
 *   gain=DB
 *   level=input          the output is scaled, once it is all there, to the power of the input:
 *                        to equal mean squares of all samples of all channels; gain= then
 *                        counts from there
 *        =kaldi          the same with the power of the whole convolution, as Kaldi has it
 *
 * A LENGTH is in frames of the mask (480) or a time (10ms, 0.01s), rounded to whole frames.
 * All channels are scaled by the same factor; silence stays silence. An option that would have no
 * effect on a mask is refused, and so is one that is given twice, but for file=.
 * Threads: any. Not real-time.
 */
#ifndef HALO_MASK_OPTIONS_H
#define HALO_MASK_OPTIONS_H

#include "base/options.h"
#include "chain/mask_map.h"
#include "mask/mask_load.h"
#include "signal/audio.h"

#include <stdint.h>

struct mask_span {
    double value;
    bool seconds; /* else frames */
};

enum mask_normalize {
    MASK_NORMALIZE_NONE,
    MASK_NORMALIZE_PEAK,
    MASK_NORMALIZE_ENERGY,
    MASK_NORMALIZE_L1,
};

enum { MASK_OPTIONS_FILES_MOST = 1024 };

/* All zero: no options. */
struct mask_options {
    uint32_t given; /* a bit for each name that was parsed */
    bool has_order;
    struct mask_load_options load;
    size_t channel; /* 0: all */
    struct mask_span trim, length, fade, delay, early;
    bool aligns_peak;
    bool minimum_phase;
    enum mask_order order;
    enum mask_map map;
    struct mask_map_pairs map_pairs; /* instead, if there are any */
    enum mask_normalize normalize;
    bool invert;
    enum mask_output_level level;
    double gain;                                /* dB */
    const char *files[MASK_OPTIONS_FILES_MOST]; /* of file=, for `load`: it must not move */
};

/* Whether configurations are trusted: yes or no, for a row of struct mask_load_options'
 * distrusts_configs. */
extern const char *const mask_options_trust[];

/* The keys, "gain=" or "invert". */
extern const struct option_row mask_options_rows[];

/* Parse one option, "trim=10ms". Errors (usage): an invalid value, an option that was given before,
 * or an unknown one: then the message lists all, with `others` (or NULL), those of the kind of
 * mask. */
MUST_CHECK enum status mask_options_parse(const char *word, const char *others,
                                          struct mask_options *options);

/* The same of "gain=-6" alone: decibels. */
MUST_CHECK enum status mask_options_parse_gain(const char *word, double *db);

/* Apply the options for a sound of `format`. With map= or order= the mask then has its own paths.
 * Errors: a length exceeds the mask, no such channel, channel counts do not fit, order= has no
 * effect, memory. */
MUST_CHECK enum status mask_options_apply(const struct mask_options *options,
                                          const struct stream_format *format, enum mask_align align,
                                          struct mask *mask);

#endif
