#include "base/atomic_file.h"
#include "base/json_text.h"
#include "base/plural.h"
#include "base/printable.h"
#include "base/stop.h"
#include "chain/chain_file.h"
#include "chain/chain_save.h"
#include "chain/stage_draw.h"
#include "command/commands.h"
#include "plugin/isolation/plugin_sandbox.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { RATE_MOST = 10000000, CHANNELS_MOST = 256, BLOCK = 1024 };

#define FRAMES                                                                                     \
    (INT64_C(1) << 50) /* length of the sound if times count from its end: longer than any time */

struct chain_check_settings {
    const char *file;
    const char *output; /* file that collect writes */
    size_t rate;
    size_t channels;
    bool json;
    bool force;
};

static void print_text(const struct chain_check_settings *settings, const struct stage_list *list,
                       const struct filter *chain)
{
    printf("%s: %zu stage%s, %zu channel%s in, %zu out, latency %llu frame%s at %zu Hz\n",
           printable(settings->file), list->count, plural_s(list->count), settings->channels,
           plural_s(settings->channels), chain->outputs, (unsigned long long)chain->latency,
           plural_s(chain->latency), settings->rate);
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

static enum status print(const struct chain_check_settings *settings, const struct stage_list *list,
                         const struct filter *chain)
{
    if (settings->json)
        return print_json(settings, list, chain);
    print_text(settings, list, chain);
    return STATUS_OK;
}

static enum status collect(const struct chain_check_settings *settings,
                           const struct stage_list *list, const struct filter *chain)
{
    (void)chain;
    struct chain_save *save = NULL;
    enum status status = chain_save_create(settings->output, settings->force, true, list, &save);
    if (status == STATUS_OK)
        status = chain_save_keep(save);
    chain_save_destroy(save);
    return status;
}

static void swap_texts(struct stage_list *one, struct stage_list *other)
{
    for (size_t i = 0; i < one->count; i++) {
        char *text = one->stages[i].text;
        one->stages[i].text = other->stages[i].text;
        other->stages[i].text = text;
    }
}

/* Loads a chain with all its masks and plugins, and calls `act` with it. */
static enum status load_and(enum status (*act)(const struct chain_check_settings *settings,
                                               const struct stage_list *list,
                                               const struct filter *chain),
                            const struct chain_check_settings *settings)
{
    struct stage_settings stage_settings = {.convolver = {.backend = "cpu", .frames = FRAMES},
                                            .in_passes = true};
    struct stream_format format = {.rate = (uint32_t)settings->rate,
                                   .channels = settings->channels};
    struct stage_list list = {0}, written = {0};
    struct workers *workers = NULL;
    struct filter *chain = NULL;
    stop_watch();
    enum status status = chain_file_load(settings->file, &list, NULL);
    stage_settings.tempo = list.tempo;
    if (status == STATUS_OK)
        status = stage_list_copy(&list, &written);
    if (status == STATUS_OK) /* draws one of the values that may be drawn */
        status = stage_list_draw(&list, 0, "");
    if (status == STATUS_OK)
        status = stage_list_load(&list, &stage_settings, &format);
    if (status == STATUS_OK)
        status = workers_create(1, &workers);
    if (status == STATUS_OK)
        status = stage_list_create(&list, settings->channels, BLOCK, workers, &chain);
    if (status == STATUS_OK) {
        swap_texts(&list, &written);
        status = act(settings, &list, chain);
    }
    filter_destroy(chain);
    workers_destroy(workers);
    stage_list_free(&list);
    stage_list_free(&written);
    return status;
}

static enum status run_check(void *options)
{
    return load_and(print, options);
}

static enum status run_collect(void *options)
{
    return load_and(collect, options);
}

#define OPT_SOUND                                                                                  \
    OPT_INTEGER("rate", "HZ", struct chain_check_settings, rate, 1, RATE_MOST,                     \
                "rate of the sound to filter; 48000 by default"),                                  \
        OPT_INTEGER("channels", "N", struct chain_check_settings, channels, 1, CHANNELS_MOST,      \
                    "channels of that sound; 2 by default")

static const struct option_row check_rows[] = {
    PLUGIN_SANDBOX_ROWS,
    OPT_SOUND,
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
    .groups = OPTION_GROUP(check_rows),
    .defaults = &(const struct chain_check_settings){.rate = 48000, .channels = 2},
    .size = sizeof(struct chain_check_settings),
    .run = run_check,
};

static const struct option_row collect_rows[] = {
    PLUGIN_SANDBOX_ROWS,
    OPT_SOUND,
    OPT_FILE("output", "OUT", struct chain_check_settings, output,
             "where to write, instead of as an argument", .letter = 'o'),
    OPT_FLAG("force", struct chain_check_settings, force, "replace OUT and OUT.files if they exist",
             .letter = 'f'),
    OPT_NO_SYNC,
    {0},
};

const struct command command_chain_collect = {
    .name = "halo chain collect",
    .summary = "copy a chain with the files that it names",
    .usage =
        "usage: halo chain collect CHAIN OUT [options]\n\n"
        "Write a chain to OUT, its masks and the other files that it names to OUT.files, and\n"
        "states of its plugins to OUT.state: these together can be moved to another folder or\n"
        "machine. Plugins are not copied. Files that depend on the sound, as some\n"
        "configurations have them, are those for --rate and --channels.",
    .arguments = OPTION_ARGUMENTS(
        OPT_ARGUMENT("CHAIN", struct chain_check_settings, file, 1, .is_file = true),
        OPT_ARGUMENT("OUT", struct chain_check_settings, output, 1, .is_file = true)),
    .ending = "example: halo chain collect room.yml travel/room.yml",
    .groups = OPTION_GROUP(collect_rows),
    .defaults = &(const struct chain_check_settings){.rate = 48000, .channels = 2},
    .size = sizeof(struct chain_check_settings),
    .run = run_collect,
};
