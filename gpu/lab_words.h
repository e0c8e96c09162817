/* Words that both laboratories of kernels understand. */
#ifndef HALO_GPU_LAB_WORDS_H
#define HALO_GPU_LAB_WORDS_H

#include "bench/bench_common.h"

/* The first member of a laboratory's options, which are the context of these rows' takers. */
struct lab_common {
    struct bench_common common; /* first: the words' takers know nothing else */
    const char *plot;
    const char *read; /* a file to take the measurements from */
};

MUST_CHECK enum status lab_parse_plot(void *common, const struct option_row *row, const char *value);
MUST_CHECK enum status lab_parse_read(void *common, const struct option_row *row, const char *value);

#endif
