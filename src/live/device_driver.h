/* A sound system as halo sees it.
 *
 * A driver is one file, which ends with a struct device_driver, and a row of the table in
 * device.c. device.c chooses a driver and one of its devices by name, watches whether calls
 * come, and lets a close that hangs go on by itself; the driver moves sound.
 * Threads: all calls come from the control thread, but for close, which may come from another;
 * device_process is called on the driver's own thread.
 */
#ifndef HALO_DEVICE_DRIVER_H
#define HALO_DEVICE_DRIVER_H

#include "live/device.h"

#include <pthread.h>
#include <stdatomic.h>

/* The device's channels that a step sees. */
struct device_channels {
    size_t opened; /* up to the highest one mapped */
    size_t count;
    size_t map[DEVICE_CHANNELS_MOST]; /* from 0 */
    bool mapped[DEVICE_CHANNELS_MOST];
};

struct device_slot {
    device_step *step;
    void *context;
};

/* What the driver's thread and the control thread share: what is atomic; the rest is written
 * before the stream starts. */
struct device_stream {
    struct device_channels in;
    struct device_channels out;
    bool ordinary;  /* the thread is to keep its priority */
    float *silence; /* DEVICE_FRAMES_MOST, for input that does not come */
    struct device_slot slot;
    struct device_slot *_Atomic current; /* NULL: silence */
    atomic_bool inside;                  /* the callback may be using `current` */
    atomic_size_t calls;
    atomic_size_t period;
    atomic_bool varies;
    atomic_int priority;
};

/* A block of the device: `in` (NULL: none came) and `out` (NULL: none is played) have as many
 * channels as are opened, and `out` is written whole. `lost`: sound was lost just before.
 * True: a step made it; false: it is silence. Real-time. */
bool device_process(struct device_stream *stream, const float *const *in, float *const *out,
                    size_t frames, bool lost);

/* What is to be opened. */
struct device_target {
    const struct device_request *request;
    const struct device_row *input; /* NULL: none */
    const struct device_row *output;
    const char *label; /* of both ends, for messages */
};

struct device_driver {
    const char *name; /* --host-api NAME or --device NAME[:SPEC] chooses it alone */
    const char *spec; /* the form of SPEC, for people; NULL: it takes none */

    /* Begin, look for devices afresh and append them with device_list_add. `spec`: NULL where
     * none was given. Errors: the sound system's; close is called in any case. */
    enum status (*enumerate)(const char *spec, struct device_list *list);

    /* Open a stream and start it: it calls device_process from now on. Errors (one line): a rate
     * it has not, no sound; close is called in any case. */
    enum status (*open)(const struct device_target *target, struct device_stream *stream);

    bool (*is_running)(void);                   /* false: the device has gone */
    void (*describe)(struct device_info *info); /* its rate and latencies */

    /* End the stream, where there is one, and let go of all devices. */
    void (*close)(void);
    void (*wake)(void); /* called over and over while close takes long; may be NULL */
    bool noisy;         /* close is to be hushed */
};

/* An entry for each host API, then for each of its devices: the driver fills in the rest, before
 * the next is added. Errors: memory. */
MUST_CHECK enum status device_list_add_host(struct device_list *list, const char *name,
                                            struct device_host **host);
MUST_CHECK enum status device_list_add(struct device_list *list, size_t host, const char *name,
                                       struct device_row **row);

/* A thread that no signal reaches. False: there is none. */
bool device_thread_start(pthread_t *thread, void *(*run)(void *context), void *context);

/* Between the two, standard error leads nowhere: sound libraries write there whatever they
 * try, and have no other way. Not nested. */
void device_hush(void);
void device_unhush(void);

#endif
