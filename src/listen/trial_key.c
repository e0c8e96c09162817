#include "listen/trial_key.h"

#include "base/secure_random.h"

#include <stdio.h>
#include <stdlib.h>

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
