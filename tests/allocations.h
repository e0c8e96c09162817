/* Counts allocations: every malloc and free of the process, those of libraries included. Compile
 * it into the test's executable. */
#ifndef HALO_TESTS_ALLOCATIONS_H
#define HALO_TESTS_ALLOCATIONS_H

#include <stdbool.h>
#include <stddef.h>

bool allocations_are_counted(void); /* false where a sanitizer replaces the allocator */

size_t allocations_of_all(void);
size_t allocations_of_thread(void); /* of the calling thread */

#endif
