/* Counts what is allocated and released: every malloc and free of the process, those of
 * libraries too, goes through counters. For a test's executable, as a source of its own. */
#ifndef HALO_TESTS_ALLOCATIONS_H
#define HALO_TESTS_ALLOCATIONS_H

#include <stdbool.h>
#include <stddef.h>

bool allocations_are_counted(void); /* false: a sanitizer's allocator is in the way */

size_t allocations_of_all(void);
size_t allocations_of_thread(void); /* of the calling one */

#endif
