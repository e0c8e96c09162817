/* The render bench: a WAV file of noise through masks of noise into another file, with the ports,
 * block and engine of halo render, beside a lower bound (floor): the time to read and write the
 * same bytes, and the time of the transforms in the block's plan.
 *
 * Times are seconds of wall time, medians of the rounds. A round is from opening the input to the
 * completed output; starting the program and reading the mask are not included.
 */
#ifndef HALO_RENDER_BENCH_H
#define HALO_RENDER_BENCH_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { RENDER_ROUNDS_MOST = 1000 };

struct render_cell {
    const char *backend; /* of the convolver; also "auto" */
    size_t channels;     /* each with a mask of its own */
    size_t taps;
    uint32_t rate;      /* Hz */
    double seconds;     /* of sound */
    size_t threads;     /* 0: one a processor */
    size_t rounds;      /* at most RENDER_ROUNDS_MOST */
    const char *folder; /* for temporary files; NULL: TMPDIR or /var/tmp */
};

struct render_row {
    struct render_cell cell;
    char backend[16]; /* the one used */
    char algorithm[128];
    size_t block; /* frames */
    size_t threads;
    uint64_t frames; /* of the sound */
    double wall, wall_least, wall_most;
    double user, system;
    double peak_bytes;        /* peak memory of all rounds; NAN: unknown */
    double copy;              /* a bare read and write of the same bytes */
    double transforms;        /* shared by all threads; NAN: not done by the CPU */
    uint64_t transform_pairs; /* forward and inverse */
    double distance;          /* from its floor: wall over copy and transforms together, or NAN */
    double speed;             /* times real time */
};

/* Measure one cell; its files are removed. Errors: files, memory, threads, an unavailable backend.
 * STATUS_INTERRUPTED after a signal. */
MUST_CHECK enum status render_bench_measure(const struct render_cell *cell, struct render_row *row);

#endif
