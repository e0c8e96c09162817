/* The secret of a blind test: what was drawn, and a salt that nobody can guess.
 *
 * Its SHA-256, of "DRAWS SALT" with one blank between, is shown before the first sound: a
 * commitment. When draws and salt are shown at the end, everybody can see that they
 * are those of the start, and nobody could have told them from the commitment.
 */
#ifndef HALO_TRIAL_KEY_H
#define HALO_TRIAL_KEY_H

#include "base/status.h"

#include <stddef.h>

enum { TRIAL_SALT_BYTES = 16, DIGEST_TEXT = 65 /* 64 hexadecimal digits and the end */ };

struct trial_key {
    char *draws;
    char salt[2 * TRIAL_SALT_BYTES + 1];
    char commitment[DIGEST_TEXT];
};

/* Takes `draws` (from malloc), also on failure; NULL is no memory. Errors: memory. */
MUST_CHECK enum status trial_key_init(struct trial_key *key, char *draws);
void trial_key_free(struct trial_key *key);

/* The SHA-256 of a text (FIPS 180-4), by libsodium. */
void digest_of_text(const char *text, char digest[DIGEST_TEXT]);

/* The commitment of draws and salt. Errors: memory. */
MUST_CHECK enum status trial_key_commit(const char *draws, const char *salt,
                                        char commitment[DIGEST_TEXT]);

#endif
