/* The interface to a sound system.
 *
 * A driver is one file with a struct device_driver, and a row of the table in device.c. device.c
 * chooses driver and device by name, detects a stalled device and abandons a close that hangs.
 * Threads: the control thread; close may be called by another one; device_process is called on the
 * driver's thread.
 */
#ifndef HALO_DEVICE_DRIVER_H
#define HALO_DEVICE_DRIVER_H

#include "base/library.h"
#include "live/device/device.h"

#include <pthread.h>
#include <stdatomic.h>

/* The channels that a step uses. */
struct device_channels {
    size_t opened; /* up to the highest mapped one */
    size_t count;
    size_t map[DEVICE_CHANNELS_MOST]; /* from 0 */
    bool mapped[DEVICE_CHANNELS_MOST];
};

/* Whether they are the device's first ones, in its order. */
static inline bool device_channels_are_first(const struct device_channels *channels)
{
    for (size_t c = 0; c < channels->count; c++)
        if (channels->map[c] != c)
            return false;
    return true;
}

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
    size_t steady; /* calls of this period in a row; the driver's thread */
    atomic_int priority;
    int64_t simulated_ns;       /* time of the call, set before it by the driver's thread; 0: the
                                   monotonic clock's */
    const char *_Atomic notice; /* what users should know of the connections; NULL: nothing */
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
    const char *name;        /* selected by --driver NAME or --device NAME[:SPEC] */
    const char *spec;        /* describes SPEC to users; NULL: it takes none */
    const char *absent;      /* the error where a user names it and it lists no host API */
    struct library *library; /* that it needs, open in all of the following; NULL: none */

    /* Start, and append the present devices with device_list_add; nothing where its server does not
     * run. `spec` may be NULL. Errors: the sound system's; end is called in any case. */
    enum status (*enumerate)(const char *spec, struct device_list *list);

    /* Open and start a stream, which calls device_process, after enumerate and before end. *opened
     * is NULL before. Errors (one line): an unsupported rate, no sound; close is called in any case
     * if *opened was set. */
    enum status (*open)(const struct device_target *target, struct device_stream *stream,
                        void **opened);

    bool (*is_running)(void *opened);                         /* false: the device is gone */
    void (*describe)(void *opened, struct device_info *info); /* its rate, latencies, layout */
    void (*watch)(void *opened);                        /* called with device_state; may be NULL */
    void (*set_latency)(void *opened, uint64_t frames); /* of the step; may be NULL */

    /* End the stream and free it. Errors: a file that the device wrote is not complete. */
    enum status (*close)(void *opened);
    void (*end)(void);    /* release what enumerate started; no stream is open */
    bool noisy;           /* silence standard error during close and end */
    bool outlives_stalls; /* no calls: not a loss, since is_running tells when the server is gone */
    bool mixes_to_mono;   /* a device of one channel plays what all are together */
    bool has_sinks;       /* does what a request's `sink` and `loopback` ask for */
    bool only_named;      /* used by its name alone, so never in place of a missing device */
};

/* Append a host API, then its devices; the driver fills in the rest of an entry before it adds the
 * next. Errors: memory. */
MUST_CHECK enum status device_list_add_host(struct device_list *list, const char *name,
                                            struct device_host **host);
MUST_CHECK enum status device_list_add(struct device_list *list, size_t host, const char *name,
                                       struct device_row **row);

/* The name of a driver of the table, by its number; NULL: there are no more. */
const char *device_driver_name(size_t number);

/* ---- the driver, devices and channels that a request names ---- */

struct device_choice {
    const struct device_row *input; /* of the list; NULL: none, or a sink */
    const struct device_row *output;
    const char *sink; /* to make, instead of an input; NULL: none */
    struct device_channels in;
    struct device_channels out;
};

/* If the request names this driver, alone or followed by a colon, remove that name and set *named
 * and *spec (what follows the colon). Errors (usage): two different specs. */
MUST_CHECK enum status device_choose_driver(const struct device_driver *driver,
                                            struct device_request *request, bool *named,
                                            const char **spec);

/* The driver that a name stands for, and its spec; NULL: none. */
const struct device_driver *device_choose_named(const struct device_driver *const *drivers,
                                                size_t count, const char *name, const char **spec);

/* Whether it is the number of a device, as "halo devices" counts them, and no name. */
bool device_choose_is_number(const char *request);

/* Whether `name`, or a part of it, is that of a device. */
bool device_choose_is_there(const struct device_list *list, const char *name);

/* Whether input and output name two drivers, or two specs of one. */
bool device_choose_names_two(const struct device_driver *const *drivers, size_t count,
                             const struct device_request *request);

/* Whether one stream can serve what was chosen. */
bool device_choice_has_one_clock(const struct device_choice *choice,
                                 const struct device_list *list);

/* Errors: those of device_open. */
MUST_CHECK enum status device_choose(const struct device_request *request,
                                     const struct device_list *list, bool named,
                                     struct device_choice *choice);

/* ---- for drivers ---- */

/* Discard standard error between the two, since sound libraries log to it. Not nested. */
void device_hush(void);
void device_unhush(void);

#endif
