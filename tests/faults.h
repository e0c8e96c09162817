/* Loaded into a program by LD_PRELOAD, makes one call fail to what is outside of it: files, memory,
 * threads and processes. It lies between the program with all its libraries and the C library, so
 * that the calls of libraries fail as well.
 *
 *   FAULT="CALL NAME NUMBER ERRNO"    the NUMBER-th CALL that concerns a file whose path contains
 *                                     NAME fails (a file without a name: its folder, then
 *                                     "(deleted)"; *: any). NUMBER 0: all of them, -1: none
 *                                     ERRNO below 0: it does what it always does, just after that
 *                                     signal (-2: SIGINT)
 *   FAULT_COUNT=FILE                  counts calls, in native unsigned, together with its children
 *                                     (CALL each: of any, wait, short and memory, one after the
 *                                     other, and none fails)
 *   FAULT_MARK=FILE                   created when a call failed for this; says which, and who
 * called HALO                              the program; others (a shell, gnuplot) run unharmed
 *
 * CALL is one of those in faults.c, such as read or open; or any: all but memory, each with its
 * usual error, or ERRNO if that is not 0; wait: those that a signal may interrupt; short: reads and
 * writes, which transfer half; shrink: reads, before which the file loses its end; memory:
 * allocations. */
#ifndef HALO_FAULTS_H
#define HALO_FAULTS_H

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

enum { FAULT_KINDS = 4 }; /* any, wait, short, memory */

/* Whether this call is to fail; errno is then set. `path` may be NULL. */
bool fault_at_path(const char *call, int error, const char *path);

/* The same for an open file. Standard error never fails. */
bool fault_at(const char *call, int error, int fd);

/* Whether this transfer of `count` bytes is to be short. */
bool fault_short(int fd, size_t count);

/* The same as fault_at for allocations, by who asks. */
bool fault_of_memory(const void *caller);

/* The function that would have been called. */
#define NEXT(TYPE, NAME, ...)                                                                      \
    static TYPE (*next)(__VA_ARGS__);                                                              \
    if (!next)                                                                                     \
    *(void **)&next = dlsym(RTLD_NEXT, NAME)

/* A function that fails, or else does what it always does. */
#define FAULTY(TYPE, NAME, FAULT, FAILED, PARAMETERS, ARGUMENTS)                                   \
    TYPE NAME PARAMETERS;                                                                          \
    TYPE NAME PARAMETERS                                                                           \
    {                                                                                              \
        static TYPE(*next) PARAMETERS;                                                             \
        if (!next)                                                                                 \
            *(void **)&next = dlsym(RTLD_NEXT, #NAME);                                             \
        return FAULT ? FAILED : next ARGUMENTS;                                                    \
    }

#endif
