/* What a measurement found besides the impulse responses, by thirds of an octave. Sound files carry
 * it as a comment. Threads: any. Not real-time. */
#ifndef HALO_MEASUREMENT_H
#define HALO_MEASUREMENT_H

#include "base/status.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MEASURED_THIRDS = 31, /* bands from 20 Hz to 20 kHz */
    MEASURED_ORDERS = 4,  /* harmonics 2 to 5 */
    MEASURED_PATHS_MOST = 4096,
};

/* The exact middle of a third of an octave: 1000 Hz is number 17. */
double measured_hz(size_t third);

/* A path from an output of the device to an input. Levels are in dB. NAN: unknown, which is so
 * beyond the sweep and below the noise. */
struct measured_path {
    size_t output, input; /* channels of the device, from 1; 0: unknown */
    double delay;         /* seconds from time zero to the direct sound */
    double snr_all;       /* energy of the response over that of the noise in it */
    double level[MEASURED_THIRDS];
    double snr[MEASURED_THIRDS];
    /* [n - 2]: harmonic n relative to the fundamental, at the fundamental's frequency */
    double distortion[MEASURED_ORDERS][MEASURED_THIRDS];
};

struct measurement {
    char date[24];         /* such as "2026-11-29T14:00:00Z"; "": unknown */
    double from, to;       /* ends of the sweep, in Hz */
    double seconds;        /* length of the sweep */
    double level;          /* peak of the sweep, in dB of full scale */
    size_t repeats;        /* 0: unknown */
    uint32_t rate;         /* Hz */
    char timing[16];       /* what time zero is: "loopback", "mark", "device", "sound"; or "" */
    double drift;          /* ppm by which the input's clock is faster; 0: one clock */
    double full_scale;     /* dB SPL of full scale at the inputs; NAN: unknown */
    char calibration[256]; /* names of files; "": none */
    size_t path_count;     /* 0: the file is the sweep itself */
    struct measured_path *paths; /* owned; in the order of the file's channels */
};

/* Creates an empty one for `paths` paths, whose numbers are NAN. Errors: memory. */
MUST_CHECK enum status measurement_create(size_t paths, struct measurement **measurement);
void measurement_destroy(struct measurement *measurement);

/* Writes a line for people, without a line end. */
enum { MEASURED_LINE = 256 };
void measurement_describe(const struct measurement *measurement, char line[MEASURED_LINE]);

/* Text for the comment of a sound file: a line for people, and a line of JSON. NULL: no memory. */
char *measurement_text(const struct measurement *measurement);

/* Reads the text of a comment. *measurement is NULL without an error if the text is none of
 * measurement_text. Errors: memory. */
MUST_CHECK enum status measurement_parse(const char *text, struct measurement **measurement);

/* Whether a comment begins as one of measurement_text. It may be damaged further on. */
bool measurement_is_text(const char *text);

/* Total harmonic distortion: the power of the known harmonics relative to the fundamental, in dB. */
double measured_thd(const struct measured_path *path, size_t third);

/* A new reference. It has the text's members, and `hz` and `thd` for its readers. NULL: no memory. */
json_t *measurement_object(const struct measurement *measurement);

#endif
