/* Convolutions of many jobs, gathered into batches for GPUs.
 *
 * A job's thread hands over a stretch of its sound (gather_convolve) and waits for the result. It
 * copies the stretch into the open batch of the device that has the least to do. A device starts a
 * batch when it has nothing else, or when the batch is full and the one before it is being
 * convolved: so batches are small while there is little to do, and full when the devices are what
 * limits. Nothing waits for a time.
 *
 * Masks are sent with the first stretch that needs them, and stay on the device in its own form, as
 * many as fit into its memory for them; the least recently used are let go.
 *
 * A device that fails is lost: the stretches of its batches are handed over again, to another
 * device. gather_convolve returns false once there is none, and the convolver continues on the CPU
 * (convolver_gathered.c).
 *
 * Threads: any, but gather_create and gather_destroy; a thread of its own serves each device.
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
    size_t count;
    const int *numbers; /* of the devices */
    size_t mask_bytes;  /* for masks on each device; 0: what the device says */
};

/* Errors: a device, memory, threads. */
MUST_CHECK enum status gather_create(const struct gather_settings *settings,
                                     struct gather **gather);

/* No convolver uses it, and no mask of theirs exists any more. NULL is allowed. */
void gather_destroy(struct gather *gather);

/* For convolver_settings.service. */
const struct convolver_service *gather_service(const struct gather *gather);

/* What a device knows of a mask; shared by all that use the mask, if that is shared. */
struct gather_mask;
MUST_CHECK enum status gather_mask_take(struct gather *gather, const struct mask *mask,
                                        struct gather_mask **taken);
void gather_mask_give_back(struct gather_mask *mask);

/* A stretch of `frames` frames, after `before` frames of history: rows of inputs and outputs. */
struct gather_work {
    struct gather_mask *mask;
    size_t inputs, outputs;
    const float *const *history; /* `before` frames each; may be NULL where that is 0 */
    const float *const *in;
    float *const *out;
    size_t before, frames;
};

/* Whether rounding in single precision may be of concern for that stretch (near_bound.h): then it
 * is for the CPU. `peak`: of the sound before, and of all of it so far afterwards. */
bool gather_is_near(const struct gather_work *work, float *peak);

/* Waits for the result. False: all devices are lost; gather_loss says why. */
MUST_CHECK bool gather_convolve(struct gather *gather, const struct gather_work *work);

/* Why the last device was lost; NULL: some are left. */
const char *gather_loss(const struct gather *gather);

/* What became of a device. */
struct gather_count {
    int number;
    size_t batches, items; /* that it completed */
    double samples;        /* of their inputs and outputs */
    size_t masks_sent;
    size_t lost_items; /* handed over to others */
    const char *loss;  /* why it was lost; NULL: it was not. Valid as long as the gather */
};

/* False: there is no device `index`, from 0. */
bool gather_count_of(struct gather *gather, size_t index, struct gather_count *count);

/* A device that convolves batches of stretches of sound, for gather.h: a struct of functions, and
 * what they are given.
 *
 * A batch is two rows of floats in host memory, which the device allocates where it can copy from
 * (pinned): `in` has the stretches with their history and the taps of masks that are new to the
 * device, `out` gets the results. All positions are in floats from the beginning of either.
 *
 * Threads: one a device, but open, close and cost, which keep no state.
 */

enum {
    GATHER_ITEMS_MOST = 1024,     /* of a batch */
    GATHER_ROWS_MOST = 1 << 15,   /* transforms of a batch, or pairs of them */
    GATHER_FLOATS_MOST = 1 << 21, /* of `in` and of `out` of a batch */
    GATHER_RUNNING_MOST = 3,      /* batches at once: copied there, convolved, copied back */
    GATHER_BATCHES = 6,           /* of a device: besides them filled, waiting, emptied */
    GATHER_LINE = 32,             /* floats: positions are multiples of it */
};

/* A mask as one device keeps it for one length of transforms. */
struct gather_form {
    struct gather_form *next; /* in a list of forms to let go */
    size_t length, columns, taps;
    void *on_device; /* the device's own; NULL: not there yet */
};

/* A stretch: `inputs` rows of before + frames, from in_at, each at a multiple of GATHER_LINE; and
 * so the outputs. */
struct gather_item {
    size_t in_at, out_at;
    size_t inputs, outputs;
    size_t before, frames;
    const struct path_table *paths;
    size_t taps;
    struct gather_form *form;
    size_t taps_at; /* where the form's columns are, one after the other; SIZE_MAX: it is there */
};

struct gather_batch {
    float *in, *out;
    size_t in_used, out_used, rows, item_count;
    struct gather_item items[GATHER_ITEMS_MOST];
    void *on_device; /* the device's own */
    /* For measurements: the input is there already, the output stays; only copies are made. */
    bool stays, only_copies;
};

struct gather_cost {
    size_t length; /* of transforms: what a form is made for */
    size_t rows;   /* a path */
};

struct gather_device {
    const struct gather_device_kind *kind;
    int number;
    size_t mask_bytes; /* what it has for forms */
};

struct gather_device_kind {
    const char *name;
    /* NULL: not in this build. Errors: there is none. */
    enum status (*count)(size_t *count);
    /* Go beside a device, until numa_leave: memory and threads that are made then are near it.
     * NULL: it is the same everywhere. */
    void (*enter)(int number, struct numa_before *before);
    enum status (*open)(int number, struct gather_device **device);
    void (*close)(struct gather_device *device);

    /* How it would convolve `frames` frames. */
    struct gather_cost (*cost)(const struct gather_device *device, size_t taps, size_t frames);
    size_t (*form_bytes)(size_t length); /* of a column */

    enum status (*batch_open)(struct gather_device *device, struct gather_batch *batch);
    void (*batch_close)(struct gather_device *device, struct gather_batch *batch);

    /* Forms that no batch needs any more: of batches that have ended. */
    void (*let_go)(struct gather_device *device, struct gather_form *forms);

    /* Start a batch and return; and wait until it is done. Batches end in the order in which they
     * begin. Both return NULL, or why the device is lost. */
    const char *(*begin)(struct gather_device *device, struct gather_batch *batch);
    const char *(*end)(struct gather_device *device, struct gather_batch *batch);
};

extern const struct gather_device_kind gather_cuda; /* gpu/gather_cuda.c */

/* Room for a row. */
static inline size_t gather_row(size_t frames)
{
    return (frames + GATHER_LINE - 1) / GATHER_LINE * GATHER_LINE;
}

#endif
