#include "locks.h"

#include "sanitizer.h"

#include <dlfcn.h>
#include <pthread.h>

static _Thread_local size_t taken;

bool locks_are_counted(void)
{
    return !SANITIZER_THREAD;
}

size_t locks_of_thread(void)
{
    return taken;
}

#if !SANITIZER_THREAD
typedef int lock_function(pthread_mutex_t *mutex);

/* Before any other thread. */
static lock_function *lock;

__attribute__((constructor)) static void find_lock(void)
{
    *(void **)&lock = dlsym(RTLD_NEXT, "pthread_mutex_lock");
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (!lock) /* another constructor came first */
        find_lock();
    taken++;
    return lock(mutex);
}
#endif
