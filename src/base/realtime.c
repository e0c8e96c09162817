#include "base/realtime.h"

#include <sys/mman.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

bool realtime_raise(int priority, struct realtime_before *before)
{
    const struct sched_param parameters = {.sched_priority = priority};
    if (pthread_getschedparam(pthread_self(), &before->policy, &before->parameters) != 0)
        return false;
    return pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters) == 0;
}

void realtime_restore(const struct realtime_before *before)
{
    pthread_setschedparam(pthread_self(), before->policy, &before->parameters);
}

/* PipeWire and RTKit set a flag in the policy, so that children do not inherit it. */
int realtime_priority(pthread_t thread)
{
    int policy;
    struct sched_param parameters;
    if (pthread_getschedparam(thread, &policy, &parameters) != 0)
        return 0;
    policy &= ~SCHED_RESET_ON_FORK;
    return policy == SCHED_FIFO || policy == SCHED_RR ? parameters.sched_priority : 0;
}

int realtime_drop(void)
{
    int priority = realtime_priority(pthread_self());
    if (priority > 0)
        (void)pthread_setschedparam(pthread_self(), SCHED_OTHER, &(const struct sched_param){0});
    return priority;
}

void realtime_lower(pthread_t thread)
{
    int policy;
    struct sched_param parameters;
    if (realtime_priority(thread) <= sched_get_priority_min(SCHED_FIFO) ||
        pthread_getschedparam(thread, &policy, &parameters) != 0)
        return;
    parameters.sched_priority--;
    (void)pthread_setschedparam(thread, policy, &parameters); /* if it fails, the priority stays */
}

bool realtime_lock_memory(void)
{
    return mlockall(MCL_CURRENT) == 0;
}

HALO_REALTIME void realtime_flush_denormals(void)
{
#if defined(__x86_64__)
    enum { FLUSH_TO_ZERO = 0x8000, DENORMALS_ARE_ZERO = 0x0040 };
    _mm_setcsr(_mm_getcsr() | FLUSH_TO_ZERO | DENORMALS_ARE_ZERO);
#elif defined(__aarch64__)
    unsigned long control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    __asm__ volatile("msr fpcr, %0" : : "r"(control | 1ul << 24));
#endif
}

HALO_REALTIME struct realtime_floats realtime_floats_begin(void)
{
    struct realtime_floats before = {0};
#if defined(__x86_64__)
    before.control = _mm_getcsr();
#elif defined(__aarch64__)
    __asm__ volatile("mrs %0, fpcr" : "=r"(before.control));
#endif
    realtime_flush_denormals();
    return before;
}

HALO_REALTIME void realtime_floats_end(struct realtime_floats before)
{
#if defined(__x86_64__)
    _mm_setcsr((unsigned)before.control);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(before.control));
#else
    (void)before;
#endif
}
