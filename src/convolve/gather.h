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

#include "convolve/convolver_service.h"
#include "convolve/gather_device.h"

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

/* Whether a stretch of that size fits into a batch. */
bool gather_fits(const struct gather *gather, const struct convolver_shape *shape, size_t columns);

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

#endif
