/* Convolves with a mask, without latency at any block length of the host.
 *
 * The first PROCESSOR_BLOCK taps are computed directly, for as many frames as there are. A
 * convolver computes the rest after each PROCESSOR_BLOCK frames of input; its taps begin one block
 * later, when its output is due. So the output does not depend on the block length. After more
 * silence than the length of the mask nothing is convolved. Threads: processor_feed and
 * processor_write are real-time, on one thread at a time; all else is not, on one thread for each
 * processor. */
#ifndef HALO_PROCESSOR_H
#define HALO_PROCESSOR_H

#include "base/status.h"
#include "convolve/convolver.h"
#include "convolve/split_head.h"
#include "signal/audio.h"

enum { PROCESSOR_BLOCK = SPLIT_BLOCK }; /* frames */

struct processor_settings {
    const char *file;
    uint32_t rate;   /* Hz */
    size_t channels; /* in and out */
    bool may_cross;  /* paths may lead from one channel to another */
    double trim;     /* seconds to cut from the beginning of the mask */
    bool gpu;        /* instead of the automatic choice */
};

struct processor {
    char *file;
    double trim;
    bool gpu;         /* as requested */
    char remark[256]; /* for the user; "" */
    size_t channels;
    size_t taps;
    struct split_head head; /* the direct part */
    struct workers *workers;
    struct filter *tail;    /* NULL: no taps beyond the head */
    struct block ready;     /* output of the tail for the current block */
    uint64_t fed;           /* blocks of input that it was fed or that it skipped */
    size_t silent;          /* latest frames of silence, counted up to the length of the mask */
    struct processor *next; /* for the owner */
};

/* Errors: a mask that cannot be read or does not fit the channels, memory. A GPU that is not
 * available is only mentioned in `remark`. */
MUST_CHECK enum status processor_create(const struct processor_settings *settings,
                                        struct processor **processor);

/* Whether the mask can be read and fits the channels. Errors: as above. */
MUST_CHECK enum status processor_check(const struct processor_settings *settings);

void processor_destroy(struct processor *processor);

/* Forget all sound. */
void processor_reset(struct processor *processor);

/* Feed a complete block of input. */
void processor_feed(struct processor *processor, const float *const *block);

/* The output of `frames` frames from frame `at` of the current block. `now` points at their input,
 * preceded by PROCESSOR_BLOCK frames of history. */
void processor_write(const struct processor *processor, const float *const *now, size_t at,
                     size_t frames, float *const *out);

#endif
