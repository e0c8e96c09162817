#include "live/device/device.h"

#include "base/build_info.h"
#include "base/monotonic.h"
#include "base/realtime.h"
#include "base/stop.h"
#include "base/thread.h"
#include "live/device/device_bridge.h"
#include "live/device/device_driver.h"
#include "signal/audio.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct device_join {
    struct bridge bridge;
    struct device_stream *input, *output; /* not owned */
    struct device_slot slot;              /* the user's step, which the output's call runs */
};

enum { DEVICE_SIDES = 2 /* streams that a device has at most */ };

/* One stream of a driver: input and output, or one of them. */
struct device_side {
    const struct device_driver *driver;
    struct device_stream *stream;
    void *opened;      /* stream of the driver; NULL: not open */
    char label[264];   /* names of input and output, for messages */
    size_t calls_seen; /* number of calls at seen_at */
    int64_t seen_at;   /* when device_side_is_lost last saw a new call, monotonic ns */
    int64_t stalled;   /* ns since seen_at; 0: the stream does not stall */
};

/* ---- input and output with two clocks: the output's calls run the step ---- */

HALO_REALTIME static int64_t time_of(const struct device_stream *stream)
{
    return stream->simulated_ns ? stream->simulated_ns : monotonic_ns();
}

HALO_REALTIME static void input_step(void *context, const float *const *in, float *const *out,
                                     size_t frames, bool lost)
{
    struct device_join *join = context;
    (void)out;
    bridge_write(&join->bridge, in, frames, time_of(join->input), lost);
}

HALO_REALTIME static void output_step(void *context, const float *const *in, float *const *out,
                                      size_t frames, bool lost)
{
    struct device_join *join = context;
    const float *sound[DEVICE_CHANNELS_MOST];
    (void)in;
    lost = bridge_read(&join->bridge, sound, frames, time_of(join->output), lost);
    join->slot.step(join->slot.context, sound, out, frames, lost);
}

static void device_join_destroy(struct device_join *join)
{
    if (!join)
        return;
    bridge_free(&join->bridge);
    free(join);
}

static enum status device_join_create(struct device_stream *input, uint32_t rate_in,
                                      struct device_stream *output, uint32_t rate_out,
                                      struct device_join **result)
{
    struct device_join *join = calloc(1, sizeof *join);
    if (!join)
        return fail_memory("a device");
    join->input = input;
    join->output = output;
    enum status status = bridge_init(&join->bridge, input->in.count, rate_in, rate_out);
    if (status == STATUS_OK)
        *result = join;
    else
        device_join_destroy(join);
    return status;
}

static void device_join_run(struct device_join *join, device_step *step, void *context)
{
    struct device_stream *input = join->input, *output = join->output;
    bridge_start(&join->bridge, atomic_load(&input->period), atomic_load(&output->period));
    join->slot = (struct device_slot){step, context};
    input->slot = (struct device_slot){input_step, join};
    output->slot = (struct device_slot){output_step, join};
    atomic_store(&output->current, &output->slot);
    atomic_store(&input->current, &input->slot);
}

/* ---- one stream of a driver, closed on a thread that can be abandoned ---- */

enum { SIDE_POLL_NS = 2000000 };
#define SECOND INT64_C(1000000000)
static const int64_t BEGIN_NS = 5 * SECOND; /* time for the first call; PulseAudio needs 2 s */
static const int64_t LEARN_NS = SECOND / 2; /* time for LEARN_CALLS calls, from the first one on */
static const size_t LEARN_CALLS = 8; /* calls until the period is known; the first may differ */
static const int64_t STOP_NS = 2 * SECOND;                /* time for a step or a close to return */
static const int64_t CLOSE_STOPPING_NS = SECOND * 7 / 10; /* time for a close after a stop signal */
static const int64_t AGAIN_NS = SECOND / 20;     /* time for a close that was abandoned earlier */
static const int64_t SILENT_NS = SECOND * 3 / 2; /* a device without a call for so long is lost */

/* ---- open ---- */

