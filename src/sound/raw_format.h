/* Samples without a header: how each is stored, by the names that CamillaDSP (its old and
 * its new ones), ALSA and BruteFIR give them.
 *
 * Integers are read as -1..1, floating point as it stands.
 */
#ifndef HALO_RAW_FORMAT_H
#define HALO_RAW_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct raw_format {
    const char *name;
    const char *others[4]; /* the same by other names */
    unsigned bytes;        /* of a sample */
    unsigned bits;         /* of an integer, at the low end of the bytes; 0: floating point */
    bool is_big_endian;
};

/* What a file of such samples holds, channels side by side. */
struct raw_layout {
    const struct raw_format *format; /* NULL: not known, or not such a file */
    uint32_t rate;                   /* Hz; 0: not known */
    size_t channels;                 /* 0: one */
    uint64_t skip;                   /* bytes before the first sample */
    uint64_t most;                   /* bytes to read; 0: all */
};

/* By any of its names, however capitalised, or NULL. */
const struct raw_format *raw_format_named(const char *name);

/* All names for messages: "S8, S16_LE, ...". */
const char *raw_format_names(void);

double raw_format_decode(const struct raw_format *format, const unsigned char *sample);

#endif
