/* Words that every `halo bench WHAT` understands: how to print, and --help. */
#ifndef HALO_BENCH_COMMON_H
#define HALO_BENCH_COMMON_H

#include "base/options.h"

enum bench_form { BENCH_TABLE, BENCH_CSV, BENCH_JSON, BENCH_NOTHING };

/* The first member of a bench's options, which are the context of these rows' takers. */
struct bench_common {
    enum bench_form form;
    bool help;
};

MUST_CHECK enum status bench_parse_csv(void *common, const struct option_row *row, const char *value);
MUST_CHECK enum status bench_parse_json(void *common, const struct option_row *row,
                                       const char *value);
MUST_CHECK enum status bench_parse_help(void *common, const struct option_row *row,
                                       const char *value);

#endif
