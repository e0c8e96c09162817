/* VST3 plugins for tests that follow each rule of a plugin and end their process (SIGABRT) where
 * the host breaks one; and, by class, break one themselves. A plugin is a gain in dB. */
#include "plugin/vst3/vst3_interface.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    RING = 4096,
    CHANNELS = 2,
    CHANNELS_MOST = 8,
    ECHO = 1000 /* frames */,
    FIRST_ID = 100,
    MIDI_CONTROLLERS = 2080
};

enum parameter { GAIN, MODE, DELAY, FREQUENCY, PEAK, BYPASS, PROGRAM, HIDDEN, VALUES };

/* The one rule that a plugin breaks, or what it does beside its gain. */
enum deed {
    KEEP,
    JOINED,        /* component and controller are one object */
    TAIL,          /* adds an echo after ECHO frames, and reports that tail */
    ENDLESS,       /* reports an endless tail */
    SIDE_CHAIN,    /* adds its mono side chain, if that is active */
    WIDE,          /* takes up to 8 channels */
    TWO_OUTPUTS,   /* has a second output bus, which is silent */
    NO_CONTROLLER, /* has no parameters: a gain of -20 dB */
    DOUBLE,        /* processes 64 bits only */
    UNIT,          /* as JOINED; plain values are normalized ones, and only texts show dB and Hz */
    OWN_THREAD,    /* reports its latency on a thread of its own */
    DEAF,          /* ignores the values of a block without frames */
    EDITS,         /* its controller sets the gain to -20 dB when its component asks for that */
    LAZY,          /* computes its gain when a value changes in a block with frames, only then */
    MIDI,          /* has a parameter for each controller of MIDI, as JUCE's plugins */
    LOOP,          /* as EDITS, when a timer and a pipe of the host's run loop have called it */
    RELOADS,       /* wants to be loaded anew for another delay; doubles the gain each time */
    APART,         /* as DPF's plugins are: see is_apart() */
    NOTES,         /* has an input for notes beside that for sound */
    INSTRUMENT,    /* has no input for sound */
    INIT_FALSE,
    CONTROLLER_FALSE, /* its controller's initialize() fails */
    CREATE_NULL,
    NO_PROCESSOR,
    ACTIVATE_FALSE,
    ERROR_DEED, /* process() fails, after filling the output */
    NAN_DEED,
    IO_CHANGED,      /* changes its buses while it is active */
    MANY_PARAMETERS, /* 2 billion */
    MANY_BUSES,
    NO_DEFAULT, /* a parameter with the default NaN */
    LONG_NAMES, /* texts without an end */
    STATE_FALSE,
    INIT_CRASH, /* the last */
    DEEDS,
};

static const char *const names[DEEDS] = {
    [KEEP] = "keep",
    [JOINED] = "joined",
    [TAIL] = "tail",
    [ENDLESS] = "endless",
    [SIDE_CHAIN] = "side-chain",
    [WIDE] = "wide",
    [TWO_OUTPUTS] = "two-outputs",
    [NO_CONTROLLER] = "no-controller",
    [DOUBLE] = "double",
    [UNIT] = "unit",
    [OWN_THREAD] = "own-thread",
    [DEAF] = "deaf",
    [EDITS] = "edits",
    [LAZY] = "lazy",
    [MIDI] = "midi",
    [LOOP] = "loop",
    [RELOADS] = "reloads",
    [APART] = "apart",
    [NOTES] = "notes",
    [INSTRUMENT] = "instrument",
    [INIT_FALSE] = "init-false",
    [CONTROLLER_FALSE] = "controller-false",
    [CREATE_NULL] = "create-null",
    [NO_PROCESSOR] = "no-processor",
    [ACTIVATE_FALSE] = "activate-false",
    [ERROR_DEED] = "error",
    [NAN_DEED] = "nan",
    [IO_CHANGED] = "io-changed",
    [MANY_PARAMETERS] = "many-parameters",
    [MANY_BUSES] = "many-buses",
    [NO_DEFAULT] = "no-default",
    [LONG_NAMES] = "long-names",
    [STATE_FALSE] = "state-false",
    [INIT_CRASH] = "init-crash",
};

/* A component, its controller, or both in one. */
struct rules {
    struct vst3_component component;
    struct vst3_audio_processor processor;
    struct vst3_edit_controller controller;
    struct vst3_connection_point point;
    struct vst3_units units;
    atomic_int uses;
    enum deed deed;
    bool is_component, is_controller;
    bool is_initialised, is_set_up, is_active, is_processing, is_side_active;
    atomic_bool in_process;
    struct vst3_process_setup setup;
    struct vst3_host_application *host;
    struct vst3_component_handler *handler;
    struct vst3_connection_point *other;
    struct rules *partner; /* the controller of a component, by a message */
    uint32_t latency;
    double values[VALUES]; /* normalized */
    double lazy_gain;      /* normalized */
    double loudness;       /* of a plugin that is loaded anew */
    struct vst3_event_handler event;
    struct vst3_timer_handler timer;
    int pipe[2], watches;      /* watches: references of the run loop */
    bool has_timer, has_event; /* they have been called */
    uint32_t at;               /* in the rings */
    int64_t next;              /* frame where the next block should be */
    int32_t channels;
    float rings[CHANNELS_MOST][RING];
};

static atomic_int objects; /* objects that exist */
static bool is_entered;

static void check(bool kept, const char *rule)
{
    if (kept)
        return;
    fprintf(stderr, "the host breaks a rule: %s\n", rule);
    abort();
}

#define OF(self, member) ((struct rules *)(void *)((char *)(self) - offsetof(struct rules, member)))

static void put(uint16_t *text, const char *from)
{
    size_t i = 0;
    for (; from[i] && i < VST3_TEXT - 1; i++)
        text[i] = (unsigned char)from[i];
    text[i] = 0;
}

