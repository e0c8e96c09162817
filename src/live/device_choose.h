/* From what a user asked for to PortAudio's devices and their formats.
 *
 * Private to device*.c. Threads: the control thread.
 */
#ifndef HALO_DEVICE_CHOOSE_H
#define HALO_DEVICE_CHOOSE_H

#include "live/device_stream.h"

struct device_choice {
    PaDeviceIndex input; /* paNoDevice: none */
    PaDeviceIndex output;
    struct device_channels in;
    struct device_channels out;
    double rate;
    double latency; /* seconds, to suggest */
};

/* Errors (usage or failed): as device_open's. */
MUST_CHECK enum status device_choose(const struct device_request *request, struct device_choice *choice);

/* The devices' own words for a direction, as PortAudio takes them. */
PaStreamParameters device_choose_parameters(PaDeviceIndex device,
                                            const struct device_channels *channels, double latency);

#endif
