/* Functions that the drivers share: calling the step, hushing standard error, listing and choosing
 * devices. */
#include "live/device/device_driver.h"

#include "base/plural.h"
#include "base/realtime.h"
#include "base/short_list.h"
#include "base/suggest.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEADY_CALLS = 32 };   /* calls of one length after which the period is constant */
enum { PRIORITY_LEAST = 10 }; /* at less priority, other threads would often preempt the step */

/* Runs in the first call, in silence. Some systems give the thread too low a priority, or none. */
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

/* The first call may be longer, since input was gathered; it does not make the period vary. */
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

static int standard_error = -1; /* descriptor of standard error while it is discarded; else -1 */

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

/* ---- the driver, devices and channels that a request names ---- */

enum { NO_HOST = -1 };
enum device_direction { INPUT, OUTPUT, LOOPBACK };
static const char *const direction_names[] = {"input", "output", "loopback"};
static const char more[] = "; halo devices lists them";

static enum status match_driver(const struct device_driver *driver, const char **name, bool *named,
                                const char **spec)
{
    size_t length = strlen(driver->name);
    if (!*name || strncasecmp(*name, driver->name, length) != 0)
        return STATUS_OK;
    const char *rest = *name + length;
    if (*rest != '\0' && (*rest != ':' || !driver->spec))
        return STATUS_OK;
    if (*rest == ':' && *spec && strcmp(*spec, rest + 1) != 0)
        return fail(CAUSE_USAGE,
                    "'%s' and '%s:%s' are the same device: name it once, with --device", *name,
                    driver->name, *spec);
    if (*rest == ':')
        *spec = rest + 1;
    *named = true;
    *name = NULL;
    return STATUS_OK;
}

enum status device_choose_driver(const struct device_driver *driver, struct device_request *request,
                                 bool *named, const char **spec)
{
    const char **names[] = {&request->driver, &request->input, &request->output};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        TRY(match_driver(driver, names[i], named, spec));
    return STATUS_OK;
}

const struct device_driver *device_choose_named(const struct device_driver *const *drivers,
                                                size_t count, const char *name, const char **spec)
{
    for (size_t i = 0; i < count; i++) {
        bool named = false;
        const char *rest = name;
        if (match_driver(drivers[i], &rest, &named, spec) == STATUS_OK && named)
            return drivers[i];
    }
    return NULL;
}

bool device_choose_names_two(const struct device_driver *const *drivers, size_t count,
                             const struct device_request *request)
{
    const char *spec_in = NULL, *spec_out = NULL;
    if (!request->input || !request->output)
        return false;
    const struct device_driver *in = device_choose_named(drivers, count, request->input, &spec_in);
    const struct device_driver *out =
        device_choose_named(drivers, count, request->output, &spec_out);
    return in != out || (spec_in && spec_out && strcmp(spec_in, spec_out) != 0);
}

bool device_choice_has_one_clock(const struct device_choice *choice, const struct device_list *list)
{
    const struct device_row *in = choice->input, *out = choice->output;
    return !in || !out || in == out || (in->host == out->host && list->hosts[in->host].one_clock);
}

static size_t channels_of(const struct device_row *row, enum device_direction direction)
{
    return direction == INPUT ? row->channels_in : row->channels_out;
}

/* Whether the name of a host API is also that of a driver. The host APIs of servers are. */
static bool is_driver(const char *name)
{
    size_t i = 0;
    while (device_driver_name(i) && strcasecmp(device_driver_name(i), name) != 0)
        i++;
    return device_driver_name(i);
}

