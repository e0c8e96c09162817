/* Stands in for what needs PortAudio where it is not built in. */
#include "command/commands.h"
#include "listen/listen_play.h"
#include "live/live_options.h"

static enum status refuse(void)
{
    return fail(STATUS_FAILED, "this build has no live sound (halo --version says why); install "
                               "portaudio19-dev and build again");
}

static enum status refuse_devices(int argc, char **argv)
{
    (void)argc, (void)argv;
    return refuse();
}

const struct command command_devices = {
    .name = "halo devices",
    .summary = "list the sound devices of this machine",
    .main = refuse_devices,
};

enum status live_run(void *options)
{
    (void)options;
    return refuse();
}

enum status listen_play(const struct listen_options *options)
{
    (void)options;
    return refuse();
}
