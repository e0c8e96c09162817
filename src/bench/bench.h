/* halo bench WHAT: measures parts of the program on this machine. */
#ifndef HALO_BENCH_H
#define HALO_BENCH_H

#include "base/program.h"

enum bench_form { BENCH_TABLE, BENCH_CSV, BENCH_JSON };

/* Options that choose the form of the report, stored in FIELD. */
#define BENCH_FORMS(TYPE, FIELD)                                                                   \
    OPT_VALUE("csv", TYPE, FIELD, BENCH_CSV, "print comma-separated values"),                      \
        OPT_VALUE("json", TYPE, FIELD, BENCH_JSON, "print one JSON object")

extern const struct command bench_kernels; /* only if CUDA is built in */
extern const struct command bench_stream;  /* times single blocks, as in halo live */

#endif
