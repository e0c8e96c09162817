/* Convolutions of many jobs, gathered into batches for GPUs.
 *
 * A job's thread hands over a stretch of its sound (gather_convolve) and waits for the result.
 * gather_convolve copies the stretch into the open batch of the device that has the least to do. A
 * device starts a batch when it has nothing else to do, or when the batch is full and the one
 * before it is being convolved. So batches are small while there is little to do, and full when the
 * devices are the bottleneck. Nothing waits for a fixed time.
 *
 * A mask is sent with the first stretch that needs it. The device keeps as many masks as fit into
 * its memory for them, in a form of its own. The least recently used masks are dropped.
 *
 * A device that fails is lost. The stretches of its batches are handed over again, to another
 * device. If none is left, gather_convolve returns false, and the convolver continues on the CPU
 * (convolver_gathered.c).
 *
 * Threads: any, except for gather_create and gather_destroy. Each device is served by a thread of
 * the gather.
 */
#ifndef HALO_GATHER_H
#define HALO_GATHER_H

#include "base/machine.h"
#include "base/status.h"
#include "convolve/path_table.h"

#include <stdint.h>

struct gather;

struct gather_settings {
    const struct gather_device_kind *kind;
    size_t count;       /* number of devices */
    const int *numbers; /* [device] its number */
    size_t mask_bytes;  /* memory for masks on each device; 0: the device decides */
};

/* Errors: a device, memory, threads. */
MUST_CHECK enum status gather_create(const struct gather_settings *settings,
                                     struct gather **gather);

/* Call it when all convolvers that used the gather, and their masks, are gone. NULL is allowed. */
void gather_destroy(struct gather *gather);

/* For convolver_settings.service. */
const struct convolver_service *gather_service(const struct gather *gather);

/* What the gather keeps about a mask. All users of a shared mask share it. */
struct gather_mask;
MUST_CHECK enum status gather_mask_take(struct gather *gather, const struct mask *mask,
                                        struct gather_mask **taken);
void gather_mask_give_back(struct gather_mask *mask);

/* A stretch of `frames` frames, after `before` frames of history. One row for each input and
 * output. */
struct gather_work {
    struct gather_mask *mask;
    size_t inputs, outputs;
    const float *const *history; /* [input] `before` frames each; may be NULL if `before` is 0 */
    const float *const *in;
    float *const *out;
    size_t before, frames;
};

/* Whether single precision may be too coarse for the stretch (near_bound.h). Then the CPU must
 * convolve it. *peak: of the sound before the stretch; afterwards it includes the stretch. */
bool gather_is_near(const struct gather_work *work, float *peak);

/* Waits for the result. False: all devices are lost, and gather_loss says why. */
MUST_CHECK bool gather_convolve(struct gather *gather, const struct gather_work *work);

/* Why the last device was lost. NULL: devices are left. */
const char *gather_loss(const struct gather *gather);

/* Statistics of a device. */
struct gather_count {
    int number;
    size_t batches, items; /* batches and items that it completed */
    double samples;        /* samples of the inputs and outputs of these items */
    size_t masks_sent;
    size_t lost_items; /* items that were handed to other devices after a loss */
    const char *loss;  /* why the device was lost; NULL: it was not. Valid as long as the gather. */
};

/* False: there is no device number `index`, counted from 0. */
bool gather_count_of(struct gather *gather, size_t index, struct gather_count *count);

/* A device that convolves batches of stretches of sound, for gather.h: a struct of functions and
 * their arguments.
 *
 * A batch is two rows of floats in host memory. The device allocates them as pinned memory, from
 * which it can copy. `in` has the stretches with their history, and the taps of masks that are new
 * to the device. `out` receives the results. Positions in a row are in floats from its beginning.
 *
 * Threads: one for each device; open, close and cost keep no state and may run on any thread.
 */

enum {
    GATHER_ITEMS_MOST = 1024,     /* items of a batch */
    GATHER_ROWS_MOST = 1 << 15,   /* transforms, or pairs of transforms, of a batch */
    GATHER_FLOATS_MOST = 1 << 21, /* floats of a batch's `in`, and of its `out` */
    GATHER_RUNNING_MOST = 3,      /* batches at once: one sent, one convolved, one returned */
    GATHER_BATCHES = 6, /* batches of a device: running, or being filled, waiting or emptied */
    GATHER_LINE = 32,   /* floats; all positions are multiples of it */
};

/* A mask as one device keeps it, for one length of transforms. */
struct gather_form {
    struct gather_form *next; /* next form in a list of forms that the device shall free */
    size_t length, columns, taps;
    void *on_device; /* the device's own data; NULL: the mask is not on the device yet */
};

/* A stretch: `inputs` rows of before + frames floats. The first row begins at in_at, each next one
 * at a multiple of GATHER_LINE. The outputs lie in the same way from out_at. */
struct gather_item {
    size_t in_at, out_at;
    size_t inputs, outputs;
    size_t before, frames;
    const struct path_table *paths;
    size_t taps;
    struct gather_form *form;
    size_t taps_at; /* position of the form's columns, in a row; SIZE_MAX: the device has them */
};

struct gather_batch {
    float *in, *out;
    size_t in_used, out_used, rows, item_count;
    struct gather_item items[GATHER_ITEMS_MOST];
    void *on_device; /* the device's own data */
    /* For measurements. `stays`: nothing is copied. `only_copies`: nothing is convolved. */
    bool stays, only_copies;
};

struct gather_cost {
    size_t length; /* length of the transforms, for which a form is made */
    size_t rows;   /* rows of transforms for each path */
};

struct gather_device {
    const struct gather_device_kind *kind;
    int number;
    size_t mask_bytes; /* memory that the device has for forms */
};

struct gather_device_kind {
    const char *name;
    /* Counts the devices. NULL: the kind is not in this build. Errors: there is no device. */
    enum status (*count)(size_t *count);
    /* Moves this thread to processors near the device, until numa_leave. Memory allocated and
     * threads started meanwhile are near it, too. NULL: the place makes no difference. */
    void (*enter)(int number, struct numa_before *before);
    enum status (*open)(int number, struct gather_device **device);
    void (*close)(struct gather_device *device);

    /* How the device would convolve `frames` frames. */
    struct gather_cost (*cost)(const struct gather_device *device, size_t taps, size_t frames);
    size_t (*form_bytes)(size_t length); /* bytes of one column of a form */

    enum status (*batch_open)(struct gather_device *device, struct gather_batch *batch);
    void (*batch_close)(struct gather_device *device, struct gather_batch *batch);

    /* Frees forms that no batch needs any more, since all batches that used them have ended. */
    void (*let_go)(struct gather_device *device, struct gather_form *forms);

    /* `begin` starts a batch and returns. `end` waits until the batch is done. Batches end in the
     * order in which they begin. Both return NULL, or the reason why the device is lost. */
    const char *(*begin)(struct gather_device *device, struct gather_batch *batch);
    const char *(*end)(struct gather_device *device, struct gather_batch *batch);
};

extern const struct gather_device_kind gather_cuda; /* gpu/gather_cuda.c */

/* Floats that a row of `frames` frames takes. */
static inline size_t gather_row(size_t frames)
{
    return (frames + GATHER_LINE - 1) / GATHER_LINE * GATHER_LINE;
}

#endif
