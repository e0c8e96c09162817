#include "allocations.h"

#include <stdatomic.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTED 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COUNTED 0
#endif
#endif
#ifndef COUNTED
#define COUNTED 1
#endif

static atomic_size_t of_all;
static _Thread_local size_t of_thread;

bool allocations_are_counted(void)
{
    return COUNTED;
}

size_t allocations_of_all(void)
{
    return atomic_load(&of_all);
}

size_t allocations_of_thread(void)
{
    return of_thread;
}

#if COUNTED
static void count(void)
{
    atomic_fetch_add(&of_all, 1);
    of_thread++;
}

/* glibc's allocator under its internal names. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t number, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

void *malloc(size_t size);
void *malloc(size_t size)
{
    count();
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size);
void *calloc(size_t number, size_t size)
{
    count();
    return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size);
void *realloc(void *memory, size_t size)
{
    count();
    return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size);
void *memalign(size_t alignment, size_t size)
{
    count();
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size);
void *aligned_alloc(size_t alignment, size_t size)
{
    count();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size);
int posix_memalign(void **memory, size_t alignment, size_t size)
{
    count();
    *memory = __libc_memalign(alignment, size);
    return *memory ? 0 : 12;
}

void free(void *memory);
void free(void *memory)
{
    if (memory)
        count();
    __libc_free(memory);
}
#endif
