#include "live/device_choose.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPEC_MOST = 512, ALSA_PERIODS = 4 };

/* ---- names ---- */

enum direction { INPUT, OUTPUT };
static const char *const direction_names[] = {"input", "output"};

static size_t channels_of(PaDeviceIndex device, enum direction direction)
{
    const PaDeviceInfo *found_info = Pa_GetDeviceInfo(device);
    int channels = direction == INPUT ? found_info->maxInputChannels : found_info->maxOutputChannels;
    return channels > 0 ? (size_t)channels : 0;
}

static const char *host_name(PaHostApiIndex host)
{
    return Pa_GetHostApiInfo(host)->name;
}

/* Names that were thought of, for a message that says what there is. */
struct names {
    char text[SPEC_MOST];
    size_t length;
    size_t count;
};

static void names_add(struct names *names, const char *name)
{
    names->count++;
    if (names->length < sizeof names->text)
        names->length +=
            (size_t)snprintf(names->text + names->length, sizeof names->text - names->length,
                             "%s%s", names->count > 1 ? ", " : "", name);
}

static enum status choose_host(const char *request, PaHostApiIndex *host)
{
    struct names all = {0}, alike = {0};
    *host = -1;
    for (PaHostApiIndex i = 0; i < Pa_GetHostApiCount(); i++) {
        names_add(&all, host_name(i));
        if (strcasestr(host_name(i), request)) {
            names_add(&alike, host_name(i));
            *host = i;
        }
    }
    if (alike.count == 1)
        return STATUS_OK;
    if (alike.count == 0 && strcasestr("JACK Audio Connection Kit", request))
        return fail(STATUS_FAILED, "no JACK server answers; start one, such as jackd");
    if (all.count == 0)
        return fail(STATUS_FAILED, "no host API for sound is to be had here");
    return alike.count
               ? fail(STATUS_USAGE, "'%s' may be %s: say which host API", request, alike.text)
               : fail(STATUS_USAGE, "there is no host API '%s'; there is %s", request, all.text);
}

static bool is_index(const char *request)
{
    return *request && request[strspn(request, "0123456789")] == '\0';
}

static enum status choose_index(const char *request, enum direction direction, PaHostApiIndex host,
                                PaDeviceIndex *device)
{
    unsigned long index = strtoul(request, NULL, 10);
    if (index >= (unsigned long)Pa_GetDeviceCount())
        return fail(STATUS_USAGE, "there is no device %s; halo devices lists them", request);
    *device = (PaDeviceIndex)index;
    const PaDeviceInfo *found_info = Pa_GetDeviceInfo(*device);
    if (channels_of(*device, direction) == 0)
        return fail(STATUS_USAGE, "device %s (%s) has no %s; halo devices lists what has", request,
                    found_info->name, direction_names[direction]);
    if (host >= 0 && found_info->hostApi != host)
        return fail(STATUS_USAGE, "device %s (%s) is of %s, not of %s", request, found_info->name,
                    host_name(found_info->hostApi), host_name(host));
    return STATUS_OK;
}

/* One list for the wish as a whole name and one for it as a part of names. */
static enum status choose_name(const char *request, enum direction direction, PaHostApiIndex host,
                               PaDeviceIndex *device)
{
    struct names all = {0}, alike = {0}, same = {0};
    PaDeviceIndex like = paNoDevice;
    for (PaDeviceIndex i = 0; i < Pa_GetDeviceCount(); i++) {
        const PaDeviceInfo *found_info = Pa_GetDeviceInfo(i);
        char name[192];
        snprintf(name, sizeof name, "%d %s (%s)", i, found_info->name, host_name(found_info->hostApi));
        if (channels_of(i, direction) == 0 || (host >= 0 && found_info->hostApi != host))
            continue;
        names_add(&all, name);
        if (!strcasestr(found_info->name, request))
            continue;
        names_add(&alike, name);
        if (strcmp(found_info->name, request) == 0)
            names_add(&same, name);
        if (same.count == 0 || strcmp(found_info->name, request) == 0)
            like = i;
    }
    const struct names *found = same.count ? &same : &alike;
    *device = like;
    if (found->count == 1)
        return STATUS_OK;
    if (all.count == 0)
        return fail(STATUS_FAILED, "there is no %s device here; halo devices says more",
                    direction_names[direction]);
    return found->count ? fail(STATUS_USAGE, "%s '%s' may be %s: say which",
                               direction_names[direction], request, found->text)
                        : fail(STATUS_USAGE, "there is no %s '%s'; there is %s",
                               direction_names[direction], request, all.text);
}