static enum status choose_host(const struct device_list *list, const char *request, int *host)
{
    struct short_list all = {0}, alike = {0};
    for (size_t i = 0; device_driver_name(i); i++)
        short_list_add(&all, device_driver_name(i));
    for (size_t i = 0; i < list->host_count; i++) {
        if (!is_driver(list->hosts[i].name))
            short_list_add(&all, list->hosts[i].name);
        if (strcasestr(list->hosts[i].name, request)) {
            short_list_add(&alike, list->hosts[i].name);
            *host = (int)i;
        }
    }
    if (alike.count == 1)
        return STATUS_OK;
    char near[SUGGEST_TEXT];
    suggest_from_list(near, request, all.text, "");
    return alike.count ? fail(CAUSE_USAGE, "'%s' may be %s: say which host API", request,
                              short_list_text(&alike, more))
                       : fail(CAUSE_USAGE, "there is no driver or host API '%s'; there is %s%s",
                              request, short_list_text(&all, more), near);
}

static enum status choose_index(const struct device_list *list, const char *request,
                                enum device_direction direction, int host,
                                const struct device_row **row)
{
    unsigned long index = strtoul(request, NULL, 10);
    if (index >= list->count)
        return fail(CAUSE_USAGE, "there is no device %s; halo devices lists them", request);
    *row = &list->rows[index];
    if (channels_of(*row, direction) == 0)
        return fail(CAUSE_USAGE,
                    "device %s (%s) has no %s; halo devices lists the devices that have", request,
                    (*row)->name, direction_names[direction]);
    if (host != NO_HOST && (*row)->host != (size_t)host)
        return fail(CAUSE_USAGE, "device %s (%s) is of %s, not of %s", request, (*row)->name,
                    list->hosts[(*row)->host].name, list->hosts[host].name);
    return STATUS_OK;
}

/* An exact name takes precedence over names that contain the text. */
static enum status choose_name(const struct device_list *list, const char *request,
                               enum device_direction direction, int host,
                               const struct device_row **row)
{
    struct short_list all = {0}, alike = {0}, same = {0};
    struct suggest near;
    suggest_init(&near, request);
    for (size_t i = 0; i < list->count; i++) {
        const struct device_row *at = &list->rows[i];
        char name[224];
        snprintf(name, sizeof name, "%zu %s (%s)", i, at->name, list->hosts[at->host].name);
        if (channels_of(at, direction) == 0 || (host != NO_HOST && at->host != (size_t)host))
            continue;
        short_list_add(&all, name);
        suggest_offer(&near, at->name);
        if (!strcasestr(at->name, request) && !strcasestr(at->alias, request))
            continue;
        bool is_same = strcmp(at->name, request) == 0 || strcmp(at->alias, request) == 0;
        short_list_add(&alike, name);
        if (is_same)
            short_list_add(&same, name);
        if (same.count == 0 || is_same)
            *row = at;
    }
    struct short_list *found = same.count ? &same : &alike;
    enum status status = STATUS_OK;
    if (all.count == 0)
        status = fail(CAUSE_DEVICE, "there is no %s device here; halo devices says more",
                      direction_names[direction]);
    else if (found->count > 1)
        status = fail(CAUSE_USAGE, "%s '%s' may be %s: say which", direction_names[direction],
                      request, short_list_text(found, more));
    else if (found->count == 0)
        status = fail(CAUSE_USAGE, "there is no %s '%s'; there is %s%s", direction_names[direction],
                      request, short_list_text(&all, more), suggest_text(&near));
    suggest_free(&near);
    return status;
}

static enum status choose_default(const struct device_list *list, enum device_direction direction,
                                  int host, const struct device_row **row)
{
    bool is_any = host == NO_HOST;
    for (size_t i = 0; i < list->host_count && host == NO_HOST; i++)
        if (list->hosts[i].is_default)
            host = (int)i;
    for (size_t i = 0; i < list->count; i++) {
        const struct device_row *at = &list->rows[i];
        bool is_default = direction == INPUT    ? at->default_in
                          : direction == OUTPUT ? at->default_out
                                                : at->default_loopback;
        if (is_default && (int)at->host == host)
            *row = at;
    }
    if (*row)
        return STATUS_OK;
    if (is_any && list->empty)
        return fail(CAUSE_DEVICE, "%s", list->empty);
    return fail(CAUSE_DEVICE, "there is no default %s%s%s; halo devices lists what there is",
                direction_names[direction], host != NO_HOST ? " of " : "",
                host != NO_HOST ? list->hosts[host].name : "");
}

