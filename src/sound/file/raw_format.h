/* Formats of raw samples, by the names of CamillaDSP, ALSA and BruteFIR. Integers become -1..1. */
#ifndef HALO_RAW_FORMAT_H
#define HALO_RAW_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct raw_format {
    const char *name;
    const char *others[4]; /* aliases */
    unsigned bytes;        /* bytes of a sample */
    unsigned bits; /* bits of an integer, the lowest of the sample's bytes; 0: floating point */
    bool is_big_endian;
};

/* Layout of a file of interleaved raw samples. */
struct raw_layout {
    const struct raw_format *format; /* NULL: unknown, or the file is not raw */
    uint32_t rate;                   /* Hz; 0: unknown */
    size_t channels;                 /* number of channels; 0: mono */
    uint64_t skip;                   /* bytes before the first sample */
    uint64_t most;                   /* bytes to read; 0: all */
};

/* The format with this name or alias, ignoring case, or NULL. */
const struct raw_format *raw_format_named(const char *name);

/* All names, for messages: "S8, S16_LE, ...". */
const char *raw_format_names(void);

double raw_format_decode(const struct raw_format *format, const unsigned char *sample);

#endif
