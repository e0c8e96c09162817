#include "signal/audio.h"

#include "base/realtime.h"

#include <math.h>
#include <sys/resource.h>
#include <unistd.h>

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

uint64_t audio_memory_limit(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    struct rlimit limit;
    uint64_t all = pages <= 0 || page <= 0 ? UINT64_MAX : (uint64_t)pages * (uint64_t)page;
    bool is_limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return is_limited && limit.rlim_cur < all ? limit.rlim_cur : all;
}
