#include "signal/audio.h"

#include "base/realtime.h"

#include <math.h>

enum { CHUNK_SAMPLES = 1 << 15 };

const char *const precision_names[] = {"single", "double", NULL};

void stream_format_set_channels(struct stream_format *format, size_t channels)
{
    if (channels != format->channels)
        format->layout = channel_layout_implied(channels);
    format->channels = channels;
}

size_t audio_chunk_frames(size_t channels)
{
    return channels < CHUNK_SAMPLES ? CHUNK_SAMPLES / channels : 1;
}

uint64_t audio_common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

HALO_REALTIME double audio_from_db(double db)
{
    return pow(10.0, db / 20.0);
}

HALO_REALTIME double audio_to_db(double amplitude)
{
    return 20.0 * log10(amplitude);
}
