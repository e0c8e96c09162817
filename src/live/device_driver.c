/* What drivers share: calling the step, threads, standard error and lists. */
#include "live/device_driver.h"

#include "base/realtime.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEADY_CALLS = 32 };   /* of one length: the period has changed, and does not vary */
enum { PRIORITY_LEAST = 10 }; /* lower ones are easily preempted by others */

/* Once, while silence plays: some systems give the thread too low a priority, or none. */
static void raise_priority(struct device_stream *stream)
{
    struct realtime_before before;
    stream->priority = -1;
    if (stream->ordinary)
        return;
    stream->priority = realtime_priority(pthread_self());
    if (stream->priority < PRIORITY_LEAST && realtime_raise(REALTIME_PRIORITY, &before))
        stream->priority = REALTIME_PRIORITY;
}

/* The first call may be longer, with input gathered before: it does not count as varying. */
HALO_REALTIME static void count_call(struct device_stream *stream, size_t frames)
{
    size_t calls = atomic_load_explicit(&stream->calls, memory_order_relaxed);
    if (calls == 0)
        raise_priority(stream);
    if (calls > 1 && frames != atomic_load_explicit(&stream->period, memory_order_relaxed)) {
        atomic_store_explicit(&stream->varies, true, memory_order_relaxed);
        stream->steady = 0;
    } else if (++stream->steady == STEADY_CALLS) {
        atomic_store_explicit(&stream->varies, false, memory_order_relaxed);
    }
    atomic_store_explicit(&stream->period, frames, memory_order_relaxed);
    atomic_store_explicit(&stream->calls, calls + 1, memory_order_release);
}

HALO_REALTIME static void fill_silence(const struct device_channels *channels, float *const *out,
                                       size_t frames, bool mapped_too)
{
    for (size_t c = 0; c < channels->opened; c++)
        if (mapped_too || !channels->mapped[c])
            memset(out[c], 0, frames * sizeof *out[c]);
}

HALO_REALTIME static void run_slot(const struct device_stream *stream,
                                   const struct device_slot *slot, const float *const *input,
                                   float *const *output, size_t frames, bool lost)
{
    const float *in[DEVICE_CHANNELS_MOST];
    float *out[DEVICE_CHANNELS_MOST];
    for (size_t at = 0, length; at < frames; at += length, lost = false) {
        length = frames - at < DEVICE_FRAMES_MOST ? frames - at : DEVICE_FRAMES_MOST;
        for (size_t c = 0; c < stream->in.count; c++)
            in[c] = input ? input[stream->in.map[c]] + at : stream->silence;
        for (size_t c = 0; c < stream->out.count; c++)
            out[c] = output[stream->out.map[c]] + at;
        slot->step(slot->context, in, out, length, lost);
    }
}

HALO_REALTIME bool device_process(struct device_stream *stream, const float *const *in,
                                  float *const *out, size_t frames, bool lost)
{
    count_call(stream, frames);
    /* Set before `current` is read, so that device_stop sees either this or no use of the step. */
    atomic_store(&stream->inside, true);
    const struct device_slot *slot = atomic_load(&stream->current);
    if (slot)
        run_slot(stream, slot, in, out, frames, lost);
    atomic_store(&stream->inside, false);
    if (out)
        fill_silence(&stream->out, out, frames, !slot);
    return slot;
}

static int standard_error = -1; /* the original, while it is discarded; else -1 */

void device_hush(void)
{
    fflush(stderr);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    standard_error = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (nowhere >= 0 && standard_error >= 0)
        dup2(nowhere, STDERR_FILENO);
    if (nowhere >= 0)
        close(nowhere);
}

void device_unhush(void)
{
    if (standard_error < 0)
        return;
    fflush(stderr);
    dup2(standard_error, STDERR_FILENO);
    close(standard_error);
    standard_error = -1;
}

enum status device_list_add_host(struct device_list *list, const char *name,
                                 struct device_host **host)
{
    *host = realloc(list->hosts, (list->host_count + 1) * sizeof **host);
    if (!*host)
        return fail_memory("a list of devices");
    list->hosts = *host;
    *host += list->host_count++;
    **host = (struct device_host){0};
    snprintf((*host)->name, sizeof(*host)->name, "%s", name);
    return STATUS_OK;
}

enum status device_list_add(struct device_list *list, size_t host, const char *name,
                            struct device_row **row)
{
    *row = realloc(list->rows, (list->count + 1) * sizeof **row);
    if (!*row)
        return fail_memory("a list of devices");
    list->rows = *row;
    *row += list->count++;
    **row = (struct device_row){.host = host};
    snprintf((*row)->name, sizeof(*row)->name, "%s", name);
    list->hosts[host].devices++;
    return STATUS_OK;
}

void device_list_free(struct device_list *list)
{
    free(list->hosts);
    free(list->rows);
    *list = (struct device_list){0};
}
