/* A library that crashes or hangs (TROUBLE) when it is loaded or when its plugins are listed
 * (WHEN), as LV2 and as LADSPA. */
#include <stdint.h>
#include <unistd.h>

enum { CRASH, HANG, LOADED, ASKED };

static void make_trouble(void)
{
    static volatile uintptr_t nowhere = 64;
    if (TROUBLE == CRASH)
        *(volatile int *)nowhere = 1;
    for (;;)
        pause();
}

__attribute__((constructor)) static void load(void)
{
    if (WHEN == LOADED)
        make_trouble();
}

const void *lv2_descriptor(uint32_t index);
const void *ladspa_descriptor(unsigned long index);

__attribute__((visibility("default"))) const void *lv2_descriptor(uint32_t index)
{
    (void)index;
    make_trouble();
    return NULL;
}

__attribute__((visibility("default"))) const void *ladspa_descriptor(unsigned long index)
{
    (void)index;
    make_trouble();
    return NULL;
}
