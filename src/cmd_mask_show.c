#include "cmd_mask.h"

#include "mask.h"
#include "options.h"

#include <stdio.h>

struct settings {
    bool help;
    size_t count;
};

static enum status take_mask(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    struct mask *mask = NULL;
    enum status status = mask_load(value, false, &mask);
    if (status != STATUS_OK)
        return status;
    printf("%s: %u Hz, %zu channels, %zu taps\n", mask->name, mask->rate, mask->columns,
           mask->taps);
    mask_destroy(mask);
    ((struct settings *)context)->count++;
    return STATUS_OK;
}

static enum status take_help(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct settings *)context)->help = true;
    return STATUS_OK;
}

static const struct option_row rows[] = {
    {"help", 'h', NULL, "print this", take_help},
    {NULL, 0, NULL, NULL, take_mask},
};

enum status cmd_mask_show(int argc, char **argv)
{
    struct settings settings = {0};
    enum status status = options_parse(argc, argv, "halo mask show", rows, &settings);
    if (status != STATUS_OK)
        return status;
    if (settings.help) {
        puts("usage: halo mask show MASK... [options]\n\noptions:");
        options_print(stdout, rows, sizeof rows / sizeof *rows);
        return STATUS_OK;
    }
    if (settings.count == 0)
        return fail(STATUS_USAGE, "which mask? halo mask show --help tells more");
    return STATUS_OK;
}
