/* The rate of PulseAudio's default sink and source. Its client library is opened for this alone:
 * sound goes through ALSA. */
#include "live/driver_portaudio_alsa.h"

#ifdef HALO_PULSE_HEADERS
#include "base/monotonic.h"
#include "live/pulse_library.h"

#define WAIT_NS INT64_C(500000000)
#define POLL_NS 2000000

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

/* The question is asked once the context is ready. */
static void ask(pa_mainloop *loop, pa_context *context, bool of_sink, struct rate_answer *answer)
{
    pa_operation *question = NULL;
    int64_t deadline = monotonic_ns() + WAIT_NS;
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
            monotonic_sleep_until(monotonic_ns() + POLL_NS);
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

uint32_t portaudio_alsa_server_rate(bool of_sink)
{
    uint32_t rate = known_rate(of_sink);
    return rate ? rate : USUAL_RATE;
}
