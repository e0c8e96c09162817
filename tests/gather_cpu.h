/* A device for gather.h without a GPU: it convolves batches in double precision, directly, and
 * fails when it is to. Threads: gather_cpu_reset and the fields before and after a gather exists;
 * gather_cpu_hold and _let_on any time. */
#ifndef HALO_TESTS_GATHER_CPU_H
#define HALO_TESTS_GATHER_CPU_H

#include "convolve/gather.h"

enum { GATHER_CPU_DEVICES = 3, GATHER_CPU_BATCHES = 4096 };

struct gather_cpu {
    size_t count; /* of devices */
    /* The device that fails at its batch of that number, from 0, in begin or in end. */
    struct {
        size_t begin, end;
    } fails[GATHER_CPU_DEVICES]; /* SIZE_MAX: never */
    size_t mask_bytes;           /* 0: plenty */
    /* What happened. */
    size_t asked; /* how many there are */
    size_t batches[GATHER_CPU_DEVICES];
    size_t items[GATHER_CPU_DEVICES][GATHER_CPU_BATCHES]; /* of each batch */
    size_t floats_most;                                   /* of a batch, in or out */
    size_t forms, form_bytes, form_bytes_most;            /* that are there */
    bool wrong; /* a form was used that is not there, or a batch ended out of order */
};

extern struct gather_cpu gather_cpu;
extern const struct gather_device_kind gather_cpu_kind;

void gather_cpu_reset(size_t count);

/* All devices wait in `end` until they are let on. */
void gather_cpu_hold(void);
void gather_cpu_let_on(void);

#endif
