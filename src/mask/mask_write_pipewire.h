/* A mask as a filter chain of PipeWire: what mask_write_config.c calls for it. */
#ifndef HALO_MASK_WRITE_PIPEWIRE_H
#define HALO_MASK_WRITE_PIPEWIRE_H

#include "mask/mask.h"

/* Errors: more channels than PipeWire has. */
MUST_CHECK enum status mask_write_pipewire_check(const struct mask *mask);

/* `stem` is the path of the WAV, whole and without .wav. */
void mask_write_pipewire(const struct mask *mask, const char *stem, bool is_double, FILE *stream);

#endif
