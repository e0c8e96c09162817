/* A LADSPA library whose labels have colons, as those of lsp-plugins have: gains of 2, 3 and 5. */
#include "ladspa_fields.h"

enum { IN, OUT, PORTS };

struct labels {
    const LADSPA_Descriptor *descriptor;
    LADSPA_Data *ports[PORTS];
};

static LADSPA_Handle instantiate(const LADSPA_Descriptor *descriptor, unsigned long rate)
{
    (void)rate;
    struct labels *labels = calloc(1, sizeof *labels);
    if (labels)
        labels->descriptor = descriptor;
    return labels;
}

static void connect_port(LADSPA_Handle instance, unsigned long port, LADSPA_Data *data)
{
    ((struct labels *)instance)->ports[port] = data;
}

static void run(LADSPA_Handle instance, unsigned long frames)
{
    const struct labels *labels = instance;
    for (unsigned long i = 0; i < frames; i++)
        labels->ports[OUT][i] = labels->ports[IN][i] * (float)labels->descriptor->UniqueID;
}

static const LADSPA_PortDescriptor kinds[PORTS] = {LADSPA_PORT_INPUT | LADSPA_PORT_AUDIO,
                                                   LADSPA_PORT_OUTPUT | LADSPA_PORT_AUDIO};
static const char *const names[PORTS] = {"In", "Out"};
static const LADSPA_PortRangeHint ranges[PORTS];

__attribute__((visibility("default"))) const LADSPA_Descriptor *
ladspa_descriptor(unsigned long index)
{
    static const LADSPA_Descriptor descriptors[] = {
        {LADSPA_FIELDS(2, "http://halo.test/plugins/gain")},
        {LADSPA_FIELDS(3, "a:b")},
        {LADSPA_FIELDS(5, "b")},
    };
    return index < sizeof descriptors / sizeof *descriptors ? &descriptors[index] : NULL;
}
