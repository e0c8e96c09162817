/* The render bench: noise in a WAV file through masks of noise into another file,
 * with the ports, the block and the engine that halo render takes, timed beside the
 * floor, which is what no renderer of this kind gets below: merely reading and writing
 * those bytes, and merely the transforms that the block's plan asks for.
 *
 * Times are seconds on a clock, medians of the rounds. A round is from opening the sound
 * to the output being whole; the program's own start and the reading of the mask are not
 * in it.
 */
#ifndef HALO_RENDER_BENCH_H
#define HALO_RENDER_BENCH_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { RENDER_ROUNDS_MOST = 1000 };

struct render_cell {
    const char *backend; /* of the convolver; "auto" too */
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
    char backend[16]; /* the one that did it, and how */
    char algorithm[96];
    size_t block; /* frames */
    size_t threads;
    uint64_t frames; /* of the sound */
    double wall, wall_least, wall_most;
    double user, system;
    double peak_bytes; /* the most memory held in any round; NAN where the system does not say */
    double copy;       /* a bare read and write of the same bytes */
    double transforms; /* on all threads alike; NAN where they are not the CPU's */
    uint64_t transform_pairs; /* there and back */
    double distance;          /* from its floor: wall over copy and transforms together, or NAN */
    double speed;             /* times real time */
};

/* Measure one cell. Nothing is left in the folder. Errors: files, memory, threads, a backend
 * that cannot work here. STATUS_INTERRUPTED where a signal asked to stop. */
MUST_CHECK enum status render_bench_measure(const struct render_cell *cell, struct render_row *row);

#endif
