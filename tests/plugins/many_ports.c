/* An LV2 plugin with hundreds of controls: out is in times the last of them. */
#include <lv2/core/lv2.h>
#include <stdlib.h>

enum { IN, OUT, CONTROLS, PORTS = CONTROLS + MANY };

struct many {
    float *ports[PORTS];
};

static LV2_Handle instantiate(const LV2_Descriptor *descriptor, double rate, const char *bundle,
                              const LV2_Feature *const *features)
{
    (void)descriptor, (void)rate, (void)bundle, (void)features;
    return calloc(1, sizeof(struct many));
}

static void connect_port(LV2_Handle instance, uint32_t port, void *data)
{
    ((struct many *)instance)->ports[port] = data;
}

static void run(LV2_Handle instance, uint32_t frames)
{
    const struct many *many = instance;
    for (uint32_t i = 0; i < frames; i++)
        many->ports[OUT][i] = many->ports[IN][i] * *many->ports[PORTS - 1];
}

static const LV2_Descriptor descriptor = {
    .URI = "urn:halo:test:many-ports",
    .instantiate = instantiate,
    .connect_port = connect_port,
    .run = run,
    .cleanup = free,
};

LV2_SYMBOL_EXPORT const LV2_Descriptor *lv2_descriptor(uint32_t index)
{
    return index == 0 ? &descriptor : NULL;
}
