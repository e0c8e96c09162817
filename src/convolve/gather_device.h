/* A device that convolves batches of stretches of sound, for gather.h: a struct of functions, and
 * what they are given.
 *
 * A batch is two rows of floats in host memory, which the device allocates where it can copy from
 * (pinned): `in` has the stretches with their history and the taps of masks that are new to the
 * device, `out` gets the results. All positions are in floats from the beginning of either.
 *
 * Threads: one a device, but open, close and cost, which keep no state.
 */
#ifndef HALO_GATHER_DEVICE_H
#define HALO_GATHER_DEVICE_H

#include "base/numa_place.h"
#include "base/status.h"
#include "convolve/path_table.h"

#include <stdint.h>

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