/* ---- references ---- */

static bool is_id(const struct vst3_id *a, const struct vst3_id *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static int32_t query(struct rules *rules, const struct vst3_id *iid, void **object)
{
    check(rules->uses > 0, "an object is used while it is referenced");
    *object = NULL;
    bool is_any = is_id(iid, &vst3_unknown_iid);
    if (rules->is_component && (is_any || is_id(iid, &vst3_component_iid)))
        *object = &rules->component;
    else if (rules->is_controller && (is_any || is_id(iid, &vst3_edit_controller_iid)))
        *object = &rules->controller;
    else if (rules->is_component && is_id(iid, &vst3_audio_processor_iid))
        *object = rules->deed == NO_PROCESSOR ? NULL : &rules->processor;
    else if (is_id(iid, &vst3_connection_point_iid))
        *object = &rules->point;
    else if (rules->is_controller && is_id(iid, &vst3_units_iid))
        *object = &rules->units;
    rules->uses += *object != NULL;
    return *object ? VST3_OK : VST3_NO_INTERFACE;
}

static uint32_t release(struct rules *rules)
{
    int uses = atomic_fetch_sub(&rules->uses, 1) - 1;
    check(uses >= 0, "as many releases as references");
    if (uses > 0)
        return (uint32_t)uses;
    check(!rules->is_initialised, "terminate() before the last release()");
    check(!rules->other, "disconnect() before the last release()");
    free(rules);
    objects--;
    return 0;
}

#define REFERENCES(member)                                                                         \
    static int32_t query_##member(void *self, const struct vst3_id *iid, void **object)            \
    {                                                                                              \
        return query(OF(self, member), iid, object);                                               \
    }                                                                                              \
    static uint32_t add_##member(void *self)                                                       \
    {                                                                                              \
        return (uint32_t)++OF(self, member)->uses;                                                 \
    }                                                                                              \
    static uint32_t release_##member(void *self)                                                   \
    {                                                                                              \
        return release(OF(self, member));                                                          \
    }

REFERENCES(component)
REFERENCES(processor)
REFERENCES(controller)
REFERENCES(point)
REFERENCES(units)

/* ---- the host's run loop ---- */

static void *factory_context; /* where the SDK's plugins look for a run loop */

static struct vst3_run_loop *run_loop(void)
{
    struct vst3_unknown *context = factory_context;
    void *loop = NULL;
    check(context && context->calls->query_interface(context, &vst3_run_loop_iid, &loop) == VST3_OK,
          "the factory's context has a run loop");
    return loop;
}

static void edit(struct rules *rules)
{
    rules->values[GAIN] = 0.5;
    rules->handler->calls->begin_edit(rules->handler, FIRST_ID + GAIN);
    rules->handler->calls->perform_edit(rules->handler, FIRST_ID + GAIN, 0.5);
    rules->handler->calls->end_edit(rules->handler, FIRST_ID + GAIN);
}

static int32_t query_watcher(void *self, const struct vst3_id *iid, void **object)
{
    (void)iid;
    *object = self;
    return VST3_OK;
}

static uint32_t add_event(void *self)
{
    return (uint32_t)++OF(self, event)->watches;
}

static uint32_t release_event(void *self)
{
    return (uint32_t)--OF(self, event)->watches;
}

static uint32_t add_timer(void *self)
{
    return (uint32_t)++OF(self, timer)->watches;
}

static uint32_t release_timer(void *self)
{
    return (uint32_t)--OF(self, timer)->watches;
}

static void on_timer(void *self)
{
    struct rules *rules = OF(self, timer);
    if (rules->has_event && !rules->has_timer)
        edit(rules);
    rules->has_timer = rules->has_event;
}

static void on_event(void *self, int fd)
{
    struct rules *rules = OF(self, event);
    char byte = 0;
    check(fd == rules->pipe[0] && read(fd, &byte, 1) == 1 && byte == 'x',
          "a pipe that is readable");
    check(!rules->has_event, "no call for a pipe that is empty");
    rules->has_event = true;
}

static void join_loop(struct rules *rules)
{
    static const struct vst3_event_handler_calls event = {query_watcher, add_event, release_event,
                                                          on_event};
    static const struct vst3_timer_handler_calls timer = {query_watcher, add_timer, release_timer,
                                                          on_timer};
    struct vst3_run_loop *loop = run_loop();
    rules->event.calls = &event;
    rules->timer.calls = &timer;
    check(pipe(rules->pipe) == 0 && write(rules->pipe[1], "x", 1) == 1, "a pipe");
    check(loop->calls->register_timer(loop, NULL, 5) != VST3_OK &&
              loop->calls->register_timer(loop, &rules->timer, 0) != VST3_OK &&
              loop->calls->register_event_handler(loop, &rules->event, -1) != VST3_OK &&
              loop->calls->register_timer(loop, &rules->timer, 5) == VST3_OK &&
              loop->calls->register_event_handler(loop, &rules->event, rules->pipe[0]) == VST3_OK,
          "the run loop takes what is valid");
}

static void leave_loop(struct rules *rules)
{
    struct vst3_run_loop *loop = run_loop();
    check(loop->calls->unregister_timer(loop, &rules->timer) == VST3_OK &&
              loop->calls->unregister_event_handler(loop, &rules->event) == VST3_OK &&
              loop->calls->unregister_timer(loop, &rules->timer) != VST3_OK && rules->watches == 0,
          "the run loop gives back what it has");
    close(rules->pipe[0]);
    close(rules->pipe[1]);
}

/* ---- a life ---- */

static int32_t initialise(struct rules *rules, void *context)
{
    struct vst3_unknown *unknown = context;
    uint16_t name[VST3_TEXT] = {0};
    check(context && !rules->is_initialised, "initialize() once, with a context");
    check(unknown->calls->query_interface(unknown, &vst3_host_application_iid,
                                          (void **)&rules->host) == VST3_OK,
          "the context is IHostApplication");
    rules->host->calls->get_name(rules->host, name);
    check(name[0] == 'h' && name[3] == 'o' && name[4] == 0, "the host has a name");
    if (rules->deed == INIT_CRASH)
        *(volatile int *)(uintptr_t)(rules->at + 64) = 1; /* aligned, for sanitizers */
    bool fails =
        rules->deed == INIT_FALSE || (rules->deed == CONTROLLER_FALSE && !rules->is_component);
    rules->is_initialised = !fails;
    if (rules->deed == LOOP && !rules->is_component)
        join_loop(rules);
    return fails ? VST3_INTERNAL_ERROR : VST3_OK;
}

static int32_t initialise_component(void *self, void *context)
{
    return initialise(OF(self, component), context);
}

static int32_t initialise_controller(void *self, void *context)
{
    check(!OF(self, controller)->is_component, "an object in one is initialised once");
    return initialise(OF(self, controller), context);
}

static int32_t terminate(struct rules *rules)
{
    check(rules->is_initialised, "initialize() before terminate()");
    check(!rules->is_active && !rules->in_process, "setActive(false) before terminate()");
    check(!rules->handler, "no handler is left at terminate()");
    if (rules->deed == LOOP && !rules->is_component)
        leave_loop(rules);
    rules->host->calls->release(rules->host);
    rules->is_initialised = false;
    return VST3_OK;
}

static int32_t terminate_component(void *self)
{
    return terminate(OF(self, component));
}

static int32_t terminate_controller(void *self)
{
    return terminate(OF(self, controller));
}

static void make_cid(enum deed deed, bool is_controller, struct vst3_id *cid)
{
    *cid = (struct vst3_id){{'h', 'a', 'l', 'o', '3', (unsigned char)deed, is_controller}};
}

static int32_t controller_cid(void *self, struct vst3_id *cid)
{
    const struct rules *rules = OF(self, component);
    make_cid(rules->deed, true, cid);
    return rules->deed == NO_CONTROLLER ? VST3_NOT_IMPLEMENTED : VST3_OK;
}

static int32_t set_io_mode(void *self, int32_t mode)
{
    (void)self, (void)mode;
    return VST3_NOT_IMPLEMENTED;
}

/* ---- buses ---- */

static int32_t count_buses(void *self, int32_t media, int32_t direction)
{
    const struct rules *rules = OF(self, component);
    check(rules->is_initialised, "initialize() before the buses");
    bool is_input = direction == VST3_INPUT;
    if (media == VST3_EVENT)
        return is_input && (rules->deed == NOTES || rules->deed == INSTRUMENT);
    if (rules->deed == MANY_BUSES)
        return INT32_MAX;
    if (rules->deed == INSTRUMENT && is_input)
        return 0;
    return 1 + (rules->deed == (is_input ? SIDE_CHAIN : TWO_OUTPUTS));
}

static int32_t describe_bus(void *self, int32_t media, int32_t direction, int32_t index,
                            struct vst3_bus_info *info)
{
    check(index >= 0 && index < count_buses(self, media, direction), "the index of a bus");
    bool is_side = index == 1 && direction == VST3_INPUT;
    *info = (struct vst3_bus_info){.media_type = media,
                                   .direction = direction,
                                   .channel_count = is_side ? 1 : OF(self, component)->channels,
                                   .bus_type = index ? VST3_AUX : VST3_MAIN,
                                   .flags = index ? 0 : VST3_DEFAULT_ACTIVE};
    put(info->name, index ? "Beside" : "Main");
    return VST3_OK;
}

static int32_t routing(void *self, void *in, void *out)
{
    (void)self, (void)in, (void)out;
    return VST3_NOT_IMPLEMENTED;
}

static int32_t activate_bus(void *self, int32_t media, int32_t direction, int32_t index,
                            uint8_t state)
{
    struct rules *rules = OF(self, component);
    check(!rules->is_active, "activateBus() while the component is not active");
    check(index >= 0 && index < count_buses(self, media, direction), "the index of a bus");
    check(state || index > 0, "main buses are active");
    if (index == 1 && direction == VST3_INPUT)
        rules->is_side_active = state;
    return VST3_OK;
}

static int32_t set_bus_arrangements(void *self, uint64_t *in, int32_t ins, uint64_t *out,
                                    int32_t outs)
{
    struct rules *rules = OF(self, processor);
    check(!rules->is_active && ins == 1 && outs == 1, "setBusArrangements() while not active");
    int32_t channels = __builtin_popcountll(in[0]);
    check(channels == 6 ? in[0] == 0x3F : channels > 0, "the speakers of 5.1");
    if (rules->deed != WIDE || in[0] != out[0] || channels > CHANNELS_MOST)
        return VST3_FALSE;
    rules->channels = channels;
    return VST3_OK;
}

static int32_t bus_arrangement(void *self, int32_t direction, int32_t index, uint64_t *arrangement)
{
    (void)self;
    *arrangement = index == 1 && direction == VST3_INPUT ? 1U << 19 : 3;
    return VST3_OK;
}

/* ---- activation ---- */

static int32_t can_process(void *self, int32_t size)
{
    bool is_double = OF(self, processor)->deed == DOUBLE;
    return (size == VST3_SAMPLE64) == is_double ? VST3_OK : VST3_FALSE;
}

static int32_t set_up(void *self, struct vst3_process_setup *setup)
{
    struct rules *rules = OF(self, processor);
    check(rules->is_initialised && !rules->is_active, "setupProcessing() while not active");
    check(setup->sample_rate > 0 && setup->max_samples_per_block > 0, "rate and block");
    check(can_process(self, setup->symbolic_sample_size) == VST3_OK, "the size of samples");
    rules->setup = *setup;
    rules->is_set_up = true;
    return VST3_OK;
}

static int32_t set_active(void *self, uint8_t state)
{
    struct rules *rules = OF(self, component);
    check(rules->is_set_up, "setupProcessing() before setActive()");
    check(!rules->is_processing && !rules->in_process, "setProcessing(false) before setActive()");
    check(rules->is_active != state, "setActive() changes the state");
    if (rules->deed == ACTIVATE_FALSE)
        return VST3_INTERNAL_ERROR;
    rules->is_active = state;
    rules->next = 0;
    if (rules->deed != OWN_THREAD)
        rules->latency = (uint32_t)lrint(rules->values[DELAY] * 1000);
    memset(rules->rings, 0, sizeof rules->rings);
    return VST3_OK;
}

static uint32_t latency_of(void *self)
{
    return OF(self, processor)->latency;
}

static int32_t set_processing(void *self, uint8_t state)
{
    struct rules *rules = OF(self, processor);
    check(rules->is_active && rules->is_processing != state, "setProcessing() while active");
    rules->is_processing = state;
    return VST3_NOT_IMPLEMENTED; /* what Steinberg's base class returns */
}

static uint32_t tail_of(void *self)
{
    enum deed deed = OF(self, processor)->deed;
    return deed == ENDLESS ? UINT32_MAX : deed == TAIL ? ECHO : 0;
}

/* ---- a block ---- */

static double gain_of(const struct rules *rules)
{
    double normal = rules->deed == LAZY ? rules->lazy_gain : rules->values[GAIN];
    double db = rules->deed == NO_CONTROLLER ? -20 : normal * 80 - 60;
    return pow(10, db / 20);
}

/* A plugin as DPF's are. It begins at -3 dB, which is not its default. The component ignores values
 * of blocks of 0 frames, and programs. The controller loads programs, and reports a latency if the
 * host passes on the hidden value of the component. */
static bool is_apart(const struct rules *rules)
{
    return rules->deed == APART;
}

static double program_gain(const struct rules *rules)
{
    static const double programs[] = {0, -6, -12};
    return (programs[lrint(rules->values[PROGRAM] * 2)] + 60) / 80;
}

static void take_values(struct rules *rules, const struct vst3_process_data *data)
{
    struct vst3_parameter_changes *changes = data->input_parameter_changes;
    int32_t count = changes->calls->get_parameter_count(changes);
    check(!changes->calls->get_parameter_data(changes, count), "no queue behind the last");
    if (is_apart(rules) && data->num_samples == 0)
        return;
    for (int32_t i = 0; i < count; i++) {
        struct vst3_param_value_queue *queue = changes->calls->get_parameter_data(changes, i);
        uint32_t id = queue->calls->get_parameter_id(queue) - FIRST_ID;
        int32_t points = queue->calls->get_point_count(queue), offset;
        check(id < VALUES && id != PEAK && id != HIDDEN, "the id of a parameter");
        check(points > 0, "points of a queue");
        double before = rules->values[id];
        for (int32_t p = 0; p < points; p++)
            check(queue->calls->get_point(queue, p, &offset, &rules->values[id]) == VST3_OK &&
                      offset >= 0 && offset <= data->num_samples && rules->values[id] >= 0 &&
                      rules->values[id] <= 1,
                  "points within block and range");
        if (id == GAIN && rules->values[id] != before && data->num_samples > 0)
            rules->lazy_gain = rules->values[id];
        if (id == PROGRAM && !is_apart(rules))
            rules->values[GAIN] = program_gain(rules);
    }
}

static void check_context(struct rules *rules, const struct vst3_process_data *data)
{
    const struct vst3_process_context *context = data->process_context;
    const char *wanted = getenv("RULES_TEMPO");
    double tempo;
    int number, unit;
    check(context && context->sample_rate == rules->setup.sample_rate, "the context's rate");
    check(!(context->state & VST3_TEMPO_VALID) == !wanted, "a tempo where there is one");
    if (!wanted || sscanf(wanted, "%lf,%d/%d", &tempo, &number, &unit) != 3)
        return;
    double beats = context->project_time_music, bar = context->bar_position_music;
    double seconds = (double)context->project_time_samples / context->sample_rate;
    check(context->tempo == tempo && context->time_sig_numerator == number &&
              context->time_sig_denominator == unit,
          "tempo and time signature");
    check(fabs(beats - seconds * tempo / 60) < 1e-6, "beats by the tempo");
    check(bar <= beats + 1e-6 && beats < bar + 4.0 * number / unit + 1e-6, "the bar");
    if (context->state & VST3_PLAYING && data->num_samples > 0) {
        check(rules->next == 0 || rules->next == context->project_time_samples,
              "a position that goes on");
        rules->next = context->project_time_samples + data->num_samples;
    }
}

static double get_sample(const struct rules *rules, const struct vst3_audio_bus_buffers *bus,
                         int32_t channel, int32_t i)
{
    return rules->deed == DOUBLE ? ((double **)bus->channel_buffers)[channel][i]
                                 : (double)((float **)bus->channel_buffers)[channel][i];
}

static double run_frame(struct rules *rules, int32_t channel, uint32_t frame, double sample)
{
    float *ring = rules->rings[channel];
    uint32_t now = (rules->at + frame) % RING;
    ring[now] = (float)sample;
    float delayed = ring[(now + RING - rules->latency) % RING];
    if (rules->deed == TAIL)
        delayed += 0.5F * ring[(now + RING - ECHO) % RING];
    double gain = rules->values[BYPASS] >= 0.5 ? 1 : gain_of(rules);
    return rules->deed == NAN_DEED ? (double)NAN
                                   : (double)(float)((double)delayed * gain * rules->loudness);
}

static void run_channel(struct rules *rules, struct vst3_process_data *data, int32_t channel)
{
    for (int32_t i = 0; i < data->num_samples; i++) {
        double sample =
            run_frame(rules, channel, (uint32_t)i, get_sample(rules, &data->inputs[0], channel, i));
        if (rules->deed == SIDE_CHAIN && rules->is_side_active)
            sample += get_sample(rules, &data->inputs[1], 0, i);
        if (rules->deed == DOUBLE)
            ((double **)data->outputs[0].channel_buffers)[channel][i] = sample;
        else
            ((float **)data->outputs[0].channel_buffers)[channel][i] = (float)sample;
        rules->values[PEAK] = fmin(1, fmax(rules->values[PEAK], fabs(sample)));
    }
}

static void report_value(struct rules *rules, const struct vst3_process_data *data,
                         enum parameter parameter)
{
    struct vst3_parameter_changes *out = data->output_parameter_changes;
    const uint32_t id = FIRST_ID + (uint32_t)parameter;
    int32_t index = -1;
    struct vst3_param_value_queue *queue = out->calls->add_parameter_data(out, &id, &index);
    check(queue && index >= 0, "a queue for a value");
    queue->calls->add_point(queue, 0, rules->values[parameter], &index);
}

static void *report_latency(void *argument)
{
    struct rules *rules = argument;
    rules->partner->handler->calls->restart_component(rules->partner->handler,
                                                      VST3_LATENCY_CHANGED);
    return NULL;
}

static int reloads; /* times that a plugin asked for one */

/* What a plugin asks of the host after a block, through its controller. */
static void ask_host(struct rules *rules, uint32_t before)
{
    struct rules *partner = rules->partner ? rules->partner : rules;
    uint32_t now = (uint32_t)lrint(rules->values[DELAY] * 1000);
    pthread_t thread;
    if (!partner->handler)
        return;
    if (now != before && rules->deed == OWN_THREAD) {
        rules->latency = now;
        pthread_create(&thread, NULL, report_latency, rules);
        pthread_join(thread, NULL);
    } else if (now != before && rules->deed == RELOADS) {
        reloads++;
        partner->handler->calls->restart_component(partner->handler, VST3_RELOAD_COMPONENT);
    } else if (now != before) {
        partner->handler->calls->restart_component(partner->handler, VST3_LATENCY_CHANGED);
    }
    if (rules->deed == IO_CHANGED)
        partner->handler->calls->restart_component(partner->handler, VST3_IO_CHANGED);
    if (rules->deed == EDITS && fabs(partner->values[GAIN] - 0.5) > 1e-9)
        edit(partner);
}

static int32_t process(void *self, struct vst3_process_data *data)
{
    struct rules *rules = OF(self, processor);
    uint32_t before = (uint32_t)lrint(rules->values[DELAY] * 1000);
    rules->in_process = true;
    check(rules->is_processing, "process() after setProcessing(true)");
    check(data->num_samples >= 0 && data->num_samples <= rules->setup.max_samples_per_block &&
              data->symbolic_sample_size == rules->setup.symbolic_sample_size &&
              data->process_mode == rules->setup.process_mode,
          "a block is as setupProcessing() says");
    check(data->num_inputs == count_buses(&rules->component, VST3_AUDIO, VST3_INPUT) &&
              data->num_outputs == count_buses(&rules->component, VST3_AUDIO, VST3_OUTPUT),
          "all buses");
    check(data->num_inputs == 0 || data->inputs[0].num_channels == rules->channels, "channels");
    if (rules->deed != DEAF || data->num_samples > 0)
        take_values(rules, data);
    check_context(rules, data);
    for (int32_t c = 0; c < rules->channels; c++)
        run_channel(rules, data, c);
    for (int32_t c = 0; rules->deed == TWO_OUTPUTS && c < CHANNELS; c++)
        memset(data->outputs[1].channel_buffers[c], 0, (size_t)data->num_samples * sizeof(float));
    rules->at += (uint32_t)data->num_samples;
    report_value(rules, data, PEAK);
    if (!is_apart(rules)) {
        ask_host(rules, before);
    } else if (lrint(rules->values[DELAY] * 1000) != before) {
        rules->latency = (uint32_t)lrint(rules->values[DELAY] * 1000);
        report_value(rules, data, HIDDEN);
    }
    rules->in_process = false;
    return rules->deed == ERROR_DEED ? VST3_INTERNAL_ERROR : VST3_OK;
}

/* ---- states: in pieces of 3 bytes ---- */

static int32_t give_state(const struct rules *rules, void *to)
{
    struct vst3_bstream *stream = to;
    char *bytes = (char *)rules->values;
    int64_t place = -1;
    if (rules->deed == STATE_FALSE)
        return VST3_INTERNAL_ERROR;
    for (size_t at = 0; at < sizeof rules->values; at += 4) {
        int32_t done = 0;
        check(stream->calls->write(stream, bytes + at, 3, &done) == VST3_OK && done == 3 &&
                  stream->calls->write(stream, bytes + at + 3, 1, NULL) == VST3_OK,
              "a stream takes bytes");
    }
    check(stream->calls->tell(stream, &place) == VST3_OK && place == sizeof rules->values,
          "tell() counts the bytes");
    check(stream->calls->seek(stream, 0, VST3_SEEK_SET, &place) == VST3_OK && place == 0 &&
              stream->calls->write(stream, bytes, 2, NULL) == VST3_OK &&
              stream->calls->seek(stream, 0, VST3_SEEK_END, &place) == VST3_OK &&
              place == sizeof rules->values,
          "seek() keeps the bytes");
    return VST3_OK;
}

static int32_t take_state(struct rules *rules, void *from)
{
    struct vst3_bstream *stream = from;
    double values[VALUES];
    size_t at = 0;
    check(stream->calls->write(stream, values, 0, NULL) != VST3_OK, "a state that is only read");
    for (int32_t done = 1; done > 0 && at < sizeof values; at += (size_t)done)
        if (stream->calls->read(stream, (char *)values + at, 3, &done) != VST3_OK)
            done = 0;
    if (at < sizeof values || !(values[GAIN] >= 0 && values[GAIN] <= 1))
        return VST3_FALSE;
    memcpy(rules->values, values, sizeof values);
    return VST3_OK;
}

static int32_t get_component_state(void *self, void *stream)
{
    check(OF(self, component)->is_initialised, "initialize() before getState()");
    return give_state(OF(self, component), stream);
}

static int32_t set_component_state(void *self, void *stream)
{
    check(OF(self, component)->is_initialised, "initialize() before setState()");
    return take_state(OF(self, component), stream);
}

static int32_t hear_component_state(void *self, void *stream)
{
    struct rules *rules = OF(self, controller);
    check(rules->is_component || rules->other, "setComponentState() after connect()");
    return rules->is_component ? VST3_OK : take_state(rules, stream);
}

static int32_t get_controller_state(void *self, void *stream)
{
    struct vst3_bstream *to = stream;
    (void)self;
    return to->calls->write(to, (char[]){"controller"}, 10, NULL);
}

static int32_t set_controller_state(void *self, void *stream)
{
    struct vst3_bstream *from = stream;
    char text[10] = "";
    (void)self;
    check(from->calls->read(from, text, sizeof text, NULL) == VST3_OK &&
              memcmp(text, "controller", sizeof text) == 0,
          "the controller gets its own state");
    return VST3_OK;
}

/* ---- parameters ---- */

static const struct {
    const char *title, *units;
    int32_t steps, flags;
    double least, most, initial;
} about[VALUES] = {
    [GAIN] = {"Gain", "dB", 0, VST3_CAN_AUTOMATE, -60, 20, 0.75},
    [MODE] = {"Mode", "", 2, VST3_CAN_AUTOMATE | VST3_IS_LIST, 0, 2, 0.4},
    [DELAY] = {"Delay", "samples", 1000, 0, 0, 1000, 0},
    [FREQUENCY] = {"Frequency", "", 0, VST3_CAN_AUTOMATE, 20, 20000, 0.5},
    [PEAK] = {"Peak", "", 0, VST3_IS_READ_ONLY, 0, 1, 0},
    [BYPASS] = {"Bypass", "", 1, VST3_CAN_AUTOMATE | VST3_IS_BYPASS, 0, 1, 0},
    [PROGRAM] = {"Program", "", 2, VST3_IS_PROGRAM_CHANGE | VST3_IS_LIST, 0, 2, 0},
    [HIDDEN] = {"Hidden", "", 0, VST3_IS_HIDDEN, 0, 1, 0},
};

static int32_t count_parameters(void *self)
{
    const struct rules *rules = OF(self, controller);
    check(rules->is_initialised, "initialize() before the parameters");
    return rules->deed == MANY_PARAMETERS ? INT32_MAX
           : rules->deed == MIDI          ? VALUES + MIDI_CONTROLLERS
                                          : VALUES;
}

static int32_t describe_parameter(void *self, int32_t index, struct vst3_parameter_info *info)
{
    enum deed deed = OF(self, controller)->deed;
    char title[VST3_TEXT];
    check(index >= 0 && index < count_parameters(self), "the index of a parameter");
    if (index >= VALUES) {
        *info = (struct vst3_parameter_info){.id = FIRST_ID + (uint32_t)index};
        snprintf(title, sizeof title, "MIDI CC %d|%d", index % 16, index / 16);
        put(info->title, title);
        return VST3_OK;
    }
    *info = (struct vst3_parameter_info){.id = FIRST_ID + (uint32_t)index,
                                         .step_count = about[index].steps,
                                         .default_normalized_value = about[index].initial,
                                         .unit_id = index == GAIN ? 2 : 0,
                                         .flags = about[index].flags};
    put(info->title, about[index].title);
    put(info->units, about[index].units);
    if (deed == NO_DEFAULT)
        info->default_normalized_value = (double)NAN;
    for (size_t i = 0; deed == LONG_NAMES && i < VST3_TEXT; i++)
        info->title[i] = info->units[i] = info->short_title[i] = i % 2 ? 0xD800 : 0x20AC;
    return VST3_OK;
}

static double plain_of(uint32_t index, double normal)
{
    double least = about[index].least, most = about[index].most;
    return index == FREQUENCY ? least * pow(most / least, normal) : least + normal * (most - least);
}

static double to_plain(void *self, uint32_t id, double normal)
{
    check(id >= FIRST_ID && id < FIRST_ID + VALUES && normal >= 0 && normal <= 1, "a value");
    return OF(self, controller)->deed == UNIT ? normal : plain_of(id - FIRST_ID, normal);
}

static double to_normal(void *self, uint32_t id, double plain)
{
    (void)self, (void)id;
    return plain;
}

static int32_t text_of(void *self, uint32_t id, double normal, uint16_t *text)
{
    static const char *const modes[] = {"Soft", "Hard", "Wire, bare"};
    static const char *const programs[] = {"none", "half", "quiet"};
    const struct rules *rules = OF(self, controller);
    char line[32];
    check(id >= FIRST_ID && id < FIRST_ID + VALUES && normal >= 0 && normal <= 1, "a value");
    double plain = plain_of(id - FIRST_ID, normal);
    if (id == FIRST_ID + MODE || id == FIRST_ID + PROGRAM)
        snprintf(line, sizeof line, "%s",
                 (id == FIRST_ID + MODE ? modes : programs)[lrint(normal * 2)]);
    else if (id == FIRST_ID + FREQUENCY && plain >= 1000)
        snprintf(line, sizeof line, "%.3f kHz", plain / 1000);
    else if (rules->deed == UNIT && id == FIRST_ID + GAIN && normal == 0)
        snprintf(line, sizeof line, "-inf dB");
    else
        snprintf(line, sizeof line, "%.2f%s", plain,
                 id == FIRST_ID + FREQUENCY                     ? " Hz"
                 : rules->deed == UNIT && id == FIRST_ID + GAIN ? " dB"
                                                                : "");
    put(text, line);
    for (size_t i = 0; rules->deed == LONG_NAMES && i < VST3_TEXT; i++)
        text[i] = 't';
    return VST3_OK;
}

static int32_t value_of_text(void *self, uint32_t id, uint16_t *text, double *normal)
{
    char line[VST3_TEXT];
    (void)self;
    for (size_t i = 0; i < sizeof line; i++)
        line[i] = (char)text[i];
    line[sizeof line - 1] = '\0';
    double plain = atof(line) * (strstr(line, "kHz") ? 1000 : 1);
    uint32_t index = id - FIRST_ID;
    *normal = index == FREQUENCY
                  ? log(plain / 20) / log(1000)
                  : (plain - about[index].least) / (about[index].most - about[index].least);
    return VST3_OK;
}

static double get_value(void *self, uint32_t id)
{
    check(id >= FIRST_ID && id < FIRST_ID + VALUES, "the id of a parameter");
    return OF(self, controller)->values[id - FIRST_ID];
}

static int32_t set_value(void *self, uint32_t id, double value)
{
    struct rules *rules = OF(self, controller);
    check(id >= FIRST_ID && id < FIRST_ID + VALUES && value >= 0 && value <= 1, "a value");
    if (!rules->is_component || rules->deed == UNIT)
        rules->values[id - FIRST_ID] = value;
    if (is_apart(rules) && id == FIRST_ID + PROGRAM)
        rules->values[GAIN] = program_gain(rules);
    if (is_apart(rules) && id == FIRST_ID + HIDDEN)
        rules->handler->calls->restart_component(rules->handler, VST3_LATENCY_CHANGED);
    return VST3_OK;
}

static int32_t set_handler(void *self, void *handler)
{
    struct rules *rules = OF(self, controller);
    check(rules->is_initialised, "initialize() before setComponentHandler()");
    rules->handler = handler;
    return VST3_OK;
}

static void *create_view(void *self, const char *name)
{
    (void)self, (void)name;
    return NULL;
}

static int32_t count_units(void *self)
{
    (void)self;
    return 3;
}

static int32_t describe_unit(void *self, int32_t index, struct vst3_unit_info *info)
{
    static const char *const titles[] = {"Root", "Output", "Level"};
    (void)self;
    *info = (struct vst3_unit_info){.id = index, .parent_unit_id = index - 1};
    put(info->name, titles[index]);
    return VST3_OK;
}

/* ---- messages: a component learns its controller ---- */

static void greet(struct rules *rules)
{
    struct vst3_message *message = NULL;
    const void *bytes;
    uint32_t size;
    int64_t number = 0;
    uint16_t text[8] = {0};
    check(rules->host->calls->create_instance(rules->host, &vst3_message_iid, &vst3_message_iid,
                                              (void **)&message) == VST3_OK,
          "the host makes messages");
    message->calls->set_message_id(message, "greeting");
    struct vst3_attribute_list *list = message->calls->get_attributes(message);
    list->calls->set_binary(list, "self", &rules, sizeof rules);
    list->calls->set_int(list, "number", 1);
    list->calls->set_int(list, "number", 3);
    list->calls->set_string(list, "text", (const uint16_t[]){'h', 'a', 'l', 'o', 0});
    check(list->calls->get_int(list, "number", &number) == VST3_OK && number == 3 &&
              list->calls->get_string(list, "text", text, 6) == VST3_OK && text[1] == 'a' &&
              text[2] == 0 && list->calls->get_binary(list, "text", &bytes, &size) != VST3_OK,
          "attributes of a message");
    rules->other->calls->notify(rules->other, message);
    check(message->calls->release(message) == 0, "a message has one owner");
}

static int32_t connect(void *self, void *other)
{
    struct rules *rules = OF(self, point);
    check(rules->is_initialised && other && other != self && !rules->other, "connect() once");
    rules->other = other;
    if (!rules->is_component)
        greet(rules);
    return VST3_OK;
}

static int32_t disconnect(void *self, void *other)
{
    struct rules *rules = OF(self, point);
    check(rules->is_initialised && rules->other == other, "disconnect() of what is connected");
    rules->other = NULL;
    return VST3_OK;
}

static int32_t notify(void *self, void *letter)
{
    struct rules *rules = OF(self, point);
    struct vst3_message *message = letter;
    struct vst3_attribute_list *list = message->calls->get_attributes(message);
    const void *bytes = NULL;
    uint32_t size = 0;
    check(strcmp(message->calls->get_message_id(message), "greeting") == 0 &&
              list->calls->get_binary(list, "self", &bytes, &size) == VST3_OK &&
              size == sizeof rules->partner,
          "a message arrives as it was sent");
    memcpy(&rules->partner, bytes, size);
    return VST3_OK;
}

/* ---- the module ---- */

static struct rules *make_rules(enum deed deed, bool is_component)
{
    static const struct vst3_component_calls component = {query_component,     add_component,
                                                          release_component,   initialise_component,
                                                          terminate_component, controller_cid,
                                                          set_io_mode,         count_buses,
                                                          describe_bus,        routing,
                                                          activate_bus,        set_active,
                                                          set_component_state, get_component_state};
    static const struct vst3_audio_processor_calls processor = {query_processor,
                                                                add_processor,
                                                                release_processor,
                                                                set_bus_arrangements,
                                                                bus_arrangement,
                                                                can_process,
                                                                latency_of,
                                                                set_up,
                                                                set_processing,
                                                                process,
                                                                tail_of};
    static const struct vst3_edit_controller_calls controller = {query_controller,
                                                                 add_controller,
                                                                 release_controller,
                                                                 initialise_controller,
                                                                 terminate_controller,
                                                                 hear_component_state,
                                                                 set_controller_state,
                                                                 get_controller_state,
                                                                 count_parameters,
                                                                 describe_parameter,
                                                                 text_of,
                                                                 value_of_text,
                                                                 to_plain,
                                                                 to_normal,
                                                                 get_value,
                                                                 set_value,
                                                                 set_handler,
                                                                 create_view};
    static const struct vst3_connection_point_calls point = {query_point, add_point,  release_point,
                                                             connect,     disconnect, notify};
    static const struct vst3_units_calls units = {query_units, add_units, release_units,
                                                  count_units, describe_unit};
    struct rules *rules = calloc(1, sizeof *rules);
    *rules = (struct rules){.component = {&component},
                            .processor = {&processor},
                            .controller = {&controller},
                            .point = {&point},
                            .units = {&units},
                            .uses = 1,
                            .deed = deed,
                            .channels = CHANNELS,
                            .is_component = is_component,
                            .is_controller = !is_component || deed == JOINED || deed == UNIT};
    rules->lazy_gain = about[GAIN].initial;
    rules->loudness = deed == RELOADS ? 1 << reloads : 1;
    for (size_t i = 0; i < VALUES; i++)
        rules->values[i] = about[i].initial;
    if (is_apart(rules))
        rules->values[GAIN] = 57.0 / 80;
    objects++;
    return rules;
}

static int32_t query_factory(void *self, const struct vst3_id *iid, void **object)
{
    bool has = is_id(iid, &vst3_unknown_iid) || is_id(iid, &vst3_plugin_factory_iid) ||
               is_id(iid, &vst3_plugin_factory2_iid) || is_id(iid, &vst3_plugin_factory3_iid);
    *object = has ? self : NULL;
    objects += has;
    return has ? VST3_OK : VST3_NO_INTERFACE;
}

static uint32_t add_factory(void *self)
{
    (void)self;
    return (uint32_t)++objects;
}

static uint32_t release_factory(void *self)
{
    (void)self;
    check(objects > 0, "as many releases of the factory as references");
    return (uint32_t)--objects;
}

static int32_t about_factory(void *self, struct vst3_factory_info *info)
{
    (void)self;
    *info = (struct vst3_factory_info){.vendor = "halo's tests"};
    return VST3_OK;
}

/* One that crashes while it is described would take the others with it: it has its own library. */
static int32_t count_classes(void *self)
{
    (void)self;
    return RULES_ONLY == DEEDS ? 2 * INIT_CRASH : 1;
}

static int32_t describe_class2(void *self, int32_t index, struct vst3_class_info2 *info)
{
    (void)self;
    check(index >= 0 && index < count_classes(self), "the index of a class");
    enum deed deed = RULES_ONLY == DEEDS ? (enum deed)(index / 2) : RULES_ONLY;
    *info =
        (struct vst3_class_info2){.cardinality = INT32_MAX, .sub_categories = "Fx|Tools|Stereo"};
    make_cid(deed, index % 2, &info->cid);
    snprintf(info->category, sizeof info->category, "%s",
             index % 2 ? "Component Controller Class" : VST3_AUDIO_MODULE_CLASS);
    snprintf(info->name, sizeof info->name, "%s", names[deed]);
    return VST3_OK;
}

static int32_t describe_class(void *self, int32_t index, struct vst3_class_info *info)
{
    struct vst3_class_info2 all;
    describe_class2(self, index, &all);
    memcpy(info, &all, sizeof *info);
    return VST3_OK;
}

static int32_t create(void *self, const struct vst3_id *cid, const struct vst3_id *iid,
                      void **object)
{
    (void)self;
    enum deed deed = (enum deed)cid->bytes[5];
    struct vst3_id own;
    make_cid(deed, cid->bytes[6], &own);
    *object = NULL;
    if (deed >= DEEDS || !is_id(cid, &own) || deed == CREATE_NULL)
        return VST3_NO_INTERFACE;
    struct rules *rules = make_rules(deed, !cid->bytes[6]);
    int32_t result = query(rules, iid, object);
    rules->uses--;
    return result;
}

static int32_t set_host(void *self, void *context)
{
    (void)self;
    check(context != NULL, "a context for the factory");
    factory_context = context;
    return VST3_OK;
}

bool ModuleEntry(void *handle);
bool ModuleExit(void);
void *GetPluginFactory(void);

__attribute__((visibility("default"))) bool ModuleEntry(void *handle)
{
    check(handle && !is_entered, "ModuleEntry() once, with the library");
    is_entered = true;
    return true;
}

__attribute__((visibility("default"))) bool ModuleExit(void)
{
    check(is_entered, "ModuleEntry() before ModuleExit()");
    check(objects == 0, "ModuleExit() after the last release()");
    is_entered = false;
    return true;
}

__attribute__((visibility("default"))) void *GetPluginFactory(void)
{
    static const struct vst3_plugin_factory3_calls calls = {
        query_factory,  add_factory, release_factory, about_factory, count_classes,
        describe_class, create,      describe_class2, NULL,          set_host};
    static struct vst3_plugin_factory3 factory = {&calls};
    check(is_entered, "ModuleEntry() before GetPluginFactory()");
    objects++;
    return &factory;
}
