/* A mask in use by the plugin, without latency at any block length of the host.
 *
 * The first PROCESSOR_BLOCK taps are computed directly, for as many frames as there are. A convolver
 * computes the rest whenever PROCESSOR_BLOCK frames of input are complete: its output is due one block
 * later, as its taps are. So the output does not depend on the block length. After more silence
 * than the mask is long nothing is convolved. Threads: processor_feed and processor_write are real-time, on
 * one thread at a time; everything else is not, on one thread for each processor.
 */
#ifndef HALO_LV2_PROCESSOR_H
#define HALO_LV2_PROCESSOR_H

#include "base/status.h"
#include "convolve/convolver.h"
#include "signal/audio.h"

enum { PROCESSOR_BLOCK = 64 }; /* frames */

struct processor_settings {
    const char *file;
    uint32_t rate;   /* Hz */
    size_t channels; /* in and out */
    bool may_cross;  /* paths may lead from one channel to another */
    double trim;     /* seconds to leave out of the mask's beginning */
    bool gpu;        /* rather than what the program would choose */
};

struct processor {
    char *file;
    double trim;
    bool gpu;         /* as asked for, not as it came */
    char remark[256]; /* what the user should know of it; "" */
    size_t channels;
    size_t taps;
    size_t head;  /* taps of the direct part */
    float *heads; /* column after column, `head` each */
    struct path_table paths;
    struct workers *workers;
    struct filter *tail; /* NULL: the head is all */
    struct block ready;  /* the tail's, for the block that is coming in */
    uint64_t heard;      /* blocks of the plugin's sound that it was given, or passed over */
    size_t silent;       /* frames of silence that it heard last, counted to its length */
    struct processor *next;  /* the owner's */
};

/* Errors: a mask that cannot be read or is not for so many channels, memory. A GPU that cannot
 * be had is no error: `remark` says so. */
MUST_CHECK enum status processor_create(const struct processor_settings *settings, struct processor **processor);
void processor_destroy(struct processor *processor);

/* Forget all sound. */
void processor_reset(struct processor *processor);

/* One block of input is complete. */
void processor_feed(struct processor *processor, const float *const *block);

/* The output for `frames` frames from frame `at` of the block that is coming in. `now` points at
 * their input, which PROCESSOR_BLOCK frames of the past lie before. */
void processor_write(const struct processor *processor, const float *const *now, size_t at, size_t frames,
                 float *const *out);

#endif
