/* A running sound device, through one of the drivers (device_driver.h).
 *
 * One stream serves both directions: the step reads and writes the device's own buffers, and no
 * latency is added. Where input and output have two clocks, as two devices of ALSA or those of two
 * drivers have, each has a stream, and a bridge is between them (device_bridge.h): rate and period
 * are the output's. From device_open the device plays silence and discards its input, until
 * device_run sets a step; stop it before setting another. The device's period is the step's block.
 * Units: frames, Hz, seconds. Channels count from 1 in the maps, which users write, else from 0.
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

/* Zero and NULL: the system's default. */
struct device_request {
    const char *driver; /* its name, or that of a host API, or an unambiguous part of that */
    const char *input;  /* a name, a part of one, an index of `halo devices`, or DRIVER:SPEC */
    const char *output; /* as input */
    const char *sink;   /* make a sink of this name and take what is played to it as input */
    bool loopback;      /* take what is played to the default output as input */
    bool wants_input;
    bool wants_output;
    uint32_t rate;
    size_t block;            /* the period to request with low latency */
    size_t channels_in;      /* 0: the device's, at most 2 */
    size_t channels_out;     /* as channels_in */
    const size_t *input_map; /* the device's channels, from 1; override channels_in */
    size_t input_map_count;
    const size_t *output_map;
    size_t output_map_count;
    enum device_latency latency; /* LOW: four periods of `block` if the host allows it */
    double latency_seconds;      /* with DEVICE_LATENCY_SECONDS: of the device's buffer */
    bool returns; /* continues the stream before: with its connections, not with those of default */
    double latency_least; /* seconds, with LOW: what it was widened to; 0: not widened */
    struct channel_layout layout_in, layout_out; /* what the step's channels are; unknown: what the
                                                    device says */
};

/* Actual values. */
struct device_info {
    char host_api[64];
    char input[128]; /* empty: none */
    char output[128];
    uint32_t rate;
    size_t channels_in;
    size_t channels_out;
    struct channel_layout layout_in; /* unknown: nothing says so */
    size_t period;                   /* frames of the last call */
    size_t block;            /* best for a step: the period, or a part of it if that may change */
    bool varies;             /* calls differ in length, the last ones too */
    bool follows_default;    /* the output is the system's default one, as that changes */
    uint64_t input_latency;  /* frames; 0: unknown */
    uint64_t output_latency; /* as input_latency */
    double buffer;      /* seconds; open it again with up to buffer_most, as latency_least, if */
    double buffer_most; /* it loses sound; 0: keep it */
    int priority;       /* real-time; 0: not granted, -1: not requested */
    bool is_deaf;       /* the input cannot hear the output: a file, or what programs play */
    bool has_bridge;    /* input and output have two clocks: the next two are known */
    uint64_t bridge_latency; /* frames that it adds now */
    double ratio_ppm;        /* the input's clock is faster than the output's */
};

enum device_state { DEVICE_RUNNING, DEVICE_CHANGED, DEVICE_LOST };

struct device;

/* Planar: in[c] and out[c] are channels in the order of the maps. The step writes all of `out`,
 * which does not overlap `in`. `lost`: an overrun or underrun just before this block. Real-time. */
typedef void device_step(void *context, const float *const *in, float *const *out, size_t frames,
                         bool lost);

/* ---- the list of devices ---- */

struct device_host {
    char name[64];
    size_t devices;
    bool is_default;
    bool one_clock; /* its devices share a clock, so that one stream serves any two */
};

struct device_row {
    char name[128];
    char alias[128]; /* another name, by which it can be chosen as well; empty: none */
    const struct device_driver *driver;
    size_t index;        /* in the driver's list */
    bool only_named;     /* not chosen by its index, nor as a default */
    size_t host;         /* index into hosts */
    size_t channels_in;  /* 0: cannot record */
    size_t channels_out; /* 0: cannot play */
    double rate;         /* Hz, the device's default */
    double low_in;       /* seconds, latencies suggested by the host API; 0: unknown */
    double high_in;
    double low_out;
    double high_out;
    bool default_in; /* of its host API */
    bool default_out;
    bool default_loopback; /* records what is played to the default output */
};

/* The index of a row is the device's index in a request; those that are only named come last. */
struct device_list {
    struct device_host *hosts;
    size_t host_count;
    struct device_row *rows;
    size_t count;
    const char
        *empty; /* what to say of a sound server that runs without devices; NULL: none does */
    const char *silent; /* the same of one that is there and does not answer */
};

/* The present devices; only while none is open. Errors: the sound system's, memory; the list is
 * empty then. */
MUST_CHECK enum status device_list_init(struct device_list *list);
void device_list_free(struct device_list *list);

/* ---- a running device ---- */

/* Open and start playing silence, and determine the period; takes up to 5 s with slow devices.
 * Errors (one line with the alternatives): no such device, an ambiguous name, an unsupported rate
 * or channel, no sound at all. */
MUST_CHECK enum status device_open(const struct device_request *request, struct device **device);

void device_info(const struct device *device, struct device_info *info);

/* The latency of the step in frames, for a sound system that reports latencies to other programs.
 */
void device_set_latency(struct device *device, uint64_t frames);

/* Call `step` from the next block on. Only while none runs. */
void device_run(struct device *device, device_step *step, void *context);

/* Back to silence. False: after 2 s the step has not returned, and what it uses must stay. */
bool device_stop(struct device *device);

/* LOST: the device is gone, or made no call for 1.5 s and cannot tell whether it is: close it.
 * CHANGED: input or output has another rate than the bridge between them: close it, and open it
 * again. Call it four times a second or more. */
enum device_state device_state(struct device *device);

/* Seconds without a call, as device_state saw it, of a device that runs; 0: it is not stalled. */
double device_stalled(const struct device *device);

/* A condition that users should know while it lasts; NULL: none. */
const char *device_notice(const struct device *device);

/* Stop at once and close; NULL is ignored. Takes 2 s at most, even if the sound server died, or 4 s
 * if a step hangs too. A close that hangs is abandoned, and device_open fails until it returns.
 * Errors: a file that the device wrote is not complete. */
enum status device_close(struct device *device);

/* Seconds since a close was abandoned that has not returned; 0: none. */
double device_hangs(void);

/* ---- messages ---- */

/* What allows a real-time priority, and locked memory. */
#define DEVICE_PRIORITY_ADVICE                                                                     \
    "add your user to the group audio or put '@audio - rtprio 95' in "                             \
    "/etc/security/limits.d/audio.conf"
#define DEVICE_MEMORY_ADVICE "put '@audio - memlock unlimited' in /etc/security/limits.d/audio.conf"

/* "JACK: system", or "ALSA: in -> out" if the two differ. */
void device_describe(const struct device_info *info, char *text, size_t size);

/* Lock the memory, and note which real-time privileges are missing and how to get them. */
void device_report_grants(const struct device_info *info);

#endif
