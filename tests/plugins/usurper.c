/* A LADSPA plugin that takes over its process in its first block, or when it is opened: it finds
 * the memory that the process shares with halo, and from then on answers each order itself, with
 * false numbers wherever it can write. Each label is one set of numbers. In halo's own process it
 * finds no such memory, and the sound passes unchanged.
 */
#include "ladspa_fields.h"
#include "plugin/isolation/plugin_isolated.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { IN, OUT, GAIN, LATENCY, PORTS };
enum { HEAD = (sizeof(struct isolated_head) + 63) / 64 * 64 }; /* where slot 0 begins */

struct usurper {
    const struct lie *lie;
    float *ports[PORTS];
};

static const struct lie {
    const char *label;
    uint64_t word;    /* all of the memory behind the head */
    uint64_t count;   /* of changes and runs, in slot 0 */
    const char *text; /* why it failed; NULL: it did not */
    enum {
        ANSWERING,
        OPENING,
        ALWAYS,
        FILLING,
        DYING
    } when; /* from the first block on, from the opening on, or from the first block on at any time;
               or the first block fills the head with a byte, or is answered, and the process aborts
             */
} lies[] = {
    {"endless-runs", 0, UINT64_MAX, NULL, ANSWERING},
    {"long-runs", (uint64_t)1 << 40, 3, NULL, ANSWERING},
    {"all-ones", UINT64_MAX, UINT64_MAX, NULL, ANSWERING},
    {"wrapping-latency", UINT64_MAX - 250, 1, NULL, ANSWERING},
    {"all-ones-at-once", UINT64_MAX, UINT64_MAX, NULL, OPENING},
    {"wrapping-at-once", UINT64_MAX - 250, 1, NULL, OPENING},
    {"changing-counts", 0, (uint64_t)1 << 48, NULL, ALWAYS},
    {"false-word", 0, 0, "all is well", OPENING},
    {"filled-with-55", 0x55, 0, NULL, FILLING},
    {"filled-with-ff", 0xff, 0, NULL, FILLING},
    {"filled-with-00", 0, 0, NULL, FILLING},
    {"answers-and-dies", 0, 0, NULL, DYING},
};
enum { LIES = sizeof lies / sizeof *lies };

struct memory {
    struct isolated_head *head;
    size_t size;
};

static struct memory find_memory(void)
{
    struct memory memory = {NULL, 0};
    char line[512];
    unsigned long from, to;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, "memfd:halo plugin") && sscanf(line, "%lx-%lx", &from, &to) == 2)
            memory = (struct memory){(struct isolated_head *)from, to - from};
    if (maps)
        fclose(maps);
    return memory;
}

static struct isolated_order *first_order(const struct memory *memory)
{
    return (struct isolated_order *)((char *)memory->head + HEAD);
}

static void falsify(const struct memory *memory, const struct lie *lie)
{
    uint64_t *words = (uint64_t *)((char *)memory->head + HEAD);
    for (size_t i = 0; i < (memory->size - HEAD) / sizeof *words; i++)
        words[i] = lie->word;
    first_order(memory)->change_count = lie->count;
    first_order(memory)->run_count = lie->count;
    atomic_store(&memory->head->tail, lie->word);
    memory->head->status = lie->text ? 1 : 0;
    memory->head->failure.cause = (enum cause)lie->word;
    snprintf(memory->head->failure.message, sizeof memory->head->failure.message, "%s",
             lie->text ? lie->text : "");
}

struct falsifier {
    struct memory memory;
    const struct lie *lie;
};

static void *falsify_always(void *argument)
{
    const struct falsifier *falsifier = argument;
    volatile struct isolated_order *order = first_order(&falsifier->memory);
    for (;;) {
        order->change_count = falsifier->lie->count;
        order->run_count = falsifier->lie->count;
    }
    return NULL;
}

static void answer(const struct memory *memory)
{
    atomic_fetch_add(&memory->head->done.value, 1);
    syscall(SYS_futex, &memory->head->done.value, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void wait_for_order(const struct memory *memory)
{
    const struct timespec pause = {.tv_nsec = 50000};
    while (atomic_load(&memory->head->posted.value) == atomic_load(&memory->head->done.value))
        nanosleep(&pause, NULL);
}

static _Noreturn void take_over(const struct memory *memory, const struct lie *lie)
{
    static struct falsifier falsifier;
    pthread_t thread;
    falsifier = (struct falsifier){*memory, lie};
    if (lie->when == ALWAYS && pthread_create(&thread, NULL, falsify_always, &falsifier) != 0)
        abort();
    for (;;) {
        falsify(memory, lie);
        answer(memory);
        wait_for_order(memory);
        if (first_order(memory)->what == ISOLATED_LEAVE)
            _exit(0);
    }
}

static LADSPA_Descriptor descriptors[LIES];

static LADSPA_Handle instantiate(const LADSPA_Descriptor *descriptor, unsigned long rate)
{
    (void)rate;
    struct usurper *usurper = calloc(1, sizeof *usurper);
    const struct lie *lie = &lies[descriptor - descriptors];
    const struct memory memory = find_memory();
    if (memory.head && lie->when == OPENING)
        take_over(&memory, lie);
    if (usurper)
        usurper->lie = lie;
    return usurper;
}

static void connect_port(LADSPA_Handle instance, unsigned long port, LADSPA_Data *data)
{
    ((struct usurper *)instance)->ports[port] = data;
}

static void run(LADSPA_Handle instance, unsigned long frames)
{
    const struct usurper *usurper = instance;
    const struct memory memory = find_memory();
    if (memory.head && usurper->lie->when == FILLING)
        memset(memory.head, (int)usurper->lie->word, sizeof *memory.head);
    if (memory.head && usurper->lie->when == DYING)
        answer(&memory);
    if (memory.head && usurper->lie->when >= FILLING)
        abort();
    if (memory.head)
        take_over(&memory, usurper->lie);
    memcpy(usurper->ports[OUT], usurper->ports[IN], frames * sizeof(float));
    *usurper->ports[LATENCY] = 0;
}

static const LADSPA_PortDescriptor kinds[PORTS] = {
    [IN] = LADSPA_PORT_INPUT | LADSPA_PORT_AUDIO,
    [OUT] = LADSPA_PORT_OUTPUT | LADSPA_PORT_AUDIO,
    [GAIN] = LADSPA_PORT_INPUT | LADSPA_PORT_CONTROL,
    [LATENCY] = LADSPA_PORT_OUTPUT | LADSPA_PORT_CONTROL,
};
static const char *const names[PORTS] = {
    [IN] = "In", [OUT] = "Out", [GAIN] = "Gain", [LATENCY] = "latency"};
static const LADSPA_PortRangeHint ranges[PORTS] = {
    [GAIN] = {LADSPA_HINT_BOUNDED_BELOW | LADSPA_HINT_BOUNDED_ABOVE | LADSPA_HINT_DEFAULT_0, 0, 1},
};

__attribute__((visibility("default"))) const LADSPA_Descriptor *
ladspa_descriptor(unsigned long index)
{
    if (index >= LIES)
        return NULL;
    descriptors[index] = (LADSPA_Descriptor){LADSPA_FIELDS(3000 + index, lies[index].label)};
    return &descriptors[index];
}