static enum status learn_period(struct device_side *side)
{
    int64_t begin = monotonic_ns(), first = 0;
    for (;;) {
        size_t calls = atomic_load_explicit(&side->stream->calls, memory_order_acquire);
        int64_t now = monotonic_ns();
        if (calls > 0 && first == 0)
            first = now;
        if (calls >= LEARN_CALLS || (calls > 1 && now - first > LEARN_NS))
            break;
        if (now - begin > BEGIN_NS || !side->driver->is_running(side->opened))
            return fail(CAUSE_DEVICE,
                        "%s was opened but delivers no sound; is it in use or disconnected?",
                        side->label);
        monotonic_sleep_until(monotonic_ns() + SIDE_POLL_NS);
    }
    side->calls_seen = side->stream->calls;
    side->seen_at = monotonic_ns();
    return STATUS_OK;
}

static enum status make_stream(const struct device_choice *choice, struct device_side *side)
{
    side->stream = calloc(1, sizeof *side->stream);
    if (!side->stream || !(side->stream->silence = audio_alloc(DEVICE_FRAMES_MOST)))
        return fail_memory("a device");
    side->stream->in = choice->in;
    side->stream->out = choice->out;
    return STATUS_OK;
}

/* `quietly`: does not report a failure, since another rate will be tried. */
static enum status open_at(const struct device_target *target, bool quietly,
                           struct device_side *side)
{
    char reason[300];
    struct log_keeper before = {0};
    if (quietly)
        before = log_keep_in(reason, sizeof reason);
    enum status status = side->driver->open(target, side->stream, &side->opened);
    if (quietly)
        log_keep_again(&before);
    if (status != STATUS_OK && quietly && side->opened) {
        (void)side->driver->close(side->opened);
        side->opened = NULL;
    }
    return status;
}

/* Opens a stream at the first of `count` rates that works. Rate 0: the device's own. */
static enum status device_side_open(const struct device_request *request,
                                    const struct device_choice *choice, const uint32_t *rates,
                                    size_t count, struct device_side *side)
{
    const struct device_row *in = choice->input, *out = choice->output;
    struct device_request at_rate = *request;
    const struct device_target target = {&at_rate, in, out, side->label};
    enum status status = STATUS_FAILED;
    bool both = in && out && strcmp(in->name, out->name) != 0;
    snprintf(side->label, sizeof side->label, "%s%s%s", in ? in->name : out->name,
             both ? " and " : "", both ? out->name : "");
    side->driver = in ? in->driver : out->driver;
    TRY(make_stream(choice, side));
    for (size_t i = 0; i < count && status != STATUS_OK; i++) {
        at_rate.rate = rates[i];
        status = open_at(&target, i + 1 < count, side);
    }
    return status == STATUS_OK ? learn_period(side) : status;
}

static uint32_t device_side_rate(const struct device_side *side)
{
    struct device_info info = {0};
    side->driver->describe(side->opened, &info);
    return info.rate;
}

/* ---- while it runs ---- */

static bool device_side_stop(struct device_side *side)
{
    struct device_stream *stream = side->stream;
    if (!stream)
        return true;
    atomic_store(&stream->current, NULL);
    int64_t deadline = monotonic_ns() + STOP_NS;
    while (atomic_load(&stream->inside) && monotonic_ns() < deadline)
        monotonic_sleep_until(monotonic_ns() + SIDE_POLL_NS);
    return !atomic_load(&stream->inside);
}

static bool device_side_is_lost(struct device_side *side)
{
    size_t calls = atomic_load_explicit(&side->stream->calls, memory_order_relaxed);
    int64_t now = monotonic_ns();
    if (calls != side->calls_seen) {
        side->calls_seen = calls;
        side->seen_at = now;
    }
    side->stalled = now - side->seen_at > SILENT_NS ? now - side->seen_at : 0;
    if (side->driver->watch)
        side->driver->watch(side->opened);
    bool is_silent = side->stalled > 0 && !side->driver->outlives_stalls;
    return is_silent || !side->driver->is_running(side->opened);
}

/* ---- closing, on a thread that can be abandoned ---- */

struct closing {
    struct device_side sides[DEVICE_SIDES]; /* the closing thread closes and frees their streams */
    struct device_join *join;
    enum status status;
    atomic_bool done;
};

/* A close that hangs. Until it returns, no device can be opened. */
static struct closing *abandoned;
static int64_t abandoned_at; /* monotonic ns */

static void free_stream(struct device_stream *stream)
{
    if (stream)
        free(stream->silence);
    free(stream);
}

