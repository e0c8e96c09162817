#include "live/step_usage.h"

HALO_REALTIME static void set_last(struct step_usage *usage, const struct thread_usage *now)
{
    usage->last = *now;
    usage->is_known = true;
    usage->blocks = 0;
    usage->steps = 0;
}

HALO_REALTIME static void look(struct step_usage *usage)
{
    const struct thread_usage now = thread_usage_now();
    int64_t beside = now.cpu_ns - usage->last.cpu_ns - usage->steps;
    if (usage->blocks > 0)
        usage->beside = beside > 0 ? beside / usage->blocks : 0;
    set_last(usage, &now);
}

HALO_REALTIME void step_usage_begin(struct step_usage *usage)
{
    if (!usage->is_known || usage->blocks >= STEP_USAGE_BLOCKS)
        look(usage);
    usage->processor = sched_getcpu();
}

HALO_REALTIME void step_usage_end(struct step_usage *usage, int64_t ns)
{
    usage->blocks++;
    usage->steps += ns;
}

HALO_REALTIME struct thread_usage step_usage_late(struct step_usage *usage, int64_t ns)
{
    const struct thread_usage now = thread_usage_now();
    struct thread_usage used = thread_usage_between(&usage->last, &now);
    used.cpu_ns -= usage->steps + usage->beside * usage->blocks;
    used.cpu_ns = used.cpu_ns < 0 ? 0 : used.cpu_ns > ns ? ns : used.cpu_ns;
    used.processor = now.processor != usage->processor;
    set_last(usage, &now);
    return used;
}
