#include "live/driver_jack_devices.h"

#include <stdio.h>
#include <string.h>

const char jack_devices_none[] = "none";

const char **jack_devices_ports(jack_client_t *client, unsigned long flags)
{
    return jack_get_ports(client, NULL, JACK_DEFAULT_AUDIO_TYPE, flags);
}

size_t jack_devices_name_length(const char *port)
{
    return strcspn(port, ":");
}

bool jack_devices_owns(const char *port, const char *client)
{
    size_t length = strlen(client);
    return strncmp(port, client, length) == 0 && port[length] == ':';
}

bool jack_devices_is_monitor(const char *port)
{
    return strncmp(port + jack_devices_name_length(port), ":monitor", 8) == 0;
}

static struct device_row *find_row(struct device_list *list, size_t first, const char *port)
{
    for (size_t i = first; i < list->count; i++)
        if (jack_devices_owns(port, list->rows[i].name))
            return &list->rows[i];
    return NULL;
}

static double latency_of(jack_client_t *client, jack_port_t *port,
                         jack_latency_callback_mode_t mode)
{
    jack_latency_range_t range;
    jack_port_get_latency_range(port, mode, &range);
    return (double)range.max / jack_get_sample_rate(client);
}

static bool is_default_port(const char *name, const jack_port_t *port)
{
    return (jack_port_flags(port) & JackPortIsPhysical) && !jack_devices_is_monitor(name);
}

static void add_port(jack_client_t *client, struct device_row *row, const char *name,
                     bool *has_default)
{
    jack_port_t *port = jack_port_by_name(client, name);
    if (!port) /* it went away */
        return;
    bool plays = jack_port_flags(port) & JackPortIsInput;
    bool is_default = !*has_default && is_default_port(name, port);
    *has_default = *has_default || is_default;
    size_t *channels = plays ? &row->channels_out : &row->channels_in;
    if (++*channels == 1 && plays)
        row->low_out = row->high_out = latency_of(client, port, JackPlaybackLatency);
    else if (*channels == 1)
        row->low_in = row->high_in = latency_of(client, port, JackCaptureLatency);
    row->default_out |= plays && is_default;
    row->default_in |= !plays && is_default;
}

static enum status add_ports(jack_client_t *client, const char *const *names,
                             struct device_list *list, size_t first, bool *has_default)
{
    for (size_t i = 0; names && names[i]; i++) {
        struct device_row *row = find_row(list, first, names[i]);
        if (!row) {
            char name[sizeof row->name];
            snprintf(name, sizeof name, "%.*s", (int)jack_devices_name_length(names[i]), names[i]);
            TRY(device_list_add(list, list->host_count - 1, name, &row));
            row->rate = jack_get_sample_rate(client);
        }
        add_port(client, row, names[i], has_default);
    }
    return STATUS_OK;
}

/* Without ports of hardware there is nothing to connect to by default. */
static enum status add_none(jack_client_t *client, struct device_list *list, bool can_record,
                            bool can_play)
{
    struct device_row *row;
    TRY(device_list_add(list, list->host_count - 1, jack_devices_none, &row));
    row->channels_in = row->channels_out = DEVICE_CHANNELS_MOST;
    row->rate = jack_get_sample_rate(client);
    row->default_in = !can_record;
    row->default_out = !can_play;
    return STATUS_OK;
}

enum status jack_devices_list(jack_client_t *client, struct device_list *list)
{
    struct device_host *host;
    size_t first = list->count;
    bool can_record = false, can_play = false;
    TRY(device_list_add_host(list, "JACK", &host));
    host->is_default = host->one_clock = true;
    const char **sources = jack_devices_ports(client, JackPortIsOutput);
    const char **sinks = jack_devices_ports(client, JackPortIsInput);
    enum status status = add_ports(client, sources, list, first, &can_record);
    if (status == STATUS_OK)
        status = add_ports(client, sinks, list, first, &can_play);
    jack_free(sources);
    jack_free(sinks);
    return status == STATUS_OK ? add_none(client, list, can_record, can_play) : status;
}
