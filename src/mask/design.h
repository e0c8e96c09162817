/* Masks made from a specification instead of a file:
 *
 *   KIND[:VALUE][,option=value...]      lowpass:1000,taps=255    room:rt60=0.8,seed=2
 *
 * A SPEC can stand wherever a mask is named. Options that its kind has belong to the SPEC, the
 * others (gain=, channel=, ...) to the stage, so the two never clash. A name that is a kind is a
 * SPEC even if such a file exists: use ./riaa for the file.
 *
 * Rate: every kind has rate=, in Hz. The default is the rate of the sound to be filtered, which is
 * better than resampling.
 *
 * Time zero: a symmetric or antisymmetric mask (a linear-phase filter, a moving average, a Hilbert
 * transformer, ...) has it at its middle tap, (taps - 1) / 2 rounded down: files are filtered
 * without delay (of half a frame, if taps are even), live sound is delayed by that many frames. A
 * room has it where the direct sound arrives, and all others at tap 0. --align overrides that:
 * causal puts time zero at tap 0, centre in the middle. Files store taps only: a symmetric mask
 * that is read back starts at tap 0 like any other file, and --align centre restores it.
 *
 * All is computed in double precision and rounded once; a cascade is made of rounded parts. Errors:
 * one line with the alternatives. Threads: any. Not real-time.
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
