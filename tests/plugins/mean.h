/* Misbehaving plugins for tests: each is one misbehaviour, wrapped as LV2 (urn:halo:test:NAME)
 * and as LADSPA (mean:NAME).
 *
 * All have the ports below. For the first `at` frames the output is the input.
 */
#ifndef HALO_TESTS_MEAN_H
#define HALO_TESTS_MEAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mean_port { MEAN_IN, MEAN_OUT, MEAN_AT, MEAN_AMOUNT, MEAN_LATENCY, MEAN_PORTS };

struct mean {
    const struct mean_deed *deed;
    float *ports[MEAN_PORTS];
    uint64_t frame; /* the first frame of the current block */
    uint32_t next;  /* index in `history` */
    float history[8192];
};

struct mean_deed {
    const char *name;
    bool (*begin)(void); /* called when an instance is created; false: it fails. May be NULL */
    void (*run)(struct mean *mean, uint32_t frames);
};

extern const struct mean_deed mean_deeds[];
extern const size_t mean_deed_count;

struct mean *mean_create(size_t deed);
void mean_run(struct mean *mean, uint32_t frames);
void mean_reset(struct mean *mean);

#endif
