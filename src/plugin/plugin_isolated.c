#include "plugin/plugin_isolated.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the command line ---- */

/* By the place that main gives them. */
enum { PARENT = 1, VERBOSITY, KIND, ID, RATE, BLOCK, LIVE, INSTANCES, MOST, PRESET, STATE, FIRST };

__attribute__((format(printf, 2, 3))) static void put(char **word, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(word, format, arguments) < 0)
        *word = NULL;
    va_end(arguments);
}

static void put_text(char **word, const char *text)
{
    put(word, "%s%s", text ? "=" : "-", text ? text : "");
}

enum status isolated_args_make(const struct plugin_info *info,
                             const struct plugin_instances_settings *settings, char ***result)
{
    const struct plugin_settings *plugin = &settings->plugin;
    size_t count = 1 + FIRST + 2 * plugin->setting_count;
    char **args = calloc(count + 1, sizeof *args);
    if (!args)
        return fail_memory("a plugin's process");
    put(&args[0], "halo");
    char **at = args + 1;
    put(&at[0], "plugin-instances");
    put(&at[PARENT], "%ld", (long)getpid());
    put(&at[VERBOSITY], "%d", (int)note_verbosity_now());
    put(&at[KIND], "%s", info->kind->name);
    put(&at[ID], "%s", info->id);
    put(&at[RATE], "%" PRIu32, plugin->rate);
    put(&at[BLOCK], "%zu", plugin->block);
    put(&at[LIVE], "%d", plugin->live);
    put(&at[INSTANCES], "%zu", settings->instances);
    put(&at[MOST], "%zu", settings->most);
    put_text(&at[PRESET], plugin->preset);
    put_text(&at[STATE], plugin->state);
    for (size_t i = 0; i < plugin->setting_count; i++) {
        put(&at[FIRST + 2 * i], "%s", plugin->settings[i].uri);
        put(&at[FIRST + 2 * i + 1], "%s", plugin->settings[i].value);
    }
    *result = args;
    for (size_t i = 0; i < count; i++)
        if (!args[i]) {
            isolated_args_free(args);
            return fail_memory("a plugin's process");
        }
    return STATUS_OK;
}

void isolated_args_free(char **args)
{
    for (size_t i = 0; args && args[i]; i++)
        free(args[i]);
    free(args);
}

static size_t number(const char *word)
{
    return (size_t)strtoull(word, NULL, 10);
}

static const char *text_of(const char *word)
{
    return *word == '=' ? word + 1 : NULL;
}

enum status isolated_args_read(int argc, char **argv, struct isolated_request *request)
{
    size_t count = argc >= FIRST ? ((size_t)argc - FIRST) / 2 : 0;
    struct plugin_setting *settings = calloc(count + 1, sizeof *settings);
    if (!settings)
        return fail_memory("a plugin's process");
    for (size_t i = 0; i < count; i++)
        settings[i] =
            (struct plugin_setting){.uri = argv[FIRST + 2 * i], .value = argv[FIRST + 2 * i + 1]};
    *request = (struct isolated_request){.settings.plugin.settings = settings,
                                      .settings.plugin.setting_count = count};
    if (argc < FIRST || !plugin_kind_named(argv[KIND]))
        return fail(STATUS_USAGE, "this command is internal: halo runs it for isolated plugins");
    struct plugin_settings *plugin = &request->settings.plugin;
    request->parent = (pid_t)number(argv[PARENT]);
    request->verbosity = (enum verbosity)number(argv[VERBOSITY]);
    request->kind = plugin_kind_named(argv[KIND]);
    request->id = argv[ID];
    plugin->rate = (uint32_t)number(argv[RATE]);
    plugin->block = number(argv[BLOCK]);
    plugin->live = number(argv[LIVE]) != 0;
    plugin->preset = text_of(argv[PRESET]);
    plugin->state = text_of(argv[STATE]);
    request->settings.instances = number(argv[INSTANCES]);
    request->settings.most = number(argv[MOST]);
    return STATUS_OK;
}

/* ---- the memory ---- */

enum { ALIGNMENT = 64, LIVE_SLOTS = 8 /* blocks that a child may be behind, to catch up with */ };

