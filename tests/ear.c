#include "ear.h"

#include "base/monotonic.h"
#include "command.h"
#include "sound/port.h"
#include "suite.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { CHANNELS_MOST = 2, CHUNK = 256 /* frames */ };

struct ear {
    char path[128];
    pthread_t thread;
    size_t capacity;
    struct block recorded;
    atomic_size_t frames;
};

static void *listen(void *argument)
{
    struct ear *ear = argument;
    struct source *source;
    size_t got = CHUNK;
    if (source_open_sound(ear->path, true, &source) != STATUS_OK)
        return NULL;
    while (got == CHUNK && ear->frames + CHUNK <= ear->capacity) {
        float *at[CHANNELS_MOST];
        for (size_t c = 0; c < source->format.channels; c++)
            at[c] = ear->recorded.data[c] + ear->frames;
        if (source_read(source, at, CHUNK, &got) != STATUS_OK)
            break;
        ear->frames += got;
    }
    source_close(source);
    return NULL;
}

struct ear *ear_open(size_t frames)
{
    struct ear *ear = calloc(1, sizeof *ear);
    ck_assert_ptr_nonnull(ear);
    snprintf(ear->path, sizeof ear->path, "%s/ear.wav", command_folder());
    unlink(ear->path);
    ck_assert_int_eq(mkfifo(ear->path, 0600), 0);
    ear->capacity = frames;
    ck_assert_int_eq(block_init(&ear->recorded, CHANNELS_MOST, frames, "a recording"), STATUS_OK);
    ck_assert_int_eq(pthread_create(&ear->thread, NULL, listen, ear), 0);
    return ear;
}

void ear_close(struct ear *ear)
{
    pthread_join(ear->thread, NULL);
    unlink(ear->path);
    block_free(&ear->recorded);
    free(ear);
}

size_t ear_wait(struct ear *ear, size_t frames)
{
    int64_t deadline = monotonic_ns() + COMMAND_PATIENCE * INT64_C(1000000000);
    const struct timespec pause = {.tv_nsec = 2000000};
    size_t until = ear->frames + frames;
    ck_assert_uint_le(until, ear->capacity - CHUNK);
    while (ear->frames < until) {
        ck_assert_msg(monotonic_ns() < deadline, "nothing is played");
        nanosleep(&pause, NULL);
    }
    return ear->frames;
}

size_t ear_frames(const struct ear *ear)
{
    return ear->frames;
}

const float *ear_channel(const struct ear *ear, size_t channel)
{
    return ear->recorded.data[channel];
}
