/* What gather.c and convolver_gathered.c share. The gather's lock protects all members, unless a
 * comment says otherwise. */
#ifndef HALO_GATHER_STATE_H
#define HALO_GATHER_STATE_H

#include "convolve/convolver_backend.h"
#include "convolve/gather.h"
#include "convolve/near_bound.h"

#include <pthread.h>

enum gather_stage {
    GATHER_FREE,
    GATHER_OPEN,    /* has items and takes more */
    GATHER_CLOSED,  /* takes no more items; begins once all are packed */
    GATHER_RUNNING, /* the device is convolving it */
    GATHER_DONE,    /* its results are being taken */
    GATHER_LOST,    /* its device was lost */
};

struct gather_slot {
    /* Items are added under the lock; the same thread then packs the floats without it. */
    struct gather_batch batch;
    enum gather_stage stage;
    uint64_t serial;     /* number in the order of beginning */
    size_t packed, left; /* items that are packed; items whose result was taken */
    pthread_cond_t done; /* signals GATHER_DONE and GATHER_LOST */
};

/* A form on a device: in its mask's list and, without users, in the device's list by age. */
struct gather_kept {
    struct gather_form form; /* must be the first member */
    struct gather_mask *mask;
    struct gather_worker *worker;
    size_t users; /* items that use the form, of batches that have not ended */
    size_t bytes;
    struct gather_kept *next_of_mask, *newer, *older;
};

struct gather_mask {
    struct gather *gather;
    struct path_table paths;
    size_t inputs, outputs, columns, taps, path_count;
    float *rounded;            /* columns x taps, in single precision */
    struct near_bound bound;   /* Sounds that come near the bound are for the CPU. */
    bool is_shared;            /* a struct mask owns this */
    struct gather_kept *forms; /* protected by the gather's lock */
};

struct gather_worker {
    struct gather *gather;
    struct gather_device *device;
    pthread_t thread;
    bool has_thread;
    pthread_cond_t ready; /* signals that a batch can begin, or that the gather stops */
    struct gather_slot slots[GATHER_BATCHES];
    size_t open_slots; /* slots whose memory is allocated */
    uint64_t serials;
    size_t running;
    size_t pending; /* floats in batches that have not ended */
    size_t mask_bytes, mask_bytes_most;
    struct gather_kept *newest, *oldest; /* list of forms without users */
    struct gather_form *leaving;         /* forms that the device frees at the next batch */
    struct gather_count count;
    char loss[256]; /* why the device was lost; "": it was not */
};

struct gather {
    struct convolver_service service; /* must be the first member */
    const struct gather_device_kind *kind;
    pthread_mutex_t lock;
    pthread_cond_t room; /* signals that a batch is free again, or that a device was lost */
    bool stopping;
    char loss[256];
    size_t left; /* devices that are not lost */
    size_t worker_count;
    struct gather_worker *workers;
};

extern const struct convolver_backend convolver_gathered;

#endif
