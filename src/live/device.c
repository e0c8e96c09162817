#include "live/device.h"

#include "base/monotonic.h"
#include "live/device_choose.h"
#include "live/device_stream.h"
#include "live/device_system.h"
#include "signal/audio.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef HALO_PORTAUDIO_ALSA
#include <pa_linux_alsa.h>
#endif

enum { LOOK_NS = 2000000 };
#define SECOND INT64_C(1000000000)
static const int64_t BEGIN_NS = 5 * SECOND;      /* PulseAudio takes 2 s to begin */
static const int64_t LEARN_NS = SECOND / 2;      /* from the first call on, or so many calls */
static const size_t LEARN_CALLS = 8;             /* the first one may be of another length */
static const int64_t STOP_NS = 2 * SECOND;       /* for a step to return */
static const int64_t SILENT_NS = SECOND * 3 / 2; /* without a call: lost */
static const double LATENCY_MOST = 10;           /* PortAudio's for JACK may be nonsense */

struct device {
    PaStream *pa;
    bool system; /* PortAudio is started */
    struct device_choice choice;
    struct device_stream *stream;
    size_t calls_seen; /* by device_state, and when */
    int64_t seen_at;
};

static void pause_briefly(void)
{
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    nanosleep(&pause, NULL);
}

/* ---- opening ---- */

static void name_devices(const struct device *device, char *text, size_t size)
{
    const PaDeviceInfo *in = Pa_GetDeviceInfo(device->choice.input);
    const PaDeviceInfo *out = Pa_GetDeviceInfo(device->choice.output);
    bool both = in && out && strcmp(in->name, out->name) != 0;
    snprintf(text, size, "%s%s%s", in ? in->name : "", both ? " and " : "",
             both || !in ? out->name : "");
}

static enum status refuse(const struct device *device, PaError error)
{
    char names[300];
    name_devices(device, names, sizeof names);
    const PaHostErrorInfo *host = Pa_GetLastHostErrorInfo();
    bool by_host = error == paUnanticipatedHostError && host && host->errorText[0];
    return fail(STATUS_FAILED, "cannot open %s at %.0f Hz: %s", names, device->choice.rate,
                by_host ? host->errorText : Pa_GetErrorText(error));
}

static PaError open_and_start(struct device *device)
{
    const struct device_choice *choice = &device->choice;
    PaStreamParameters in = device_choose_parameters(choice->input, &choice->in, choice->latency);
    PaStreamParameters out =
        device_choose_parameters(choice->output, &choice->out, choice->latency);
    PaError error =
        Pa_OpenStream(&device->pa, choice->input == paNoDevice ? NULL : &in,
                      choice->output == paNoDevice ? NULL : &out, choice->rate,
                      paFramesPerBufferUnspecified, paNoFlag, device_stream_call, device->stream);
    if (error != paNoError)
        return error;
#ifdef HALO_PORTAUDIO_ALSA
    PaDeviceIndex either = choice->input == paNoDevice ? choice->output : choice->input;
    if (Pa_GetHostApiInfo(Pa_GetDeviceInfo(either)->hostApi)->type == paALSA)
        PaAlsa_EnableRealtimeScheduling(device->pa, 1);
#endif
    return Pa_StartStream(device->pa);
}

/* Calls come: what their length is shows in the first of them. */
static enum status learn_period(struct device *device)
{
    int64_t begin = monotonic_ns(), first = 0;
    for (;;) {
        size_t calls = atomic_load_explicit(&device->stream->calls, memory_order_acquire);
        int64_t now = monotonic_ns();
        if (calls > 0 && first == 0)
            first = now;
        if (calls >= LEARN_CALLS || (calls > 1 && now - first > LEARN_NS))
            break;
        if (now - begin > BEGIN_NS || Pa_IsStreamActive(device->pa) != 1) {
            char names[300];
            name_devices(device, names, sizeof names);
            return fail(STATUS_FAILED, "%s was opened but gives no sound; is it in use or gone?",
                        names);
        }
        pause_briefly();
    }
    device->calls_seen = device->stream->calls;
    device->seen_at = monotonic_ns();
    return STATUS_OK;
}

