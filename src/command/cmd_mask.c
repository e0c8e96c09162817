#include "command/cmd_mask.h"

#include "base/subcommand.h"

static const struct subcommand commands[] = {
    {"show", "tells what a mask is, and what is wrong with it", cmd_mask_show},
    {"make", "makes one from a line of words: lowpass:1000", cmd_mask_make},
    {"plot", "draws masks over each other", cmd_mask_plot},
    {"convert", "writes a mask as another kind, or for another program", cmd_mask_convert},
    {0},
};

enum status cmd_mask(int argc, char **argv)
{
    return subcommand_run("halo mask", commands, argc, argv);
}
