#include "command/cmd_plugins.h"

#include "base/subcommand.h"

static const struct subcommand commands[] = {
    {"list", "lists the installed plugins, or those that match some words", cmd_plugins_list},
    {"info", "describes a plugin, and how to use it", cmd_plugins_info},
    {0},
};

enum status cmd_plugins(int argc, char **argv)
{
    return subcommand_run("halo plugins", commands, argc, argv);
}
