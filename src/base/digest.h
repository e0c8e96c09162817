/* The SHA-256 of a text (FIPS 180-4), by libsodium. Threads: any. */
#ifndef HALO_DIGEST_H
#define HALO_DIGEST_H

enum { DIGEST_TEXT = 65 }; /* 64 hexadecimal digits and the end */

void digest_of_text(const char *text, char digest[DIGEST_TEXT]);

#endif
