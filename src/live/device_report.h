/* What a person is told of a sound device. Threads: the control thread. */
#ifndef HALO_DEVICE_REPORT_H
#define HALO_DEVICE_REPORT_H

#include "live/device.h"

#include <stddef.h>

/* "JACK: system", or with both ends where they differ. */
void device_describe(const struct device_info *info, char *text, size_t size);

/* Locks the memory, and notes what the system does not grant and how it would. */
void device_report_grants(const struct device_info *info);

#endif
