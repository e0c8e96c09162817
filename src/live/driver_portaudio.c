/* Devices through PortAudio (its callback interface): ALSA, JACK, OSS.
 *
 * Workarounds for PortAudio 19.6 and later are here; those for a JACK server that dies are in
 * driver_portaudio_jack.c. */
#include "live/device_driver.h"
#include "live/driver_portaudio_jack.h"

#include "base/short_list.h"

#include <dlfcn.h>
#include <math.h>
#include <portaudio.h>
#include <stdio.h>
#ifdef HALO_PORTAUDIO_ALSA
#include <pa_linux_alsa.h>
#endif
#ifdef HALO_PORTAUDIO_JACK
#include <pa_jack.h>
#endif

enum { ALSA_PERIODS = 4 };
static const double LATENCY_MOST = 10; /* seconds; PortAudio may report more for JACK */
static const PaStreamCallbackFlags LOST_FLAGS =
    paInputUnderflow | paInputOverflow | paOutputUnderflow | paOutputOverflow;

static bool initialized;
static PaStream *stream; /* NULL: none is open */

/* ---- devices ---- */

/* Without a "default" device, as in a container without ALSA's files, an assertion of PortAudio
 * aborts the program (pa_linux_alsa.c, BuildDeviceList). By dlsym, since ALSA's headers may be
 * missing. */
static bool alsa_has_default(void)
{
    union {
        void *address;
        int (*update)(void);
        int (*search)(void *tree, const char *key, void **node);
    } update = {dlsym(RTLD_DEFAULT, "snd_config_update")},
      search = {dlsym(RTLD_DEFAULT, "snd_config_search")};
    void **tree = dlsym(RTLD_DEFAULT, "snd_config"), *node;
    if (!update.address || !search.address || !tree)
        return true; /* a PortAudio without ALSA */
    return update.update() >= 0 && *tree && search.search(*tree, "pcm.default", &node) == 0;
}

static enum status initialize(void)
{
    device_hush();
#ifdef HALO_PORTAUDIO_JACK
    PaJack_SetClientName("halo");
#endif
    bool has_default = alsa_has_default();
    portaudio_jack_adopt(true);
    PaError error = has_default ? Pa_Initialize() : paNoError;
    portaudio_jack_adopt(false);
    device_unhush();
    if (!has_default)
        return fail(STATUS_FAILED, "ALSA has no device called default: its configuration is "
                                   "missing; install libasound2-data, or correct ALSA_CONFIG_PATH");
    if (error != paNoError)
        return fail(STATUS_FAILED, "cannot start the sound system: %s", Pa_GetErrorText(error));
    initialized = true;
    return STATUS_OK;
}

static double sensible(double latency)
{
    return latency > 0 && latency < LATENCY_MOST ? latency : 0;
}

static size_t count_of(int count)
{
    return count > 0 ? (size_t)count : 0;
}

static void describe_row(PaDeviceIndex index, struct device_row *row)
{
    const PaDeviceInfo *found = Pa_GetDeviceInfo(index);
    const PaHostApiInfo *host = Pa_GetHostApiInfo(found->hostApi);
    row->channels_in = count_of(found->maxInputChannels);
    row->channels_out = count_of(found->maxOutputChannels);
    row->rate = found->defaultSampleRate;
    if (row->channels_in > 0) {
        row->low_in = sensible(found->defaultLowInputLatency);
        row->high_in = sensible(found->defaultHighInputLatency);
    }
    if (row->channels_out > 0) {
        row->low_out = sensible(found->defaultLowOutputLatency);
        row->high_out = sensible(found->defaultHighOutputLatency);
    }
    row->default_in = index == host->defaultInputDevice;
    row->default_out = index == host->defaultOutputDevice;
}

static enum status portaudio_enumerate(const char *spec, struct device_list *list)
{
    (void)spec;
    size_t first = list->host_count;
    TRY(initialize());
    for (PaHostApiIndex i = 0; i < Pa_GetHostApiCount(); i++) {
        struct device_host *host;
        TRY(device_list_add_host(list, Pa_GetHostApiInfo(i)->name, &host));
        host->is_default = i == Pa_GetDefaultHostApi();
    }
    for (PaDeviceIndex i = 0; i < Pa_GetDeviceCount(); i++) {
        const PaDeviceInfo *found = Pa_GetDeviceInfo(i);
        struct device_row *row;
        TRY(device_list_add(list, first + (size_t)found->hostApi, found->name, &row));
        describe_row(i, row);
    }
    return STATUS_OK;
}

/* ---- a stream ---- */

struct format {
    PaStreamParameters in, out;
    const PaStreamParameters *in_or_none, *out_or_none;
    double rate;
};

static PaStreamParameters parameters_of(const struct device_row *row,
                                        const struct device_channels *channels)
{
    return (PaStreamParameters){
        .device = row ? (PaDeviceIndex)row->index : paNoDevice,
        .channelCount = (int)channels->opened,
        .sampleFormat = paFloat32 | paNonInterleaved,
        .suggestedLatency = 0.1,
    };
}

static PaError try_rate(const struct format *format, double rate)
{
    return Pa_IsFormatSupported(format->in_or_none, format->out_or_none, rate);
}

