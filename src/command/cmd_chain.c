#include "base/json_text.h"
#include "base/stop.h"
#include "chain/chain_file.h"
#include "command/commands.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { RATE_MOST = 10000000, CHANNELS_MOST = 256, BLOCK = 1024 };

struct settings {
    const char *file;
    size_t rate;
    size_t channels;
    bool json;
};

static void print_text(const struct settings *settings, const struct stage_list *list,
                       const struct filter *chain)
{
    printf("%s: %zu stage%s, %zu channel%s in, %zu out, latency %llu frames at %zu Hz\n",
           settings->file, list->count, list->count == 1 ? "" : "s", settings->channels,
           settings->channels == 1 ? "" : "s", chain->outputs, (unsigned long long)chain->latency,
           settings->rate);
    for (size_t i = 0; i < list->count; i++)
        printf("  %zu  %zu > %-3zu latency %-6llu --%s %s\n", i + 1, list->stages[i].inputs,
               list->stages[i].outputs, (unsigned long long)list->stages[i].filter->latency,
               list->stages[i].ops->option, list->stages[i].text);
}

static enum status print_json(const struct settings *settings, const struct stage_list *list,
                              const struct filter *chain)
{
    json_t *root = json_object(), *stages = json_array();
    json_object_set_new(root, "file", json_text(settings->file));
    json_object_set_new(root, "rate", json_integer((json_int_t)settings->rate));
    json_object_set_new(root, "channels_in", json_integer((json_int_t)settings->channels));
    json_object_set_new(root, "channels_out", json_integer((json_int_t)chain->outputs));
    json_object_set_new(root, "latency", json_integer((json_int_t)chain->latency));
    for (size_t i = 0; i < list->count; i++) {
        const struct stage *stage = &list->stages[i];
        json_t *object = json_object();
        json_object_set_new(object, "kind", json_string(stage->ops->option));
        json_object_set_new(object, "words", json_text(stage->text));
        json_object_set_new(object, "inputs", json_integer((json_int_t)stage->inputs));
        json_object_set_new(object, "outputs", json_integer((json_int_t)stage->outputs));
        json_object_set_new(object, "latency", json_integer((json_int_t)stage->filter->latency));
        json_array_append_new(stages, object);
    }
    json_object_set_new(root, "stages", stages);
    bool failed = json_dumpf(root, stdout, JSON_INDENT(2)) != 0;
    puts("");
    json_decref(root);
    return failed ? fail(STATUS_FAILED, "cannot write standard output") : STATUS_OK;
}

static enum status check(void *options)
{
    const struct settings *settings = options;
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
    OPT_INTEGER("rate", "HZ", struct settings, rate, 1, RATE_MOST,
                "of the sound that is to go through it; 48000 by default"),
    OPT_INTEGER("channels", "N", struct settings, channels, 1, CHANNELS_MOST,
                "of that sound; 2 by default"),
    OPT_FLAG("json", struct settings, json, "print one JSON object"),
    {0},
};

static const struct option_group groups[] = {{.heading = "options", .rows = rows}, {0}};

static const struct option_row arguments[] = {
    OPT_ARGUMENT("FILE", struct settings, file, 1, .is_file = true),
    {0},
};

const struct command command_chain_check = {
    .name = "halo chain check",
    .summary = "check a chain of stages that is kept in a file",
    .usage =
        "usage: halo chain check FILE [options]\n\n"
        "Load a chain of stages from a file, as halo render IN OUT --save-chain FILE writes it,\n"
        "with all its masks and plugins, and say what it comes to.",
    .arguments = arguments,
    .ending = "example: halo chain check hall.yml --channels 1",
    .groups = groups,
    .defaults = &(const struct settings){.rate = 48000, .channels = 2},
    .size = sizeof(struct settings),
    .run = check,
};
