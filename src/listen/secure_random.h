/* Draws from the system's random source (getrandom, through libsodium): nobody can know
 * or repeat them. For noise that can be repeated there is noise.h. Threads: any. */
#ifndef HALO_SECURE_RANDOM_H
#define HALO_SECURE_RANDOM_H

#include "base/status.h"

#include <stdint.h>

/* Call once, before any other. Errors: the system has no random source. */
MUST_CHECK enum status secure_random_start(void);

/* Uniform in 0..bound-1, without the bias of a remainder. */
uint32_t secure_random_below(uint32_t bound);

/* 2 * bytes hexadecimal digits and the end. */
void secure_random_hex(size_t bytes, char *hex);

#endif
