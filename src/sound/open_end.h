/* The end of a WAV, or an AIFF file, whose header leaves its length open, as those of pipes do:
 * chunks after the samples (LIST, bext, id3, ...) are kept apart from them.
 *
 * A stream's bytes are passed on as they arrive, but for those from which on chunks seem to follow
 * one another. They are held back until the stream ends where the last of the chunks does, and then
 * they are no samples; or until that is refuted, and then they are.
 *
 * Threads: one at a time.
 */
#ifndef HALO_OPEN_END_H
#define HALO_OPEN_END_H

#include "sound/metadata.h"

#include <stdbool.h>
#include <stdio.h>

struct open_end {
    bool is_sought;              /* else bytes are read as they are */
    bool big_endian;             /* the chunks */
    bool may_begin;              /* the first byte may be that of a chunk of any name */
    struct metadata_buffer held; /* owned; from the stream */
    size_t first, samples;       /* of it: not passed on yet, and known to be samples */
    bool is_odd;                 /* `held` begins with an odd byte, where no chunk begins */
    bool ended;                  /* the stream has no more */
    bool has_chunks;             /* and those after `samples` are chunks */
};

/* As fread of single bytes, without the chunks at the end. Memory: end->held.failed. */
size_t open_end_read(struct open_end *end, FILE *stream, unsigned char *bytes, size_t count);

/* The chunks, once has_chunks. */
struct sound_bytes open_end_chunks(const struct open_end *end);

/* The chunks at the end of a file whose samples begin at `from`, into an empty `end`: has_chunks.
 * Their offset. Errors are in `bytes`; memory: none are found. */
uint64_t open_end_find(struct open_end *end, struct sound_bytes *bytes, uint64_t from);

void open_end_free(struct open_end *end);

#endif