/* Takes up room after `*end` bytes; where it begins. */
static size_t take(size_t *end, size_t bytes)
{
    size_t at = *end;
    *end = (at + bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return at;
}

void isolated_memory_plan(struct isolated_memory *memory, const struct plugin_info *info,
                       const struct plugin_instances_settings *settings)
{
    memory->slots = settings->plugin.live ? LIVE_SLOTS : 1;
    memory->blocks = settings->most / settings->plugin.block;
    memory->ports = info->port_count;
    memory->inputs = settings->instances * plugin_instances_inputs(info);
    memory->outputs = settings->instances * plugin_instances_outputs(info);
    memory->channel = 0;
    size_t head = 0, slot = 0;
    take(&head, sizeof(struct isolated_head));
    take(&slot, sizeof(struct isolated_order));
    memory->changes = take(&slot, memory->blocks * memory->ports * sizeof(struct plugin_change));
    memory->latencies = take(&slot, memory->blocks * sizeof(uint64_t));
    memory->values = take(&slot, memory->ports * sizeof(float));
    take(&memory->channel, settings->most * sizeof(float));
    memory->in = take(&slot, memory->inputs * memory->channel);
    memory->out = take(&slot, memory->outputs * memory->channel);
    memory->slot = slot;
    memory->size = head + memory->slots * slot;
}

static enum status map(struct isolated_memory *memory, int descriptor, size_t size)
{
    /* All of it now, so that no step waits for a page. */
    int populate = memory->slots > 1 ? MAP_POPULATE : 0;
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | populate, descriptor, 0);
    if (at == MAP_FAILED)
        return fail(STATUS_FAILED, "cannot share memory with a plugin's process: %s",
                    strerror(errno));
    memory->head = at;
    memory->size = size;
    return STATUS_OK;
}

enum status isolated_memory_create(struct isolated_memory *memory, int *descriptor)
{
    int made = memfd_create("halo plugin", MFD_CLOEXEC);
    if (made < 0 || ftruncate(made, (off_t)memory->size) != 0) {
        enum status status =
            fail(STATUS_FAILED, "cannot share memory with a plugin's process: %s", strerror(errno));
        if (made >= 0)
            close(made);
        return status;
    }
    enum status status = map(memory, made, memory->size);
    if (status == STATUS_OK)
        *descriptor = made;
    else
        close(made);
    return status;
}

enum status isolated_memory_find(struct isolated_memory *memory)
{
    struct stat about;
    if (fstat(APART_DESCRIPTOR, &about) != 0 || !S_ISREG(about.st_mode) ||
        about.st_size < (off_t)sizeof(struct isolated_head))
        return fail(STATUS_USAGE, "this command is internal: halo runs it for isolated plugins");
    enum status status = map(memory, APART_DESCRIPTOR, (size_t)about.st_size);
    close(APART_DESCRIPTOR);
    return status;
}

enum status isolated_memory_join(struct isolated_memory *memory, const struct plugin_info *info,
                              const struct plugin_instances_settings *settings)
{
    size_t size = memory->size;
    isolated_memory_plan(memory, info, settings);
    bool fits = memory->size == size;
    memory->size = size;
    return fits ? STATUS_OK : fail(STATUS_FAILED, "%s has changed since it was scanned", info->id);
}

void isolated_memory_free(struct isolated_memory *memory)
{
    if (memory->head)
        munmap(memory->head, memory->size);
    memory->head = NULL;
}

struct isolated_piece isolated_memory_piece(const struct isolated_memory *memory, uint32_t number)
{
    char *head = (char *)memory->head;
    char *at = head + (memory->size - memory->slots * memory->slot) +
               number % memory->slots * memory->slot;
    return (struct isolated_piece){.order = (struct isolated_order *)at,
                                .changes = (struct plugin_change *)(at + memory->changes),
                                .latencies = (uint64_t *)(at + memory->latencies),
                                .values = (float *)(at + memory->values),
                                .in = (float *)(at + memory->in),
                                .out = (float *)(at + memory->out),
                                .stride = memory->channel / sizeof(float)};
}
