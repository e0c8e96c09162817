/* System services for real-time threads: priority, locked memory, no denormals; and the marker of
 * real-time functions. */
#ifndef HALO_REALTIME_H
#define HALO_REALTIME_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

/* Marks a function that a real-time step may call: it does not allocate, lock, open
 * files or print, and calls only marked functions (tests/realtime_calls.py). With gcc they lie side
 * by side in the program: other programs use the caches between two blocks, so that a step finds
 * each page of its code cold. (clang refuses hot functions with clones.) */
#if defined(__GNUC__) && !defined(__clang__)
#define HALO_REALTIME __attribute__((hot))
#else
#define HALO_REALTIME
#endif

/* As audio servers, and below the kernel's watchdogs. */
enum { REALTIME_PRIORITY = 60 };

struct realtime_before {
    int policy;
    struct sched_param parameters;
};

/* Give the calling thread, and threads it starts, SCHED_FIFO at `priority` until restored. False:
 * not permitted, nothing changed. */
bool realtime_raise(int priority, struct realtime_before *before);
void realtime_restore(const struct realtime_before *before);

/* Take the real-time priority of the calling thread away, and of threads that it starts. Returns
 * it; 0: it had none. */
int realtime_drop(void);

/* Lower a real-time priority of `thread` by one. */
void realtime_lower(pthread_t thread);

/* The real-time priority of `thread`; 0: it has none. */
int realtime_priority(pthread_t thread);

/* Lock all current memory in RAM. False: not permitted; errno is set. */
bool realtime_lock_memory(void);

/* Flush denormals, which slow processors down a hundredfold, to 0 on the calling thread. Real-time.
 */
void realtime_flush_denormals(void);

/* The same for a while, on a thread of another program. Real-time. */
struct realtime_floats {
    unsigned long control;
};
struct realtime_floats realtime_floats_begin(void);
void realtime_floats_end(struct realtime_floats before);

/* Between two looks at what another processor is about to write. Real-time. */
HALO_REALTIME static inline void realtime_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

#endif
