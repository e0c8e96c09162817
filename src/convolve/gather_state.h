/* What gather.c and convolver_gathered.c share. The gather's lock protects all of it, except where
 * it says otherwise. */
#ifndef HALO_GATHER_STATE_H
#define HALO_GATHER_STATE_H

#include "convolve/convolver_backend.h"
#include "convolve/gather.h"
#include "convolve/near_bound.h"

#include <pthread.h>

enum gather_stage {
    GATHER_FREE,
    GATHER_OPEN,    /* has items, takes more */
    GATHER_CLOSED,  /* takes no more; begins once all are packed */
    GATHER_RUNNING, /* the device has it */
    GATHER_DONE,    /* its results are being taken */
    GATHER_LOST,    /* with the device */
};

struct gather_slot {
    struct gather_batch batch; /* items: written by who reserves; rows of floats: by who packs */
    enum gather_stage stage;
    uint64_t serial;     /* order of beginning */
    size_t packed, left; /* items that are complete, and those whose result was taken */
    pthread_cond_t done; /* GATHER_DONE or GATHER_LOST */
};

/* A form in the memory of a device. Lists: of its mask, and those without users by age. */
struct gather_kept {
    struct gather_form form; /* first */
    struct gather_mask *mask;
    struct gather_worker *worker;
    size_t users; /* items of batches that have not ended */
    size_t bytes;
    struct gather_kept *next_of_mask, *newer, *older;
};

struct gather_mask {
    struct gather *gather;
    struct path_table paths;
    size_t inputs, outputs, columns, taps, path_count;
    float *rounded;            /* columns x taps */
    struct near_bound bound;   /* sounds that come near it are for the CPU */
    bool is_shared;            /* a struct mask owns it */
    struct gather_kept *forms; /* lock */
};

struct gather_worker {
    struct gather *gather;
    struct gather_device *device;
    pthread_t thread;
    bool has_thread;
    pthread_cond_t ready; /* something to begin, or to stop */
    struct gather_slot slots[GATHER_BATCHES];
    size_t open_slots; /* whose memory there is */
    uint64_t serials;
    size_t running;
    size_t pending; /* floats in batches that have not ended */
    size_t mask_bytes, mask_bytes_most;
    struct gather_kept *newest, *oldest; /* forms without users */
    struct gather_form *leaving;         /* to be let go at the next batch */
    struct gather_count count;
    char loss[256]; /* "": it is there */
};

struct gather {
    struct convolver_service service; /* first */
    const struct gather_device_kind *kind;
    pthread_mutex_t lock;
    pthread_cond_t room; /* a batch is free again, or a device lost */
    bool stopping;
    char loss[256];
    size_t left; /* devices */
    size_t worker_count;
    struct gather_worker *workers;
};

extern const struct convolver_backend convolver_gathered;

#endif