static void free_closing(struct closing *closing)
{
    device_join_destroy(closing->join);
    for (size_t i = 0; i < DEVICE_SIDES; i++)
        free_stream(closing->sides[i].stream);
    free(closing);
}

/* Closes all streams before it ends their drivers. */
static void *close_main(void *argument)
{
    struct closing *closing = argument;
    for (size_t i = 0; i < DEVICE_SIDES; i++) {
        const struct device_side *side = &closing->sides[i];
        enum status status = side->opened ? side->driver->close(side->opened) : STATUS_OK;
        closing->status = closing->status == STATUS_OK ? status : closing->status;
    }
    for (size_t i = 0; i < DEVICE_SIDES; i++) {
        const struct device_driver *driver = closing->sides[i].driver;
        if (driver && (i == 0 || driver != closing->sides[0].driver))
            driver->end();
    }
    closing->done = true;
    return NULL;
}

static bool is_noisy(const struct closing *closing)
{
    bool noisy = false;
    for (size_t i = 0; i < DEVICE_SIDES; i++)
        noisy = noisy || (closing->sides[i].driver && closing->sides[i].driver->noisy);
    return noisy;
}

static bool wait_for_close(const struct closing *closing, int64_t limit_ns)
{
    int64_t deadline = monotonic_ns() + limit_ns;
    while (!closing->done && monotonic_ns() < deadline)
        monotonic_sleep_until(monotonic_ns() + SIDE_POLL_NS);
    return closing->done;
}

/* After a signal to stop, sound servers get less time. The driver with files (only_named) gets the
 * full time, so that it can complete its file. */
static int64_t close_limit(const struct closing *closing)
{
    const struct device_driver *driver = closing->sides[0].driver;
    return stop_requested() && driver && !driver->only_named ? CLOSE_STOPPING_NS : STOP_NS;
}

/* Closes and frees the streams and `join` (or NULL), and ends the drivers. */
static enum status device_sides_close(const struct device_side *sides, struct device_join *join)
{
    pthread_t thread;
    enum status status = STATUS_OK;
    struct closing *closing = calloc(1, sizeof *closing);
    if (closing) {
        memcpy(closing->sides, sides, sizeof closing->sides);
        closing->join = join;
    }
    if (!closing ||
        thread_start(&thread, "halo close", THREAD_AS_CALLER, close_main, closing) != 0) {
        free(closing); /* the streams are leaked */
        return fail_memory("a thread");
    }
    pthread_detach(thread);
    if (is_noisy(closing))
        device_hush();
    bool done = wait_for_close(closing, close_limit(closing));
    device_unhush();
    if (done) {
        status = closing->status;
        free_closing(closing);
    } else {
        abandoned_at = abandoned ? abandoned_at : monotonic_ns();
        abandoned = closing; /* an earlier one is leaked, since its thread may still use it */
    }
    return status;
}

static void device_side_end(const struct device_driver *driver)
{
    const struct device_side sides[DEVICE_SIDES] = {{.driver = driver}};
    device_sides_close(sides, NULL);
}

/* Fails while an abandoned close still hangs. If it has returned, frees it. */
static enum status device_sides_are_clear(void)
{
    if (abandoned && wait_for_close(abandoned, AGAIN_NS)) {
        free_closing(abandoned);
        abandoned = NULL;
    }
    return abandoned ? fail(CAUSE_DEVICE, "the sound system still hangs after a device was lost")
                     : STATUS_OK;
}

double device_hangs(void)
{
    return abandoned ? 1e-9 * (double)(monotonic_ns() - abandoned_at) : 0;
}

/* The drivers, in the order of `halo devices` and of trying: sound servers first, `only_named`
 * last. ROW(NAME) stands for driver_NAME in driver_NAME.c. */
#ifdef HALO_WITH_PIPEWIRE
#define PIPEWIRE(ROW) ROW(pipewire)
#else
#define PIPEWIRE(ROW)
#endif
#ifdef HALO_WITH_JACK
#define JACK(ROW) ROW(jack)
#else
#define JACK(ROW)
#endif
#ifdef HALO_WITH_PORTAUDIO
#define PORTAUDIO(ROW) ROW(portaudio)
#else
#define PORTAUDIO(ROW)
#endif
#define DRIVERS(ROW)                                                                               \
    PIPEWIRE(ROW)                                                                                  \
    JACK(ROW)                                                                                      \
    PORTAUDIO(ROW)                                                                                 \
    ROW(null)

