#include "bench/bench_common.h"

enum status bench_parse_csv(void *common, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct bench_common *)common)->form = BENCH_CSV;
    return STATUS_OK;
}

enum status bench_parse_json(void *common, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct bench_common *)common)->form = BENCH_JSON;
    return STATUS_OK;
}

enum status bench_parse_help(void *common, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct bench_common *)common)->help = true;
    return STATUS_OK;
}
