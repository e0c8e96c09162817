/* What a sound file's header claims: libsndfile quietly plays what is there. */
#ifndef HALO_SOUND_CLAIM_H
#define HALO_SOUND_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

/* The byte at which the samples of the regular file `fd` should end, by its own
 * header (WAV, RF64, W64, AIFF, AU, CAF). False where the header leaves it open
 * or the container is another. Leaves the file's position alone. */
bool sound_claim_end(int fd, uint64_t *end);

#endif
