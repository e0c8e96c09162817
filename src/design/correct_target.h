/* What correct: reads from its target and its files, also for those who draw a correction. Threads:
 * any. Not real-time. */
#ifndef HALO_CORRECT_TARGET_H
#define HALO_CORRECT_TARGET_H

#include "import/response_file.h"
#include "mask/mask.h"

/* Reads a target: "flat" or NULL (no points), "house", "tilt:-0.8", or a file. Free the curve, also
 * after an error. Errors: usage; the file. */
MUST_CHECK enum status correct_target_read(const char *text, struct level_curve *curve);

/* The loudspeaker of each column: the output that halo measure names, else the column, from 1.
 * Errors: memory. */
MUST_CHECK enum status correct_outputs(const struct mask *mask, size_t *outputs);

#endif
