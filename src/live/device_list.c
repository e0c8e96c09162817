#include "live/device_list.h"

#include "live/device_system.h"

#include <stdio.h>
#include <stdlib.h>

static const double LATENCY_MOST = 10; /* PortAudio's for JACK may be nonsense */

static double sensible(double latency)
{
    return latency > 0 && latency < LATENCY_MOST ? latency : 0;
}

static size_t count_of(int count)
{
    return count > 0 ? (size_t)count : 0;
}

static void describe_host(PaHostApiIndex index, struct device_host *host)
{
    const PaHostApiInfo *found_info = Pa_GetHostApiInfo(index);
    snprintf(host->name, sizeof host->name, "%s", found_info->name);
    host->devices = count_of(found_info->deviceCount);
    host->is_default = index == Pa_GetDefaultHostApi();
}

static void describe_device(PaDeviceIndex index, struct device_row *row)
{
    const PaDeviceInfo *found_info = Pa_GetDeviceInfo(index);
    const PaHostApiInfo *host = Pa_GetHostApiInfo(found_info->hostApi);
    snprintf(row->name, sizeof row->name, "%s", found_info->name);
    row->host = (size_t)found_info->hostApi;
    row->channels_in = count_of(found_info->maxInputChannels);
    row->channels_out = count_of(found_info->maxOutputChannels);
    row->rate = found_info->defaultSampleRate;
    if (row->channels_in > 0) {
        row->low_in = sensible(found_info->defaultLowInputLatency);
        row->high_in = sensible(found_info->defaultHighInputLatency);
    }
    if (row->channels_out > 0) {
        row->low_out = sensible(found_info->defaultLowOutputLatency);
        row->high_out = sensible(found_info->defaultHighOutputLatency);
    }
    row->default_in = index == host->defaultInputDevice;
    row->default_out = index == host->defaultOutputDevice;
}

static enum status describe_all(struct device_list *list)
{
    list->host_count = count_of(Pa_GetHostApiCount());
    list->count = count_of(Pa_GetDeviceCount());
    list->hosts = calloc(list->host_count + 1, sizeof *list->hosts);
    list->rows = calloc(list->count + 1, sizeof *list->rows);
    if (!list->hosts || !list->rows) {
        device_list_free(list);
        return fail_memory("a list of devices");
    }
    for (size_t i = 0; i < list->host_count; i++)
        describe_host((PaHostApiIndex)i, &list->hosts[i]);
    for (size_t i = 0; i < list->count; i++)
        describe_device((PaDeviceIndex)i, &list->rows[i]);
    return STATUS_OK;
}

enum status device_list_init(struct device_list *list)
{
    *list = (struct device_list){0};
    enum status status = device_system_start();
    if (status != STATUS_OK)
        return status;
    status = describe_all(list);
    device_system_stop(NULL, NULL, NULL);
    return status;
}

void device_list_free(struct device_list *list)
{
    free(list->hosts);
    free(list->rows);
    *list = (struct device_list){0};
}
