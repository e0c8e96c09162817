#include "mean.h"

#include <lv2/core/lv2.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEEDS_MOST = 64, URI_MOST = 64 };

static char uris[DEEDS_MOST][URI_MOST];
static LV2_Descriptor descriptors[DEEDS_MOST];

static LV2_Handle instantiate(const LV2_Descriptor *descriptor, double rate, const char *bundle,
                              const LV2_Feature *const *features)
{
    (void)rate, (void)bundle, (void)features;
    return mean_create((size_t)(descriptor - descriptors));
}

static void connect_port(LV2_Handle instance, uint32_t port, void *data)
{
    ((struct mean *)instance)->ports[port] = data;
}

static void activate(LV2_Handle instance)
{
    mean_reset(instance);
}

static void run(LV2_Handle instance, uint32_t frames)
{
    mean_run(instance, frames);
}

LV2_SYMBOL_EXPORT const LV2_Descriptor *lv2_descriptor(uint32_t index)
{
    if (index >= mean_deed_count)
        return NULL;
    snprintf(uris[index], URI_MOST, "urn:halo:test:%s", mean_deeds[index].name);
    descriptors[index] = (LV2_Descriptor){.URI = uris[index],
                                          .instantiate = instantiate,
                                          .connect_port = connect_port,
                                          .activate = activate,
                                          .run = run,
                                          .cleanup = free};
    return &descriptors[index];
}