static enum status choose_default(enum direction direction, PaHostApiIndex host,
                                  PaDeviceIndex *device)
{
    const PaHostApiInfo *found_info = Pa_GetHostApiInfo(host >= 0 ? host : Pa_GetDefaultHostApi());
    *device = !found_info                ? paNoDevice
              : direction == INPUT ? found_info->defaultInputDevice
                                   : found_info->defaultOutputDevice;
    if (*device == paNoDevice)
        return fail(STATUS_FAILED, "there is no default %s%s%s; halo devices lists what there is",
                    direction_names[direction], found_info ? " of " : "", found_info ? found_info->name : "");
    return STATUS_OK;
}

static enum status choose_named(const char *request, enum direction direction, PaHostApiIndex *host,
                                PaDeviceIndex *device)
{
    enum status status = is_index(request) ? choose_index(request, direction, *host, device)
                                        : choose_name(request, direction, *host, device);
    if (status == STATUS_OK)
        *host = Pa_GetDeviceInfo(*device)->hostApi;
    return status;
}

/* One stream has one host API: what is named decides it for the other direction. */
static enum status choose_devices(const struct device_request *request, struct device_choice *choice)
{
    PaHostApiIndex host = -1;
    enum status status = request->host_api ? choose_host(request->host_api, &host) : STATUS_OK;
    choice->input = choice->output = paNoDevice;
    if (status == STATUS_OK && request->wants_input && request->input)
        status = choose_named(request->input, INPUT, &host, &choice->input);
    if (status == STATUS_OK && request->wants_output && request->output)
        status = choose_named(request->output, OUTPUT, &host, &choice->output);
    if (status == STATUS_OK && request->wants_input && !request->input)
        status = choose_default(INPUT, host, &choice->input);
    if (status == STATUS_OK && request->wants_output && !request->output)
        status = choose_default(OUTPUT, host, &choice->output);
    return status;
}

/* ---- channels ---- */

static enum status choose_channels(PaDeviceIndex device, enum direction direction, size_t request,
                                   const size_t *map, size_t map_count,
                                   struct device_channels *channels)
{
    if (device == paNoDevice)
        return STATUS_OK;
    size_t there = channels_of(device, direction);
    channels->count = map_count ? map_count : request ? request : there < 2 ? there : 2;
    for (size_t c = 0; c < channels->count; c++) {
        size_t number = map_count ? map[c] : c + 1;
        if (number < 1 || number > there || number > DEVICE_CHANNELS_MOST)
            return fail(STATUS_USAGE, "%s has %zu %s channel%s, no channel %zu",
                        Pa_GetDeviceInfo(device)->name, there, direction_names[direction],
                        there == 1 ? "" : "s", number);
        if (channels->mapped[number - 1] && direction == OUTPUT)
            return fail(STATUS_USAGE, "output channel %zu is in the map twice", number);
        channels->map[c] = number - 1;
        channels->mapped[number - 1] = true;
        channels->opened = number > channels->opened ? number : channels->opened;
    }
    return STATUS_OK;
}

/* ---- rate and latency ---- */

PaStreamParameters device_choose_parameters(PaDeviceIndex device,
                                            const struct device_channels *channels, double latency)
{
    return (PaStreamParameters){
        .device = device,
        .channelCount = (int)channels->opened,
        .sampleFormat = paFloat32 | paNonInterleaved,
        .suggestedLatency = latency,
    };
}

