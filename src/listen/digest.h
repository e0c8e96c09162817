/* SHA-256 (FIPS 180-4), by libsodium, of texts, files and masks. Digests are hexadecimal text.
 *
 * Threads: any, after one call of digest_start. Not real-time.
 */
#ifndef HALO_DIGEST_H
#define HALO_DIGEST_H

#include "mask/mask.h"

#include <jansson.h>

enum { DIGEST_TEXT = 65 /* 64 hexadecimal digits and the end */ };

/* Starts libsodium. Errors: libsodium is missing; the system has no random source. */
MUST_CHECK enum status digest_start(void);

void digest_of_text(const char *text, char digest[DIGEST_TEXT]);

/* Returns false if the file cannot be read. */
bool digest_of_file(const char *path, char digest[DIGEST_TEXT]);

/* Digests of the files that this command has read, by their paths, without those in the folder
 * `except` (NULL: all). NULL: memory. */
json_t *digest_files_read(const char *except);

/* Digest of the rate, taps, time zero, paths and coefficients of a routed mask. */
void digest_of_mask(const struct mask *mask, char digest[DIGEST_TEXT]);

/* Draws a secret from the system's random source (getrandom). It cannot be repeated; for noise that
 * can be, see noise.h. */
void digest_draw_secret(char secret[DIGEST_TEXT]);

#endif
