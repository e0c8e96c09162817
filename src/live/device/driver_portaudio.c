/* Devices through PortAudio (its callback interface): ALSA, OSS. For JACK see driver_jack.c.
 *
 * Contains workarounds for PortAudio 19.6 and later. */
#include "base/monotonic.h"
#include "base/short_list.h"
#include "live/device/device_driver.h"
#include "live/device/portaudio_library.h"

#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- messages of ALSA
 *
 * ALSA would print messages to standard error while a stream runs, and spoil the screen. So they
 * are caught and become notes. PortAudio's own lines ("Expression ... failed") are discarded during
 * calls of PortAudio. Lines that its threads print are not. ---- */

enum { MESSAGES_MOST = 4, MESSAGE_SIZE = 200 };

/* Written once, by the thread that claimed its place; read after `ready` is set. */
struct message {
    _Atomic(const char *) format; /* identifies the message; NULL: the place is free */
    char text[MESSAGE_SIZE];
    atomic_bool ready;
    bool reported; /* used by the control thread only */
};

static struct message messages[MESSAGES_MOST];

/* Keeps a message. `error`: an errno, positive or negative; 0: none. */
static void keep(int error, const char *format, va_list arguments)
{
    for (size_t i = 0; i < MESSAGES_MOST; i++) {
        struct message *message = &messages[i];
        const char *other = NULL;
        if (atomic_compare_exchange_strong(&message->format, &other, format)) {
            int length = vsnprintf(message->text, MESSAGE_SIZE, format, arguments);
            if (error != 0 && length >= 0 && length < MESSAGE_SIZE)
                snprintf(message->text + length, (size_t)(MESSAGE_SIZE - length), ": %s",
                         strerror(error < 0 ? -error : error));
            message->text[strcspn(message->text, "\n")] = '\0';
            atomic_store(&message->ready, true);
            return;
        }
        if (other == format)
            return;
    }
}

static void keep_of_alsa(const char *file, int line, const char *function, int error,
                         const char *format, ...)
{
    va_list arguments;
    (void)file, (void)line, (void)function;
    va_start(arguments, format);
    keep(error, format, arguments);
    va_end(arguments);
}

/* From now on ALSA prints nothing. ALSA may call the handler on any thread. */
static void portaudio_messages_catch(void)
{
    union {
        void *address;
        int (*set)(void (*handler)(const char *file, int line, const char *function, int error,
                                   const char *format, ...));
    } alsa_lib = {library_symbol(&portaudio_library,
                                 "snd_lib_error_set_handler")}; /* ALSA's headers may be missing */
    if (alsa_lib.address)
        alsa_lib.set(keep_of_alsa);
}

/* Prints the messages since the last call as notes. A message is printed once per stream. */
static void portaudio_messages_report(void)
{
    for (size_t i = 0; i < MESSAGES_MOST; i++)
        if (!messages[i].reported && atomic_load(&messages[i].ready)) {
            messages[i].reported = true;
            note("ALSA: %s", messages[i].text);
        }
}

/* Forgets the messages, after the search for devices or the start of a stream. */
static void portaudio_messages_forget(void)
{
    for (size_t i = 0; i < MESSAGES_MOST; i++)
        if (atomic_load(&messages[i].ready)) {
            messages[i].reported = false;
            messages[i].ready = false;
            messages[i].format = NULL;
        }
}

/* ---- functions of ALSA's library that PortAudio loaded; all do nothing if it loaded none ---- */

/* Declared here and found by name, since ALSA's headers may be missing. */
struct alsa_library {
    int (*update)(void);
    int (*search)(void *tree, const char *key, void **node);
    int (*search_definition)(void *tree, const char *base, const char *name, void **node);
    int (*get_string)(const void *node, const char **text);
    int (*delete_node)(void *node);
    void **tree;
};

/* Returns false if PortAudio works without ALSA. */
static bool find_library(struct alsa_library *alsa)
{
    *(void **)&alsa->update = library_symbol(&portaudio_library, "snd_config_update");
    *(void **)&alsa->search = library_symbol(&portaudio_library, "snd_config_search");
    *(void **)&alsa->search_definition =
        library_symbol(&portaudio_library, "snd_config_search_definition");
    *(void **)&alsa->get_string = library_symbol(&portaudio_library, "snd_config_get_string");
    *(void **)&alsa->delete_node = library_symbol(&portaudio_library, "snd_config_delete");
    alsa->tree = library_symbol(&portaudio_library, "snd_config");
    return alsa->update && alsa->search && alsa->search_definition && alsa->get_string &&
           alsa->delete_node && alsa->tree;
}

