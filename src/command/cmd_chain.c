#include "base/json_text.h"
#include "base/printable.h"
#include "base/stop.h"
#include "chain/chain_file.h"
#include "command/commands.h"
#include "plugin/plugin_sandbox.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { RATE_MOST = 10000000, CHANNELS_MOST = 256, BLOCK = 1024 };

struct chain_check_settings {
    const char *file;
    size_t rate;
    size_t channels;
    bool json;
};

static void print_text(const struct chain_check_settings *settings, const struct stage_list *list,
                       const struct filter *chain)
{
    printf("%s: %zu stage%s, %zu channel%s in, %zu out, latency %llu frames at %zu Hz\n",
           printable(settings->file), list->count, list->count == 1 ? "" : "s", settings->channels,
           settings->channels == 1 ? "" : "s", chain->outputs, (unsigned long long)chain->latency,
           settings->rate);
    for (size_t i = 0; i < list->count; i++)
        printf("  %zu  %zu > %-3zu latency %-6llu --%s %s\n", i + 1, list->stages[i].inputs,
               list->stages[i].outputs, (unsigned long long)list->stages[i].filter->latency,
               list->stages[i].ops->option, printable(list->stages[i].text));
}

static enum status print_json(const struct chain_check_settings *settings,
                              const struct stage_list *list, const struct filter *chain)
{
    json_t *stages = json_array();
    for (size_t i = 0; i < list->count; i++) {
        const struct stage *stage = &list->stages[i];
        json_array_append_new(stages, json_pack("{s:s, s:o, s:I, s:I, s:I}", "kind",
                                                stage->ops->option, "words", json_text(stage->text),
                                                "inputs", (json_int_t)stage->inputs, "outputs",
                                                (json_int_t)stage->outputs, "latency",
                                                (json_int_t)stage->filter->latency));
    }
    json_t *root = json_pack(
        "{s:o, s:I, s:I, s:I, s:I, s:o}", "file", json_text(settings->file), "rate",
        (json_int_t)settings->rate, "channels_in", (json_int_t)settings->channels, "channels_out",
        (json_int_t)chain->outputs, "latency", (json_int_t)chain->latency, "stages", stages);
    return json_print(root, 0, "the chain");
}

static enum status check(void *options)
{
    const struct chain_check_settings *settings = options;
    const struct stage_settings stage_settings = {.convolver = {.backend = "cpu"}};
    struct stream_format format = {.rate = (uint32_t)settings->rate,
                                   .channels = settings->channels};
    struct stage_list list = {0};
    struct workers *workers = NULL;
    struct filter *chain = NULL;
    stop_watch();
    enum status status = chain_file_load(settings->file, &list);
    if (status == STATUS_OK)
        status = stage_list_load(&list, &stage_settings, &format);
    if (status == STATUS_OK)
        status = workers_create(1, &workers);
    if (status == STATUS_OK)
        status = stage_list_create(&list, settings->channels, BLOCK, workers, &chain);
    if (status == STATUS_OK && settings->json)
        status = print_json(settings, &list, chain);
    else if (status == STATUS_OK)
        print_text(settings, &list, chain);
    filter_destroy(chain);
    workers_destroy(workers);
    stage_list_free(&list);
    return status;
}

static const struct option_row rows[] = {
    PLUGIN_SANDBOX_ROWS,
    OPT_INTEGER("rate", "HZ", struct chain_check_settings, rate, 1, RATE_MOST,
                "rate of the sound to filter; 48000 by default"),
    OPT_INTEGER("channels", "N", struct chain_check_settings, channels, 1, CHANNELS_MOST,
                "channels of that sound; 2 by default"),
    OPT_FLAG("json", struct chain_check_settings, json, "print one JSON object"),
    {0},
};

const struct command command_chain_check = {
    .name = "halo chain check",
    .summary = "check a chain of stages stored in a file",
    .usage = "usage: halo chain check FILE [options]\n\n"
             "Load a chain of stages from a file written by halo render IN OUT --save-chain FILE,\n"
             "with all its masks and plugins, and print its channels and latency.",
    .arguments = OPTION_ARGUMENTS(
        OPT_ARGUMENT("FILE", struct chain_check_settings, file, 1, .is_file = true)),
    .ending = "example: halo chain check hall.yml --channels 1",
    .groups = OPTION_GROUP(rows),
    .defaults = &(const struct chain_check_settings){.rate = 48000, .channels = 2},
    .size = sizeof(struct chain_check_settings),
    .run = check,
};
