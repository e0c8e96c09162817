/* libFuzzer target for sound files of every container, read as a file and as a stream. */
#include "fuzz.h"
#include "sound/port.h"

#include <fcntl.h>

enum { BLOCK = 256, BLOCKS_MOST = 1024, CHANNELS_MOST = 64, PIPE = 1 << 17 };

/* libsndfile itself loses what it has of a damaged Vorbis header. */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:vorbis_info_init\n";
}

static enum status read_some(struct source *source)
{
    struct block block;
    enum status status = block_init(&block, source->format.channels, BLOCK, "a test");
    size_t got = BLOCK;
    for (int i = 0; status == STATUS_OK && got == BLOCK && i < BLOCKS_MOST; i++) {
        status = source_read(source, block.data, BLOCK, &got);
        if (status == STATUS_OK && got > BLOCK)
            abort();
    }
    block_free(&block);
    return status;
}

static void read_sound(const char *path, bool seeks)
{
    struct source *source = NULL;
    fuzz_begin();
    enum status status = source_open_sound(path, true, &source);
    if (status == STATUS_OK && (source->format.channels == 0 || source->format.rate == 0))
        abort();
    if (status == STATUS_OK && source->format.channels <= CHANNELS_MOST) {
        status = read_some(source);
        if (status == STATUS_OK && seeks && source->frames > 1)
            status = source_seek(source, (uint64_t)source->frames / 2);
    }
    source_close(source);
    fuzz_end(status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = fuzz_file(data, size, path), ends[2];
    read_sound(path, true);
    close(fd);
    if (pipe(ends) != 0 || fcntl(ends[1], F_SETPIPE_SZ, PIPE) < (int)size ||
        write(ends[1], data, size) != (ssize_t)size)
        abort();
    close(ends[1]);
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    read_sound(path, false);
    close(ends[0]);
    return 0;
}