bool device_choose_is_number(const char *request)
{
    return *request && request[strspn(request, "0123456789")] == '\0';
}

bool device_choose_is_there(const struct device_list *list, const char *name)
{
    size_t i = device_choose_is_number(name) ? list->count : 0;
    while (i < list->count && !strcasestr(list->rows[i].name, name) &&
           !strcasestr(list->rows[i].alias, name))
        i++;
    return i < list->count;
}

static enum status choose_named(const struct device_list *list, const char *request,
                                enum device_direction direction, int *host,
                                const struct device_row **row)
{
    TRY(device_choose_is_number(request) ? choose_index(list, request, direction, *host, row)
                                         : choose_name(list, request, direction, *host, row));
    *host = (int)(*row)->host;
    return STATUS_OK;
}

/* If only one direction names a device, the other direction uses the same host API. */
static enum status choose_devices(const struct device_request *request,
                                  const struct device_list *list, bool named,
                                  struct device_choice *choice)
{
    int host = named && list->host_count == 1 ? 0 : NO_HOST;
    if (request->driver)
        TRY(choose_host(list, request->driver, &host));
    int asked = host;
    bool takes_device = request->wants_input && !request->sink && !request->loopback;
    if (takes_device && request->input)
        TRY(choose_named(list, request->input, INPUT, &host, &choice->input));
    if (request->wants_output && request->output) {
        host = asked;
        TRY(choose_named(list, request->output, OUTPUT, &host, &choice->output));
    }
    if (request->wants_input && request->loopback)
        TRY(choose_default(list, LOOPBACK, host, &choice->input));
    if (takes_device && !request->input)
        TRY(choose_default(list, INPUT, host, &choice->input));
    if (request->wants_output && !request->output)
        TRY(choose_default(list, OUTPUT, host, &choice->output));
    return STATUS_OK;
}

/* Chooses the channels of a device, or of a sink to make, which gets as many as requested. */
static enum status choose_channels(const struct device_row *row, const char *sink,
                                   enum device_direction direction, size_t request,
                                   const size_t *map, size_t map_count,
                                   struct device_channels *channels)
{
    const char *name = sink ? sink : row ? row->name : NULL;
    size_t there = sink ? request ? request : 2 : row ? channels_of(row, direction) : 0;
    if (!name)
        return STATUS_OK;
    if (row && direction == OUTPUT && there == 1 && !map_count && row->driver->mixes_to_mono)
        there = request > there ? request : there;
    channels->count = map_count ? map_count : request ? request : there < 2 ? there : 2;
    for (size_t c = 0; c < channels->count; c++) {
        size_t number = map_count ? map[c] : c + 1;
        if (number < 1 || number > there || number > DEVICE_CHANNELS_MOST)
            return fail(CAUSE_USAGE, "%s has %zu %s channel%s, no channel %zu", name, there,
                        direction_names[direction], plural_s(there), number);
        if (channels->mapped[number - 1] && direction == OUTPUT)
            return fail(CAUSE_USAGE, "output channel %zu is in the map twice", number);
        channels->map[c] = number - 1;
        channels->mapped[number - 1] = true;
        channels->opened = number > channels->opened ? number : channels->opened;
    }
    return STATUS_OK;
}

enum status device_choose(const struct device_request *request, const struct device_list *list,
                          bool named, struct device_choice *choice)
{
    *choice = (struct device_choice){0};
    choice->sink = request->wants_input ? request->sink : NULL;
    TRY(choose_devices(request, list, named, choice));
    TRY(choose_channels(choice->input, choice->sink, INPUT, request->channels_in,
                        request->input_map, request->input_map_count, &choice->in));
    return choose_channels(choice->output, NULL, OUTPUT, request->channels_out, request->output_map,
                           request->output_map_count, &choice->out);
}
