/* halo: picks the command. */
#include "base/build_info.h"
#include "base/commit.h"
#include "base/status.h"
#include "base/stop.h"
#include "bench/cmd_bench.h"
#include "command/cmd_chain.h"
#include "command/cmd_devices.h"
#include "command/cmd_listen.h"
#include "command/cmd_live.h"
#include "command/cmd_mask.h"
#include "command/cmd_plugins.h"
#include "command/cmd_render.h"
#include "command/cmd_spectrogram.h"
#include "plugin/plugin_isolated.h"
#include "plugin/plugin_scanner.h"
#include "signal/fft.h"

#include <fcntl.h>
#include <jansson.h>
#include <sndfile.h>
#include <soxr.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct command {
    const char *name;
    const char *help; /* NULL: for halo itself, which runs it as a child */
    enum status (*run)(int argc, char **argv);
};

static const struct command commands[] = {
    {"render", "filter a sound file", cmd_render},
    {"live", "filter a microphone", cmd_live},
    {"listen", "play a sound through masks and compare them, blind if you like", cmd_listen},
    {"devices", "list the sound devices of this machine", cmd_devices},
    {"mask", "look at masks, and make them", cmd_mask},
    {"spectrogram", "draw the spectrograms of sounds", cmd_spectrogram},
    {"plugins", "list audio plugins, and tell what one is", cmd_plugins},
    {"chain", "check a chain of stages that is kept in a file", cmd_chain},
    {"bench", "measure parts of the program on this machine", cmd_bench},
    {"plugin-instances", NULL, plugin_instances_serve},
    {"plugin-scanner", NULL, cmd_plugin_scanner},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_help(void)
{
    puts("usage: halo COMMAND [arguments]\n\n"
         "Convolve sound with filter masks (impulse responses).\n\n"
         "commands:");
    for (size_t i = 0; i < COMMANDS; i++)
        if (commands[i].help)
            printf("  %-12s %s\n", commands[i].name, commands[i].help);
    puts("\noptions:\n"
         "  -h, --help       print this\n"
         "  -V, --version    print the version and what is built in\n\n"
         "halo COMMAND --help tells about a command; man halo tells it all.");
}

static void print_version(void)
{
    printf("halo %s%s\n"
           "cuda: %s\n"
           "portaudio: %s\n"
           "lv2: %s\n"
           "ladspa: %s\n"
           "lv2_plugin: %s\n"
           "screen: %s\n"
           "osc: %s\n"
           "with %s, %s, soxr %s, jansson %s\n",
           HALO_VERSION, HALO_COMMIT, HALO_CUDA_TEXT, HALO_PORTAUDIO_TEXT, HALO_LV2_TEXT,
           HALO_LADSPA_TEXT, HALO_LV2_PLUGIN_TEXT, HALO_SCREEN_TEXT, HALO_OSC_TEXT,
           sf_version_string(), fft_library(), soxr_version(), jansson_version_str());
}

static const struct command *command_named(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static enum status run(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : NULL;
    if (!word)
        return fail(STATUS_USAGE, "which command? halo --help lists them");
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        print_help();
        return STATUS_OK;
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        print_version();
        return STATUS_OK;
    }
    const struct command *command = command_named(word);
    if (!command)
        return fail(STATUS_USAGE, "there is no command '%s'; halo --help lists them", word);
    return command->run(argc - 1, argv + 1);
}

/* A standard descriptor that is closed would become the next file that is opened,
 * and messages would go into it. */
static void open_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
            _exit(STATUS_FAILED);
}

int main(int argc, char **argv)
{
    open_standard_files();
    enum status status = run(argc, argv);
    if (status == STATUS_INTERRUPTED) {
        note("stopped");
        stop_raise_again();
        status = STATUS_FAILED;
    }
    if (status == STATUS_OK && (fflush(stdout) != 0 || ferror(stdout)))
        status = fail(STATUS_FAILED, "cannot write standard output");
    return (int)status;
}
