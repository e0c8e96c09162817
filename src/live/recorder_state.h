/* A recorder's state, shared by recorder.c (control and thread) and recorder_step.c alone. */
#ifndef HALO_RECORDER_STATE_H
#define HALO_RECORDER_STATE_H

#include "base/ring.h"
#include "live/recorder.h"

#include <pthread.h>
#include <sndfile.h>
#include <stdatomic.h>

enum { RECORDER_CHUNK = 1024 }; /* frames interleaved or written at once */

/* Frames lost before the ring's frame `at`. */
struct gap {
    uint64_t at, frames;
};

struct recorder {
    char *path; /* for messages */
    SNDFILE *file;
    int fd; /* -1 once libsndfile owns it */
    size_t channels;
    uint32_t rate;
    struct ring *ring; /* items are interleaved frames */
    struct ring *gaps;
    atomic_bool ended; /* by a failure */

    /* The step's. */
    float *scratch;
    uint64_t handed; /* frames into the ring */
    uint64_t losing; /* frames lost since, of a gap not told yet */

    /* The thread's. */
    float *chunk;
    struct gap gap; /* the next one, where frames > 0 */
    uint64_t taken; /* frames out of the ring */
    struct recording recording;
    bool changed; /* since the header was renewed */
    int64_t renewed_ns;

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t asked, answered;
    uint64_t flushes_asked, flushes_done; /* lock */
    uint64_t frames_done;                 /* lock */
    bool leave;                           /* lock */

    char failure[512]; /* written before `ended` is set */
    bool reported;     /* the control thread's */
};

#endif
