/* Masks made from a specification instead of a file:
 *
 *   KIND[:VALUE][,option=value...]      lowpass:1000,taps=255    room:rt60=0.8,seed=2
 *
 * A SPEC can replace the name of any mask. Options of its kind belong to the SPEC, others (gain=,
 * channel=, ...) to the stage. The name of a kind is a SPEC even if there is a file of that name.
 * Write ./riaa for the file.
 *
 * Rate: every kind has rate=, in Hz. The default is the rate of the sound, so that nothing is
 * resampled.
 *
 * Time zero is at the middle tap of a symmetric or antisymmetric mask, (taps - 1) / 2 rounded down.
 * So files are filtered without delay (half a frame, if taps are even), and live sound is delayed
 * by that many frames. In a room it is the direct sound, in all other masks tap 0. --align
 * overrides it. Files do not store it: a symmetric mask that is read from a file starts at tap 0,
 * and --align centre restores it.
 *
 * Masks are computed in double precision and rounded once. The parts of a cascade are rounded
 * first. Errors list the alternatives. Threads: any. Not real-time.
 */
#ifndef HALO_DESIGN_H
#define HALO_DESIGN_H

#include "base/status.h"
#include "import/mask_load.h"
#include "signal/eq_bands.h"

#include <stdint.h>
#include <stdio.h>

enum { DESIGN_RATE_DEFAULT = 48000 };

/* Whether `word` begins with the name of a kind, up to a colon. */
bool design_is_spec(const char *word);

/* An example of each kind, such as "lowpass:1000". *keys: its options. NULL: no more kinds. */
const char *design_made_at(size_t index, const char **keys);

/* The options of the kind that `word` names, such as "taps, window", for messages; or NULL. */
const char *design_options(const char *word);

/* Whether word number `word` of a SPEC (NULL-terminated) names a file at or after `from`, as in
 * invert:hall.wav or combine:a.wav*b.wav. *start, *length: where the first one is. */
bool design_file_in(char *const *spec, size_t word, size_t from, size_t *start, size_t *length);

/* Makes or loads the mask that `spec` (NULL-terminated) names. If it is a SPEC, its options are
 * removed from `spec`. `rate` is the sound's, in Hz; 0: unknown. Then a SPEC has that of its files,
 * or 48000 Hz. A file keeps its own rate. Errors: usage, memory, those of mask_load_with. */
MUST_CHECK enum status design_load(char **spec, uint32_t rate,
                                   const struct mask_load_options *options, struct mask **mask);

/* Parses the bands of `parametric:`, as in "PK 1000 -6 1.4; HS 8000 2", for a mask of this rate. An
 * empty text has no bands. `preamp` is 0. Errors (usage): the text; a frequency beyond the rate. */
MUST_CHECK enum status design_bands(const char *text, uint32_t rate, struct eq_bands *bands);

/* Prints all kinds with their options. */
void design_print_kinds(FILE *stream);

#endif
