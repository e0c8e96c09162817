/* Stands in for cmd_devices.c where PortAudio is not built in. */
#include "cmd_devices.h"

enum status cmd_devices(int argc, char **argv)
{
    (void)argc, (void)argv;
    return fail(STATUS_FAILED, "this build has no live sound (halo --version says why); install "
                               "portaudio19-dev and build again");
}
