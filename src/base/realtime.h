/* What a real-time thread asks of the system: priority, memory that stays, no denormals; and the
 * marker of what it calls. */
#ifndef HALO_REALTIME_H
#define HALO_REALTIME_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

/* Marks a function that a real-time step may call: it allocates nothing, takes no lock, opens no
 * file, prints nothing, and calls only what is marked too (tests/realtime_calls.py). */
#define HALO_REALTIME

/* What audio servers take, and below the kernel's own watchdogs. */
enum { REALTIME_PRIORITY = 60 };

struct realtime_before {
    int policy;
    struct sched_param parameters;
};

/* The calling thread gets SCHED_FIFO at `priority`; so do the threads that it makes, until it
 * is restored. False: not allowed, and nothing changed. */
bool realtime_raise(int priority, struct realtime_before *before);
void realtime_restore(const struct realtime_before *before);

/* One below what `thread` has, where that is a real-time priority: whose it has goes first. */
void realtime_lower(pthread_t thread);

/* All memory that the program has now stays in RAM. False: not allowed; errno says why. */
bool realtime_lock_memory(void);

/* Numbers too small to hear, which slow a processor down a hundredfold, become 0 on the
 * calling thread from now on. Real-time. */
void realtime_flush_denormals(void);

/* The same for a while, on a thread that is somebody else's. Real-time. */
struct realtime_floats {
    unsigned long control;
};
struct realtime_floats realtime_floats_begin(void);
void realtime_floats_end(struct realtime_floats before);

#endif
