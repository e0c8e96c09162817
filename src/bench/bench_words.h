/* Words that every `halo bench WHAT` understands: how to print, and --help. */
#ifndef HALO_BENCH_WORDS_H
#define HALO_BENCH_WORDS_H

#include "base/options.h"

enum bench_form { BENCH_TABLE, BENCH_CSV, BENCH_JSON, BENCH_NOTHING };

/* The first member of a bench's options, which are the context of these rows' takers. */
struct bench_words {
    enum bench_form form;
    bool help;
};

MUST_CHECK enum status bench_take_csv(void *words, const struct option_row *row, const char *value);
MUST_CHECK enum status bench_take_json(void *words, const struct option_row *row,
                                       const char *value);
MUST_CHECK enum status bench_take_help(void *words, const struct option_row *row,
                                       const char *value);

#endif
