#include "plugin_rig.h"

#include "plugin/scan/plugin_catalog.h"
#include "sound.h"
#include "stream.h"
#include "suite.h"

#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SKIPPED = 77, CHANNELS = 2, BLOCK = PLUGIN_RIG_BLOCK };

static size_t missing;

static void prepend(const char *name, const char *folder, const char *others)
{
    char path[1024];
    const char *before = getenv(name);
    snprintf(path, sizeof path, "%s:%s", folder, before ? before : others);
    setenv(name, path, 1);
}

void plugin_rig_prepare(void)
{
    prepend("LV2_PATH", HALO_TEST_PLUGINS "/lv2",
            "/usr/lib/lv2:/usr/local/lib/lv2:/usr/lib/x86_64-linux-gnu/lv2");
    prepend("LADSPA_PATH", HALO_TEST_PLUGINS "/ladspa", "/usr/lib/ladspa:/usr/local/lib/ladspa");
    prepend("CLAP_PATH", HALO_TEST_PLUGINS "/clap", "");
    prepend("VST3_PATH", HALO_TEST_PLUGINS "/vst3", "");
    const char *elsewhere = getenv("HALO");
    setenv("HALO_PROGRAM", elsewhere ? elsewhere : HALO_PROGRAM, 1);
    prepend("ASAN_OPTIONS", "handle_segv=0:handle_abort=0", "");
    prepend("TSAN_OPTIONS", "handle_segv=0:handle_abort=0", "");
}

struct plugin_info *plugin_rig_describe(const char *kind, const char *id)
{
    struct plugin_info *info = NULL;
    if (plugin_describe_isolated(plugin_kind_named(kind), id, &info) != STATUS_OK) {
        printf("without %s plugin %s\n", kind, id);
        missing++;
        return NULL;
    }
    return info;
}

int plugin_rig_code(int code)
{
    return code == EXIT_SUCCESS && missing > 0 ? SKIPPED : code;
}

size_t plugin_rig_port(const struct plugin_info *info, const char *symbol)
{
    for (size_t i = 0; i < info->port_count; i++)
        if (info->ports[i].symbol && strcmp(info->ports[i].symbol, symbol) == 0)
            return i;
    ck_abort_msg("%s has no port %s", info->id, symbol);
}

void plugin_rig_expect_gain(const char *name, size_t from, size_t to, size_t late, double gain)
{
    struct sound in = sound_load("in.wav"), out = sound_load(name);
    ck_assert_uint_le(to, out.block.frames);
    for (size_t c = 0; c < CHANNELS; c++)
        for (size_t i = from; i < to; i++) {
            double expected = gain * (double)in.block.data[c][i - late];
            ck_assert_msg(fabs((double)out.block.data[c][i] - expected) < 1e-6,
                          "channel %zu, frame %zu: %g, not %g", c, i, (double)out.block.data[c][i],
                          expected);
        }
}

double plugin_rig_from_db(double db)
{
    return pow(10, db / 20);
}

void plugin_rig_open(struct plugin_rig_live *live, const char *kind, const char *id)
{
    const struct plugin_instances_settings settings = {
        .plugin = {.rate = PLUGIN_RIG_RATE, .block = BLOCK, .live = true},
        .instances = 1,
        .most = BLOCK,
        .patience = 1};
    live->info = plugin_rig_describe(kind, id);
    ck_assert_ptr_nonnull(live->info);
    ck_assert_int_eq(plugin_instances_open(live->info, NULL, 0, &settings, &live->instances), 0);
    live->in = stream_block(CHANNELS, BLOCK);
    live->out = stream_block(CHANNELS, BLOCK);
    for (size_t i = 0; i < BLOCK; i++)
        live->in.data[0][i] = live->in.data[1][i] = 0.25F;
}

void plugin_rig_run(struct plugin_rig_live *live, const struct plugin_change *change)
{
    live->instances->kind->process(live->instances, (const float *const *)live->in.data,
                                   live->out.data, BLOCK, change, change ? 1 : 0);
}

void plugin_rig_close(struct plugin_rig_live *live)
{
    plugin_instances_close(live->instances);
    plugin_info_destroy(live->info);
}

size_t plugin_rig_await(struct plugin_rig_live *live, uint64_t latency)
{
    const struct timespec period = {.tv_nsec = BLOCK * 1000000000L / PLUGIN_RIG_RATE};
    size_t blocks = 0;
    for (; blocks < 2000 && live->instances->latency != latency; blocks++) {
        plugin_rig_run(live, NULL);
        nanosleep(&period, NULL);
    }
    return blocks;
}

/* Runs blocks until the last sample is, or is not, silence. */
static void run_until(struct plugin_rig_live *live, bool is_silent)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int i = 0; i < 100 && (live->out.data[0][BLOCK - 1] == 0) != is_silent; i++) {
        plugin_rig_run(live, NULL);
        nanosleep(&pause, NULL);
    }
}

void plugin_rig_reset_early(struct plugin_rig_live *live, struct plugin_change *change)
{
    const struct timespec pause = {.tv_nsec = 8000000};
    for (int round = 0; round < 5; round++) {
        change->value = (float)(64 + 64 * (round % 2));
        plugin_rig_run(live, change);
        run_until(live, true);
        live->instances->kind->reset(live->instances);
        nanosleep(&pause, NULL);
        run_until(live, false);
    }
}

/* 0 where there is no such process. */
static pid_t parent_of(const char *process, char *state)
{
    char path[300], line[512] = "";
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%s/stat", process);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    const char *end = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    fclose(file);
    return end && sscanf(end, ") %c %d", state, &parent) == 2 ? (pid_t)parent : 0;
}

size_t plugin_rig_children(pid_t parent, pid_t *first)
{
    size_t count = 0;
    char state;
    DIR *folder = opendir("/proc");
    ck_assert_ptr_nonnull(folder);
    for (const struct dirent *entry; (entry = readdir(folder));)
        if (isdigit((unsigned char)entry->d_name[0]) &&
            parent_of(entry->d_name, &state) == parent) {
            count++;
            if (first)
                *first = (pid_t)atoi(entry->d_name);
        }
    closedir(folder);
    return count;
}

bool plugin_rig_runs(pid_t process)
{
    char number[24], state;
    snprintf(number, sizeof number, "%d", (int)process);
    return parent_of(number, &state) != 0 && state != 'Z';
}

size_t plugin_rig_descriptors(void)
{
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    ck_assert_ptr_nonnull(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}
