/* A simulated sound card for tests: a plugin of alsa-lib (external ioplug).
 *
 *     pcm.card { type simcard infile "in.raw" outfile "out.raw" }
 *
 * Frames move at `rate` by CLOCK_MONOTONIC. Capture reads interleaved frames from infile
 * (silence after its end), playback appends to outfile. Files are opened when the first frame
 * moves, so that probing a card leaves them alone. A client that is late by a whole buffer gets
 * -EPIPE, as from a real card.
 *
 *     rate 48000  channels 2     the only rate and channel count it supports
 *     speed 1.0                  its clock runs that much faster than the system's
 *     unplug 0                   after this many frames it behaves as an unplugged USB card:
 *                                DISCONNECTED, and every call fails; 0: never
 *     hangs 0                    1: then a call to close it does not return; 2: to prepare it
 */
#include <alsa/asoundlib.h>
#include <alsa/pcm_external.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

struct card {
    snd_pcm_ioplug_t plug;
    char *infile;
    char *outfile;
    int file;
    int timer;
    long rate;
    double speed;
    long channels;
    long unplug;
    long hangs;
    bool running;
    int64_t begun;     /* ns */
    uint64_t reported; /* frames since then that alsa-lib knows about */
    uint64_t moved;    /* frames passed through the file in total */
    size_t frame;      /* bytes */
};

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool is_unplugged(struct card *card)
{
    bool unplugged = card->unplug > 0 && card->moved >= (uint64_t)card->unplug;
    if (unplugged)
        snd_pcm_ioplug_set_state(&card->plug, SND_PCM_STATE_DISCONNECTED);
    return unplugged;
}

/* ---- callbacks of alsa-lib ---- */

static int card_prepare(snd_pcm_ioplug_t *plug)
{
    struct card *card = plug->private_data;
    while (card->hangs == 2)
        pause();
    card->frame = (size_t)snd_pcm_format_physical_width(plug->format) / 8 * plug->channels;
    card->running = false;
    card->reported = 0;
    return is_unplugged(card) ? -ENODEV : 0;
}

/* Wakes twice per period, since the end of a period need not coincide with the timer. */
static int card_start(snd_pcm_ioplug_t *plug)
{
    struct card *card = plug->private_data;
    int64_t half =
        (int64_t)(0.5e9 * (double)plug->period_size / ((double)card->rate * card->speed));
    const struct timespec interval = {.tv_sec = half / 1000000000, .tv_nsec = half % 1000000000};
    const struct itimerspec timer = {.it_interval = interval, .it_value = interval};
    card->begun = now_ns();
    card->reported = 0;
    card->running = true;
    return timerfd_settime(card->timer, 0, &timer, NULL) < 0 ? -errno : 0;
}

static int card_stop(snd_pcm_ioplug_t *plug)
{
    struct card *card = plug->private_data;
    const struct itimerspec never = {0};
    card->running = false;
    return timerfd_settime(card->timer, 0, &never, NULL) < 0 ? -errno : 0;
}

static snd_pcm_sframes_t card_pointer(snd_pcm_ioplug_t *plug)
{
    struct card *card = plug->private_data;
    if (is_unplugged(card) || !card->running)
        return (snd_pcm_sframes_t)(card->reported % plug->buffer_size);
    double seconds = (double)(now_ns() - card->begun) * 1e-9 * card->speed;
    uint64_t reached = (uint64_t)(seconds * (double)card->rate);
    snd_pcm_uframes_t open = snd_pcm_ioplug_avail(plug, plug->hw_ptr, plug->appl_ptr);
    if (reached - card->reported + open > plug->buffer_size)
        return -EPIPE;
    card->reported = reached;
    return (snd_pcm_sframes_t)(reached % plug->buffer_size);
}

