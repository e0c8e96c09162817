#include "lab_words.h"

enum status lab_parse_plot(void *common, const struct option_row *row, const char *value)
{
    (void)row;
    ((struct lab_common *)common)->plot = value;
    return STATUS_OK;
}

enum status lab_parse_read(void *common, const struct option_row *row, const char *value)
{
    (void)row;
    ((struct lab_common *)common)->read = value;
    return STATUS_OK;
}
