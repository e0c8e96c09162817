/* Words that both laboratories of kernels understand. */
#ifndef HALO_GPU_LAB_WORDS_H
#define HALO_GPU_LAB_WORDS_H

#include "bench/bench_words.h"

/* The first member of a laboratory's options, which are the context of these rows' takers. */
struct lab_words {
    struct bench_words words; /* first: the words' takers know nothing else */
    const char *plot;
    const char *read; /* a file to take the measurements from */
};

MUST_CHECK enum status lab_take_plot(void *words, const struct option_row *row, const char *value);
MUST_CHECK enum status lab_take_read(void *words, const struct option_row *row, const char *value);

#endif