static PaError try_rate(const struct device_choice *choice, double rate)
{
    PaStreamParameters in = device_choose_parameters(choice->input, &choice->in, 0.1);
    PaStreamParameters out = device_choose_parameters(choice->output, &choice->out, 0.1);
    return Pa_IsFormatSupported(choice->input == paNoDevice ? NULL : &in,
                                choice->output == paNoDevice ? NULL : &out, rate);
}

static enum status refuse_rate(const struct device_choice *choice, double rate)
{
    static const double usual[] = {8000,  11025, 16000, 22050,  24000,  32000, 44100,
                                   48000, 88200, 96000, 176400, 192000, 384000};
    struct names names = {0};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        char word[16];
        snprintf(word, sizeof word, "%.0f", usual[i]);
        if (try_rate(choice, usual[i]) == paFormatIsSupported)
            names_add(&names, word);
    }
    PaDeviceIndex device = choice->input == paNoDevice ? choice->output : choice->input;
    return fail(STATUS_FAILED, "%s does not run at %.0f Hz%s%s", Pa_GetDeviceInfo(device)->name,
                rate, names.count ? "; it takes " : "", names.text);
}

static enum status choose_rate(const struct device_request *request, struct device_choice *choice)
{
    double of_input =
        choice->input == paNoDevice ? 0 : Pa_GetDeviceInfo(choice->input)->defaultSampleRate;
    double of_output = choice->output == paNoDevice
                           ? of_input
                           : Pa_GetDeviceInfo(choice->output)->defaultSampleRate;
    choice->rate = request->rate ? request->rate : of_output;
    PaError error = try_rate(choice, choice->rate);
    if (error == paInvalidSampleRate && !request->rate && of_input != of_output && of_input > 0) {
        choice->rate = of_input;
        error = try_rate(choice, choice->rate);
    }
    /* Whatever else is wrong, opening says better. */
    return error == paInvalidSampleRate ? refuse_rate(choice, choice->rate) : STATUS_OK;
}

/* ALSA's period is a quarter of its buffer, and the buffer is the suggested latency; half
 * a frame more, since PortAudio cuts what is behind the point. */
static double period_latency(size_t block, double rate)
{
    return ((double)(ALSA_PERIODS * block) + 0.5) / rate;
}

static double default_latency(const struct device_choice *choice, bool low)
{
    const PaDeviceInfo *in = Pa_GetDeviceInfo(choice->input);
    const PaDeviceInfo *out = Pa_GetDeviceInfo(choice->output);
    double latency = 0;
    if (in)
        latency = low ? in->defaultLowInputLatency : in->defaultHighInputLatency;
    double other = 0;
    if (out)
        other = low ? out->defaultLowOutputLatency : out->defaultHighOutputLatency;
    return other > latency ? other : latency;
}

static double choose_latency(const struct device_request *request, const struct device_choice *choice)
{
    if (request->latency == DEVICE_LATENCY_SECONDS)
        return request->latency_seconds;
    if (request->latency == DEVICE_LATENCY_LOW && request->block > 0)
        return period_latency(request->block, choice->rate);
    return default_latency(choice, request->latency == DEVICE_LATENCY_LOW);
}

enum status device_choose(const struct device_request *request, struct device_choice *choice)
{
    *choice = (struct device_choice){0};
    enum status status = choose_devices(request, choice);
    if (status == STATUS_OK)
        status = choose_channels(choice->input, INPUT, request->channels_in, request->input_map,
                                 request->input_map_count, &choice->in);
    if (status == STATUS_OK)
        status = choose_channels(choice->output, OUTPUT, request->channels_out, request->output_map,
                                 request->output_map_count, &choice->out);
    if (status == STATUS_OK)
        status = choose_rate(request, choice);
    if (status == STATUS_OK)
        choice->latency = choose_latency(request, choice);
    return status;
}
