/* The contents of a SOFA file (AES69): impulse responses with positions, as libmysofa decodes them.
 *
 * libmysofa reads HDF5, a format with pointers, and has crashed on damaged files. So it runs in a
 * child process. If the child crashes, that is an error here and has no other effect. The child
 * returns numbers and short texts. Their counts are checked here; their meaning is the caller's.
 * Threads: any. Not real-time. */
#ifndef HALO_SOFA_FILE_H
#define HALO_SOFA_FILE_H

#include "import/mask_load.h"

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
    size_t count; /* 0: the file does not have it */
    float *values;
    char dimensions[SOFA_TEXT]; /* "M,R,N", as the file says; may be empty */
    char type[SOFA_TEXT];       /* "cartesian" or "spherical", as the file says; may be empty */
};

struct sofa_file {
    size_t measurements, receivers, emitters, taps;
    char convention[SOFA_TEXT], data_type[SOFA_TEXT], database[SOFA_TEXT], listener[SOFA_TEXT];
    char api[SOFA_TEXT]; /* such as "ARI SOFA API for Matlab/Octave 1.0.2" */
    struct sofa_array arrays[SOFA_VARIABLES];
};

/* Whether the file begins as HDF5 files do. */
bool sofa_file_is_one(FILE *stream);

/* Decodes the file. `name` is for messages only. Free it with sofa_file_free, even after a failure.
 * Errors: no SOFA file, larger than a GiB, libmysofa failed or is not built in, memory. */
MUST_CHECK enum status sofa_file_load(const char *name, FILE *stream, struct sofa_file *file);
void sofa_file_free(struct sofa_file *file);

/* ---- directions ---- */

struct sofa_direction {
    double at[3]; /* vector of length 1 */
    double distance;
};

/* The direction with these angles in degrees: azimuth from the front to the left (90: left, -90:
 * right), elevation upwards. The vector has x to the front, y to the left, z upwards. */
struct sofa_direction sofa_direction_of(double azimuth, double elevation);

/* Position `index` of an array, or its only one, converted from `type` to metres. False: none. */
bool sofa_position(const struct sofa_array *array, const char *type, size_t index, double xyz[3]);

struct sofa_weight {
    size_t measurement;
    double weight; /* all weights of a direction add up to 1 */
};

/* ---- responses, with their delays ----
 *
 * Delays are in frames and may be fractional. A fractional delay is made by a windowed sinc of 64
 * taps, flat up to 0.9 of half the rate. */
struct sofa_response {
    const struct sofa_file *file;
    size_t measurement, receiver, emitter;
};

/* Checks that the data type is FIR or FIR-E and that the counts match the dimensions. Errors:
 * another data type, damaged counts, a delay that is negative or longer than MATRIX_TAPS_MOST. */
MUST_CHECK enum status sofa_response_check(const char *name, const struct sofa_file *file);

/* The response's own delay, in frames. */
double sofa_response_delay(const struct sofa_response *response);

/* How many frames `b`, with its delay, comes after `a`: the lag with the largest correlation, at
 * most `most`. Interpolated between frames by a parabola. Both are of one file. Errors: memory. */
MUST_CHECK enum status sofa_response_lag(const struct sofa_response *a,
                                         const struct sofa_response *b, double most, double *lag);

/* The frames before and after a delay that its sinc needs. 0 if the delay is whole. */
size_t sofa_delay_margin(double delay);

/* Adds the response, delayed by `delay` alone, to a column with room for it and its margins. */
void sofa_response_add(const struct sofa_response *response, double weight, double delay,
                       double *column);

/* ---- masks from a SOFA file ----
 *
 * A direction makes a mask of one input. A layout of loudspeakers makes one with an input for each
 * loudspeaker. A file that measured several sources at once (data type FIR-E) has an input for each
 * source. Outputs are the receivers: for a head the left ear, then the right ear.
 *
 * Without options, the sound's channels decide the loudspeakers; otherwise the front is taken. The
 * file may be damaged. Destroy *mask even after a failure. Errors: data other than impulse
 * responses, damage, options that do not fit, memory. */
MUST_CHECK enum status mask_sofa_make(const char *name, const struct sofa_file *file,
                                      const struct mask_load_options *options, struct mask **mask);

#endif
