/* Counts allocations: every malloc and free of the process, those of libraries included. Compile
 * it into the test's executable. */
#ifndef HALO_TESTS_ALLOCATIONS_H
#define HALO_TESTS_ALLOCATIONS_H

#include <stdbool.h>
#include <stddef.h>

bool allocations_are_counted(void); /* false where a sanitizer replaces the allocator */

size_t allocations_of_all(void);
size_t allocations_of_thread(void); /* of the calling thread */

/* The `number`th allocation, counted from 1, that the calling thread makes from now on in the code
 * of a shared library, named by a part of its file's name, gets no memory; 0: all get theirs. */
void allocations_fail(const char *object, size_t number);

/* Whether that has come. It does not come any more. */
bool allocations_failed(void);

#endif
