/* Compressed sounds whose bytes are damaged, and the rule that a damaged sound is refused, or is
 * the whole one to the sample. For a test and a libFuzzer target: no Check, no folder. */
#ifndef HALO_TESTS_DAMAGED_H
#define HALO_TESTS_DAMAGED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DAMAGED_KINDS = 5 }; /* FLAC of 16 and 24 bits, of an unknown length; Vorbis; Opus */

/* Makes the sounds. False: libsndfile cannot. */
bool damaged_begin(void);

/* Bytes of the file of a kind. */
size_t damaged_size(size_t kind);

/* With bits of a byte inverted. */
struct damaged_edit {
    uint32_t at; /* modulo the size */
    uint8_t bits;
};

/* Read as a file, or through a pipe. False: other samples, or fewer, or another rate or number of
 * channels, came without an error. */
bool damaged_holds(size_t kind, const struct damaged_edit *edits, size_t count, bool is_pipe);

/* The same without `count` bytes from `at` on. */
bool damaged_holds_without(size_t kind, size_t at, size_t count, bool is_pipe);

/* With --allow-truncated, as a file: whether a FLAC of a known length keeps it, and each sample is
 * that of the whole one, or 0. */
bool damaged_keeps_places(size_t kind, const struct damaged_edit *edit);

/* Whether what is read from a frame on is what the whole sound has there. */
bool damaged_seeks(size_t kind, size_t frame);

void damaged_end(void);

#endif
