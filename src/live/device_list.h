/* The sound devices of this machine, as they are now.
 *
 * Threads: the control thread, while no device is open.
 */
#ifndef HALO_DEVICE_LIST_H
#define HALO_DEVICE_LIST_H

#include "base/status.h"

struct device_host {
    char name[64];
    size_t devices;
    bool is_default;
};

struct device_row {
    char name[128];
    size_t host;         /* index into hosts */
    size_t channels_in;  /* 0: cannot record */
    size_t channels_out; /* 0: cannot play */
    double rate;         /* Hz, the device's default */
    double low_in;       /* seconds, the latencies that the host API suggests; 0: not known */
    double high_in;
    double low_out;
    double high_out;
    bool default_in; /* of its host API */
    bool default_out;
};

/* Rows are in the order of their indices, by which device_open knows them too. */
struct device_list {
    struct device_host *hosts;
    size_t host_count;
    struct device_row *rows;
    size_t count;
};

/* Errors: the sound system's, memory. On failure the list is empty and safe to free. */
MUST_CHECK enum status device_list_init(struct device_list *list);
void device_list_free(struct device_list *list);

#endif
