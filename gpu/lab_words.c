#include "lab_words.h"

enum status lab_take_plot(void *words, const struct option_row *row, const char *value)
{
    (void)row;
    ((struct lab_words *)words)->plot = value;
    return STATUS_OK;
}

enum status lab_take_read(void *words, const struct option_row *row, const char *value)
{
    (void)row;
    ((struct lab_words *)words)->read = value;
    return STATUS_OK;
}
