#include "base/digest.h"

#include <sodium.h>
#include <string.h>

void digest_of_text(const char *text, char digest[DIGEST_TEXT])
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(hash, (const unsigned char *)text, strlen(text));
    sodium_bin2hex(digest, DIGEST_TEXT, hash, sizeof hash);
}
