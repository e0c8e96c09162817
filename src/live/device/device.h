/* A running sound device, through one of the drivers (device_driver.h).
 *
 * One stream serves both directions: the step reads and writes the device's own buffers, and no
 * latency is added. If input and output have two clocks, each has a stream, with a bridge between
 * them (device_bridge.h). So it is with two devices of ALSA, or of two drivers. Rate and period are
 * then the output's. After device_open the device plays silence and discards its input, until
 * device_run sets a step. Stop a step before setting another. The device's period is the step's
 * block.
 * Units: frames, Hz, seconds. Channels count from 1 in the maps that users write, else from 0.
 * Threads: one control thread; the step is called on a thread of the device. One device at a time.
 */
#ifndef HALO_DEVICE_H
#define HALO_DEVICE_H

#include "base/status.h"
#include "signal/channel_layout.h"

#include <stdint.h>

enum { DEVICE_CHANNELS_MOST = 64 };
enum { DEVICE_FRAMES_MOST = 16384 }; /* most per call of a step */

enum device_latency { DEVICE_LATENCY_LOW, DEVICE_LATENCY_HIGH, DEVICE_LATENCY_SECONDS };

/* Zero and NULL stand for the system's default. */
struct device_request {
    /* name of a driver or of a host API, or an unambiguous part of the latter */
    const char *driver;
    const char *input;  /* a name, a part of one, an index of `halo devices`, or DRIVER:SPEC */
    const char *output; /* like `input` */
    const char *sink;   /* name of a virtual sink to make; its sound is the input */
    bool loopback;      /* the input is what is played to the default output */
    bool wants_input;
    bool wants_output;
    uint32_t rate;
    size_t block;            /* the period to request with low latency */
    size_t channels_in;      /* 0: as many as the device has, at most 2 */
    size_t channels_out;     /* 0: as many as the device has, at most 2 */
    const size_t *input_map; /* numbers of the device's channels, from 1; override channels_in */
    size_t input_map_count;
    const size_t *output_map; /* numbers of the device's channels, from 1; override channels_out */
    size_t output_map_count;
    /* DEVICE_LATENCY_LOW: four periods of `block`, if the host API allows it */
    enum device_latency latency;
    double latency_seconds; /* DEVICE_LATENCY_SECONDS only: latency of the device's buffer */
    /* The stream was lost and is opened again: restore its connections instead of the default
     * ones. */
    bool returns;
    /* DEVICE_LATENCY_LOW only: least latency of the buffer in seconds; 0: no lower limit */
    double latency_least;
    /* Layout of the step's channels. Unknown: the device's layout. */
    struct channel_layout layout_in, layout_out;
};

/* Properties of an open device. */
struct device_info {
    char host_api[64]; /* name of the host API, such as "ALSA" */
    char input[128];   /* empty: no input */
    char output[128];
    uint32_t rate;
    size_t channels_in;
    size_t channels_out;
    struct channel_layout layout_in; /* layout of the input; unknown if nothing states it */
    size_t period;                   /* frames of the last call */
    /* frames, best block for a step: the period, or a part of it if the period may change */
    size_t block;
    bool varies;             /* the last calls differed in length */
    bool follows_default;    /* the output follows the system's default device when that changes */
    uint64_t input_latency;  /* frames; 0: unknown */
    uint64_t output_latency; /* frames; 0: unknown */
    /* Seconds: latency of the buffer. If sound is lost, the device can be opened again with a
     * longer one (device_request.latency_least), up to `buffer_most`. 0: this is not possible. */
    double buffer;
    double buffer_most;
    int priority;    /* real-time priority; 0: not granted, -1: not requested */
    bool is_deaf;    /* the input cannot hear the output: it is a file or what programs play */
    bool has_bridge; /* input and output have two clocks, with a bridge between them */
    uint64_t bridge_latency; /* has_bridge only: frames of delay by the bridge, now */
    /* has_bridge only: how much faster the input's clock is than the output's, in ppm */
    double ratio_ppm;
};

enum device_state { DEVICE_RUNNING, DEVICE_CHANGED, DEVICE_LOST };

struct device;

/* A step. Planar: in[c] and out[c] are channels in the order of the maps. The step writes all of
 * `out`, which does not overlap `in`. `lost`: sound was lost just before this block (xrun).
 * Real-time. */
