/* The interface to a sound system.
 *
 * A driver is one file with a struct device_driver, and a row of the table in device.c. device.c
 * chooses driver and device by name, detects a stalled device, and abandons a close that hangs.
 * Threads: control; close may be called on another one, device_process on the driver's thread. */
#ifndef HALO_DEVICE_DRIVER_H
#define HALO_DEVICE_DRIVER_H

#include "base/library.h"
#include "live/device/device.h"

#include <pthread.h>
#include <stdatomic.h>

/* The channels of one direction that a step uses. */
struct device_channels {
    size_t opened; /* channels that the driver opens: from the first to the highest one in `map` */
    size_t count;  /* number of the step's channels */
    size_t map[DEVICE_CHANNELS_MOST];  /* device channel of each channel of the step, from 0 */
    bool mapped[DEVICE_CHANNELS_MOST]; /* by device channel: it is in `map` */
};

/* Whether the step's channels are the device's first ones, in the device's order. */
static inline bool device_channels_are_first(const struct device_channels *channels)
{
    for (size_t c = 0; c < channels->count; c++)
        if (channels->map[c] != c)
            return false;
    return true;
}

/* A step and its context. */
struct device_slot {
    device_step *step;
    void *context;
};

/* Shared by driver's and control thread. Members that are not atomic are set before the start. */
struct device_stream {
    struct device_channels in;
    struct device_channels out;
    bool ordinary;           /* the driver's thread keeps its priority */
    float *silence;          /* DEVICE_FRAMES_MOST frames of silence, for missing input */
    struct device_slot slot; /* the step, while it runs */
    struct device_slot *_Atomic current; /* points to `slot`; NULL: play silence */
    atomic_bool inside;                  /* the callback may be using `current` */
    atomic_size_t calls;                 /* calls so far */
    atomic_size_t period;                /* frames of the last call */
    atomic_bool varies;                  /* the last calls differed in length */
    size_t steady;        /* calls in a row of this period; used by the driver's thread only */
    atomic_int priority;  /* real-time priority of the driver's thread, as in device_info */
    int64_t simulated_ns; /* the driver's time of this call; 0: use the monotonic clock */
    const char *_Atomic notice; /* message for users about the connections; NULL: none */
};

/* Runs the step for one call. `in` and `out`: opened channels, or NULL. Writes all of `out`.
 * `lost`: sound was lost before. Returns false if no step runs and `out` is silence. Real-time. */
bool device_process(struct device_stream *stream, const float *const *in, float *const *out,
                    size_t frames, bool lost);

/* What to open. */
struct device_target {
    const struct device_request *request;
    const struct device_row *input;  /* NULL: no input */
    const struct device_row *output; /* NULL: no output */
    const char *label;               /* names of input and output, for messages */
};

struct device_driver {
    const char *name;   /* selected by --driver NAME or --device NAME[:SPEC] */
    const char *spec;   /* describes SPEC to users; NULL: it takes none */
    const char *absent; /* error message if the user names the driver and it lists no host API */
    struct library *library; /* shared library that the functions below need; NULL: none */

    /* Starts the driver and appends its devices; none if its server does not run. `spec` may be
     * NULL. Errors: the sound system's. `end` is called in any case. */
    enum status (*enumerate)(const char *spec, struct device_list *list);

    /* Opens and starts a stream, which calls device_process. Called between enumerate and end.
     * *opened is NULL before. Errors (one line): an unsupported rate, no sound. If *opened was set,
     * `close` is called even after an error. */
    enum status (*open)(const struct device_target *target, struct device_stream *stream,
                        void **opened);

    bool (*is_running)(void *opened); /* returns false if the device is gone */
    void (*describe)(void *opened, struct device_info *info); /* sets rate, latencies and layout */
    void (*watch)(void *opened);                        /* called by device_state; may be NULL */
    void (*set_latency)(void *opened, uint64_t frames); /* takes the step's latency; may be NULL */

    /* Ends the stream and frees it. Errors: a file that the device wrote is not complete. */
    enum status (*close)(void *opened);
    void (*end)(void); /* releases what enumerate started; no stream is open */
    bool noisy; /* discard standard error during close and end, since the library writes to it */
    bool outlives_stalls; /* a stalled stream is not lost: is_running tells if the server is gone */
    bool mixes_to_mono;   /* a device of one channel plays the sum of all channels */
    bool has_sinks;       /* supports the `sink` and `loopback` of a request */
    bool only_named;      /* never used unless the user names it */
};

/* Appends a host API; its devices follow. Fill in each entry before the next. Errors: memory. */
MUST_CHECK enum status device_list_add_host(struct device_list *list, const char *name,
                                            struct device_host **host);
MUST_CHECK enum status device_list_add(struct device_list *list, size_t host, const char *name,
                                       struct device_row **row);

/* Name of the driver at index `number` of the table; NULL: the table has ended. */
const char *device_driver_name(size_t number);

/* ---- the driver, devices and channels that a request names ---- */

/* The devices and channels that fit a request. */
struct device_choice {
    const struct device_row *input; /* entry of the list; NULL: no input, or a sink */
    const struct device_row *output;
    const char *sink; /* name of a sink to make, as the input; NULL: none */
    struct device_channels in;
    struct device_channels out;
};

/* If the request names this driver, alone or followed by a colon, removes that name and sets *named
 * and *spec (the text after the colon). Errors (usage): two different specs. */
MUST_CHECK enum status device_choose_driver(const struct device_driver *driver,
                                            struct device_request *request, bool *named,
                                            const char **spec);

/* The driver that a name stands for, and its spec; NULL: the name is not a driver's. */
const struct device_driver *device_choose_named(const struct device_driver *const *drivers,
                                                size_t count, const char *name, const char **spec);

/* Whether `request` is the number of a device, as `halo devices` prints it. */
bool device_choose_is_number(const char *request);

/* Whether a device of the list has this name, or a name that contains it. */
bool device_choose_is_there(const struct device_list *list, const char *name);

/* Whether input and output name two drivers, or two specs of one. */
bool device_choose_names_two(const struct device_driver *const *drivers, size_t count,
                             const struct device_request *request);

/* Whether one stream can serve the chosen input and output. */
bool device_choice_has_one_clock(const struct device_choice *choice,
                                 const struct device_list *list);

/* Finds devices and channels for a request; `named`: it named the driver. Errors: device_open's. */
MUST_CHECK enum status device_choose(const struct device_request *request,
                                     const struct device_list *list, bool named,
                                     struct device_choice *choice);

/* ---- for drivers ---- */

/* Discards standard error until device_unhush, since sound libraries write to it. Do not nest. */
void device_hush(void);
void device_unhush(void);

#endif
