/* A call of libhalo. Messages of the functions below it go to the caller's struct halo_error and to
 * nobody else. Numbers are read and written as in the C locale. Real-time functions do not use it,
 * since they have no messages. Threads: any; a call stays on its thread. */
#ifndef HALO_API_CALL_H
#define HALO_API_CALL_H

#include "base/plain_locale.h"
#include "base/status.h"
#include "mask/mask.h"

#include <halo/halo.h>
#include <pthread.h>

enum { API_NOTES = 4096 };

struct api_call {
    struct log_keeper before;
    struct plain_locale locale;
    struct failure failure; /* the last failure */
    char notes[API_NOTES];
};

void api_begin(struct api_call *call);

/* Begins a call that starts no process, and writes no fractions. It takes no lock that another
 * thread may hold, so it can be made in the child of a process with threads. */
void api_begin_alone(struct api_call *call);

/* Ends a call. `error`: to fill in, or NULL. Returns the status for the caller of the library. */
enum halo_status api_end(struct api_call *call, enum status status, struct halo_error *error);

/* Copies a struct of the caller to `own` of `size` bytes. Its first member is its size. Members
 * that are missing in an older caller's struct become 0. A newer caller's additional members must
 * be 0. `given`: the struct, or NULL. Errors: usage. */
MUST_CHECK enum status api_read_struct(const void *given, void *own, size_t size, const char *what);

/* Held while a GPU convolver is created, destroyed or convolves buffers: only one thread at a time
 * may do this, since constant memory holds one mask. */
extern pthread_mutex_t api_gpu_lock;

/* A mask for users of libhalo. It is created on one thread, and then only read. */
struct halo_mask {
    struct mask *mask; /* routed */
    uint32_t rate;     /* rate of the sound, Hz */
    char *notes;
};

#endif