/* If ALSA has no device called default, an assertion of PortAudio aborts the program. */
static bool portaudio_alsa_has_default(void)
{
    struct alsa_library alsa;
    void *node;
    return !find_library(&alsa) ||
           (alsa.update() >= 0 && *alsa.tree && alsa.search(*alsa.tree, "pcm.default", &node) == 0);
}

enum { NESTED_MOST = 8 }; /* plugins of ALSA within plugins */

static const char *server_named(const struct alsa_library *alsa, const char *device, int depth);

static const char *server_of_node(const struct alsa_library *alsa, void *node, int depth)
{
    static const char *const below[] = {"slave.pcm", "slave", "playback.pcm", "capture.pcm"};
    const char *text, *server = NULL;
    void *inner;
    if (depth > NESTED_MOST)
        return NULL;
    if (alsa->get_string(node, &text) == 0)
        return server_named(alsa, text, depth + 1);
    if (alsa->search(node, "type", &inner) == 0 && alsa->get_string(inner, &text) == 0) {
        if (strcmp(text, "pulse") == 0)
            return "PulseAudio";
        if (strcmp(text, "pipewire") == 0)
            return "PipeWire";
    }
    for (size_t i = 0; i < sizeof below / sizeof *below && !server; i++)
        if (alsa->search(node, below[i], &inner) == 0)
            server = server_of_node(alsa, inner, depth + 1);
    return server;
}

static const char *server_named(const struct alsa_library *alsa, const char *device, int depth)
{
    const char *server = NULL;
    void *definition;
    if (depth > NESTED_MOST || !*alsa->tree ||
        alsa->search_definition(*alsa->tree, "pcm", device, &definition) < 0)
        return NULL;
    server = server_of_node(alsa, definition, depth);
    alsa->delete_node(definition);
    return server;
}

/* The sound server that an ALSA device leads to, directly or through other plugins. NULL: none. */
static const char *portaudio_alsa_server(const char *device)
{
    struct alsa_library alsa;
    return find_library(&alsa) && alsa.update() >= 0 ? server_named(&alsa, device, 0) : NULL;
}

/* ---- the rate of a sound server ---- */

#ifdef HALO_PULSE_HEADERS
#include "live/device/pulse_library.h"

#define PULSE_WAIT_NS INT64_C(500000000)
#define PULSE_POLL_NS 2000000

/* Answer of a PulseAudio server. */
struct rate_answer {
    bool has_come;
    uint32_t rate; /* 0: unknown */
};

static void take_sink(pa_context *context, const pa_sink_info *sink, int end, void *to)
{
    (void)context;
    struct rate_answer *answer = to;
    answer->has_come = true;
    if (end == 0 && sink)
        answer->rate = sink->sample_spec.rate;
}

static void take_source(pa_context *context, const pa_source_info *source, int end, void *to)
{
    (void)context;
    struct rate_answer *answer = to;
    answer->has_come = true;
    if (end == 0 && source)
        answer->rate = source->sample_spec.rate;
}

/* Sends the question when the context is ready, and waits for the answer. */
static void ask(pa_mainloop *loop, pa_context *context, bool of_sink, struct rate_answer *answer)
{
    pa_operation *question = NULL;
    int64_t deadline = monotonic_ns() + PULSE_WAIT_NS;
    while (!answer->has_come && monotonic_ns() < deadline) {
        int done = pa_mainloop_iterate(loop, 0, NULL);
        pa_context_state_t state = pa_context_get_state(context);
        if (done < 0 || !PA_CONTEXT_IS_GOOD(state))
            break;
        if (state == PA_CONTEXT_READY && !question)
            question = of_sink ? pa_context_get_sink_info_by_name(context, "@DEFAULT_SINK@",
                                                                  take_sink, answer)
                               : pa_context_get_source_info_by_name(context, "@DEFAULT_SOURCE@",
                                                                    take_source, answer);
        if (done == 0)
            monotonic_sleep_until(monotonic_ns() + PULSE_POLL_NS);
    }
    if (question)
        pa_operation_unref(question);
}

static uint32_t ask_server(bool of_sink)
{
    struct rate_answer answer = {0};
    pa_mainloop *loop = pa_mainloop_new();
    pa_context *context = loop ? pa_context_new(pa_mainloop_get_api(loop), "halo") : NULL;
    if (context && pa_context_connect(context, NULL, PA_CONTEXT_NOAUTOSPAWN, NULL) >= 0)
        ask(loop, context, of_sink, &answer);
    if (context) {
        pa_context_disconnect(context);
        pa_context_unref(context);
    }
    if (loop)
        pa_mainloop_free(loop);
    return answer.rate;
}