#define DECLARE(name) extern const struct device_driver driver_##name;
DRIVERS(DECLARE)

#define ENTRY(name) &driver_##name,
static const struct device_driver *const drivers[] = {DRIVERS(ENTRY)};
enum { DRIVER_COUNT = sizeof drivers / sizeof *drivers };

/* Index in device.sides. With two clocks, each direction has a side. Otherwise WHOLE has both. */
enum { WHOLE, OUTPUT_SIDE = WHOLE, INPUT_SIDE };

struct device {
    struct device_side sides[DEVICE_SIDES];
    struct device_join *join; /* connects two sides with two clocks; NULL: there is one side */
    struct device_info names; /* host_api, input and output only */
};

const char *device_driver_name(size_t number)
{
    return number < DRIVER_COUNT ? drivers[number]->name : NULL;
}

/* ---- the list ---- */

/* Keeps only the first default host API as the default of the list. */
static void keep_first_default(struct device_list *list)
{
    bool has_default = false;
    for (size_t i = 0; i < list->host_count; i++) {
        list->hosts[i].is_default = list->hosts[i].is_default && !has_default;
        has_default = has_default || list->hosts[i].is_default;
    }
}

static enum status enumerate(const struct device_driver *driver, const char *spec, bool named,
                             struct device_list *list)
{
    size_t first = list->count;
    enum status status;
    if (!library_of_choice(driver->library, named, &status))
        return status;
    status = driver->enumerate(spec, list);
    keep_first_default(list);
    for (size_t i = first; i < list->count; i++) {
        list->rows[i].driver = driver;
        list->rows[i].index = i - first;
        list->rows[i].only_named = driver->only_named;
    }
    return status;
}

enum status device_list_init(struct device_list *list)
{
    *list = (struct device_list){0};
    enum status status = device_sides_are_clear();
    for (size_t i = 0; i < DRIVER_COUNT && status == STATUS_OK; i++) {
        status = enumerate(drivers[i], NULL, false, list);
        device_side_end(drivers[i]);
    }
    if (list->silent)
        warning("%s", list->silent);
    if (status != STATUS_OK)
        device_list_free(list);
    return status;
}

/* ---- opening ---- */

static void put_names(struct device *device, const struct device_list *list,
                      const struct device_choice *choice)
{
    struct device_info *names = &device->names;
    const struct device_row *either = choice->output ? choice->output : choice->input;
    if (!names->host_api[0])
        snprintf(names->host_api, sizeof names->host_api, "%s", list->hosts[either->host].name);
    const char *input = choice->input ? choice->input->name : choice->sink;
    if (input)
        snprintf(names->input, sizeof names->input, "%s", input);
    if (choice->output)
        snprintf(names->output, sizeof names->output, "%s", choice->output->name);
}

/* Opens the input after the output: at the output's rate, if the input can. */
static enum status open_input(const struct device_request *request,
                              const struct device_choice *choice, struct device *device)
{
    struct device_side *sides = device->sides;
    const struct device_choice input = {.input = choice->input, .in = choice->in};
    const uint32_t rates[] = {device_side_rate(&sides[OUTPUT_SIDE]), 0};
    TRY(device_side_open(request, &input, rates, 2, &sides[INPUT_SIDE]));
    return device_join_create(sides[INPUT_SIDE].stream, device_side_rate(&sides[INPUT_SIDE]),
                              sides[OUTPUT_SIDE].stream, rates[0], &device->join);
}

static enum status open_chosen(const struct device_request *request, const struct device_list *list,
                               bool named, struct device *device)
{
    struct device_choice choice;
    TRY(device_choose(request, list, named, &choice));
    put_names(device, list, &choice);
    if (device->sides[OUTPUT_SIDE].opened)
        return open_input(request, &choice, device);
    if (device_choice_has_one_clock(&choice, list))
        return device_side_open(request, &choice, &request->rate, 1, &device->sides[WHOLE]);
    const struct device_choice output = {.output = choice.output, .out = choice.out};
    TRY(device_side_open(request, &output, &request->rate, 1, &device->sides[OUTPUT_SIDE]));
    return open_input(request, &choice, device);
}

