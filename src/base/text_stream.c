#include "base/text_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct stream_memory {
    char **text;
    size_t *size;
    size_t room;
};

static ssize_t add(void *cookie, const char *bytes, size_t count)
{
    struct stream_memory *memory = cookie;
    if (memory->room - *memory->size <= count) {
        size_t room = 2 * memory->room + count;
        char *larger = realloc(*memory->text, room);
        if (!larger)
            return 0;
        *memory->text = larger;
        memory->room = room;
    }
    memcpy(*memory->text + *memory->size, bytes, count);
    *memory->size += count;
    (*memory->text)[*memory->size] = '\0';
    return (ssize_t)count;
}

static int forget(void *cookie)
{
    free(cookie);
    return 0;
}

FILE *text_stream_open(char **text, size_t *size)
{
    struct stream_memory *memory = malloc(sizeof *memory);
    *text = calloc(1, 1);
    *size = 0;
    const cookie_io_functions_t functions = {.write = add, .close = forget};
    FILE *stream = memory && *text ? fopencookie(memory, "w", functions) : NULL;
    if (stream) {
        *memory = (struct stream_memory){.text = text, .size = size, .room = 1};
        return stream;
    }
    free(memory);
    free(*text);
    *text = NULL;
    return NULL;
}

int text_stream_finish(FILE *stream)
{
    if (!stream)
        return errno ? errno : ENOMEM;
    int before = ferror(stream) && errno ? errno : EIO; /* errno of an earlier failed write */
    errno = 0;
    bool failed = fflush(stream) != 0 || ferror(stream);
    int error = !failed ? 0 : errno ? errno : before;
    if (fclose(stream) != 0 && !error)
        error = errno;
    return error;
}
