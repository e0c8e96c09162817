/* halo bench WHAT: measures parts of the program on this machine. */
#ifndef HALO_BENCH_H
#define HALO_BENCH_H

#include "base/program.h"

enum bench_form { BENCH_TABLE, BENCH_CSV, BENCH_JSON, BENCH_NOTHING };

/* The rows that choose a form, stored in FIELD. */
#define BENCH_FORMS(TYPE, FIELD)                                                                   \
    OPT_VALUE("csv", TYPE, FIELD, BENCH_CSV, "print comma-separated values"),                      \
        OPT_VALUE("json", TYPE, FIELD, BENCH_JSON, "print one JSON object")

extern const struct command bench_batch;     /* many sounds on GPUs, from memory */
extern const struct command bench_calibrate; /* for backend auto */
extern const struct command bench_kernels;   /* only where CUDA is built in */
extern const struct command bench_render;    /* files, end to end */
extern const struct command bench_stream;    /* single blocks, as live */

#endif
