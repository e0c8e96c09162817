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

#include <stdatomic.h>

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
    bool gpu;         /* the GPU was requested */
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

/* The last seconds of the input of the masks. run() writes whole blocks of PROCESSOR_BLOCK frames;
 * the worker reads well behind the newest and well ahead of the next one to be overwritten. */
struct input_history {
    struct block frames;
    size_t blocks;                /* capacity, a power of two */
    atomic_uint_fast64_t end;     /* blocks written */
    atomic_uint_fast64_t silence; /* blocks before this one count as silence */
};

/* The owner frees `frames`. Errors: memory. */
MUST_CHECK enum status input_history_init(struct input_history *history, size_t channels,
                                          uint32_t rate);

/* Make it silence. Not while input_history_write runs. */
void input_history_reset(struct input_history *history);

/* Real-time, from run. */
void input_history_write(struct input_history *history, const float *const *block);

/* Real-time: feed a processor up to `most` of the blocks that it lacks. True: it lacks none now. */
bool input_history_feed(const struct input_history *history, struct processor *processor,
                        size_t most);

/* Feed a new processor, from as far back as its mask or the history reaches, except the last few
 * blocks, which are left to run. */
void input_history_prime(const struct input_history *history, struct processor *processor);

#endif
