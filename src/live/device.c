#include "live/device.h"

#include "base/build_info.h"
#include "base/monotonic.h"
#include "base/realtime.h"
#include "base/thread.h"
#include "live/device_driver.h"
#include "signal/audio.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The drivers, in the order of `halo devices`, those of only_named last: NAME is driver_NAME of
 * driver_NAME.c. */
#ifdef HALO_WITH_PORTAUDIO
#define PORTAUDIO(ROW) ROW(portaudio)
#else
#define PORTAUDIO(ROW)
#endif
#define DRIVERS(ROW)                                                                               \
    PORTAUDIO(ROW)                                                                                 \
    ROW(null)

#define DECLARE(name) extern const struct device_driver driver_##name;
DRIVERS(DECLARE)

#define ENTRY(name) &driver_##name,
static const struct device_driver *const drivers[] = {DRIVERS(ENTRY)};
enum { DRIVER_COUNT = sizeof drivers / sizeof *drivers };

enum { POLL_NS = 2000000 };
#define SECOND INT64_C(1000000000)
static const int64_t BEGIN_NS = 5 * SECOND;      /* PulseAudio takes 2 s to start */
static const int64_t LEARN_NS = SECOND / 2;      /* from the first call, or LEARN_CALLS */
static const size_t LEARN_CALLS = 8;             /* the first one may differ in length */
static const int64_t STOP_NS = 2 * SECOND;       /* for a step or a close to return */
static const int64_t AGAIN_NS = SECOND / 20;     /* for a close that hung earlier */
static const int64_t SILENT_NS = SECOND * 3 / 2; /* without a call: lost */

struct device {
    const struct device_driver *driver;
    struct device_stream *stream;
    struct device_info names; /* only these are set */
    char label[264];          /* of input and output */
    size_t calls_seen;        /* by device_state, at seen_at */
    int64_t seen_at;
};

/* ---- closing, on a thread that can be abandoned ---- */

struct closing {
    const struct device_driver *driver;
    struct device_stream *stream; /* freed by the thread; NULL: none */
    enum status status;
    atomic_bool done;
};

/* A close that hangs; until it returns nothing can be opened. */
static struct closing *abandoned;

static void free_stream(struct device_stream *stream)
{
    if (stream)
        free(stream->silence);
    free(stream);
}

static void *close_main(void *argument)
{
    struct closing *closing = argument;
    closing->status = closing->driver->close();
    free_stream(closing->stream);
    closing->done = true;
    return NULL;
}

static bool wait_for(const struct closing *closing, int64_t limit_ns)
{
    int64_t deadline = monotonic_ns() + limit_ns;
    while (!closing->done && monotonic_ns() < deadline) {
        if (closing->driver->wake)
            closing->driver->wake();
        monotonic_sleep_until(monotonic_ns() + POLL_NS);
    }
    return closing->done;
}

static enum status close_driver(const struct device_driver *driver, struct device_stream *stream)
{
    pthread_t thread;
    enum status status = STATUS_OK;
    struct closing *closing = calloc(1, sizeof *closing);
    if (closing)
        *closing = (struct closing){.driver = driver, .stream = stream};
    if (!closing ||
        thread_start(&thread, "halo close", THREAD_AS_CALLER, close_main, closing) != 0) {
        free(closing); /* the stream is leaked */
        return fail_memory("a thread");
    }
    pthread_detach(thread);
    if (driver->noisy)
        device_hush();
    bool done = wait_for(closing, STOP_NS);
    device_unhush();
    if (done) {
        status = closing->status;
        free(closing);
    } else {
        abandoned = closing;
    }
    return status;
}

/* A close that hung may have returned. */
static enum status check_clear(void)
{
    if (abandoned && wait_for(abandoned, AGAIN_NS)) {
        free(abandoned);
        abandoned = NULL;
    }
    return abandoned
               ? fail(STATUS_FAILED, "the sound system still hangs after a device was lost; if "
                                     "this persists, restart halo")
               : STATUS_OK;
}

/* ---- the list ---- */

static enum status enumerate(const struct device_driver *driver, const char *spec,
                             struct device_list *list)
{
    size_t first = list->count;
    enum status status = driver->enumerate(spec, list);
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
    enum status status = check_clear();
    for (size_t i = 0; i < DRIVER_COUNT && status == STATUS_OK; i++) {
        status = enumerate(drivers[i], NULL, list);
        (void)close_driver(drivers[i], NULL);
    }
    if (status != STATUS_OK)
        device_list_free(list);
    return status;
}

