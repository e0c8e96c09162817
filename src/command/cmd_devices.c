#include "base/json_text.h"
#include "base/printable.h"
#include "command/commands.h"
#include "live/device/device.h"

#include <stdio.h>

struct devices_settings {
    bool json;
};

static void print_milliseconds(double low, double high, bool is_known)
{
    if (is_known)
        printf("%8.1f %6.1f", 1e3 * low, 1e3 * high);
    else
        printf("%8s %6s", "-", "-");
}

static void print_row(const struct device_list *list, size_t index)
{
    const struct device_row *row = &list->rows[index];
    bool host_default = list->hosts[row->host].is_default;
    char number[24] = "-";
    if (!row->only_named)
        snprintf(number, sizeof number, "%zu", index);
    printf("%5s %3zu%c %3zu%c %7.0f", number, row->channels_in,
           host_default && row->default_in ? '*' : ' ', row->channels_out,
           host_default && row->default_out ? '*' : ' ', row->rate);
    print_milliseconds(row->low_in, row->high_in, row->high_in > 0);
    print_milliseconds(row->low_out, row->high_out, row->high_out > 0);
    printf("  %s\n", printable(row->name));
}

static bool has_default(const struct device_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->hosts[list->rows[i].host].is_default)
            return true;
    return false;
}

static void print_table(const struct device_list *list)
{
    if (list->host_count == 1) /* only the null driver */
        puts("This build finds no sound system (see halo --version); start a JACK server (jackd),\n"
             "or install portaudio19-dev and build again.");
    else if (!has_default(list))
        puts("No sound device found. Plug one in, start PipeWire or jackd, or define one for\n"
             "ALSA in ~/.asoundrc; in a container, pass /dev/snd through.");
    for (size_t host = 0; host < list->host_count; host++) {
        printf("%s%s\n", list->hosts[host].name,
               list->hosts[host].is_default ? " (the default host API)" : "");
        if (list->hosts[host].devices > 0)
            printf("%5s %3s  %3s  %7s%15s%15s  name\n", "index", "in", "out", "Hz", "in, ms",
                   "out, ms");
        for (size_t i = 0; i < list->count; i++)
            if (list->rows[i].host == host)
                print_row(list, i);
    }
}

static json_t *latencies(size_t channels, double low, double high)
{
    return channels == 0 ? json_null()
                         : json_pack("{s:f, s:f}", "low", 1e3 * low, "high", 1e3 * high);
}

static json_t *row_object(const struct device_list *list, size_t index)
{
    const struct device_row *row = &list->rows[index];
    const struct device_host *host = &list->hosts[row->host];
    return json_pack("{s:o, s:o, s:o, s:I, s:I, s:f, s:o, s:o, s:b, s:b}", "index",
                     row->only_named ? json_null() : json_integer((json_int_t)index), "name",
                     json_text(row->name), "host_api", json_text(host->name), "channels_in",
                     (json_int_t)row->channels_in, "channels_out", (json_int_t)row->channels_out,
                     "rate", row->rate, "latency_in_ms",
                     latencies(row->channels_in, row->low_in, row->high_in), "latency_out_ms",
                     latencies(row->channels_out, row->low_out, row->high_out), "default_in",
                     row->default_in, "default_out", row->default_out);
}

static enum status print_json(const struct device_list *list)
{
    json_t *hosts = json_array(), *devices = json_array();
    for (size_t i = 0; i < list->host_count; i++)
        json_array_append_new(hosts,
                              json_pack("{s:o, s:I, s:b}", "name", json_text(list->hosts[i].name),
                                        "devices", (json_int_t)list->hosts[i].devices, "default",
                                        list->hosts[i].is_default));
    for (size_t i = 0; i < list->count; i++)
        json_array_append_new(devices, row_object(list, i));
    return json_print(json_pack("{s:o, s:o}", "host_apis", hosts, "devices", devices), 0,
                      "the devices");
}

static enum status list(void *options)
{
    const struct devices_settings *settings = options;
    struct device_list list;
    enum status status = device_list_init(&list);
    if (status == STATUS_OK && settings->json)
        status = print_json(&list);
    else if (status == STATUS_OK)
        print_table(&list);
    device_list_free(&list);
    return status;
}

static const struct option_row rows[] = {
    OPT_FLAG("json", struct devices_settings, json, "print one JSON object"),
    {0},
};

const struct command command_devices = {
    .name = "halo devices",
    .summary = "list the sound devices of this machine",
    .usage =
        "usage: halo devices [options]\n\n"
        "List host APIs and their sound devices: index, input and output channels, rate, and\n"
        "the lowest and highest latency that the host suggests. Select a device by its index,\n"
        "its name or a part of the name. An asterisk marks the defaults.\n"
        "The device null has no hardware: --device null:in=IN.wav,out=OUT.wav reads one sound\n"
        "file and writes another; see halo(1).",
    .groups = OPTION_GROUP(rows),
    .size = sizeof(struct devices_settings),
    .run = list,
};
