#include "view/live_status.h"

#include <math.h>

size_t live_status_latency(const struct live_status *status)
{
    return status->latency_input + status->latency_mask + status->latency_plugins +
           status->latency_output + status->latency_adapter;
}

struct live_status live_status_to_show(const struct live_status *status)
{
    struct live_status shown = *status;
    if (!status->hidden)
        return shown;
    shown.chosen = 0;
    shown.switching = false;
    shown.control = (struct live_status_control){0};
    shown.outputs = 0;
    shown.out = NULL;
    shown.reduction_db = NAN;
    shown.load_now = shown.load_p99 = shown.load_worst = NAN;
    return shown;
}
