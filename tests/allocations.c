#include "allocations.h"

#include "sanitizer.h"

#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#define COUNTED (!SANITIZER_ADDRESS && !SANITIZER_THREAD)

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

static _Thread_local size_t until_failure; /* allocations of `from`; 0: none fails */
static _Thread_local bool has_failed;
static uintptr_t from, to; /* addresses of the code whose allocations fail */

static int find_object(struct dl_phdr_info *info, size_t size, void *name)
{
    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum && strstr(info->dlpi_name, name); i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && part->p_flags & PF_X) {
            from = info->dlpi_addr + part->p_vaddr;
            to = from + part->p_memsz;
        }
    }
    return 0;
}

void allocations_fail(const char *object, size_t number)
{
    from = to = 0;
    dl_iterate_phdr(find_object, (void *)object);
    has_failed = false;
    until_failure = number;
}

bool allocations_failed(void)
{
    until_failure = 0;
    return has_failed;
}

#if COUNTED
static bool fails(const void *caller)
{
    uintptr_t at = (uintptr_t)caller;
    if (until_failure == 0 || at < from || at >= to || --until_failure > 0)
        return false;
    has_failed = true;
    return true;
}

#define CALLER __builtin_return_address(0)

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
    return fails(CALLER) ? NULL : __libc_malloc(size);
}

void *calloc(size_t number, size_t size);
void *calloc(size_t number, size_t size)
{
    count();
    return fails(CALLER) ? NULL : __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size);
void *realloc(void *memory, size_t size)
{
    count();
    return fails(CALLER) ? NULL : __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size);
void *memalign(size_t alignment, size_t size)
{
    count();
    return fails(CALLER) ? NULL : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size);
void *aligned_alloc(size_t alignment, size_t size)
{
    count();
    return fails(CALLER) ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size);
int posix_memalign(void **memory, size_t alignment, size_t size)
{
    count();
    *memory = fails(CALLER) ? NULL : __libc_memalign(alignment, size);
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
