#include "cmd_mask.h"

#include <stdio.h>
#include <string.h>

struct mask_command {
    const char *name;
    const char *help;
    enum status (*run)(int argc, char **argv);
};

static const struct mask_command commands[] = {
    {"show", "tells what a mask is, and what is wrong with it", cmd_mask_show},
    {"make", "makes one from a line of words: lowpass:1000", cmd_mask_make},
    {"plot", "draws masks over each other", cmd_mask_plot},
    {"convert", "writes a mask as another kind, or for another program", cmd_mask_convert},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_help(void)
{
    puts("usage: halo mask WHAT [arguments]\n");
    for (size_t i = 0; i < COMMANDS; i++)
        printf("  %-12s %s\n", commands[i].name, commands[i].help);
    puts("\nhalo mask WHAT --help tells more.");
}

enum status cmd_mask(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(what, commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    if (strcmp(what, "--help") == 0 || strcmp(what, "-h") == 0) {
        print_help();
        return STATUS_OK;
    }
    return fail(STATUS_USAGE, "halo mask does not know '%s'; halo mask --help lists what it does",
                what);
}
