/* Finds ID3 tags. TagLib reads and writes their content, in a module (tag_module.cc) that is opened
 * only for files with such a tag. */
#include "base/library.h"
#include "sound/metadata/metadata.h"
#include "sound/metadata/tag_module.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ID3_HEADER = 10 };

/* ---- the module ---- */

static const char *const names[] = {"halo_tag_read", "halo_tag_write"};

static struct {
    tag_read_function *read;
    tag_write_function *write;
} module;

static char module_path[PATH_MAX + sizeof HALO_TAG_MODULE_FOLDER + 64];

static struct library tag_module = {
    .title = "TagLib",
    .package = "",
    .files = {module_path},
    .names = names,
    .count = sizeof names / sizeof *names,
    .symbols = &module,
};

static bool has_path;

/* Find the module beside the program, in a build folder, in the folder of its tests, or where it is
 * installed. Returns 0 or an errno. */
static int find_module(void)
{
    static const char *const folders[] = {"", "../", "../" HALO_TAG_MODULE_FOLDER "/"};
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        return errno;
    program[length] = '\0';
    *(strrchr(program, '/') + 1) = '\0';
    for (size_t i = 0; !has_path && i < sizeof folders / sizeof *folders; i++) {
        snprintf(module_path, sizeof module_path, "%s%shalo-tags.so", program, folders[i]);
        has_path = access(module_path, F_OK) == 0;
        if (!has_path && errno != ENOENT && errno != ENOTDIR)
            return errno;
    }
    return 0;
}

/* Open the module. *is_there: it is installed and open, and memory suffices for a tag of `size`
 * bytes: without memory TagLib would end the program. Several sounds may be read at once; the path
 * stays while a thread opens the module. Errors: the module is installed and cannot be opened. */
static enum status open_module(size_t size, bool *is_there)
{
    enum { LEAST = 1 << 21, COPIES = 8 };
    static pthread_mutex_t finding = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&finding);
    int error = has_path ? 0 : find_module();
    *is_there = has_path;
    pthread_mutex_unlock(&finding);
    if (error)
        return fail_errno(error, "cannot use TagLib: %s", module_path);
    if (*is_there && !memory_is_there(LEAST + COPIES * size))
        return fail_memory("tags");
    return *is_there ? library_open(&tag_module) : STATUS_OK;
}

/* ---- reading ---- */

struct adding {
    struct sound_metadata *metadata;
    enum status status;
};

static int add_text(void *user, const char *name, const char *value)
{
    struct adding *adding = user;
    adding->status = metadata_add_text(adding->metadata, name, strlen(name), value, strlen(value));
    return adding->status != STATUS_OK;
}

static int add_picture(void *user, const struct tag_picture *picture)
{
    struct metadata_buffer block = {0};
    metadata_put_big(&block, picture->type, 4);
    metadata_put_big(&block, strlen(picture->mime), 4);
    metadata_put(&block, picture->mime, strlen(picture->mime));
    metadata_put_big(&block, strlen(picture->description), 4);
    metadata_put(&block, picture->description, strlen(picture->description));
    /* width, height, depth and colours are unknown */
    metadata_put(&block, (const char[16]){0}, 16);
    metadata_put_big(&block, picture->size, 4);
    metadata_put(&block, picture->bytes, picture->size);
    struct adding *adding = user;
    adding->status = metadata_buffer_status(&block);
    if (adding->status == STATUS_OK)
        adding->status = metadata_add_picture(adding->metadata, block.bytes, block.size);
    free(block.bytes);
    return adding->status != STATUS_OK;
}

/* Whether a tag is empty: only padding, or a tag of version 1 without values. */
static bool is_blank(const unsigned char *bytes, size_t size)
{
    if (size >= 3 && memcmp(bytes, "TAG", 3) == 0)
        return true;
    size_t at = size >= ID3_HEADER && memcmp(bytes, "ID3", 3) == 0 ? ID3_HEADER : 0;
    while (at < size && bytes[at] == 0)
        at++;
    return at == size;
}

enum status metadata_parse_id3(struct sound_metadata *metadata, const unsigned char *bytes,
                               size_t size)
{
    bool is_there;
    TRY(open_module(size, &is_there));
    if (!is_there)
        return metadata_leave(metadata, metadata_no_module, "an ID3 tag");
    struct adding adding = {.metadata = metadata};
    const struct tag_visitor visitor = {.user = &adding, .text = add_text, .picture = add_picture};
    int result = module.read(bytes, size, &visitor);
    if (result == TAG_NOTHING)
        return is_blank(bytes, size) ? STATUS_OK
                                     : metadata_leave(metadata, metadata_damaged, "an ID3 tag");
    TRY(adding.status);
    if (result != 0)
        return fail_memory("tags");
    if (metadata->id3 || size < ID3_HEADER || memcmp(bytes, "ID3", 3) != 0)
        return STATUS_OK;
    metadata->id3 = malloc(size);
    if (!metadata->id3)
        return fail_memory("tags");
    memcpy(metadata->id3, bytes, size);
    metadata->id3_size = size;
    return STATUS_OK;
}

