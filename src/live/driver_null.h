/* The device null's parts: driver_null.c opens and closes it, driver_null_spec.c reads its spec,
 * driver_null_thread.c is its thread and its time. Private to them. Threads: the control thread,
 * but for what the thread itself does.
 */
#ifndef HALO_DRIVER_NULL_H
#define HALO_DRIVER_NULL_H

#include "live/device_driver.h"

#include "sound/port.h"

enum { NULL_DEVICES = 2 };

enum null_key {
    NULL_RATE,
    NULL_CHANNELS,
    NULL_PERIOD,
    NULL_PACE,
    NULL_JITTER,
    NULL_VARY,
    NULL_DRIFT,
    NULL_STEP,
    NULL_AFTER,
    NULL_XRUN,
    NULL_LOSE,
    NULL_BACK,
    NULL_TURN,
    NULL_TO,
    NULL_NUMBERS
};

struct null_device {
    char *spec;
    double number[NULL_NUMBERS];
    const char *in, *out; /* paths, in `spec`; NULL: none */
    struct source *source;
    bool has_ended; /* its sound */
    struct sink *sink;
    struct block input, output; /* a call's */
    struct device_stream *stream;
    pthread_t thread;
    unsigned random; /* the state */
    bool started;
    atomic_bool leaving;
    atomic_bool gone;          /* the device was lost */
    atomic_uint_fast32_t rate; /* now: from frame NULL_TURN on NULL_TO */
    bool was_lost;             /* the previous stream; this one is not */
    double away;               /* times that opening will fail */
    uint64_t written;          /* frames, to `sink` */
    bool broken;               /* a file failed: the device does not come back */
    int64_t due;      /* turns.lock; simulated, of the next call; 0: it takes no turns yet */
    bool takes_turns; /* turns.lock */
};

/* Those that were enumerated come first. */
extern struct null_device null_devices[NULL_DEVICES];

extern const char null_form[]; /* of a spec, for users */

/* NULL: of nothing. Opens its sound. Errors (usage): the spec; those of the sound. */
MUST_CHECK enum status null_spec_parse(struct null_device *null, const char *spec);

/* Whether it takes its calls in turn with the other devices; the thread does not run, or ends. */
void null_take_turns(struct null_device *null, bool takes);

/* Errors: no thread. */
MUST_CHECK enum status null_thread_start(struct null_device *null);
void null_thread_stop(struct null_device *null);

#endif
