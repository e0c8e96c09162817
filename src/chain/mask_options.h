/* What the words behind a mask's name ask of it: hall.wav,trim=10ms,fade=50ms,gain=-6.
 *
 * Four tell how to read its file (see mask.h and raw_format.h):
 *
 *   raw=FORMAT, rate=HZ, channels=N    samples without a header; rate= also of text
 *   folder=FOLDER                      a configuration may name files in there
 *
 * In whatever order they are written, they take effect in this one:
 *
 *   channel=N            keep one channel, counted from 1
 *   trim=LENGTH          leave out that much of the beginning
 *   length=LENGTH        keep no more than that
 *   fade=LENGTH          fade the end out over that much: tap i of n by cos^2(pi/2 (i + 1/2) / n)
 *   phase=minimum        the same magnitudes with the least delay (mask_minimum_phase.h)
 *   delay=LENGTH         silence before it; time zero stays where it is
 *   (the mask is resampled to the sound's rate and its paths are laid)
 *   order=, map=         see mask_route
 *   normalize=peak       the largest tap becomes 1
 *            =energy     of the output that gets the most: the sum of squares becomes 1,
 *                        so that white noise comes out as loud as it went in
 *            =l1         likewise the sum of magnitudes, so that nothing can clip
 *   invert               the other polarity
 *   gain=DB              at last
 *
 * A LENGTH is a count of the mask's own frames (480) or a time (10ms, 0.01s), rounded to whole
 * frames. One factor serves all channels, so that their balance stays; silence stays silence.
 * Threads: any. Not real-time.
 */
#ifndef HALO_MASK_OPTIONS_H
#define HALO_MASK_OPTIONS_H

#include "base/status.h"
#include "mask/mask.h"
#include "signal/audio.h"

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

/* All zero: nothing is asked. */
struct mask_options {
    struct mask_load_options load;
    size_t channel; /* 0: all */
    struct mask_span trim, length, fade, delay;
    bool minimum_phase;
    enum mask_order order;
    enum mask_map map;
    enum mask_normalize normalize;
    bool invert;
    double gain; /* dB */
};

/* Take one word, "trim=10ms". Errors (usage): a value that it cannot have, or unknown: then the
 * message lists what there is, and `others` (or NULL) that the mask would have known itself. */
MUST_CHECK enum status mask_options_parse(const char *word, const char *others,
                                          struct mask_options *options);

/* Do as the options say, for a sound of `format`. Errors: what is cut is longer than the mask,
 * there is no such channel, the counts do not go together, memory. */
MUST_CHECK enum status mask_options_apply(const struct mask_options *options,
                                          const struct stream_format *format, enum mask_align align,
                                          struct mask *mask);

#endif
