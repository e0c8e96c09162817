/* What a SOFA file (AES69) holds: impulse responses with positions, as libmysofa decodes them.
 *
 * libmysofa reads HDF5, a format with pointers, and has crashed on damaged files: it runs in a
 * child process, whose end is an error here and nothing else. What comes back is numbers and short
 * texts, whose counts are checked; what they mean is for the caller. Threads: any. Not real-time.
 */
#ifndef HALO_SOFA_FILE_H
#define HALO_SOFA_FILE_H

#include "base/status.h"

#include <stdio.h>

enum { SOFA_TEXT = 64 };

enum sofa_variable {
    SOFA_SOURCE,   /* SourcePosition */
    SOFA_RECEIVER, /* ReceiverPosition */
    SOFA_LISTENER, /* ListenerPosition */
    SOFA_VIEW,     /* ListenerView */
    SOFA_UP,       /* ListenerUp */
    SOFA_RATE,     /* Data.SamplingRate */
    SOFA_DELAY,    /* Data.Delay */
    SOFA_IR,       /* Data.IR */
    SOFA_VARIABLES
};

struct sofa_array {
    size_t count; /* 0: the file lacks it */
    float *values;
    char dimensions[SOFA_TEXT]; /* "M,R,N", by the file's own word; may be empty */
    char type[SOFA_TEXT];       /* "cartesian", "spherical" */
};

struct sofa_file {
    size_t measurements, receivers, emitters, taps;
    char convention[SOFA_TEXT], data_type[SOFA_TEXT], database[SOFA_TEXT], listener[SOFA_TEXT];
    char api[SOFA_TEXT]; /* "ARI SOFA API for Matlab/Octave 1.0.2" */
    struct sofa_array arrays[SOFA_VARIABLES];
};

/* Whether it begins as HDF5 does. */
bool sofa_file_is_one(FILE *stream);

/* Decode the file, which `name` is only for messages; to be freed with sofa_file_free also after a
 * failure. Errors: no SOFA file, larger than a GiB, libmysofa failed or is not built in, memory. */
MUST_CHECK enum status sofa_file_load(const char *name, FILE *stream, struct sofa_file *file);
void sofa_file_free(struct sofa_file *file);

#endif
