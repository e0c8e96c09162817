#include "command/cmd_plugins.h"

#include "base/subcommand.h"

static const struct subcommand commands[] = {
    {"list", "lists the plugins of this machine, or those that some words tell", cmd_plugins_list},
    {"info", "tells what a plugin is, and how to use it", cmd_plugins_info},
    {0},
};

enum status cmd_plugins(int argc, char **argv)
{
    return subcommand_run("halo plugins", commands, argc, argv);
}