static enum status refuse_rate(const struct device_target *target, const struct format *format)
{
    static const double usual[] = {8000,  11025, 16000, 22050,  24000,  32000, 44100,
                                   48000, 88200, 96000, 176400, 192000, 384000};
    struct short_list rates = {0};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        char text[16];
        snprintf(text, sizeof text, "%.0f", usual[i]);
        if (try_rate(format, usual[i]) == paFormatIsSupported)
            short_list_add(&rates, text);
    }
    const struct device_row *row = target->input ? target->input : target->output;
    return fail(STATUS_FAILED, "%s does not run at %.0f Hz%s%s", row->name, format->rate,
                rates.count ? "; it supports " : "", rates.text);
}

static enum status choose_rate(const struct device_target *target, struct format *format)
{
    double of_input = target->input ? target->input->rate : 0;
    double of_output = target->output ? target->output->rate : of_input;
    uint32_t asked = target->request->rate;
    format->rate = asked ? asked : of_output;
    PaError error = try_rate(format, format->rate);
    if (error == paInvalidSampleRate && !asked && of_input != of_output && of_input > 0) {
        format->rate = of_input;
        error = try_rate(format, format->rate);
    }
    /* Opening reports all other errors more precisely. */
    return error == paInvalidSampleRate ? refuse_rate(target, format) : STATUS_OK;
}

static double default_latency(const struct device_target *target, bool low)
{
    double in = 0, out = 0;
    if (target->input) {
        const PaDeviceInfo *found = Pa_GetDeviceInfo((PaDeviceIndex)target->input->index);
        in = low ? found->defaultLowInputLatency : found->defaultHighInputLatency;
    }
    if (target->output) {
        const PaDeviceInfo *found = Pa_GetDeviceInfo((PaDeviceIndex)target->output->index);
        out = low ? found->defaultLowOutputLatency : found->defaultHighOutputLatency;
    }
    return out > in ? out : in;
}

/* ALSA's buffer is the suggested latency, its period a quarter of that; half a frame more, since
 * PortAudio truncates. */
static double choose_latency(const struct device_target *target, double rate)
{
    const struct device_request *request = target->request;
    if (request->latency == DEVICE_LATENCY_SECONDS)
        return request->latency_seconds;
    if (request->latency == DEVICE_LATENCY_LOW && request->block > 0)
        return ((double)(ALSA_PERIODS * request->block) + 0.5) / rate;
    return default_latency(target, request->latency == DEVICE_LATENCY_LOW);
}

static int process(const void *input, void *output, unsigned long frames,
                   const PaStreamCallbackTimeInfo *time, PaStreamCallbackFlags flags, void *context)
{
    (void)time;
    device_process(context, input, output, frames, (flags & LOST_FLAGS) != 0);
    return paContinue;
}

static PaError open_and_start(const struct format *format, struct device_stream *context)
{
    PaError error = Pa_OpenStream(&stream, format->in_or_none, format->out_or_none, format->rate,
                                  paFramesPerBufferUnspecified, paNoFlag, process, context);
    if (error != paNoError) {
        stream = NULL;
        return error;
    }
#ifdef HALO_PORTAUDIO_ALSA
    PaDeviceIndex either = format->in_or_none ? format->in.device : format->out.device;
    if (Pa_GetHostApiInfo(Pa_GetDeviceInfo(either)->hostApi)->type == paALSA)
        PaAlsa_EnableRealtimeScheduling(stream, 1);
#endif
    return Pa_StartStream(stream);
}

static enum status refuse(const struct device_target *target, double rate, PaError error)
{
    const PaHostErrorInfo *host = Pa_GetLastHostErrorInfo();
    bool by_host = error == paUnanticipatedHostError && host && host->errorText[0];
    return fail(STATUS_FAILED, "cannot open %s at %.0f Hz: %s", target->label, rate,
                by_host ? host->errorText : Pa_GetErrorText(error));
}

static enum status portaudio_open(const struct device_target *target, struct device_stream *context)
{
    struct format format = {.in = parameters_of(target->input, &context->in),
                            .out = parameters_of(target->output, &context->out)};
    format.in_or_none = target->input ? &format.in : NULL;
    format.out_or_none = target->output ? &format.out : NULL;
    TRY(choose_rate(target, &format));
    double latency = choose_latency(target, format.rate);
    format.in.suggestedLatency = format.out.suggestedLatency = latency;
    device_hush();
    PaError error = open_and_start(&format, context);
    device_unhush();
    return error == paNoError ? STATUS_OK : refuse(target, format.rate, error);
}

static bool portaudio_is_running(void)
{
    return Pa_IsStreamActive(stream) == 1;
}

static uint64_t frames_of(double seconds, double rate)
{
    return (uint64_t)llround(sensible(seconds) * rate);
}

static void portaudio_describe(struct device_info *info)
{
    const PaStreamInfo *found = Pa_GetStreamInfo(stream);
    info->rate = (uint32_t)lround(found->sampleRate);
    info->input_latency = frames_of(found->inputLatency, found->sampleRate);
    info->output_latency = frames_of(found->outputLatency, found->sampleRate);
}

static enum status portaudio_close(void)
{
    if (stream)
        Pa_CloseStream(stream); /* aborts it first; errors mean it is gone */
    if (initialized)
        Pa_Terminate();
    stream = NULL;
    initialized = false;
    return STATUS_OK;
}

const struct device_driver driver_portaudio = {
    .name = "portaudio",
    .enumerate = portaudio_enumerate,
    .open = portaudio_open,
    .is_running = portaudio_is_running,
    .describe = portaudio_describe,
    .close = portaudio_close,
    .wake = portaudio_jack_wake,
    .noisy = true,
};
