/* The stage that amplifies. specs.c's row leads here. */
#ifndef HALO_STAGE_GAIN_H
#define HALO_STAGE_GAIN_H

#include "chain/specs.h"

/* See struct stage_kind. */
MUST_CHECK enum status stage_gain_load(struct stage *stage, char **spec,
                                       const struct stream_format *format,
                                       const struct stage_settings *settings);
MUST_CHECK enum status stage_gain_create(struct stage *stage, size_t block, struct workers *workers,
                                         struct filter **filter);

#endif