static uint32_t known_rate(bool of_sink)
{
    return library_is_there(&pulse_library) ? ask_server(of_sink) : 0;
}
#else
static uint32_t known_rate(bool of_sink)
{
    (void)of_sink;
    return 0;
}
#endif

enum { USUAL_RATE = 48000 };

/* The rate of the sound server, or 48000 Hz if it does not answer within half a second. */
static uint32_t portaudio_alsa_server_rate(bool of_sink)
{
    uint32_t rate = known_rate(of_sink);
    return rate ? rate : USUAL_RATE;
}

enum { ALSA_PERIODS = 4 };
static const double LATENCY_MOST = 10; /* seconds; PortAudio may report more for JACK */
static const PaStreamCallbackFlags LOST_FLAGS =
    paInputUnderflow | paInputOverflow | paOutputUnderflow | paOutputOverflow;

/* Bounds of a sound server's buffer in seconds. Shorter ones lose sound on an idle machine, too. */
static const double SERVER_LATENCY = 0.08, SERVER_LATENCY_MOST = 0.32;
#define SETTLED_NS INT64_C(250000000) /* ns without a loss and at its rate: a stream has settled */
#define SETTLE_NS INT64_C(3000000000) /* time to settle, at most */
static const double DELAY_FRAMES = 8192; /* frames to average a server's delay over */
enum {
    POLL_NS = 10000000,
    DELAY_BEGINS = 65536 /* frames after a loss; then only larger delays count */
};

static bool initialized;

/* ---- PortAudio must not use JACK ---- */

/* PortAudio opens a JACK client if it can. When the JACK server dies, PortAudio hangs or aborts the
 * program. The loader finds this function before the one of the JACK library. While `hides_jack` is
 * set, it returns NULL, so PortAudio finds no server. Otherwise it calls the function of the JACK
 * library, which is loaded then. The header of JACK is not used, since it may be missing. Each of
 * these flags stands for an additional argument, a string. */
enum { JACK_SERVER_NAME = 0x04, JACK_LOAD_NAME = 0x08, JACK_LOAD_INIT = 0x10, JACK_SESSION = 0x20 };
static _Thread_local bool hides_jack;

__attribute__((visibility("default"))) void *jack_client_open(const char *name, int options,
                                                              int *status, ...);

void *jack_client_open(const char *name, int options, int *status, ...)
{
    static const int with_text[] = {JACK_SERVER_NAME, JACK_LOAD_NAME, JACK_LOAD_INIT, JACK_SESSION};
    union {
        void *address;
        void *(*open)(const char *name, int options, int *status, ...);
    } beneath = {NULL};
    void *jack = dlopen("libjack.so.0", RTLD_NOW | RTLD_NOLOAD);
    if (jack)
        beneath.address = dlsym(jack, "jack_client_open");
    const char *text[4] = {NULL};
    va_list arguments;
    va_start(arguments, status);
    for (size_t i = 0, used = 0; i < sizeof with_text / sizeof *with_text; i++)
        if (options & with_text[i])
            text[used++] = va_arg(arguments, const char *);
    va_end(arguments);
    if (hides_jack || !beneath.address)
        return NULL;
    return beneath.open(name, options, status, text[0], text[1], text[2], text[3]);
}

