/* One call of libhalo: what the functions below it print goes to the caller's struct halo_error
 * and to nobody else, and numbers are read and written as in the C locale. Not around real-time
 * calls, which have nothing to say. Threads: any; a call stays on its thread. */
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
    struct failure failure; /* the last one */
    char notes[API_NOTES];
};

void api_begin(struct api_call *call);

/* `error`: NULL, or what to fill in. Returns the status for the caller of the library. */
enum halo_status api_end(struct api_call *call, enum status status, struct halo_error *error);

/* Copy a struct of the caller, whose first member is its size, to `own` of `size` bytes: what an
 * older caller does not know is 0, and what a newer one sets beyond is refused. `given`: NULL, or
 * the struct. Errors: usage. */
MUST_CHECK enum status api_read_struct(const void *given, void *own, size_t size, const char *what);

/* GPU convolvers are created and destroyed by one thread at a time, and the kernels for buffers are
 * used by one: constant memory holds one mask. */
extern pthread_mutex_t api_gpu_lock;

/* A mask as the users of libhalo hold it: created on one thread, then read by many. */
struct halo_mask {
    struct mask *mask; /* routed */
    uint32_t rate;     /* Hz, of the sound */
    char *notes;
};

#endif
