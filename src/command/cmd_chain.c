#include "command/cmd_chain.h"

#include "base/json_text.h"
#include "base/options.h"
#include "base/stop.h"
#include "chain/chain_file.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { RATE_MOST = 10000000, CHANNELS_MOST = 256, BLOCK = 1024 };

struct settings {
    const char *file;
    size_t rate;
    size_t channels;
    bool json;
    bool help;
};

static enum status parse_file(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    struct settings *settings = context;
    if (settings->file)
        return fail(STATUS_USAGE, "one FILE, not also '%s'", value);
    settings->file = value;
    return STATUS_OK;
}

static enum status parse_rate(void *context, const struct option_row *row, const char *value)
{
    return options_parse_number(row->name, value, 1, RATE_MOST,
                                &((struct settings *)context)->rate);
}

static enum status parse_channels(void *context, const struct option_row *row, const char *value)
{
    return options_parse_number(row->name, value, 1, CHANNELS_MOST,
                                &((struct settings *)context)->channels);
}

static enum status parse_json(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct settings *)context)->json = true;
    return STATUS_OK;
}

static enum status parse_help(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct settings *)context)->help = true;
    return STATUS_OK;
}

static const struct option_row rows[] = {
    {"rate", 0, "HZ", "of the sound that is to go through it; 48000 by default", parse_rate},
    {"channels", 0, "N", "of that sound; 2 by default", parse_channels},
    {"json", 0, NULL, "print one JSON object", parse_json},
    {"help", 'h', NULL, "print this", parse_help},
    {.take = parse_file},
};

static void print_help(void)
{
    puts("usage: halo chain check FILE [options]\n\n"
         "Load a chain of stages from a file, as halo render IN OUT --save-chain FILE writes it,\n"
         "with all its masks and plugins, and say what it comes to.\n\n"
         "options:");
    options_print(stdout, rows, sizeof rows / sizeof *rows);
    puts("\nexample: halo chain check hall.yml --channels 1");
}

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

static enum status check(const struct settings *settings)
{
    const struct stage_settings stage_settings = {.convolver = {.backend = "cpu"}};
    struct stream_format format = {.rate = (uint32_t)settings->rate,
                                   .channels = settings->channels};
    struct stage_list list = {0};
    struct workers *workers = NULL;
    struct filter *chain = NULL;
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

enum status cmd_chain(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        print_help();
        return STATUS_OK;
    }
    if (strcmp(word, "check") != 0)
        return fail(STATUS_USAGE, "halo chain does one thing, check: halo chain check FILE");
    struct settings settings = {.rate = 48000, .channels = 2};
    enum status status = options_parse(argc - 1, argv + 1, "halo chain check", rows, &settings);
    if (status != STATUS_OK)
        return status;
    if (settings.help) {
        print_help();
        return STATUS_OK;
    }
    if (!settings.file)
        return fail(STATUS_USAGE, "FILE is needed; halo chain --help tells more");
    stop_watch();
    return check(&settings);
}
