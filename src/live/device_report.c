#include "live/device_report.h"

#include "base/realtime.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void device_describe(const struct device_info *info, char *text, size_t size)
{
    bool both = info->input[0] && strcmp(info->input, info->output) != 0;
    snprintf(text, size, "%s: %s%s%s", info->host_api, both ? info->input : info->output,
             both ? " -> " : "", both ? info->output : "");
}

void device_report_grants(const struct device_info *info)
{
    if (info->priority == 0)
        note("no real-time priority: expect drop-outs under load; to allow it, add your user to "
             "the group audio or put '@audio - rtprio 95' in /etc/security/limits.d/audio.conf");
    if (!realtime_lock_memory())
        note("memory cannot be locked (%s); to allow it, put '@audio - memlock unlimited' in "
             "/etc/security/limits.d/audio.conf",
             strerror(errno));
}
