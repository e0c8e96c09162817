/* A running sound device, through one of the drivers (device_driver.h).
 *
 * One stream serves both directions: the step reads and writes the device's own buffers, and no
 * latency is added. If input and output have two clocks, each has a stream, with a bridge between
 * them (device_bridge.h). So it is with two devices of ALSA, or of two drivers. Rate and period are
 * then the output's. After device_open the device plays silence and discards its input, until
 * device_run sets a step. Stop a step before setting another. The step's block is the period.
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
    const char *driver; /* name of a driver or host API, or an unambiguous part of the latter */
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
    enum device_latency latency; /* DEVICE_LATENCY_LOW: four periods of `block`, if possible */
    double latency_seconds;      /* DEVICE_LATENCY_SECONDS only: latency of the device's buffer */
    bool returns; /* reopening after a loss: restore the connections, not the default ones */
    double latency_least; /* DEVICE_LATENCY_LOW: least seconds of the buffer; 0: no limit */
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
    size_t block; /* frames: best for a step; the period, or a part if the period may change */
    bool varies;  /* the last calls differed in length */
    bool follows_default;    /* the output follows the system's default device when that changes */
    uint64_t input_latency;  /* frames; 0: unknown */
    uint64_t output_latency; /* frames; 0: unknown */
    /* Seconds: latency of the buffer. If sound is lost, the device can be opened again with a
     * longer one (device_request.latency_least), up to `buffer_most`. 0: this is not possible. */
    double buffer;
    double buffer_most;
    int priority;     /* real-time priority; 0: not granted, -1: not requested */
    bool is_deaf;     /* the input cannot hear the output: it is a file or what programs play */
    bool has_bridge;  /* input and output have two clocks, with a bridge between them */
    uint32_t rate_in; /* rate of the input: another one than `rate` only with has_bridge */
    uint64_t bridge_latency; /* has_bridge only: frames of delay by the bridge, now */
    double ratio_ppm;        /* has_bridge only: ppm by which the input's clock is faster */
};

enum device_state { DEVICE_RUNNING, DEVICE_CHANGED, DEVICE_LOST };

struct device;

/* A step. Planar: in[c] and out[c] are channels in the order of the maps. The step writes all of
 * `out`, which does not overlap `in`. `lost`: sound was lost just before (xrun). Real-time. */
typedef void device_step(void *context, const float *const *in, float *const *out, size_t frames,
                         bool lost);

/* ---- the list of devices ---- */

/* A host API of the list, such as ALSA, JACK or PipeWire. */
struct device_host {
    char name[64];
    size_t devices; /* number of its devices */
    bool is_default;
    bool one_clock; /* the devices share a clock, so one stream can use any two */
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
    bool default_loopback; /* the input is the sound that the default output plays */
};

/* The index of a row is its number in `halo devices`. Devices with `only_named` come last. */
struct device_list {
    struct device_host *hosts;
    size_t host_count;
    struct device_row *rows;
    size_t count;
    const char *empty;  /* message if a sound server runs but has no devices; else NULL */
    const char *silent; /* message if a sound server runs but does not answer; else NULL */
};

/* Lists the devices, while none is open. Errors (empty list): the sound system's, memory. */
MUST_CHECK enum status device_list_init(struct device_list *list);
void device_list_free(struct device_list *list);

/* ---- a running device ---- */

/* Opens the device, starts to play silence, and determines the period. Takes up to 5 s with slow
 * devices. Errors (one line with the alternatives): no such device, an ambiguous name, an
 * unsupported rate or channel, no sound at all. */
MUST_CHECK enum status device_open(const struct device_request *request, struct device **device);

void device_info(const struct device *device, struct device_info *info);

/* Tells the sound system the step's latency in frames, for other programs. */
void device_set_latency(struct device *device, uint64_t frames);

/* Calls `step` from the next block on. Only while no step runs. */
void device_run(struct device *device, device_step *step, void *context);

/* With two clocks (has_bridge), without the bridge: calls of the input run `record`, calls of the
 * output `play`, each on its own thread and with the other direction's channels invalid. */
void device_run_sides(struct device *device, device_step *record, device_step *play, void *context);

/* Plays silence again. False: the step hangs for 2 s, and nothing that it uses may be freed. */
bool device_stop(struct device *device);

/* State of the device; call it four times a second or more.
 * - DEVICE_LOST: gone, or no call for 1.5 s and its driver cannot tell why. Close it.
 * - DEVICE_CHANGED: input or output has another rate than the bridge. Close and open it again. */
enum device_state device_state(struct device *device);

/* Seconds without a call of the device, when device_state was last called. 0: no stall. */
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

/* Locks the memory. If this or real-time priority is not granted, a note says how to get it. */
void device_report_grants(const struct device_info *info);

#endif