static enum status start_stream(const struct device_request *request, struct device *device)
{
    device->stream = calloc(1, sizeof *device->stream);
    float *silence = audio_alloc(DEVICE_FRAMES_MOST);
    if (!device->stream || !silence) {
        free(silence);
        return fail_memory("a device");
    }
    device->stream->silence = silence;
    enum status status = device_system_start();
    device->system = status == STATUS_OK;
    if (status == STATUS_OK)
        status = device_choose(request, &device->choice);
    if (status != STATUS_OK)
        return status;
    device->stream->in = device->choice.in;
    device->stream->out = device->choice.out;
    device_system_hush();
    PaError error = open_and_start(device);
    device_system_unhush();
    return error == paNoError ? learn_period(device) : refuse(device, error);
}

enum status device_open(const struct device_request *request, struct device **result)
{
    if (!request->wants_input && !request->wants_output)
        return fail(STATUS_USAGE, "neither input nor output is wanted of the device");
    struct device *device = calloc(1, sizeof *device);
    if (!device)
        return fail_memory("a device");
    enum status status = start_stream(request, device);
    if (status == STATUS_OK)
        *result = device;
    else
        device_close(device);
    return status;
}

static void free_stream(void *context)
{
    struct device_stream *stream = context;
    if (stream)
        free(stream->silence);
    free(stream);
}

void device_close(struct device *device)
{
    if (!device)
        return;
    if (device->stream)
        device_stop(device);
    if (device->system)
        device_system_stop(device->pa, free_stream, device->stream);
    else
        free_stream(device->stream);
    free(device);
}

/* ---- while it runs ---- */

void device_run(struct device *device, device_step *step, void *context)
{
    device->stream->slot = (struct device_slot){step, context};
    atomic_store(&device->stream->current, &device->stream->slot);
}

bool device_stop(struct device *device)
{
    atomic_store(&device->stream->current, NULL);
    int64_t deadline = monotonic_ns() + STOP_NS;
    while (atomic_load(&device->stream->inside) && monotonic_ns() < deadline)
        pause_briefly();
    return !atomic_load(&device->stream->inside);
}

enum device_state device_state(struct device *device)
{
    size_t calls = atomic_load_explicit(&device->stream->calls, memory_order_relaxed);
    int64_t now = monotonic_ns();
    if (calls != device->calls_seen) {
        device->calls_seen = calls;
        device->seen_at = now;
    }
    bool silent = now - device->seen_at > SILENT_NS;
    return silent || Pa_IsStreamActive(device->pa) != 1 ? DEVICE_LOST : DEVICE_RUNNING;
}

static void copy_name(PaDeviceIndex device, char *name, size_t size)
{
    const PaDeviceInfo *found_info = Pa_GetDeviceInfo(device);
    snprintf(name, size, "%s", found_info ? found_info->name : "");
}

static uint64_t frames_of(double seconds, double rate)
{
    return seconds > 0 && seconds < LATENCY_MOST ? (uint64_t)llround(seconds * rate) : 0;
}

void device_info(const struct device *device, struct device_info *info)
{
    const struct device_choice *choice = &device->choice;
    const struct device_stream *stream = device->stream;
    const PaStreamInfo *found_info = Pa_GetStreamInfo(device->pa);
    PaDeviceIndex either = choice->input == paNoDevice ? choice->output : choice->input;
    *info = (struct device_info){
        .rate = (uint32_t)lround(found_info->sampleRate),
        .channels_in = stream->in.count,
        .channels_out = stream->out.count,
        .period = atomic_load(&stream->period),
        .varies = atomic_load(&stream->varies),
        .input_latency = frames_of(found_info->inputLatency, found_info->sampleRate),
        .output_latency = frames_of(found_info->outputLatency, found_info->sampleRate),
        .priority = atomic_load(&stream->priority),
    };
    snprintf(info->host_api, sizeof info->host_api, "%s",
             Pa_GetHostApiInfo(Pa_GetDeviceInfo(either)->hostApi)->name);
    copy_name(choice->input, info->input, sizeof info->input);
    copy_name(choice->output, info->output, sizeof info->output);
}