/* ---- writing ---- */

/* Find a field of a picture's block: its length and its bytes. False: it is damaged. */
static bool parse_field(const struct metadata_picture *picture, size_t *at, size_t *from,
                        size_t *size)
{
    if (picture->size < 4 || *at > picture->size - 4)
        return false;
    *size = metadata_big(picture->bytes + *at, 4);
    *from = *at + 4;
    *at = *from + *size;
    return *size <= picture->size - *from;
}

/* Convert a picture. Its texts are copies. False: the picture is damaged, or no memory. */
static bool open_picture(const struct metadata_picture *from, struct tag_picture *to)
{
    size_t at = 4, mime, mime_size, description, description_size, image, image_size;
    if (from->size < 4 || !parse_field(from, &at, &mime, &mime_size) ||
        !parse_field(from, &at, &description, &description_size))
        return false;
    at += 16;
    if (!parse_field(from, &at, &image, &image_size))
        return false;
    to->type = (unsigned)metadata_big(from->bytes, 4);
    to->mime = strndup((char *)from->bytes + mime, mime_size);
    to->description = strndup((char *)from->bytes + description, description_size);
    to->bytes = from->bytes + image;
    to->size = image_size;
    return to->mime && to->description;
}

static int put_tag(void *user, const void *bytes, size_t size)
{
    struct metadata_buffer *buffer = user;
    metadata_put(buffer, bytes, size);
    return buffer->failed;
}

static void mark_kept(struct sound_metadata *metadata, const struct tag_picture *pictures)
{
    for (size_t i = 0; i < metadata->text_count; i++)
        metadata->texts[i].kept = true;
    for (size_t i = 0; i < metadata->picture_count; i++)
        metadata->pictures[i].kept |= pictures[i].bytes != NULL;
}

static void write_tag(struct sound_metadata *metadata, size_t picture_count,
                      struct metadata_buffer *buffer)
{
    struct tag_text *texts = calloc(metadata->text_count + 1, sizeof *texts);
    struct tag_picture *pictures = calloc(metadata->picture_count + 1, sizeof *pictures);
    struct metadata_buffer text = {0};
    buffer->failed |= !texts || !pictures;
    for (size_t i = 0; !buffer->failed && i < metadata->text_count; i++) {
        text.size = 0;
        metadata_put_utf8(&text, metadata->texts[i].value);
        metadata_put(&text, "", 1);
        texts[i].name = metadata->texts[i].name;
        texts[i].value = text.failed ? NULL : strdup((char *)text.bytes);
        buffer->failed |= !texts[i].value;
    }
    for (size_t i = 0; !buffer->failed && i < picture_count; i++)
        if (!open_picture(&metadata->pictures[i], &pictures[i]))
            pictures[i].bytes = NULL;
    const struct tag_content content = {.base = metadata->id3,
                                        .base_size = metadata->id3_size,
                                        .texts = texts,
                                        .text_count = metadata->text_count,
                                        .pictures = pictures,
                                        .picture_count = picture_count};
    buffer->failed = buffer->failed || module.write(&content, put_tag, buffer) != 0;
    if (!buffer->failed)
        mark_kept(metadata, pictures);
    for (size_t i = 0; texts && i < metadata->text_count; i++)
        free((char *)texts[i].value);
    for (size_t i = 0; pictures && i < metadata->picture_count; i++) {
        free((char *)pictures[i].mime);
        free((char *)pictures[i].description);
    }
    free(texts);
    free(pictures);
    free(text.bytes);
}

static size_t content_size(const struct sound_metadata *metadata)
{
    size_t size = metadata->id3_size;
    for (size_t i = 0; i < metadata->text_count; i++)
        size += strlen(metadata->texts[i].name) + strlen(metadata->texts[i].value);
    for (size_t i = 0; i < metadata->picture_count; i++)
        size += metadata->pictures[i].size;
    return size;
}

void metadata_write_id3(struct sound_metadata *metadata, bool always,
                        struct metadata_buffer *buffer)
{
    size_t picture_count = metadata->without & METADATA_PICTURES ? 0 : metadata->picture_count;
    bool is_needed = metadata->id3 || picture_count > 0, is_there;
    for (size_t i = 0; i < metadata->text_count; i++)
        is_needed |= always || !metadata->texts[i].kept;
    if (!is_needed)
        return;
    if (open_module(content_size(metadata), &is_there) != STATUS_OK)
        buffer->failed = buffer->said = true;
    else if (is_there)
        write_tag(metadata, picture_count, buffer);
    else
        metadata->lacks_module = true;
}