/* ---- opening ---- */

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
        if (now - begin > BEGIN_NS || !device->driver->is_running())
            return fail(STATUS_FAILED,
                        "%s was opened but delivers no sound; is it in use or disconnected?",
                        device->label);
        monotonic_sleep_until(monotonic_ns() + POLL_NS);
    }
    device->calls_seen = device->stream->calls;
    device->seen_at = monotonic_ns();
    return STATUS_OK;
}

static enum status make_stream(const struct device_choice *choice, struct device *device)
{
    device->stream = calloc(1, sizeof *device->stream);
    if (!device->stream || !(device->stream->silence = audio_alloc(DEVICE_FRAMES_MOST)))
        return fail_memory("a device");
    device->stream->in = choice->in;
    device->stream->out = choice->out;
    return STATUS_OK;
}

static void put_names(struct device *device, const struct device_list *list,
                      const struct device_choice *choice)
{
    struct device_info *names = &device->names;
    const struct device_row *either = choice->input ? choice->input : choice->output;
    snprintf(names->host_api, sizeof names->host_api, "%s", list->hosts[either->host].name);
    snprintf(names->input, sizeof names->input, "%s", choice->input ? choice->input->name : "");
    snprintf(names->output, sizeof names->output, "%s", choice->output ? choice->output->name : "");
    bool both = choice->input && choice->output && strcmp(names->input, names->output) != 0;
    snprintf(device->label, sizeof device->label, "%s%s%s", either->name, both ? " and " : "",
             both ? names->output : "");
}

static enum status open_chosen(const struct device_request *request, const struct device_list *list,
                               bool named, struct device *device)
{
    struct device_choice choice;
    TRY(device_choose(request, list, named, &choice));
    TRY(make_stream(&choice, device));
    put_names(device, list, &choice);
    device->driver = choice.input ? choice.input->driver : choice.output->driver;
    const struct device_target target = {request, choice.input, choice.output, device->label};
    TRY(device->driver->open(&target, device->stream));
    return learn_period(device);
}

/* A named driver is the only one used; without a name, those that must be named are not. */
static enum status enumerate_for(struct device_request *request, struct device_list *list,
                                 size_t *first, size_t *begun, bool *named)
{
    const char *spec = NULL;
    size_t end = DRIVER_COUNT;
    for (size_t i = 0; i < DRIVER_COUNT && !*named; i++) {
        TRY(device_choose_driver(drivers[i], request, named, &spec));
        *first = *named ? i : 0;
        end = *named ? i + 1 : DRIVER_COUNT;
    }
    for (*begun = *first; *begun < end; ++*begun)
        if (*named || !drivers[*begun]->only_named)
            TRY(enumerate(drivers[*begun], spec, list));
    return STATUS_OK;
}

static enum status open_device(const struct device_request *asked, struct device *device)
{
    struct device_request request = *asked;
    struct device_list list = {0};
    bool named = false;
    size_t first = 0, begun = 0;
    TRY(check_clear());
    enum status status = enumerate_for(&request, &list, &first, &begun, &named);
    if (status == STATUS_OK)
        status = open_chosen(&request, &list, named, device);
    device_list_free(&list);
    for (size_t i = first; i < begun; i++)
        if (drivers[i] != device->driver)
            (void)close_driver(drivers[i], NULL);
    return status;
}

enum status device_open(const struct device_request *request, struct device **result)
{
    if (!request->wants_input && !request->wants_output)
        return fail(STATUS_USAGE, "the device needs an input or an output");
    struct device *device = calloc(1, sizeof *device);
    if (!device)
        return fail_memory("a device");
    enum status status = open_device(request, device);
    if (status == STATUS_OK)
        *result = device;
    else
        (void)device_close(device);
    return status;
}

enum status device_close(struct device *device)
{
    enum status status = STATUS_OK;
    if (!device)
        return status;
    if (device->stream)
        device_stop(device);
    if (device->driver)
        status = close_driver(device->driver, device->stream);
    else
        free_stream(device->stream);
    free(device);
    return status;
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
        monotonic_sleep_until(monotonic_ns() + POLL_NS);
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
    return silent || !device->driver->is_running() ? DEVICE_LOST : DEVICE_RUNNING;
}

void device_info(const struct device *device, struct device_info *info)
{
    const struct device_stream *stream = device->stream;
    *info = device->names;
    info->channels_in = stream->in.count;
    info->channels_out = stream->out.count;
    info->period = atomic_load(&stream->period);
    info->varies = atomic_load(&stream->varies);
    info->priority = atomic_load(&stream->priority);
    device->driver->describe(info);
}

void device_describe(const struct device_info *info, char *text, size_t size)
{
    bool both = info->input[0] && strcmp(info->input, info->output) != 0;
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
