#include "convolve/gpu_devices.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum status gpu_devices_parse(const char *option, const char *value, struct gpu_devices *devices)
{
    *devices = (struct gpu_devices){.all = strcmp(value, "all") == 0};
    for (const char *at = value; !devices->all; at++) {
        char *end;
        unsigned long device = strtoul(at, &end, 10);
        if (!isdigit((unsigned char)*at) || device >= GPU_MOST || (*end && *end != ',') ||
            devices->count == GPU_MOST)
            return fail(CAUSE_USAGE, "--%s is all or GPU numbers such as 0,2, not '%s'", option,
                        value);
        devices->of[devices->count++] = (unsigned char)device;
        at = end;
        if (!*at)
            break;
    }
    return STATUS_OK;
}

enum status gpu_devices_check_one(const struct gpu_devices *devices)
{
    return devices->all || devices->count > 1
               ? fail(CAUSE_USAGE, "a stream or a file runs on one GPU: name one, such as "
                                   "--devices 0; halo batch takes several")
               : STATUS_OK;
}