static void open_file(struct card *card)
{
    bool captures = card->plug.stream == SND_PCM_STREAM_CAPTURE;
    if (card->file < 0 && captures && card->infile)
        card->file = open(card->infile, O_RDONLY | O_CLOEXEC);
    if (card->file < 0 && !captures && card->outfile)
        card->file = open(card->outfile, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

static snd_pcm_sframes_t card_transfer(snd_pcm_ioplug_t *plug, const snd_pcm_channel_area_t *areas,
                                       snd_pcm_uframes_t offset, snd_pcm_uframes_t frames)
{
    struct card *card = plug->private_data;
    if (is_unplugged(card))
        return -ENODEV;
    open_file(card);
    char *bytes = (char *)areas->addr + (areas->first + areas->step * offset) / 8;
    size_t length = frames * card->frame, done = 0;
    bool captures = plug->stream == SND_PCM_STREAM_CAPTURE;
    while (card->file >= 0 && done < length) {
        ssize_t part = captures ? read(card->file, bytes + done, length - done)
                                : write(card->file, bytes + done, length - done);
        if (part <= 0)
            break;
        done += (size_t)part;
    }
    if (captures)
        memset(bytes + done, 0, length - done);
    card->moved += frames;
    return (snd_pcm_sframes_t)frames;
}

static int card_revents(snd_pcm_ioplug_t *plug, struct pollfd *polled, unsigned count,
                        unsigned short *events)
{
    struct card *card = plug->private_data;
    (void)count;
    *events = 0;
    if (is_unplugged(card)) {
        *events = POLLERR | POLLNVAL;
        return -ENODEV;
    }
    uint64_t ticks;
    if (!(polled[0].revents & POLLIN) || read(card->timer, &ticks, sizeof ticks) < 0)
        return 0;
    unsigned short ready = plug->stream == SND_PCM_STREAM_CAPTURE ? POLLIN : POLLOUT;
    snd_pcm_sframes_t there = snd_pcm_avail_update(plug->pcm);
    snd_pcm_uframes_t least = 1;
    snd_pcm_sw_params_t *request;
    snd_pcm_sw_params_alloca(&request);
    if (snd_pcm_sw_params_current(plug->pcm, request) == 0)
        snd_pcm_sw_params_get_avail_min(request, &least);
    if (there < 0)
        *events = ready | POLLERR;
    else if ((snd_pcm_uframes_t)there >= least)
        *events = ready;
    return 0;
}

static int card_delay(snd_pcm_ioplug_t *plug, snd_pcm_sframes_t *delay)
{
    snd_pcm_uframes_t open = snd_pcm_ioplug_avail(plug, plug->hw_ptr, plug->appl_ptr);
    bool captures = plug->stream == SND_PCM_STREAM_CAPTURE;
    *delay = (snd_pcm_sframes_t)(captures ? open : plug->buffer_size - open);
    return 0;
}

static void release(struct card *card)
{
    if (card->file >= 0)
        close(card->file);
    if (card->timer >= 0)
        close(card->timer);
    free(card->infile);
    free(card->outfile);
    free(card);
}

static int card_close(snd_pcm_ioplug_t *plug)
{
    struct card *card = plug->private_data;
    while (card->hangs && is_unplugged(card))
        pause();
    release(plug->private_data);
    return 0;
}

static const snd_pcm_ioplug_callback_t callbacks = {
    .start = card_start,
    .stop = card_stop,
    .pointer = card_pointer,
    .transfer = card_transfer,
    .close = card_close,
    .prepare = card_prepare,
    .poll_revents = card_revents,
    .delay = card_delay,
};

/* ---- configuration ---- */

static int parse_text(snd_config_t *entry, char **text)
{
    const char *value;
    int error = snd_config_get_string(entry, &value);
    if (error < 0)
        return error;
    free(*text);
    *text = strdup(value);
    return *text ? 0 : -ENOMEM;
}

static int parse_entry(struct card *card, snd_config_t *entry)
{
    const char *id;
    if (snd_config_get_id(entry, &id) < 0 || strcmp(id, "type") == 0 ||
        strcmp(id, "comment") == 0 || strcmp(id, "hint") == 0)
        return 0;
    if (strcmp(id, "infile") == 0)
        return parse_text(entry, &card->infile);
    if (strcmp(id, "outfile") == 0)
        return parse_text(entry, &card->outfile);
    if (strcmp(id, "rate") == 0)
        return snd_config_get_integer(entry, &card->rate);
    if (strcmp(id, "speed") == 0)
        return snd_config_get_ireal(entry, &card->speed);
    if (strcmp(id, "channels") == 0)
        return snd_config_get_integer(entry, &card->channels);
    if (strcmp(id, "unplug") == 0)
        return snd_config_get_integer(entry, &card->unplug);
    if (strcmp(id, "hangs") == 0)
        return snd_config_get_integer(entry, &card->hangs);
    SNDERR("simcard: no such entry: %s", id);
    return -EINVAL;
}

static int parse_entries(struct card *card, snd_config_t *configuration)
{
    snd_config_iterator_t at, next;
    snd_config_for_each(at, next, configuration)
    {
        int error = parse_entry(card, snd_config_iterator_entry(at));
        if (error < 0)
            return error;
    }
    return 0;
}

static int set_limits(struct card *card)
{
    static const unsigned access[] = {SND_PCM_ACCESS_MMAP_INTERLEAVED,
                                      SND_PCM_ACCESS_RW_INTERLEAVED};
    static const unsigned formats[] = {SND_PCM_FORMAT_FLOAT_LE};
    unsigned channels = (unsigned)card->channels, rate = (unsigned)card->rate;
    snd_pcm_ioplug_t *plug = &card->plug;
    int error = snd_pcm_ioplug_set_param_list(plug, SND_PCM_IOPLUG_HW_ACCESS, 2, access);
    if (error == 0)
        error = snd_pcm_ioplug_set_param_list(plug, SND_PCM_IOPLUG_HW_FORMAT, 1, formats);
    if (error == 0)
        error =
            snd_pcm_ioplug_set_param_minmax(plug, SND_PCM_IOPLUG_HW_CHANNELS, channels, channels);
    if (error == 0)
        error = snd_pcm_ioplug_set_param_minmax(plug, SND_PCM_IOPLUG_HW_RATE, rate, rate);
    if (error == 0)
        error = snd_pcm_ioplug_set_param_minmax(plug, SND_PCM_IOPLUG_HW_PERIOD_BYTES, 64, 1 << 20);
    if (error == 0)
        error = snd_pcm_ioplug_set_param_minmax(plug, SND_PCM_IOPLUG_HW_PERIODS, 2, 64);
    return error;
}

/* Name and parameters are given by alsa-lib. */
SND_PCM_PLUGIN_DEFINE_FUNC(simcard);
SND_PCM_PLUGIN_DEFINE_FUNC(simcard)
{
    (void)root;
    struct card *card = calloc(1, sizeof *card);
    if (!card)
        return -ENOMEM;
    card->file = -1;
    card->rate = 48000;
    card->speed = 1;
    card->channels = 2;
    card->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    int error = card->timer < 0 ? -errno : parse_entries(card, conf);
    if (error == 0) {
        card->plug.version = SND_PCM_IOPLUG_VERSION;
        card->plug.name = "a card of software";
        card->plug.callback = &callbacks;
        card->plug.private_data = card;
        card->plug.poll_fd = card->timer;
        card->plug.poll_events = POLLIN;
        card->plug.flags = SND_PCM_IOPLUG_FLAG_MONOTONIC;
        error = snd_pcm_ioplug_create(&card->plug, name, stream, mode);
    }
    if (error < 0) {
        release(card);
        return error;
    }
    error = set_limits(card);
    if (error < 0) {
        snd_pcm_ioplug_delete(&card->plug); /* closing releases the card */
        return error;
    }
    *pcmp = card->plug.pcm;
    return 0;
}
/* SND_PCM_PLUGIN_SYMBOL without its second semicolon. */
SND_DLSYM_BUILD_VERSION(SND_PCM_PLUGIN_ENTRY(simcard), SND_PCM_DLSYM_VERSION)
