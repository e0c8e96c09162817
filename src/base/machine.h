/* What this machine is, for files of what was measured on it. Threads: any. */
#ifndef HALO_MACHINE_H
#define HALO_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

enum { MACHINE_TEXT = 256 };

/* The first processor's name and its vectors, which a virtual machine may hide; "": unknown. */
void machine_processor(char text[MACHINE_TEXT]);

/* Those that this process may run on. */
size_t machine_processors(void);

/* Whether a driver of NVIDIA's GPUs may be there. */
bool machine_may_have_gpu(void);

#endif
