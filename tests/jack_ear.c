#include "jack_ear.h"

#include "base/monotonic.h"
#include "suite.h"

#include <jack/jack.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { PATIENCE = 20 /* seconds */, PORTS_MOST = 8 };

struct jack_ear {
    jack_client_t *client;
    jack_port_t *in[PORTS_MOST], *out[PORTS_MOST];
    const struct block *feed;
    size_t channels;
    struct block recorded;
    size_t fed;
    atomic_size_t frames;
};

static int cycle(jack_nframes_t count, void *context)
{
    struct jack_ear *ear = context;
    size_t at = ear->frames, room = ear->recorded.frames - at;
    size_t part = count < room ? count : room;
    for (size_t c = 0; c < ear->channels; c++) {
        float *to = jack_port_get_buffer(ear->out[c], count);
        memcpy(ear->recorded.data[c] + at, jack_port_get_buffer(ear->in[c], count),
               part * sizeof(float));
        for (size_t i = 0; i < count; i++)
            to[i] = ear->feed ? ear->feed->data[c][(ear->fed + i) % ear->feed->frames] : 0;
    }
    ear->fed += count;
    ear->frames += part;
    return 0;
}

struct jack_ear *jack_ear_open(const struct block *feed, size_t channels, size_t frames)
{
    struct jack_ear *ear = calloc(1, sizeof *ear);
    ck_assert_ptr_nonnull(ear);
    ck_assert_uint_le(channels, PORTS_MOST);
    ear->feed = feed;
    ear->channels = channels;
    ck_assert_int_eq(block_init(&ear->recorded, channels, frames, "a recording"), STATUS_OK);
    ear->client = jack_client_open("ear", JackNoStartServer | JackUseExactName, NULL);
    ck_assert_ptr_nonnull(ear->client);
    for (size_t c = 0; c < channels; c++) {
        char name[2][16];
        snprintf(name[0], sizeof name[0], "in%zu", c + 1);
        snprintf(name[1], sizeof name[1], "out%zu", c + 1);
        ear->in[c] = jack_port_register(ear->client, name[0], JACK_DEFAULT_AUDIO_TYPE,
                                        JackPortIsInput | JackPortIsTerminal, 0);
        ear->out[c] = jack_port_register(ear->client, name[1], JACK_DEFAULT_AUDIO_TYPE,
                                         JackPortIsOutput | JackPortIsTerminal, 0);
    }
    jack_set_process_callback(ear->client, cycle, ear);
    ck_assert_int_eq(jack_activate(ear->client), 0);
    return ear;
}

void jack_ear_close(struct jack_ear *ear)
{
    jack_client_close(ear->client);
    block_free(&ear->recorded);
    free(ear);
}

size_t jack_ear_wait(struct jack_ear *ear, size_t frames)
{
    int64_t deadline = monotonic_ns() + PATIENCE * INT64_C(1000000000);
    const struct timespec pause = {.tv_nsec = 2000000};
    size_t until = ear->frames + frames;
    ck_assert_uint_le(until, ear->recorded.frames);
    while (ear->frames < until) {
        ck_assert_msg(monotonic_ns() < deadline, "JACK stands still");
        nanosleep(&pause, NULL);
    }
    return ear->frames;
}

size_t jack_ear_frames(const struct jack_ear *ear)
{
    return ear->frames;
}

const float *jack_ear_channel(const struct jack_ear *ear, size_t channel)
{
    return ear->recorded.data[channel];
}
