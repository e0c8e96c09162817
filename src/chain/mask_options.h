/* The options after the name of a mask: hall.wav,trim=10ms,fade=50ms,gain=-6.
 *
 * These describe the file (see mask.h and raw_format.h):
 *
 *   raw=FORMAT, rate=HZ, channels=N    samples without a header; rate= also of text
 *   folder=FOLDER                      folder whose files a configuration may name in any case
 *   file=NAME=>PATH                    PATH replaces the file that a configuration calls NAME; any
 *                                      number of them
 *   trust-config=no                    a configuration may name no others (mask_config.h)
 *   skip=nonlinear                     leave out parts that are no filters, such as a limiter
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
 *   order=, map=         see mask_route
 *   map=IN:TAP+TAP,...   channels of the sound through channels of the mask, by name: with
 *                        map=FL:FL,FR:FR,C:L+R the sound's centre goes through the sum of the
 *                        mask's left and right. IN and TAP are positions that the layout of the
 *                        sound and of the mask's file have (signal/channel_layout.h), or numbers
 *                        from 1. The output is the channel IN; channels of the sound that
 *                        are not named come out unchanged, at time zero of the mask
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
 * A LENGTH is in frames of the mask (480) or a time (10ms, 0.01s), rounded to whole frames. All
 * channels are scaled by the same factor; silence stays silence. An option that would have no
 * effect on a mask is refused. So is an option given twice, except file=.
 * Threads: any. Not real-time. */
#ifndef HALO_MASK_OPTIONS_H
#define HALO_MASK_OPTIONS_H

#include "base/options.h"
#include "import/mask_load.h"
#include "signal/audio.h"

#include <stdint.h>

struct mask_span {
    double value;
    bool seconds; /* `value` is in seconds; false: frames */
};

enum mask_normalize {
    MASK_NORMALIZE_NONE,
    MASK_NORMALIZE_PEAK,
    MASK_NORMALIZE_ENERGY,
    MASK_NORMALIZE_L1,
};

enum { MASK_OPTIONS_FILES_MOST = 1024, MASK_MAP_PAIRS_MOST = 64 };

/* The words of map=. Each has one pair, or several separated by commas. Not owned. */
struct mask_map_pairs {
    size_t count;
    const char *pairs[MASK_MAP_PAIRS_MOST];
};

/* All zero: no options. */
struct mask_options {
    uint32_t given; /* a bit for each name that was parsed */
    bool has_order;
    struct mask_load_options load;
    size_t channel; /* channel to keep, from 1; 0: all */
    struct mask_span trim, length, fade, delay, early;
    bool aligns_peak;
    bool minimum_phase;
    enum mask_order order;
    enum mask_map map;
    struct mask_map_pairs map_pairs; /* map=IN:TAP,...; replaces `order` and `map` if count > 0 */
    enum mask_normalize normalize;
    bool invert;
    enum mask_output_level level;
    double gain; /* dB */
    /* `load` points here, so the struct must not move */
    const char *files[MASK_OPTIONS_FILES_MOST];
};

/* The words of trust-config=, for option rows that set mask_load_options.distrusts_configs. */
extern const char *const mask_options_trust[];

/* The keys of all options: "gain=", "invert", ... */
extern const struct option_row mask_options_rows[];

/* Parse one option, "trim=10ms". Errors (usage): an invalid value; an option given before; an
 * unknown one, whose message lists all and `others`, the options of the kind of mask (or NULL). */
MUST_CHECK enum status mask_options_parse(const char *word, const char *others,
                                          struct mask_options *options);

/* Parse the option "gain=-6"; *db is in decibels. Errors: those of mask_options_parse(). */
MUST_CHECK enum status mask_options_parse_gain(const char *word, double *db);

/* Apply the options for a sound of `format`. map= and order= give the mask its own paths. Errors: a
 * length exceeds the mask, no such channel, counts do not fit, order= has no effect, memory. */
MUST_CHECK enum status mask_options_apply(const struct mask_options *options,
                                          const struct stream_format *format, enum mask_align align,
                                          struct mask *mask);

/* Apply the options at the mask's own rate; if it has none, at the rate of `sound`, or if that is 0
 * at MASK_USUAL_RATE. Paths are for the channels of `sound`; 0: as many as fit. Errors: those of
 * mask_options_apply(). */
enum { MASK_USUAL_RATE = 48000 };
MUST_CHECK enum status mask_options_study(const struct mask_options *options,
                                          const struct stream_format *sound, struct mask *mask);

/* Read or make the mask of a spec, given as words (spec_split): hall.wav gain=-6, or lowpass:1000
 * taps=255. Options for making a mask are removed from `spec`. The others are parsed into
 * `options`, for mask_options_apply. Errors: usage, those of design_load. */
MUST_CHECK enum status mask_spec_load(char **spec, struct mask_options *options,
                                      struct mask **mask);

/* Add a word of map=. Errors (usage): the word has another form, too many words. */
MUST_CHECK enum status mask_map_add(struct mask_map_pairs *map, const char *word);

/* Guess a sound's format to inspect a mask: the fewest channels that have all names in the map. */
void mask_map_guess_sound(const struct mask_map_pairs *map, struct stream_format *sound);

/* Give the mask the paths of the map, for a sound of `format`; channels not named get none. Errors:
 * a channel that the sound or the mask lacks, a channel of the sound twice, memory. */
MUST_CHECK enum status mask_map_route(const struct mask_map_pairs *map,
                                      const struct stream_format *format, struct mask *mask);

/* Let channels outside the map pass unchanged, after the mask is scaled. Errors: memory. */
MUST_CHECK enum status mask_map_pass(const struct stream_format *format, struct mask *mask);

#endif
