/* A sound device that runs: blocks come in from it and go out to it at its own pace.
 *
 * One stream does both directions, so that a step reads and writes the device's own
 * buffers and no block of delay is added. From device_open on the device plays silence and
 * throws its input away, until device_run names a step; a new step is named when the one
 * before was stopped. The device's period decides how many frames a step gets.
 * Units: frames, Hz, seconds. Channels of a device are counted from 1 where a person
 * writes them (the maps), from 0 everywhere else.
 * Threads: one control thread, which opens, runs, stops, asks and closes; the step is
 * called on a thread of the device. One device at a time.
 * The sound systems behind this are drivers (device_driver.h).
 */
#ifndef HALO_DEVICE_H
#define HALO_DEVICE_H

#include "base/status.h"

#include <stdint.h>

enum { DEVICE_CHANNELS_MOST = 64 };
enum { DEVICE_FRAMES_MOST = 16384 }; /* a step never gets more at a time */

enum device_latency { DEVICE_LATENCY_LOW, DEVICE_LATENCY_HIGH, DEVICE_LATENCY_SECONDS };

/* What a user asked for. Zero and NULL: as the system has it. */
struct device_request {
    const char *host_api; /* its name, or a part that no other has */
    const char *input;    /* a name, a part of one, an index of `halo devices`, or DRIVER:SPEC */
    const char *output;   /* likewise */
    bool wants_input;
    bool wants_output;
    uint32_t rate;
    size_t block;            /* the period to ask for where the latency is low; a request */
    size_t channels_in;      /* 0: the device's, but not more than 2 */
    size_t channels_out;     /* likewise */
    const size_t *input_map; /* the device's channels, counted from 1; they make channels_in */
    size_t input_map_count;
    const size_t *output_map;
    size_t output_map_count;
    enum device_latency latency; /* LOW: four periods of `block` where the host does as told */
    double latency_seconds;      /* DEVICE_LATENCY_SECONDS: of the device's buffer */
};

/* What the device does. */
struct device_info {
    char host_api[64];
    char input[128]; /* empty: none */
    char output[128];
    uint32_t rate;
    size_t channels_in;
    size_t channels_out;
    size_t period;           /* frames of the latest call */
    bool varies;             /* the calls were not all of one length */
    uint64_t input_latency;  /* frames; 0: the device does not say */
    uint64_t output_latency; /* likewise */
    int priority; /* of the device's thread, real-time; 0: not granted, -1: not asked for */
};

enum device_state { DEVICE_RUNNING, DEVICE_LOST };

struct device;

/* Planar: in[c] and out[c] are channels in the maps' order. All of `out` must be written,
 * at the same place as `in` is read if need be: the two do not overlap. `lost`: input was
 * lost or output ran dry just before this block. Real-time. */
typedef void device_step(void *context, const float *const *in, float *const *out, size_t frames,
                         bool lost);

/* ---- what there is ---- */

struct device_host {
    char name[64];
    size_t devices;
    bool is_default;
};

struct device_row {
    char name[128];
    const struct device_driver *driver;
    size_t index;        /* in the driver's own list */
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

/* The sound devices of this machine as they are now, while none is open. Errors: the sound
 * system's, memory. On failure the list is empty and safe to free. */
MUST_CHECK enum status device_list_init(struct device_list *list);
void device_list_free(struct device_list *list);

/* ---- one that runs ---- */

/* Open and start: silence plays, and the period is learnt. Takes up to 5 s where a device
 * is slow to begin. Errors (one line that says what there is to choose from): no such
 * device, more than one of that name, a rate or channels it has not, no sound at all. */
MUST_CHECK enum status device_open(const struct device_request *request, struct device **device);

/* What is known by now: period and varies follow the device. */
void device_info(const struct device *device, struct device_info *info);

/* From the next block on `step` makes the sound. Only where none runs. */
void device_run(struct device *device, device_step *step, void *context);

/* Back to silence. True: no step runs any more. False: after 2 s one still hangs in the
 * device's thread, and what it uses must stay. */
bool device_stop(struct device *device);

/* LOST: the device has gone, or made no call for 1.5 s: close it. To be asked often, four
 * times a second or so. */
enum device_state device_state(struct device *device);

/* Ends the sound at once and closes; NULL is welcome. Takes 2 s at most, also where the
 * server behind the device died, 4 s where a step hangs too; what hangs is left behind, and
 * device_open refuses as long as it hangs. A device that was lost can be opened again when it is
 * back. */
void device_close(struct device *device);

/* ---- for people ---- */

/* "JACK: system", or with both ends where they differ. */
void device_describe(const struct device_info *info, char *text, size_t size);

/* Locks the memory, and notes what the system does not grant and how it would. */
void device_report_grants(const struct device_info *info);

#endif
