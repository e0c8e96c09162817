#include "ladspa_fields.h"
#include "mean.h"

#include <stdint.h>

enum { DEEDS_MOST = 64 };

static const LADSPA_PortDescriptor kinds[MEAN_PORTS] = {
    [MEAN_IN] = LADSPA_PORT_INPUT | LADSPA_PORT_AUDIO,
    [MEAN_OUT] = LADSPA_PORT_OUTPUT | LADSPA_PORT_AUDIO,
    [MEAN_AT] = LADSPA_PORT_INPUT | LADSPA_PORT_CONTROL,
    [MEAN_AMOUNT] = LADSPA_PORT_INPUT | LADSPA_PORT_CONTROL,
    [MEAN_LATENCY] = LADSPA_PORT_OUTPUT | LADSPA_PORT_CONTROL,
};
static const char *const names[MEAN_PORTS] = {
    [MEAN_IN] = "In",         [MEAN_OUT] = "Out",         [MEAN_AT] = "At",
    [MEAN_AMOUNT] = "Amount", [MEAN_LATENCY] = "latency",
};
enum { IN_BOUNDS = LADSPA_HINT_BOUNDED_BELOW | LADSPA_HINT_BOUNDED_ABOVE };
static const LADSPA_PortRangeHint ranges[MEAN_PORTS] = {
    [MEAN_AT] = {IN_BOUNDS | LADSPA_HINT_DEFAULT_0, 0, 1e9F},
    [MEAN_AMOUNT] = {IN_BOUNDS | LADSPA_HINT_DEFAULT_100, 0, 8191},
};

static LADSPA_Descriptor descriptors[DEEDS_MOST];

static LADSPA_Handle instantiate(const LADSPA_Descriptor *descriptor, unsigned long rate)
{
    (void)rate;
    return mean_create((size_t)(descriptor - descriptors));
}

static void connect_port(LADSPA_Handle instance, unsigned long port, LADSPA_Data *data)
{
    ((struct mean *)instance)->ports[port] = data;
}

static void activate(LADSPA_Handle instance)
{
    mean_reset(instance);
}

static void run(LADSPA_Handle instance, unsigned long frames)
{
    mean_run(instance, (uint32_t)frames);
}

__attribute__((visibility("default"))) const LADSPA_Descriptor *
ladspa_descriptor(unsigned long index)
{
    if (index >= mean_deed_count)
        return NULL;
    descriptors[index] = (LADSPA_Descriptor){LADSPA_FIELDS(1000 + index, mean_deeds[index].name),
                                             .activate = activate};
    return &descriptors[index];
}
