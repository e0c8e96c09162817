/* The interface to a sound system.
 *
 * A driver is one file with a struct device_driver, and a row of the table in device.c. device.c
 * chooses driver and device by name, detects a stalled device and abandons a close that hangs.
 * Threads: the control thread; close may be called by another one; device_process is called on the
 * driver's thread.
 */
#ifndef HALO_DEVICE_DRIVER_H
#define HALO_DEVICE_DRIVER_H

#include "live/device.h"

#include <pthread.h>
#include <stdatomic.h>

/* The channels that a step uses. */
struct device_channels {
    size_t opened; /* up to the highest mapped one */
    size_t count;
    size_t map[DEVICE_CHANNELS_MOST]; /* from 0 */
    bool mapped[DEVICE_CHANNELS_MOST];
};

struct device_slot {
    device_step *step;
    void *context;
};

/* Shared by the driver's thread and the control thread; what is not atomic is written before the
 * stream starts. */
struct device_stream {
    struct device_channels in;
    struct device_channels out;
    bool ordinary;  /* the thread keeps its priority */
    float *silence; /* DEVICE_FRAMES_MOST, in place of missing input */
    struct device_slot slot;
    struct device_slot *_Atomic current; /* NULL: silence */
    atomic_bool inside;                  /* the callback may be using `current` */
    atomic_size_t calls;
    atomic_size_t period;
    atomic_bool varies;
    atomic_int priority;
};

/* One block: `in` and `out` have the opened channels; NULL: no input, no output. `out` is written
 * completely. `lost`: sound was lost just before. False: no step runs, it is silence. Real-time. */
bool device_process(struct device_stream *stream, const float *const *in, float *const *out,
                    size_t frames, bool lost);

struct device_target {
    const struct device_request *request;
    const struct device_row *input; /* NULL: none */
    const struct device_row *output;
    const char *label; /* of input and output, for messages */
};

struct device_driver {
    const char *name; /* selected by --host-api NAME or --device NAME[:SPEC] */
    const char *spec; /* describes SPEC to users; NULL: it takes none */

    /* Start, and append the present devices with device_list_add. `spec` may be NULL. Errors: the
     * sound system's; close is called in any case. */
    enum status (*enumerate)(const char *spec, struct device_list *list);

    /* Open and start a stream, which calls device_process. Errors (one line): an unsupported rate,
     * no sound; close is called in any case. */
    enum status (*open)(const struct device_target *target, struct device_stream *stream);

    bool (*is_running)(void);                   /* false: the device is gone */
    void (*describe)(struct device_info *info); /* its rate and latencies */

    /* End the stream, if any, and release all devices. Errors: a file that the device wrote is not
     * complete. */
    enum status (*close)(void);
    void (*wake)(void); /* called repeatedly while close waits; may be NULL */
    bool noisy;         /* silence standard error during close */
    bool only_named;    /* used by its name alone, so never in place of a missing device */
};

/* Append a host API, then its devices; the driver fills in the rest of an entry before it adds the
 * next. Errors: memory. */
MUST_CHECK enum status device_list_add_host(struct device_list *list, const char *name,
                                            struct device_host **host);
MUST_CHECK enum status device_list_add(struct device_list *list, size_t host, const char *name,
                                       struct device_row **row);

/* ---- device_choose.c: the driver, devices and channels that a request names ---- */

struct device_choice {
    const struct device_row *input; /* of the list; NULL: none */
    const struct device_row *output;
    struct device_channels in;
    struct device_channels out;
};

/* If the request names this driver, alone or followed by a colon, remove that name and set *named
 * and *spec (what follows the colon). Errors (usage): two different specs. */
MUST_CHECK enum status device_choose_driver(const struct device_driver *driver,
                                            struct device_request *request, bool *named,
                                            const char **spec);

/* Errors: those of device_open. */
MUST_CHECK enum status device_choose(const struct device_request *request,
                                     const struct device_list *list, bool named,
                                     struct device_choice *choice);

/* ---- for drivers ---- */

/* Discard standard error between the two, since sound libraries log to it. Not nested. */
void device_hush(void);
void device_unhush(void);

#endif