static const char no_sinks[] =
    "--sink and --loopback need PipeWire; with PulseAudio make a sink with 'pactl load-module "
    "module-null-sink sink_name=halo' and filter what it plays with 'PULSE_SOURCE=halo.monitor "
    "halo live --device pulse'";

/* Whether no further driver has to be tried. Without a named device, the first driver with a server
 * is enough, even if the server does not answer: halo must not choose another one unasked. */
static bool is_enough(const struct device_request *request, const struct device_list *list)
{
    bool has_default = false;
    for (size_t i = 0; i < list->host_count; i++)
        has_default = has_default || list->hosts[i].is_default;
    has_default = has_default || list->silent;
    return has_default && !request->driver && !request->input && !request->output;
}

static bool is_used(const struct device *device, const struct device_driver *driver)
{
    return driver == device->sides[0].driver || driver == device->sides[1].driver;
}

/* A driver without a spec is opened only once. A driver with a spec can have two devices. */
static bool is_taken(const struct device *device, const struct device_driver *driver)
{
    return is_used(device, driver) && !driver->spec;
}

/* Lists the devices of the drivers that can serve the request. If it names a driver, only that one.
 * Otherwise all except those that must be named and the one that has the other direction open. */
static enum status enumerate_for(const struct device *device, struct device_request *request,
                                 struct device_list *list, size_t *first, size_t *begun,
                                 bool *named)
{
    const char *spec = NULL;
    size_t end = DRIVER_COUNT;
    for (size_t i = 0; i < DRIVER_COUNT && !*named; i++) {
        TRY(device_choose_driver(drivers[i], request, named, &spec));
        *first = *named ? i : 0;
        end = *named ? i + 1 : DRIVER_COUNT;
    }
    bool wants_sinks = request->sink || request->loopback;
    for (*begun = *first; *begun < end && (*named || !is_enough(request, list)); ++*begun)
        if ((*named || !drivers[*begun]->only_named) && !is_taken(device, drivers[*begun]) &&
            (!wants_sinks || drivers[*begun]->has_sinks))
            TRY(enumerate(drivers[*begun], spec, *named, list));
    if (list->silent && (*named || wants_sinks || is_enough(request, list)))
        return fail(CAUSE_DEVICE, "%s", list->silent);
    if (list->silent)
        warning("%s", list->silent);
    if (list->host_count > 0 || (!*named && !wants_sinks))
        return STATUS_OK;
    if (list->empty)
        return fail(CAUSE_DEVICE, "%s", list->empty);
    bool has_none = wants_sinks && !(*named && drivers[*first]->has_sinks);
    return fail(CAUSE_DEVICE, "%s", has_none ? no_sinks : drivers[*first]->absent);
}

static enum status open_device(const struct device_request *asked, struct device *device)
{
    struct device_request request = *asked;
    struct device_list list = {0};
    bool named = false;
    size_t first = 0, begun = 0;
    TRY(device_sides_are_clear());
    enum status status = enumerate_for(device, &request, &list, &first, &begun, &named);
    if (status == STATUS_OK)
        status = open_chosen(&request, &list, named, device);
    device_list_free(&list);
    for (size_t i = first; i < begun; i++)
        if (!is_used(device, drivers[i]))
            device_side_end(drivers[i]);
    return status;
}

/* Whether one of the driver's devices has this name. Starts and ends the driver. */
static bool has_device(const struct device_driver *driver, const char *name)
{
    struct device_list list = {0};
    char reason[300]; /* ignored: opening the device reports it again */
    const struct log_keeper before = log_keep_in(reason, sizeof reason);
    enum status status = enumerate(driver, NULL, true, &list);
    log_keep_again(&before);
    bool found = status == STATUS_OK && device_choose_is_there(&list, name);
    device_list_free(&list);
    device_side_end(driver);
    return found;
}

/* If a driver's name stands beside the name of one of its devices, as in "--input mic --output
 * pipewire", it means the driver's default device. Then one driver serves both. */
