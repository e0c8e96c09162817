/* The output of halo mask show, as text and JSON. */
#ifndef HALO_MASK_SUMMARY_H
#define HALO_MASK_SUMMARY_H

#include "mask/mask.h"
#include "mask/mask_lint.h"
#include "mask/mask_stats.h"

#include <jansson.h>

struct mask_summary {
    const char *text; /* as the user wrote it, with options */
    const struct mask *mask;
    const struct mask_stats *stats;
    const struct mask_trouble *troubles;
    size_t trouble_count;
};

/* Print to standard output. */
void mask_summary_print(const struct mask_summary *summary);

/* Returns a new reference: gains and levels in dB (null for 0), times in frames. NULL: memory. */
json_t *mask_summary_object(const struct mask_summary *summary);

/* An amplitude in dB; null where it is 0. */
json_t *mask_summary_db(double amplitude);

#endif
