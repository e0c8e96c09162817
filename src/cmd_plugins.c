#include "cmd_plugins.h"

#include <stdio.h>
#include <string.h>

struct plugins_command {
    const char *name;
    const char *help;
    enum status (*run)(int argc, char **argv);
};

static const struct plugins_command commands[] = {
    {"list", "lists the plugins of this machine, or those that some words tell", cmd_plugins_list},
    {"info", "tells what a plugin is, and how to use it", cmd_plugins_info},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_help(void)
{
    puts("usage: halo plugins WHAT [arguments]\n");
    for (size_t i = 0; i < COMMANDS; i++)
        printf("  %-12s %s\n", commands[i].name, commands[i].help);
    puts("\nhalo plugins WHAT --help tells more.");
}

enum status cmd_plugins(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(what, commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    if (strcmp(what, "--help") == 0 || strcmp(what, "-h") == 0) {
        print_help();
        return STATUS_OK;
    }
    if (!*what)
        return fail(STATUS_USAGE, "halo plugins list or info; halo plugins --help tells more");
    return fail(STATUS_USAGE,
                "halo plugins does not know '%s'; halo plugins --help lists what it does", what);
}
