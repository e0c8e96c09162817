/* Headers of W64 (Sony Wave64), with chunks, and with WAVE_FORMAT_EXTENSIBLE, neither of which
 * libsndfile writes; it reads floating-point samples of the latter as integers. Samples follow as
 * SF_FORMAT_RAW. */
#ifndef HALO_W64_HEADER_H
#define HALO_W64_HEADER_H

#include "sound/channel_order.h"
#include "sound/metadata.h"

#include <sndfile.h>

/* Write the header into an empty file, with these chunks before the samples, and leave it behind
 * it; returns 0 or an errno. */
int w64_header_begin(int fd, const struct stream_format *format, int sound_format,
                     bool is_extensible, const struct metadata_buffer *chunks);

/* The samples are complete: write their size. Returns 0 or an errno. */
int w64_header_end(int fd, bool is_extensible, size_t chunks);

/* Whether a W64 has such samples: then *info is for opening it at *start, with `frames` to come. */
bool w64_header_reads_raw(struct sound_bytes *bytes, SF_INFO *info, uint64_t *start,
                          int64_t *frames);

#endif
