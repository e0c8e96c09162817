/* What a measurement found besides the columns of a mask (sweep/measurement.h), in the output of
 * halo mask show. Threads: any. Not real-time. */
#ifndef HALO_MASK_MEASURED_H
#define HALO_MASK_MEASURED_H

#include "mask/mask.h"
#include "sweep/measurement.h"

/* Reads mask->measured. *measurement is NULL without an error if there is none, or if it is not
 * that of the columns. Without paths it describes a sweep. Errors: memory. */
MUST_CHECK enum status mask_measured_read(const struct mask *mask,
                                          struct measurement **measurement);

/* Prints to standard output, with the names of values in `head` characters. */
void mask_measured_print(const struct measurement *measurement, int head);

#endif
