/* What a SOFA file (AES69) holds: impulse responses with positions, as libmysofa decodes them.
 *
 * libmysofa reads HDF5, a format with pointers, and has crashed on damaged files: it runs in a
 * child process, whose end is an error here and nothing else. What comes back is numbers and short
 * texts, whose counts are checked; what they mean is for the caller. Threads: any. Not real-time.
 */
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

/* ---- directions ---- */

struct sofa_direction {
    double at[3]; /* of length 1 */
    double distance;
};

/* A direction by its angles in degrees, azimuth from the front to the left (90: left, -90: right),
 * elevation upwards. Its vector: x to the front, y to the left, z upwards. */
struct sofa_direction sofa_direction_of(double azimuth, double elevation);

/* A position of an array by its type, in metres: of the only one, or of number `index`. False:
 * there is none. */
bool sofa_position(const struct sofa_array *array, const char *type, size_t index, double xyz[3]);

struct sofa_weight {
    size_t measurement;
    double weight; /* together 1 */
};

/* ---- responses, with their delays ----
 *
 * Delays are in frames and need not be whole: the others are made by a windowed sinc of 64 taps,
 * flat to 0.9 of half the rate. */
struct sofa_response {
    const struct sofa_file *file;
    size_t measurement, receiver, emitter;
};

/* The data type is FIR or FIR-E and the counts are those of its dimensions. Errors: another one,
 * damaged counts, a delay that is negative or longer than MATRIX_TAPS_MOST. */
MUST_CHECK enum status sofa_response_check(const char *name, const struct sofa_file *file);

double sofa_response_delay(const struct sofa_response *response);

/* How many frames `b` comes after `a`, with its delay: where their correlation is largest, between
 * frames by a parabola, `most` at most. Both are of one file. Errors: memory. */
MUST_CHECK enum status sofa_response_lag(const struct sofa_response *a,
                                         const struct sofa_response *b, double most, double *lag);

/* The frames that a delay needs before and after its own for its sinc; 0 for a whole one. */
size_t sofa_delay_margin(double delay);

/* Add the response to a column, delayed by that and not by its own. The column has room for it with
 * its margins. */
void sofa_response_add(const struct sofa_response *response, double weight, double delay,
                       double *column);

/* ---- masks of it ----
 *
 * A direction makes a mask of one input, a layout of loudspeakers one with an input for each; a
 * file that measured several sources at once (data type FIR-E) has an input for each of these.
 * Outputs are the receivers: for a head the left ear, then the right one.
 *
 * Without the options the sound's channels are the loudspeakers, or the front is taken. The file
 * may be damaged; *mask is to be destroyed also after a failure. Errors: other data than impulse
 * responses, damage, options that do not fit, memory. */
MUST_CHECK enum status mask_sofa_make(const char *name, const struct sofa_file *file,
                                      const struct mask_load_options *options, struct mask **mask);

#endif
