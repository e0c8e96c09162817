#include "bench/bench_words.h"

enum status bench_take_csv(void *words, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct bench_words *)words)->form = BENCH_CSV;
    return STATUS_OK;
}

enum status bench_take_json(void *words, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct bench_words *)words)->form = BENCH_JSON;
    return STATUS_OK;
}

enum status bench_take_help(void *words, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct bench_words *)words)->help = true;
    return STATUS_OK;
}
