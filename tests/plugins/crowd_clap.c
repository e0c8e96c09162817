/* A CLAP library of CROWD plugins, the first half of which end their process while they are
 * described, each in another way and after words of their own; or all but the first hang then
 * (HANGS). */
#include "plugin/clap/clap_abi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CROWD = 12, IDS = 64 };

static char ids[CROWD][IDS];
static struct clap_plugin_descriptor descriptors[CROWD];
static struct clap_plugin plugins[CROWD];

static size_t index_of(const struct clap_plugin *plugin)
{
    return (size_t)(plugin - plugins);
}

static bool init(const struct clap_plugin *plugin)
{
    size_t index = index_of(plugin);
    while (HANGS && index > 0)
        pause();
    if (HANGS)
        return true;
    if (index < CROWD / 2) {
        printf("number %zu\n", index); /* behind the next line, where output is held back */
        fprintf(stderr, "no table \033[31m%zu\n\n", index);
    }
    if (index % 2 == 0 && index < CROWD / 2)
        abort();
    if (index < CROWD / 2)
        exit(3);
    return true;
}

static void nothing(const struct clap_plugin *plugin)
{
    (void)plugin;
}

static bool yes(const struct clap_plugin *plugin)
{
    (void)plugin;
    return true;
}

static bool activate(const struct clap_plugin *plugin, double rate, uint32_t least, uint32_t most)
{
    (void)plugin, (void)rate, (void)least, (void)most;
    return true;
}

static int32_t process(const struct clap_plugin *plugin, const struct clap_process *process)
{
    (void)plugin, (void)process;
    return CLAP_PROCESS_CONTINUE;
}

static const void *no_extension(const struct clap_plugin *plugin, const char *id)
{
    (void)plugin, (void)id;
    return NULL;
}

static uint32_t count(const struct clap_plugin_factory *factory)
{
    (void)factory;
    return CROWD;
}

static const struct clap_plugin_descriptor *describe(const struct clap_plugin_factory *factory,
                                                     uint32_t index)
{
    (void)factory;
    if (index >= CROWD)
        return NULL;
    snprintf(ids[index], IDS, "org.halo.crowd.%u", index);
    descriptors[index] = (struct clap_plugin_descriptor){
        .clap_version = CLAP_VERSION_INIT, .id = ids[index], .name = ids[index]};
    return &descriptors[index];
}

static const struct clap_plugin *create(const struct clap_plugin_factory *factory,
                                        const struct clap_host *host, const char *id)
{
    (void)host;
    for (uint32_t i = 0; i < CROWD; i++) {
        if (strcmp(describe(factory, i)->id, id) != 0)
            continue;
        plugins[i] = (struct clap_plugin){.desc = &descriptors[i],
                                          .init = init,
                                          .destroy = nothing,
                                          .activate = activate,
                                          .deactivate = nothing,
                                          .start_processing = yes,
                                          .stop_processing = nothing,
                                          .reset = nothing,
                                          .process = process,
                                          .get_extension = no_extension,
                                          .on_main_thread = nothing};
        return &plugins[i];
    }
    return NULL;
}

static bool entry_init(const char *path)
{
    return path && *path;
}

static void entry_deinit(void)
{
}

static const void *get_factory(const char *id)
{
    static const struct clap_plugin_factory factory = {count, describe, create};
    return strcmp(id, CLAP_PLUGIN_FACTORY_ID) == 0 ? &factory : NULL;
}

extern const struct clap_plugin_entry clap_entry;
__attribute__((visibility("default"))) const struct clap_plugin_entry clap_entry = {
    CLAP_VERSION_INIT, entry_init, entry_deinit, get_factory};
