/* Allocations that fail; see faults.h. */
#include "faults.h"

#include <malloc.h>
#include <stdlib.h>

#define CALLER __builtin_return_address(0)

FAULTY(void *, malloc, fault_of_memory(CALLER), NULL, (size_t size), (size))

/* dlsym allocates by this one. */
void *calloc(size_t count, size_t size)
{
    static void *(*next)(size_t, size_t);
    static _Thread_local bool looking;
    if (!next && looking)
        return NULL;
    looking = true;
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "calloc");
    looking = false;
    return fault_of_memory(CALLER) ? NULL : next(count, size);
}

FAULTY(void *, realloc, fault_of_memory(CALLER), NULL, (void *old, size_t size), (old, size))
FAULTY(void *, reallocarray, fault_of_memory(CALLER), NULL, (void *old, size_t count, size_t size),
       (old, count, size))
FAULTY(void *, aligned_alloc, fault_of_memory(CALLER), NULL, (size_t alignment, size_t size),
       (alignment, size))
FAULTY(void *, memalign, fault_of_memory(CALLER), NULL, (size_t alignment, size_t size),
       (alignment, size))
FAULTY(int, posix_memalign, fault_of_memory(CALLER), ENOMEM,
       (void **block, size_t alignment, size_t size), (block, alignment, size))