static enum status initialize(void)
{
    device_hush();
    portaudio_messages_catch();
    bool has_default = portaudio_alsa_has_default();
    hides_jack = true;
    PaError error = has_default ? Pa_Initialize() : paNoError;
    hides_jack = false;
    device_unhush();
    portaudio_messages_forget();
    if (!has_default)
        return fail(CAUSE_DEVICE, "ALSA has no device called default: its configuration is "
                                  "missing; install libasound2-data, or correct ALSA_CONFIG_PATH");
    if (error != paNoError)
        return fail(error == paInsufficientMemory ? CAUSE_NO_MEMORY : CAUSE_DEVICE,
                    "cannot start the sound system: %s", Pa_GetErrorText(error));
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

static bool leads_to_server(PaDeviceIndex index)
{
    const PaDeviceInfo *found = Pa_GetDeviceInfo(index);
    return Pa_GetHostApiInfo(found->hostApi)->type == paALSA && portaudio_alsa_server(found->name);
}

static void describe_row(PaDeviceIndex index, struct device_row *row)
{
    const PaDeviceInfo *found = Pa_GetDeviceInfo(index);
    const PaHostApiInfo *host = Pa_GetHostApiInfo(found->hostApi);
    row->channels_in = count_of(found->maxInputChannels);
    row->channels_out = count_of(found->maxOutputChannels);
    /* If a device supports all rates, PortAudio reports 44,100 Hz as its default. */
    row->rate = leads_to_server(index) ? portaudio_alsa_server_rate(row->channels_out > 0)
                                       : found->defaultSampleRate;
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
        host->one_clock = Pa_GetHostApiInfo(i)->type == paJACK;
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

struct portaudio_stream {
    PaStream *stream; /* NULL: not open */
    struct device_stream *context;
    bool by_server;       /* the ALSA device leads to a sound server */
    bool may_widen;       /* the buffer may grow: a sound server's, and the user set no latency */
    double latency;       /* seconds, as requested from PortAudio */
    atomic_size_t frames; /* frames processed */
    atomic_size_t losses; /* times that sound was lost */
    _Atomic double input_delay; /* seconds: delay in a server's buffers now; 0: unknown */
    _Atomic double output_delay;
    double in_now, out_now; /* averages of the delays; used by the driver's thread only */
    size_t since;           /* frames since the last loss; used by the driver's thread only */
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
    return fail(CAUSE_DEVICE, "%s does not run at %.0f Hz%s%s", row->name, format->rate,
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
    /* Other errors are reported better when the stream is opened. */
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

/* Seconds. With --block: ALSA's buffer, four periods, plus half a frame as PortAudio truncates. */
static double choose_latency(const struct device_target *target, double rate, bool by_server)
{
    const struct device_request *request = target->request;
    bool low = request->latency == DEVICE_LATENCY_LOW;
    double latency = default_latency(target, low);
    if (request->latency == DEVICE_LATENCY_SECONDS)
        return request->latency_seconds;
    if (low && request->block > 0)
        latency = ((double)(ALSA_PERIODS * request->block) + 0.5) / rate;
    return by_server && low ? fmax(latency, fmax(SERVER_LATENCY, request->latency_least)) : latency;
}

/* Measures the delay in a server's buffers, which grow when sound is lost. Until the next loss the
 * true delay is constant, but PulseAudio's estimate drifts downwards. So the largest value is kept,
 * after the first DELAY_BEGINS frames. Real-time. */
static void follow_delay(struct portaudio_stream *own, const PaStreamCallbackTimeInfo *time,
                         unsigned long frames, bool lost)
{
    double in = time->currentTime - time->inputBufferAdcTime;
    double out = time->outputBufferDacTime - time->currentTime;
    double share = lost ? 1 : fmin(1, (double)frames / DELAY_FRAMES);
    own->in_now += share * (in - own->in_now);
    own->out_now += share * (out - own->out_now);
    own->since = lost ? 0 : own->since + frames;
    if (own->since > DELAY_BEGINS &&
        own->in_now + own->out_now <= own->input_delay + own->output_delay)
        return;
    own->input_delay = own->in_now;
    own->output_delay = own->out_now;
}

static int process(const void *input, void *output, unsigned long frames,
                   const PaStreamCallbackTimeInfo *time, PaStreamCallbackFlags flags, void *context)
{
    struct portaudio_stream *own = context;
    bool lost = (flags & LOST_FLAGS) != 0;
    if (own->by_server)
        follow_delay(own, time, frames, lost);
    atomic_fetch_add(&own->frames, frames);
    if (lost)
        atomic_fetch_add(&own->losses, 1);
    device_process(own->context, input, output, frames, lost);
    return paContinue;
}

static PaError open_and_start(const struct format *format, struct portaudio_stream *own)
{
    PaStream **stream = &own->stream;
    PaError error = Pa_OpenStream(stream, format->in_or_none, format->out_or_none, format->rate,
                                  paFramesPerBufferUnspecified, paNoFlag, process, own);
    if (error != paNoError) {
        *stream = NULL;
        return error;
    }
#ifdef HALO_PORTAUDIO_ALSA
    PaDeviceIndex either = format->in_or_none ? format->in.device : format->out.device;
    if (Pa_GetHostApiInfo(Pa_GetDeviceInfo(either)->hostApi)->type == paALSA)
        PaAlsa_EnableRealtimeScheduling(*stream, 1);
#endif
    return Pa_StartStream(*stream);
}

static enum status refuse(const struct device_target *target, double rate, PaError error)
{
    const PaHostErrorInfo *host = Pa_GetLastHostErrorInfo();
    bool by_host = error == paUnanticipatedHostError && host && host->errorText[0];
    return fail(error == paInsufficientMemory ? CAUSE_NO_MEMORY : CAUSE_DEVICE,
                "cannot open %s at %.0f Hz: %s", target->label, rate,
                by_host ? host->errorText : Pa_GetErrorText(error));
}

/* Waits until sound flows. A server fills its buffers first, and may then pause for two seconds.
 * Until sound flows, silence is played. Returns false if the stream ended or still loses sound. */
static bool settle(const struct portaudio_stream *own, double rate)
{
    int64_t begin = monotonic_ns(), since = begin, now;
    size_t frames = 0, losses = 0;
    while ((now = monotonic_ns()) - begin < SETTLE_NS && Pa_IsStreamActive(own->stream) == 1) {
        double expected = 1e-9 * (double)(now - since) * rate;
        if (now - since >= SETTLED_NS) {
            bool flows = (double)(own->frames - frames) > 0.8 * expected;
            if (flows && own->losses == losses)
                return true;
            since = now;
            frames = own->frames;
            losses = own->losses;
        }
        monotonic_sleep_until(now + POLL_NS);
    }
    return false;
}

/* Opens a stream. If a server's stream loses sound, opens it again with a longer buffer. A stream
 * that continues an earlier one is not tested: if it loses sound, live_device.c opens it again. */
static enum status start(const struct device_target *target, struct format *format,
                         struct portaudio_stream *own)
{
    for (;;) {
        format->in.suggestedLatency = format->out.suggestedLatency = own->latency;
        device_hush();
        PaError error = open_and_start(format, own);
        device_unhush();
        if (error != paNoError)
            return refuse(target, format->rate, error);
        if (!own->by_server || target->request->returns || settle(own, format->rate) ||
            !own->may_widen || own->latency >= SERVER_LATENCY_MOST)
            return STATUS_OK;
        (void)Pa_CloseStream(own->stream);
        own->stream = NULL;
        own->latency = fmin(2 * own->latency, SERVER_LATENCY_MOST);
        note("%s loses sound: its buffer is %.0f ms now", target->label, 1e3 * own->latency);
    }
}

static enum status portaudio_open(const struct device_target *target, struct device_stream *context,
                                  void **opened)
{
    struct portaudio_stream *own = *opened = calloc(1, sizeof *own);
    if (!own)
        return fail_memory("a stream");
    struct format format = {.in = parameters_of(target->input, &context->in),
                            .out = parameters_of(target->output, &context->out)};
    format.in_or_none = target->input ? &format.in : NULL;
    format.out_or_none = target->output ? &format.out : NULL;
    TRY(choose_rate(target, &format));
    own->context = context;
    own->by_server = (target->input && leads_to_server((PaDeviceIndex)target->input->index)) ||
                     (target->output && leads_to_server((PaDeviceIndex)target->output->index));
    own->may_widen = own->by_server && target->request->latency == DEVICE_LATENCY_LOW;
    own->latency = choose_latency(target, format.rate, own->by_server);
    enum status status = start(target, &format, own);
    portaudio_messages_forget();
    return status;
}

static bool portaudio_is_running(void *opened)
{
    const struct portaudio_stream *own = opened;
    portaudio_messages_report();
    return Pa_IsStreamActive(own->stream) == 1;
}

static uint64_t frames_of(double seconds, double rate)
{
    return (uint64_t)llround(sensible(seconds) * rate);
}

static void portaudio_describe(void *opened, struct device_info *info)
{
    const struct portaudio_stream *own = opened;
    const PaStreamInfo *found = Pa_GetStreamInfo(own->stream);
    info->buffer = own->may_widen ? own->latency : 0;
    info->buffer_most = SERVER_LATENCY_MOST;
    info->rate = (uint32_t)lround(found->sampleRate);
    double in = own->by_server ? own->input_delay : found->inputLatency;
    double out = own->by_server ? own->output_delay : found->outputLatency;
    info->input_latency = frames_of(in, found->sampleRate);
    info->output_latency = frames_of(out, found->sampleRate);
}

static enum status portaudio_close(void *opened)
{
    struct portaudio_stream *own = opened;
    if (own->stream)
        Pa_CloseStream(own->stream); /* also aborts the stream; an error means that it is gone */
    free(own);
    return STATUS_OK;
}

static void portaudio_end(void)
{
    if (initialized)
        Pa_Terminate();
    initialized = false;
}

const struct device_driver driver_portaudio = {
    .name = "portaudio",
    .library = &portaudio_library,
    .enumerate = portaudio_enumerate,
    .open = portaudio_open,
    .is_running = portaudio_is_running,
    .describe = portaudio_describe,
    .close = portaudio_close,
    .end = portaudio_end,
    .noisy = true,
    .absent = "PortAudio lists no sound system; see halo devices",
};
