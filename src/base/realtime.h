/* For real-time threads: priority, locked memory, no denormals, and a marker of their functions. */
#ifndef HALO_REALTIME_H
#define HALO_REALTIME_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

/* Marks a function that a real-time step may call. It does not allocate, lock, open files or print,
 * and calls only marked functions (tests/realtime_calls.py). gcc puts marked functions next to each
 * other: a step, which finds its code uncached, touches fewer pages. (clang refuses hot clones.) */
#if defined(__GNUC__) && !defined(__clang__)
#define HALO_REALTIME __attribute__((hot))
#else
#define HALO_REALTIME
#endif

/* As high as audio servers use, and below the kernel's watchdogs. */
enum { REALTIME_PRIORITY = 60 };

struct realtime_before {
    int policy;
    struct sched_param parameters;
};

/* Gives the calling thread, and threads that it starts, SCHED_FIFO at `priority` until
 * realtime_restore. False: not permitted, and nothing changed. */
bool realtime_raise(int priority, struct realtime_before *before);
void realtime_restore(const struct realtime_before *before);

/* Takes the real-time priority from this thread and those it starts. Returns it. 0: none. */
int realtime_drop(void);

/* Lowers the priority of `thread` by one, if it is real-time. */
void realtime_lower(pthread_t thread);

/* The real-time priority of `thread`. 0: it has none. */
int realtime_priority(pthread_t thread);

/* Locks all current memory in RAM. False: not permitted; errno is set. */
bool realtime_lock_memory(void);

/* Makes the calling thread flush denormals, which slow it a hundredfold, to 0. Real-time. */
void realtime_flush_denormals(void);

/* Flush denormals for a while, on a thread of another program. Real-time. */
struct realtime_floats {
    unsigned long control;
};
struct realtime_floats realtime_floats_begin(void);
void realtime_floats_end(struct realtime_floats before);

/* A short pause between two reads of memory that another processor will write. Real-time. */
HALO_REALTIME static inline void realtime_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

#endif
