#include "listen/trial_key.h"

#include "listen/secure_random.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void digest_of_text(const char *text, char digest[DIGEST_TEXT])
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(hash, (const unsigned char *)text, strlen(text));
    sodium_bin2hex(digest, DIGEST_TEXT, hash, sizeof hash);
}

enum status trial_key_commit(const char *draws, const char *salt, char commitment[DIGEST_TEXT])
{
    char *text = NULL;
    if (asprintf(&text, "%s %s", draws, salt) < 0)
        return fail_memory("a test's key");
    digest_of_text(text, commitment);
    free(text);
    return STATUS_OK;
}

enum status trial_key_init(struct trial_key *key, char *draws)
{
    *key = (struct trial_key){.draws = draws};
    if (!draws)
        return fail_memory("a test's key");
    secure_random_hex(TRIAL_SALT_BYTES, key->salt);
    return trial_key_commit(draws, key->salt, key->commitment);
}

void trial_key_free(struct trial_key *key)
{
    free(key->draws);
    *key = (struct trial_key){.draws = NULL};
}