static bool are_of_one(const struct device_request *request)
{
    const char *spec_in = NULL, *spec_out = NULL;
    const struct device_driver *in =
        device_choose_named(drivers, DRIVER_COUNT, request->input, &spec_in);
    const struct device_driver *out =
        device_choose_named(drivers, DRIVER_COUNT, request->output, &spec_out);
    const struct device_driver *one = in ? in : out;
    return (!in || !out) && !one->spec && has_device(one, in ? request->output : request->input);
}

/* Refuses a device's number beside a driver's name: the numbers would differ from the list's. */
static enum status refuse_number(const struct device_request *request)
{
    const char *const names[] = {request->input, request->output};
    for (size_t i = 0; i < 2; i++) {
        const char *spec = NULL, *other = names[1 - i];
        const struct device_driver *driver =
            device_choose_named(drivers, DRIVER_COUNT, names[i], &spec);
        if (driver && !driver->spec && other && device_choose_is_number(other))
            return fail(CAUSE_USAGE,
                        "cannot take device %s by its number beside the driver %s; give its name, "
                        "which halo devices lists",
                        other, names[i]);
    }
    return STATUS_OK;
}

/* If input and output name two drivers, or two specs of one, opens them one after the other. */
static enum status open_directions(const struct device_request *request, struct device *device)
{
    struct device_request one = *request;
    bool both = request->wants_input && request->wants_output;
    TRY(device_sides_are_clear());
    if (!both || !device_choose_names_two(drivers, DRIVER_COUNT, request) || are_of_one(request))
        return open_device(request, device);
    TRY(refuse_number(request));
    one.wants_input = false;
    one.input = NULL;
    TRY(open_device(&one, device));
    one.input = request->input;
    one.wants_input = true;
    one.wants_output = false;
    one.output = NULL;
    return open_device(&one, device);
}

/* A thread that opens a device. halo can abandon it, since a hanging server may block for ever. */
struct opening {
    struct device_request request;
    struct device *device;
    struct failure failure;
    enum status status;
    atomic_bool done;
};

enum { LOOK_NS = 2000000 };
static const int64_t STOPPING_NS = 500000000; /* time for an opening after a stop signal */

static void *open_main(void *argument)
{
    struct opening *opening = argument;
    const struct log_keeper before = log_keep_failure(&opening->failure);
    opening->status = open_directions(&opening->request, opening->device);
    log_keep_again(&before);
    if (opening->status != STATUS_OK)
        (void)device_close(opening->device);
    opening->done = true;
    return NULL;
}

/* Returns false if a signal asked to stop and the opening still hangs. */
static bool wait_for_opening(const struct opening *opening)
{
    int64_t deadline = INT64_MAX;
    while (!opening->done && monotonic_ns() < deadline) {
        if (deadline == INT64_MAX && stop_requested())
            deadline = monotonic_ns() + STOPPING_NS;
        monotonic_sleep_until(monotonic_ns() + LOOK_NS);
    }
    return opening->done;
}

static enum status open_within(struct opening *opening, struct device **result)
{
    pthread_t thread;
    if (thread_start(&thread, "halo open", THREAD_AS_CALLER, open_main, opening) != 0)
        return fail_memory("a thread");
    pthread_detach(thread);
    if (!wait_for_opening(opening)) { /* leaked: its thread still uses it */
        device_unhush();
        return fail(CAUSE_INTERRUPTED, "stopped; the sound system had not opened the device");
    }
    enum status status = opening->status;
    if (status == STATUS_OK)
        *result = opening->device;
    else
        status = fail_again(&opening->failure);
    free(opening);
    return status;
}

enum status device_open(const struct device_request *request, struct device **result)
{
    if (!request->wants_input && !request->wants_output)
        return fail(CAUSE_USAGE, "the device needs an input or an output");
    struct device *device = calloc(1, sizeof *device);
    struct opening *opening = calloc(1, sizeof *opening);
    if (!device || !opening) {
        free(device);
        free(opening);
        return fail_memory("a device");
    }
    opening->request = *request;
    opening->device = device;
    return open_within(opening, result);
}

enum status device_close(struct device *device)
{
    enum status status = STATUS_OK;
    if (!device)
        return status;
    device_stop(device);
    if (device->sides[0].driver)
        status = device_sides_close(device->sides, device->join);
    free(device);
    return status;
}

/* ---- while it runs ---- */

