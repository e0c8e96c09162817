/* What the descriptors of the tests' LADSPA plugins have in common: their kinds, names and ranges
 * of ports, and instantiate, connect_port and run, are called so in each file. */
#ifndef HALO_TESTS_LADSPA_FIELDS_H
#define HALO_TESTS_LADSPA_FIELDS_H

#include <ladspa.h>
#include <stdlib.h>

/* The first fields of a LADSPA_Descriptor. */
#define LADSPA_FIELDS(number, label)                                                               \
    .UniqueID = (number), .Label = (label), .Name = (label), .Maker = "halo's tests",              \
    .Copyright = "None", .PortCount = sizeof kinds / sizeof *kinds, .PortDescriptors = kinds,      \
    .PortNames = names, .PortRangeHints = ranges, .instantiate = instantiate,                      \
    .connect_port = connect_port, .run = run, .cleanup = free

#endif
