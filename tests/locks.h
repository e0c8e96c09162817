/* Counts locks: every pthread_mutex_lock of the process. Compile it into the test's executable. */
#ifndef HALO_TESTS_LOCKS_H
#define HALO_TESTS_LOCKS_H

#include <stdbool.h>
#include <stddef.h>

bool locks_are_counted(void); /* false where a sanitizer follows them */

size_t locks_of_thread(void); /* that the calling thread has taken */

#endif
