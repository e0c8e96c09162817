/* Convolves with a mask, without latency at any block length of the host.
 *
 * The first PROCESSOR_BLOCK taps are computed directly, for any number of frames. A convolver (the
 * tail) computes the other taps after each block of PROCESSOR_BLOCK frames. Their output is due one
 * block later, so it is ready in time. So the output does not depend on the host's block length. If
 * the input is silent for longer than the mask, nothing is computed. Threads: processor_feed and
 * processor_write are real-time, on one thread at a time. The other functions are not real-time,
 * and run on one thread per processor. */
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
    size_t channels; /* number of inputs, and of outputs */
    bool may_cross;  /* the mask may have paths from one channel to another */
    double trim;     /* seconds to cut from the beginning of the mask */
    bool gpu;        /* use a GPU, not the automatic choice */
};

struct processor {
    char *file;
    double trim;
    bool gpu;         /* the GPU was requested */
    char remark[256]; /* message for the user; "": none */
    size_t channels;
    size_t taps;
    struct split_head head; /* computes the first taps directly */
    struct workers *workers;
    struct filter *tail;    /* computes the other taps; NULL: there are none */
    struct block ready;     /* output of `tail` for the current block */
    uint64_t fed;           /* blocks of input so far, fed or skipped */
    size_t silent;          /* frames of silence since the last sound, at most the mask's length */
    struct processor *next; /* next in the owner's list */
};

/* Errors: a mask that cannot be read or does not fit the channels, memory. If a GPU is not
 * available, `remark` says so and the CPU is used. */
MUST_CHECK enum status processor_create(const struct processor_settings *settings,
                                        struct processor **processor);

/* Checks whether the mask can be read and fits the channels. Errors: as above. */
MUST_CHECK enum status processor_check(const struct processor_settings *settings);

void processor_destroy(struct processor *processor);

/* Forgets all sound. */
void processor_reset(struct processor *processor);

/* Takes a complete block of input. */
void processor_feed(struct processor *processor, const float *const *block);

/* Computes the output for `frames` frames from frame `at` of the current block. `now` points to the
 * input of these frames. The PROCESSOR_BLOCK frames before `now` must be the earlier input. */
void processor_write(const struct processor *processor, const float *const *now, size_t at,
                     size_t frames, float *const *out);

/* The last seconds of the masks' input. run writes whole blocks of PROCESSOR_BLOCK frames. The
 * worker reads blocks that are neither the newest nor soon overwritten. */
struct input_history {
    struct block frames;
    size_t blocks;                /* capacity in blocks, a power of two */
    atomic_uint_fast64_t end;     /* number of blocks written */
    atomic_uint_fast64_t silence; /* blocks before this number count as silence */
};

/* The owner frees `history->frames`. Errors: memory. */
MUST_CHECK enum status input_history_init(struct input_history *history, size_t channels,
                                          uint32_t rate);

/* Makes the history silent. Not while input_history_write runs. */
void input_history_reset(struct input_history *history);

/* Real-time, called by run: writes a block. */
void input_history_write(struct input_history *history, const float *const *block);

/* Real-time: feeds up to `most` blocks that the processor lacks. Returns true if it lacks none. */
bool input_history_feed(const struct input_history *history, struct processor *processor,
                        size_t most);

/* Feeds a new processor as far back as mask or history reach. Leaves the last blocks for run. */
void input_history_prime(const struct input_history *history, struct processor *processor);

#endif