void device_run(struct device *device, device_step *step, void *context)
{
    struct device_stream *stream = device->sides[WHOLE].stream;
    if (device->join) {
        device_join_run(device->join, step, context);
        return;
    }
    stream->slot = (struct device_slot){step, context};
    atomic_store(&stream->current, &stream->slot);
}

void device_run_sides(struct device *device, device_step *record, device_step *play, void *context)
{
    struct device_stream *input = device->sides[INPUT_SIDE].stream;
    struct device_stream *output = device->sides[OUTPUT_SIDE].stream;
    input->slot = (struct device_slot){record, context};
    output->slot = (struct device_slot){play, context};
    atomic_store(&input->current, &input->slot);
    atomic_store(&output->current, &output->slot);
}

bool device_stop(struct device *device)
{
    bool stopped = device_side_stop(&device->sides[WHOLE]);
    return device_side_stop(&device->sides[INPUT_SIDE]) && stopped;
}

/* Whether input or output has another rate than when the bridge was made. */
static bool has_other_rates(const struct device *device)
{
    const struct bridge *bridge = &device->join->bridge;
    return device_side_rate(&device->sides[INPUT_SIDE]) != bridge->input.rate ||
           device_side_rate(&device->sides[OUTPUT_SIDE]) != bridge->output.rate;
}

enum device_state device_state(struct device *device)
{
    bool lost = device_side_is_lost(&device->sides[WHOLE]);
    if (device->join)
        lost = device_side_is_lost(&device->sides[INPUT_SIDE]) || lost;
    if (lost)
        return DEVICE_LOST;
    return device->join && has_other_rates(device) ? DEVICE_CHANGED : DEVICE_RUNNING;
}

double device_stalled(const struct device *device)
{
    int64_t one = device->sides[0].stalled, other = device->sides[1].stalled;
    return 1e-9 * (double)(one > other ? one : other);
}

const char *device_notice(const struct device *device)
{
    const char *notice = atomic_load(&device->sides[WHOLE].stream->notice);
    return notice || !device->join ? notice
                                   : atomic_load(&device->sides[INPUT_SIDE].stream->notice);
}

void device_set_latency(struct device *device, uint64_t frames)
{
    for (size_t i = 0; i < DEVICE_SIDES; i++) {
        const struct device_side *side = &device->sides[i];
        if (side->opened && side->driver->set_latency)
            side->driver->set_latency(side->opened, frames);
    }
}

static void add_input_side(const struct device *device, struct device_info *info)
{
    struct device_info input = {0};
    const struct device_side *side = &device->sides[INPUT_SIDE];
    const struct bridge_state state = bridge_state(&device->join->bridge);
    side->driver->describe(side->opened, &input);
    info->channels_in = side->stream->in.count;
    info->layout_in = input.layout_in;
    info->is_deaf = input.is_deaf;
    info->input_latency = input.input_latency * info->rate / input.rate;
    info->has_bridge = true;
    info->rate_in = input.rate;
    info->bridge_latency = state.delay > 0 ? (uint64_t)(state.delay + 0.5) : 0;
    info->ratio_ppm = state.ratio_ppm;
}

void device_info(const struct device *device, struct device_info *info)
{
    const struct device_side *side = &device->sides[WHOLE];
    const struct device_stream *stream = side->stream;
    *info = device->names;
    info->channels_in = stream->in.count;
    info->channels_out = stream->out.count;
    info->period = info->block = atomic_load(&stream->period);
    info->varies = atomic_load(&stream->varies);
    info->priority = atomic_load(&stream->priority);
    side->driver->describe(side->opened, info);
    info->rate_in = info->rate;
    if (device->join)
        add_input_side(device, info);
}

void device_describe(const struct device_info *info, char *text, size_t size)
{
    bool both = info->input[0] && (info->has_bridge || strcmp(info->input, info->output) != 0);
    snprintf(text, size, "%s: %s%s%s", info->host_api, both ? info->input : info->output,
             both ? " -> " : "", both ? info->output : "");
}

void device_report_grants(const struct device_info *info)
{
    if (info->priority == 0)
        note(
            "no real-time priority: expect drop-outs under load; to allow it, " DEVICE_PRIORITY_ADVICE);
    if (!realtime_lock_memory())
        note("memory cannot be locked (%s); to allow it, " DEVICE_MEMORY_ADVICE, strerror(errno));
}
