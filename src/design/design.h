/* Masks made from a specification instead of a file:
 *
 *   KIND[:VALUE][,option=value...]      lowpass:1000,taps=255    room:rt60=0.8,seed=2
 *
 * A SPEC can replace the name of any mask. Options of its kind belong to the SPEC, others (gain=,
 * channel=, ...) to the stage. A name that is a kind is a SPEC even if such a file exists: use
 * ./riaa for the file.
 *
 * Rate: every kind has rate=, in Hz. The default is the rate of the sound, which avoids resampling.
 *
 * Time zero is the middle tap of a symmetric or antisymmetric mask, (taps - 1) / 2 rounded down:
 * files are filtered without delay (of half a frame, if taps are even), live sound is delayed by
 * that many frames. It is the direct sound of a room, and tap 0 of all others. --align overrides
 * it. Files do not store it: a symmetric mask that is read back starts at tap 0, and --align centre
 * restores it.
 *
 * Masks are computed in double precision and rounded once; a cascade is made of rounded parts.
 * Errors list the alternatives. Threads: any. Not real-time.
 */
#ifndef HALO_DESIGN_H
#define HALO_DESIGN_H

#include "base/status.h"
#include "import/mask_load.h"

#include <stdint.h>
#include <stdio.h>

enum { DESIGN_RATE_DEFAULT = 48000 };

/* Whether `word`, up to its colon, names a kind. */
bool design_is_spec(const char *word);

/* An example of each kind ("lowpass:1000") and the keys of its own; NULL past the last. */
const char *design_made_at(size_t index, const char **keys);

/* The options of the kind that `word` names ("taps, window"), for messages; NULL: no kind. */
const char *design_options(const char *word);

/* Whether a SPEC (NULL-terminated) names a file in that word at or after `from`: invert:hall.wav,
 * combine:a.wav*b.wav; and where the first is. */
bool design_file_in(char *const *spec, size_t word, size_t from, size_t *start, size_t *length);

/* Make or load the mask that `spec` (NULL-terminated) names: a SPEC, whose options are removed from
 * it, or a file. `rate` is that of the sound, in Hz; 0 if unknown: 48000 for a SPEC, unless files
 * that it names have another. A file keeps its own rate. Errors: usage, memory, those of
 * mask_load_with. */
MUST_CHECK enum status design_load(char **spec, uint32_t rate,
                                   const struct mask_load_options *options, struct mask **mask);

/* Print all kinds with their options. */
void design_print_kinds(FILE *stream);

#endif
