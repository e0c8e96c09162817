/* Stands in for the commands that need PortAudio where it is not built in. */
#include "command/cmd_devices.h"
#include "command/cmd_live.h"
#include "listen/listen_session.h"

static enum status refuse(void)
{
    return fail(STATUS_FAILED, "this build has no live sound (halo --version says why); install "
                               "portaudio19-dev and build again");
}

enum status cmd_devices(int argc, char **argv)
{
    (void)argc, (void)argv;
    return refuse();
}

enum status cmd_live(int argc, char **argv)
{
    (void)argc, (void)argv;
    return refuse();
}

enum status listen_session_run(const struct listen_options *options)
{
    (void)options;
    return refuse();
}
