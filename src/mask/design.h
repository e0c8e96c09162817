/* Masks made from a line of words rather than read from a file:
 *
 *   KIND[:VALUE][,option=value...]      lowpass:1000,taps=255    room:rt60=0.8,seed=2
 *
 * A SPEC stands wherever a mask is named. What follows after commas is the SPEC's where its kind
 * has such an option, and the stage's (gain=, channel=, ...) where not; so the two never clash. A
 * name that is a kind's is a SPEC, also where a file is called that: say ./riaa for the file.
 *
 * Rate: every kind takes rate=, in Hz. Without it a mask is made at the rate of the sound that it
 * will filter, which is better than resampling one.
 *
 * Time zero: a symmetric or antisymmetric mask (a linear-phase filter, a moving average, a
 * Hilbert transformer, ...) has it at its middle tap, (taps - 1) / 2 rounded down: where sound
 * comes from a file it filters without delay (of half a frame, if its taps are even), and live it
 * is late by so many frames. A room has it where the direct sound arrives, and all others at tap 0.
 * --align overrules that: causal puts time zero at tap 0, centre in the middle. A file keeps taps
 * only: a symmetric mask that is read back begins at tap 0 like any other file, and --align centre
 * makes it again what it was.
 *
 * All is computed in double precision and rounded once; a cascade, of parts that were rounded.
 * Errors: one line that says what there is. Threads: any. Not real-time.
 */
#ifndef HALO_DESIGN_H
#define HALO_DESIGN_H

#include "base/status.h"
#include "mask/mask.h"

#include <stdint.h>
#include <stdio.h>

enum { DESIGN_RATE_DEFAULT = 48000 };

/* Whether `word`, up to its colon, names a kind. */
bool design_is_spec(const char *word);

/* "rate, taps, window" of the kind that `word` names, for messages; NULL where it names none. */
const char *design_options(const char *word);

/* The mask that words (NULL-terminated) name: a SPEC, whose options are taken out of `words` and
 * close ranks, or a file. `rate` is the sound's, in Hz; 0 where none is known: 48000 for a SPEC,
 * unless files that it names have another. A file keeps its own rate. Errors: usage, memory,
 * whatever mask_load finds wrong. */
MUST_CHECK enum status design_load(char **spec, uint32_t rate,
                                   const struct mask_load_options *options, struct mask **mask);

/* All kinds with their options. */
void design_print_kinds(FILE *stream);

#endif
