#include "listen/digest.h"

#include "base/files_read.h"
#include "base/json_text.h"
#include "sound/sodium_library.h"

#include <string.h>

enum { CHUNK = 1 << 14 };

enum status digest_start(void)
{
    TRY(library_open(&sodium_library));
    if (sodium_init() < 0)
        return fail(CAUSE_OTHER, "cannot draw trials: the system has no random source");
    return STATUS_OK;
}

static void finish(crypto_hash_sha256_state *state, char digest[DIGEST_TEXT])
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_final(state, hash);
    sodium_bin2hex(digest, DIGEST_TEXT, hash, sizeof hash);
}

static void add(crypto_hash_sha256_state *state, const void *bytes, size_t size)
{
    crypto_hash_sha256_update(state, bytes, size);
}

void digest_of_text(const char *text, char digest[DIGEST_TEXT])
{
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    add(&state, text, strlen(text));
    finish(&state, digest);
}

bool digest_of_file(const char *path, char digest[DIGEST_TEXT])
{
    crypto_hash_sha256_state state;
    unsigned char chunk[CHUNK];
    size_t got;
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    crypto_hash_sha256_init(&state);
    while ((got = fread(chunk, 1, sizeof chunk, file)) > 0)
        add(&state, chunk, got);
    bool read = !ferror(file);
    fclose(file);
    finish(&state, digest);
    return read;
}

struct digest_list {
    json_t *files;
    const char *except;
};

static void add_file(void *context, const char *path)
{
    const struct digest_list *list = context;
    char digest[DIGEST_TEXT];
    bool is_left_out = list->except && strncmp(path, list->except, strlen(list->except)) == 0;
    json_t *name = is_left_out ? NULL : json_text(path);
    if (name && digest_of_file(path, digest))
        json_object_set_new(list->files, json_string_value(name), json_string(digest));
    json_decref(name);
}

json_t *digest_files_read(const char *except)
{
    struct digest_list list = {json_object(), except};
    files_read_each(add_file, &list);
    return list.files;
}

void digest_of_mask(const struct mask *mask, char digest[DIGEST_TEXT])
{
    crypto_hash_sha256_state state;
    const uint64_t shape[] = {mask->rate, mask->taps, mask->origin, mask->columns};
    crypto_hash_sha256_init(&state);
    add(&state, shape, sizeof shape);
    add(&state, mask->paths, mask->path_count * sizeof *mask->paths);
    for (size_t c = 0; c < mask->columns; c++)
        add(&state, mask_column(mask, c), mask->taps * sizeof(double));
    finish(&state, digest);
}

void digest_draw_secret(char secret[DIGEST_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i + 1 < DIGEST_TEXT; i++)
        secret[i] = digits[randombytes_uniform(16)];
    secret[DIGEST_TEXT - 1] = '\0';
}