typedef void device_step(void *context, const float *const *in, float *const *out, size_t frames,
                         bool lost);

/* ---- the list of devices ---- */

/* A host API of the list, such as ALSA, JACK or PipeWire. */
struct device_host {
    char name[64];
    size_t devices; /* number of its devices */
    bool is_default;
    bool one_clock; /* its devices share a clock: one stream can use any two */
};

/* A device of the list. */
struct device_row {
    char name[128];
    char alias[128]; /* other name that selects the device; empty: none */
    const struct device_driver *driver;
    size_t index;          /* index among the rows of the same driver */
    bool only_named;       /* cannot be selected by its number and is never a default */
    size_t host;           /* index into hosts */
    size_t channels_in;    /* 0: cannot record */
    size_t channels_out;   /* 0: cannot play */
    double rate;           /* Hz, the device's default */
    double low_in;         /* seconds: a latency suggested by the host API; 0: unknown */
    double high_in;        /* seconds: a latency suggested by the host API; 0: unknown */
    double low_out;        /* seconds: a latency suggested by the host API; 0: unknown */
    double high_out;       /* seconds: a latency suggested by the host API; 0: unknown */
    bool default_in;       /* the host API's default input */
    bool default_out;      /* the host API's default output */
    bool default_loopback; /* its input is what is played to the default output */
};

/* The index of a row is the number that `halo devices` prints. Devices with `only_named` come
 * last. */
struct device_list {
    struct device_host *hosts;
    size_t host_count;
    struct device_row *rows;
    size_t count;
    const char *empty;  /* message if a sound server runs but has no devices; else NULL */
    const char *silent; /* message if a sound server runs but does not answer; else NULL */
};

/* Lists the present devices. Call it only while no device is open. Errors (the list is empty then):
 * the sound system's, memory. */
MUST_CHECK enum status device_list_init(struct device_list *list);
void device_list_free(struct device_list *list);

/* ---- a running device ---- */

/* Opens the device, starts to play silence, and determines the period. Takes up to 5 s with slow
 * devices. Errors (one line with the alternatives): no such device, an ambiguous name, an
 * unsupported rate or channel, no sound at all. */
MUST_CHECK enum status device_open(const struct device_request *request, struct device **device);

void device_info(const struct device *device, struct device_info *info);

/* Tells the sound system the latency of the step, in frames. Sound systems report it to other
 * programs. */
void device_set_latency(struct device *device, uint64_t frames);

/* Calls `step` from the next block on. Only while no step runs. */
void device_run(struct device *device, device_step *step, void *context);

/* Plays silence again. Returns false if the step has not returned after 2 s. Then nothing that the
 * step uses may be freed. */
bool device_stop(struct device *device);

/* State of the device; call it four times a second or more.
 * - DEVICE_LOST: the device is gone, or made no call for 1.5 s and its driver cannot tell why.
 *   Close it.
 * - DEVICE_CHANGED: the rate of the input or output is no longer that of the bridge. Close the
 *   device and open it again. */
enum device_state device_state(struct device *device);

/* Seconds for which the device has made no call, when device_state was last called. 0: it does not
 * stall. */
double device_stalled(const struct device *device);

/* Message about the device's connections, while it applies. NULL: none. */
const char *device_notice(const struct device *device);

/* Stops at once and closes the device; NULL is ignored. Takes at most 2 s if the sound server died,
 * or 4 s if a step hangs too. A close that hangs is abandoned. Then device_open fails until that
 * close returns. Errors: a file that the device wrote is not complete. */
enum status device_close(struct device *device);

/* Seconds since a close was abandoned that still hangs. 0: none hangs. */
double device_hangs(void);

/* ---- messages ---- */

/* Advice how to allow a real-time priority and locked memory. */
#define DEVICE_PRIORITY_ADVICE                                                                     \
    "add your user to the group audio or put '@audio - rtprio 95' in "                             \
    "/etc/security/limits.d/audio.conf"
#define DEVICE_MEMORY_ADVICE "put '@audio - memlock unlimited' in /etc/security/limits.d/audio.conf"

/* Writes "JACK: system", or "ALSA: in -> out" if input and output differ. */
void device_describe(const struct device_info *info, char *text, size_t size);

/* Locks the memory. Prints a note if real-time priority or locked memory is not granted, and how to
 * get it. */
void device_report_grants(const struct device_info *info);

#endif
