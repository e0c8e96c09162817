/* What a sound file's header claims: libsndfile quietly plays what is there. */
#ifndef HALO_SOUND_CLAIM_H
#define HALO_SOUND_CLAIM_H

#include <stdint.h>

enum sound_claim {
    CLAIM_NONE, /* another container, or one that cannot tell */
    CLAIM_END,  /* *end is the byte at which the samples should end */
    CLAIM_OPEN, /* a stream's header (size 0 or 0xFFFFFFFF): to the end of the file */
};

/* What the header of the regular file `fd` says (WAV, RF64, W64, AIFF, AU, CAF).
 * Leaves the file's position alone. */
enum sound_claim sound_claim_read(int fd, uint64_t *end);

#endif
