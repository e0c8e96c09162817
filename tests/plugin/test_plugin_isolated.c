/* Isolated instances behave as instances in this process, and their failures harm nothing else. */
#include "allocations.h"
#include "base/monotonic.h"
#include "command.h"
#include "plugin/isolation/plugin_isolated.h"
#include "plugin/plugin.h"
#include "plugin_rig.h"
#include "stream.h"
#include "suite.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { RATE = PLUGIN_RIG_RATE, BLOCK = PLUGIN_RIG_BLOCK, PIECE = 4 * BLOCK, CHANNELS_MOST = 8 };

static void pause_ms(long milliseconds)
{
    const struct timespec time = {.tv_sec = milliseconds / 1000,
                                  .tv_nsec = milliseconds % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

static struct plugin_instances_settings file_settings(size_t instances)
{
    return (struct plugin_instances_settings){.plugin = {.rate = RATE, .block = BLOCK},
                                              .instances = instances,
                                              .most = PIECE,
                                              .patience = 30};
}

static struct plugin_instances_settings live_settings(void)
{
    return (struct plugin_instances_settings){
        .plugin = {.rate = RATE, .block = BLOCK, .live = true},
        .instances = 1,
        .most = BLOCK,
        .patience = 30};
}

static struct plugin_instances *open_isolated(const struct plugin_info *info,
                                              const struct plugin_change *changes, size_t count,
                                              const struct plugin_instances_settings *settings)
{
    struct plugin_instances *instances;
    ck_assert_int_eq(plugin_instances_open_isolated(info, changes, count, settings, &instances),
                     STATUS_OK);
    return instances;
}

static bool is_silent(const struct block *block, size_t frames)
{
    for (size_t c = 0; c < block->channels; c++)
        for (size_t i = 0; i < frames; i++)
            if (block->data[c][i] != 0)
                return false;
    return true;
}

/* ---- equal to in-process instances ---- */

static void process_at(struct plugin_instances *instances, const struct block *in,
                       struct block *out, size_t at, size_t frames,
                       const struct plugin_change *changes, size_t count)
{
    const float *from[CHANNELS_MOST];
    float *to[CHANNELS_MOST];
    for (size_t c = 0; c < in->channels; c++)
        from[c] = in->data[c] + at;
    for (size_t c = 0; c < out->channels; c++)
        to[c] = out->data[c] + at;
    instances->kind->process(instances, from, to, frames, changes, count);
}

static void check_reported(const struct plugin_instances *here,
                           const struct plugin_instances *isolated)
{
    ck_assert_uint_eq(here->latency, isolated->latency);
    ck_assert_uint_eq(here->run_count, isolated->run_count);
    for (size_t i = 0; i < here->run_count; i++) {
        ck_assert_uint_eq(here->runs[i].frames, isolated->runs[i].frames);
        ck_assert_uint_eq(here->runs[i].latency, isolated->runs[i].latency);
    }
    for (size_t p = 0; p < here->info->port_count; p++)
        ck_assert_msg(memcmp(&here->values[p], &isolated->values[p], sizeof(float)) == 0,
                      "port %zu: %g and %g", p, (double)here->values[p],
                      (double)isolated->values[p]);
}

/* Pieces of any length, changes within them, and a reset give the same samples. */
static void check_same(const struct plugin_info *info,
                       const struct plugin_instances_settings *settings,
                       const struct plugin_change *first, const struct plugin_change *changes,
                       size_t count)
{
    const size_t lengths[] = {PIECE, BLOCK, 3 * BLOCK, PIECE, 2 * BLOCK};
    size_t all = 0, instances = settings->instances;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        all += lengths[i];
    struct plugin_instances *here, *isolated = open_isolated(info, first, first ? 1 : 0, settings);
    ck_assert_int_eq(plugin_instances_open(info, first, first ? 1 : 0, settings, &here), STATUS_OK);
    check_reported(here, isolated);
    struct block in = stream_noise(1, instances * here->inputs, all), out[2];
    for (size_t i = 0; i < 2; i++)
        out[i] = stream_block(instances * here->outputs, all);
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0, at = 0; i < sizeof lengths / sizeof *lengths; at += lengths[i++]) {
            size_t made = lengths[i] == PIECE ? count : 0;
            process_at(here, &in, &out[0], at, lengths[i], changes, made);
            process_at(isolated, &in, &out[1], at, lengths[i], changes, made);
            ck_assert_ptr_null(isolated->failure);
            check_reported(here, isolated);
        }
        for (size_t c = 0; c < out[0].channels; c++)
            ck_assert_mem_eq(out[0].data[c], out[1].data[c], all * sizeof(float));
        ck_assert(!is_silent(&out[1], all));
        here->kind->reset(here);
        isolated->kind->reset(isolated);
    }
    plugin_instances_close(here);
    plugin_instances_close(isolated);
}

START_TEST(isolated_ladspa_is_identical)
{
    struct plugin_info *info = plugin_rig_describe("ladspa", "mean:copy");
    if (!info)
        return;
    const struct plugin_instances_settings settings = file_settings(3);
    check_same(info, &settings, NULL, NULL, 0);
    plugin_info_destroy(info);
}

START_TEST(isolated_limiter_is_identical)
{
    struct plugin_info *info =
        plugin_rig_describe("ladspa", "fast_lookahead_limiter_1913:fastLookaheadLimiter");
    if (!info)
        return;
    const struct plugin_instances_settings settings = file_settings(2);
    const struct plugin_change first = {.port = 0, .value = 6};
    const struct plugin_change changes[] = {
        {.frame = 0, .port = 0, .value = 20},
        {.frame = 2, .port = 0, .value = 12}, /* the same block: the later one counts */
        {.frame = BLOCK + 1, .port = 1, .value = -6},
        {.frame = 3 * BLOCK, .port = 0, .value = 3},
    };
    check_same(info, &settings, &first, changes, sizeof changes / sizeof *changes);
    plugin_info_destroy(info);
}

START_TEST(late_latency_is_reported_by_block)
{
    struct plugin_info *info = plugin_rig_describe("ladspa", "mean:late-latency");
    if (!info)
        return;
    const struct plugin_instances_settings settings = file_settings(1);
    const struct plugin_change first = {.port = plugin_rig_port(info, "at"), .value = 700};
    const struct plugin_change change = {
        .frame = 3 * BLOCK, .port = plugin_rig_port(info, "amount"), .value = 300};
    check_same(info, &settings, &first, &change, 1);
    plugin_info_destroy(info);
}

START_TEST(isolated_lv2_is_identical)
{
    static const char *const ids[] = {"http://lv2plug.in/plugins/eg-amp",
                                      "http://gareus.org/oss/lv2/dpl#stereo",
                                      "urn:halo:test:many-ports"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        struct plugin_info *info = plugin_rig_describe("lv2", ids[i]);
        if (!info)
            continue;
        const struct plugin_instances_settings settings = file_settings(2);
        check_same(info, &settings, NULL, NULL, 0);
        plugin_info_destroy(info);
    }
}

/* Without its preset it has no mask. */
START_TEST(lv2_presets_reach_the_child)
{
    struct plugin_info *info =
        plugin_rig_describe("lv2", "http://gareus.org/oss/lv2/zeroconvolv#Mono");
    if (!info)
        return;
    struct plugin_instances_settings settings = file_settings(1);
    settings.plugin.preset = "http://gareus.org/oss/lv2/zeroconvolv/pset#noopMono";
    check_same(info, &settings, NULL, NULL, 0);
    plugin_info_destroy(info);
}

static const char SAMPLE[] = "/usr/lib/lv2/eg-sampler.lv2/click.wav";

static void save(const struct plugin_info *info, const struct plugin_instances_settings *settings,
                 const char *name)
{
    char folder[256];
    struct plugin_instances *instances = open_isolated(info, NULL, 0, settings);
    snprintf(folder, sizeof folder, "%s/%s", command_folder(), name);
    ck_assert_int_eq(instances->kind->save(instances, folder), STATUS_OK);
    plugin_instances_close(instances);
    struct command_result result =
        command_done("cat %s/*.ttl; cmp %s/click.wav %s", name, name, SAMPLE);
    ck_assert_ptr_nonnull(strstr(result.out, "eg-sampler#sample"));
}

START_TEST(lv2_settings_and_states_reach_the_child)
{
    struct plugin_info *info = plugin_rig_describe("lv2", "http://lv2plug.in/plugins/eg-sampler");
    if (!info)
        return;
    const struct plugin_setting setting = {.uri = "http://lv2plug.in/plugins/eg-sampler#sample",
                                           .value = SAMPLE};
    struct plugin_instances_settings settings = file_settings(1);
    char state[256];
    command_clean();
    settings.plugin.settings = &setting;
    settings.plugin.setting_count = 1;
    save(info, &settings, "once");
    snprintf(state, sizeof state, "%s/once", command_folder());
    settings = file_settings(1);
    settings.plugin.state = state;
    save(info, &settings, "again");
    plugin_info_destroy(info);
}

/* ---- failures ---- */

static void check_end(const char *kind, const char *id, double patience, const char *expected)
{
    struct plugin_info *info = plugin_rig_describe(kind, id);
    if (!info)
        return;
    struct plugin_instances_settings settings = file_settings(1);
    settings.patience = patience;
    const struct plugin_change at = {.port = plugin_rig_port(info, "at"), .value = 24000};
    struct plugin_instances *instances = open_isolated(info, &at, 1, &settings);
    struct block in = stream_noise(1, 1, PIECE), out;
    out = stream_block(1, PIECE);
    size_t pieces = 0;
    for (; !instances->failure && pieces < 100; pieces++)
        process_at(instances, &in, &out, 0, PIECE, NULL, 0);
    ck_assert_uint_eq(pieces, 24000 / PIECE + 1);
    ck_assert_str_eq(instances->failure, expected);
    ck_assert(is_silent(&out, PIECE));
    process_at(instances, &in, &out, 0, PIECE, NULL, 0);
    instances->kind->reset(instances);
    ck_assert_str_eq(instances->failure, expected);
    plugin_instances_close(instances);
    plugin_info_destroy(info);
}

/* Frame 24000 is in the block that begins at 23808, the 94th. */
START_TEST(ends_are_reported)
{
    check_end("ladspa", "mean:crash", 30, "crashed at 0.496 s, in block 94 (segmentation fault)");
    check_end("ladspa", "mean:abort", 30, "crashed at 0.496 s, in block 94 (aborted)");
    check_end("ladspa", "mean:exit", 30, "ended its process at 0.496 s, in block 94");
    check_end("ladspa", "mean:hang", 0.5, "hung at 0.496 s, in block 94 (no answer for 0.5 s)");
    check_end("lv2", "urn:halo:test:crash", 30,
              "crashed at 0.496 s, in block 94 (segmentation fault)");
    check_end("lv2", "urn:halo:test:hang", 0.5,
              "hung at 0.496 s, in block 94 (no answer for 0.5 s)");
}

static void check_refused(const char *kind, const char *id, double patience, const char *expected)
{
    struct plugin_info *info = plugin_rig_describe(kind, id);
    if (!info)
        return;
    char reported[512] = "";
    struct plugin_instances *instances = NULL;
    struct plugin_instances_settings settings = file_settings(1);
    settings.patience = patience;
    log_capture(reported, sizeof reported);
    enum status status = plugin_instances_open_isolated(info, NULL, 0, &settings, &instances);
    log_capture(NULL, 0);
    ck_assert_int_eq(status, STATUS_FAILED);
    ck_assert_ptr_null(instances);
    ck_assert_msg(strstr(reported, id) && strstr(reported, expected), "\"%s\", not \"%s\"",
                  reported, expected);
    plugin_info_destroy(info);
}

START_TEST(openings_fail_in_one_line)
{
    check_refused("ladspa", "mean:null", 30, "");
    check_refused("ladspa", "mean:crash-made", 30, "crashed while it was loaded (segmentation");
    check_refused("ladspa", "mean:hang-made", 0.1, "hung while it was loaded (no answer for 0.3 s");
    check_refused("lv2", "urn:halo:test:null", 30, "");
    check_refused("lv2", "urn:halo:test:unknown-feature", 30, "urn:halo:test:feature");
    check_refused("lv2", "urn:halo:test:crash-made", 30, "crashed while it was loaded");
    check_refused("lv2", "urn:halo:test:crash-loaded", 30, "crashed while it was loaded");
    check_refused("lv2", "urn:halo:test:crash-asked", 30, "crashed while it was loaded");
    check_refused("lv2", "urn:halo:test:hang-loaded", 0.1, "hung while it was loaded");
}

START_TEST(a_missing_program_is_reported)
{
    struct plugin_info *info = plugin_rig_describe("ladspa", "mean:copy");
    if (!info)
        return;
    char reported[512] = "", before[512];
    struct plugin_instances *instances = NULL;
    struct plugin_instances_settings settings = file_settings(1);
    snprintf(before, sizeof before, "%s", getenv("HALO_PROGRAM"));
    setenv("HALO_PROGRAM", "/nowhere/halo", 1);
    log_capture(reported, sizeof reported);
    ck_assert_int_eq(plugin_instances_open_isolated(info, NULL, 0, &settings, &instances),
                     STATUS_FAILED);
    log_capture(NULL, 0);
    setenv("HALO_PROGRAM", before, 1);
    ck_assert_ptr_nonnull(strstr(reported, "it could not be started: No such file"));
    plugin_info_destroy(info);
}

/* ---- nothing is left behind ---- */

static bool has_shared_memory(void)
{
    char line[1024];
    bool found = false;
    FILE *file = fopen("/proc/self/maps", "r");
    while (file && fgets(line, sizeof line, file))
        found = found || strstr(line, "halo plugin");
    fclose(file);
    return found;
}

START_TEST(nothing_is_left_behind)
{
    size_t before = plugin_rig_descriptors();
    check_end("ladspa", "mean:crash", 30, "crashed at 0.496 s, in block 94 (segmentation fault)");
    check_end("ladspa", "mean:hang", 0.1, "hung at 0.496 s, in block 94 (no answer for 0.1 s)");
    check_refused("ladspa", "mean:crash-made", 30, "crashed");
    struct plugin_info *info = plugin_rig_describe("ladspa", "mean:copy");
    if (!info)
        return;
    const struct plugin_instances_settings settings = file_settings(1);
    struct plugin_instances *instances = open_isolated(info, NULL, 0, &settings);
    ck_assert_uint_eq(plugin_rig_children(getpid(), NULL), 1);
    ck_assert(has_shared_memory());
    plugin_instances_close(instances);
    plugin_info_destroy(info);
    ck_assert_uint_eq(plugin_rig_children(getpid(), NULL), 0);
    ck_assert(!has_shared_memory());
    ck_assert_uint_eq(plugin_rig_descriptors(), before);
}

/* ---- output of a plugin ---- */

struct reported {
    size_t lines, out, err, left_out;
};

static void collect(void *context, const char *line)
{
    struct reported *reported = context;
    reported->lines++;
    reported->out += strcmp(line, "mean:prints says: a plugin's word on standard output") == 0;
    reported->err += strcmp(line, "mean:prints says: a plugin's word on standard error") == 0;
    if (strncmp(line, "mean:prints says: ", 18) == 0)
        sscanf(line + 18, "%zu more lines", &reported->left_out);
}

static struct reported spec_reported(enum verbosity verbosity)
{
    struct plugin_info *info = plugin_rig_describe("ladspa", "mean:prints");
    struct reported reported = {0};
    if (!info)
        return reported;
    const struct plugin_instances_settings settings = file_settings(1);
    note_verbosity(verbosity);
    messages_to(collect, &reported);
    struct plugin_instances *instances = open_isolated(info, NULL, 0, &settings);
    struct block in = stream_noise(1, 1, PIECE), out = stream_noise(2, 1, PIECE);
    for (size_t i = 0; i < 3; i++)
        process_at(instances, &in, &out, 0, PIECE, NULL, 0);
    plugin_instances_close(instances);
    messages_to(NULL, NULL);
    note_verbosity(VERBOSITY_NORMAL);
    plugin_info_destroy(info);
    return reported;
}

START_TEST(plugin_output_becomes_a_detail)
{
    struct reported reported = spec_reported(VERBOSITY_VERBOSE);
    ck_assert_uint_eq(reported.out, OUTPUT_MOST / 2);
    ck_assert_uint_eq(reported.err, OUTPUT_MOST / 2);
    ck_assert_uint_eq(reported.left_out, 2 * 3 * PIECE / BLOCK - OUTPUT_MOST);
    reported = spec_reported(VERBOSITY_NORMAL);
    ck_assert_uint_eq(reported.lines, 0);
}

/* ---- live ---- */

enum { LONG_MS = 30000 /* of a wait that no machine needs */ };

/* A block that is waited for at most so long; returns how long it took, in ms. */
static double step_within(struct plugin_instances *instances, const float *const *in,
                          struct block *out, long milliseconds, const struct plugin_change *changes,
                          size_t count)
{
    size_t before = allocations_of_thread();
    int64_t begin = monotonic_ns();
    instances->deadline = begin + milliseconds * 1000000;
    instances->kind->process(instances, in, out->data, BLOCK, changes, count);
    ck_assert_uint_eq(allocations_of_thread(), before);
    return 1e-6 * (double)(monotonic_ns() - begin);
}

/* In the same block, bit for bit, also after a reset. */
static void check_live_same(const char *kind, const char *id, size_t instances,
                            const struct plugin_change *changes, size_t count)
{
    enum { STEPS = 50, RESET = 19 };
    struct plugin_info *info = plugin_rig_describe(kind, id);
    if (!info)
        return;
    struct plugin_instances_settings settings = live_settings();
    settings.instances = instances;
    struct plugin_instances *here, *isolated = open_isolated(info, NULL, 0, &settings);
    ck_assert_int_eq(plugin_instances_open(info, NULL, 0, &settings, &here), STATUS_OK);
    struct block in = stream_noise(1, instances * here->inputs, STEPS * BLOCK), out[2];
    for (size_t i = 0; i < 2; i++)
        out[i] = stream_noise(2, instances * here->outputs, BLOCK);
    for (size_t step = 0; step < STEPS; step++) {
        const float *from[CHANNELS_MOST];
        for (size_t c = 0; c < in.channels; c++)
            from[c] = in.data[c] + step * BLOCK;
        size_t made = step % 7 == 3 ? count : 0;
        here->kind->process(here, from, out[0].data, BLOCK, changes, made);
        step_within(isolated, from, &out[1], LONG_MS, changes, made);
        check_reported(here, isolated);
        for (size_t c = 0; c < out[0].channels; c++)
            ck_assert_mem_eq(out[0].data[c], out[1].data[c], BLOCK * sizeof(float));
        if (step == RESET) {
            here->kind->reset(here);
            isolated->kind->reset(isolated);
        }
    }
    ck_assert(!is_silent(&out[1], BLOCK));
    ck_assert_uint_eq(isolated->late, 0);
    plugin_instances_close(here);
    plugin_instances_close(isolated);
    plugin_info_destroy(info);
}

START_TEST(live_is_identical_in_the_same_block)
{
    const struct plugin_change changes[] = {{.frame = 0, .port = 0, .value = 12},
                                            {.frame = 0, .port = 1, .value = -6}};
    check_live_same("ladspa", "mean:copy", 2, NULL, 0);
    check_live_same("ladspa", "fast_lookahead_limiter_1913:fastLookaheadLimiter", 2, changes, 2);
    check_live_same("lv2", "http://gareus.org/oss/lv2/dpl#stereo", 1, NULL, 0);
    check_live_same("clap", "org.halo.test.keep", 1, NULL, 0);
    check_live_same("vst3", "rules:keep", 1, NULL, 0);
}

static void finish(struct plugin_instances *instances)
{
    ck_assert(isolated_wait((struct isolated_instances *)instances));
}

/* A child that is behind catches up, with every change applied, and is heard again. */
START_TEST(live_continues_after_late_pieces)
{
    struct plugin_info *info = plugin_rig_describe("ladspa", "mean:slow");
    if (!info)
        return;
    const struct plugin_instances_settings settings = live_settings();
    size_t amount = plugin_rig_port(info, "amount"), at = plugin_rig_port(info, "at");
    const struct plugin_change slow = {.port = amount, .value = 50},
                               quick = {.port = amount, .value = 0},
                               late = {.port = at, .value = 1};
    struct plugin_instances *instances = open_isolated(info, &slow, 1, &settings);
    struct block in = stream_noise(1, 1, BLOCK), out = stream_noise(2, 1, BLOCK);
    const float *const *from = (const float *const *)in.data;
    for (size_t step = 0; step < 20; step++) {
        step_within(instances, from, &out, 2, step == 12 ? &quick : &late, step >= 12);
        ck_assert(is_silent(&out, BLOCK));
    }
    ck_assert_uint_eq(instances->late, 20);
    ck_assert_ptr_null(instances->failure);
    for (size_t step = 0; step < 200 && is_silent(&out, BLOCK); step++) {
        finish(instances);
        step_within(instances, from, &out, LONG_MS, NULL, 0);
    }
    ck_assert_mem_eq(out.data[0], in.data[0], BLOCK * sizeof(float));
    ck_assert_float_eq(instances->values[amount], 0);
    ck_assert_float_eq(instances->values[at], 1);
    plugin_instances_close(instances);
    plugin_info_destroy(info);
}

/* Always too slow, though it has answered before each block: the step seldom waits. */
START_TEST(live_seldom_waits_for_one_that_is_always_late)
{
    enum { STEPS = 64, BUDGET_MS = 4 };
    struct plugin_info *info = plugin_rig_describe("ladspa", "mean:slow");
    if (!info)
        return;
    const struct plugin_instances_settings settings = live_settings();
    const struct plugin_change slow = {.port = plugin_rig_port(info, "amount"),
                                       .value = 10 * BUDGET_MS};
    struct plugin_instances *instances = open_isolated(info, &slow, 1, &settings);
    struct block in = stream_noise(1, 1, BLOCK), out = stream_noise(2, 1, BLOCK);
    size_t waits = 0;
    for (size_t step = 0; step < STEPS; step++) {
        waits += step_within(instances, (const float *const *)in.data, &out, BUDGET_MS, NULL, 0) >=
                 BUDGET_MS;
        ck_assert(is_silent(&out, BLOCK));
        finish(instances);
    }
    ck_assert_uint_eq(instances->late, STEPS);
    ck_assert_uint_ge(waits, 1);
    ck_assert_uint_le(waits, STEPS / 2);
    plugin_instances_close(instances);
    plugin_info_destroy(info);
}

/* Where others of the chain took all the time, it is heard again with the next block. */
START_TEST(live_forgives_what_others_took)
{
    struct plugin_info *info = plugin_rig_describe("ladspa", "mean:copy");
    if (!info)
        return;
    const struct plugin_instances_settings settings = live_settings();
    struct plugin_instances *instances = open_isolated(info, NULL, 0, &settings);
    struct block in = stream_noise(1, 1, BLOCK), out = stream_noise(2, 1, BLOCK);
    for (size_t step = 0; step < 20; step++) {
        step_within(instances, (const float *const *)in.data, &out, step < 19 ? -1 : LONG_MS, NULL,
                    0);
        ck_assert(is_silent(&out, BLOCK) == (step < 19));
        finish(instances);
    }
    ck_assert_uint_eq(instances->late, 19);
    plugin_instances_close(instances);
    plugin_info_destroy(info);
}

/* It costs one wait, not one for each block. */
START_TEST(live_waits_once_for_one_that_hangs)
{
    enum { STEPS = 20, BUDGET_MS = 500 };
    struct plugin_info *info = plugin_rig_describe("ladspa", "mean:hang");
    if (!info)
        return;
    const struct plugin_instances_settings settings = live_settings();
    struct plugin_instances *instances = open_isolated(info, NULL, 0, &settings);
    struct block in = stream_noise(1, 1, BLOCK), out = stream_noise(2, 1, BLOCK);
    double waited = 0;
    for (size_t step = 0; step < STEPS; step++) {
        waited += step_within(instances, (const float *const *)in.data, &out, BUDGET_MS, NULL, 0);
        ck_assert(is_silent(&out, BLOCK));
    }
    ck_assert_uint_eq(instances->late, STEPS);
    ck_assert_double_ge(waited, BUDGET_MS);
    ck_assert_double_le(waited, 3 * BUDGET_MS);
    plugin_instances_close(instances);
    plugin_info_destroy(info);
}

static void check_live_end(const char *id, double patience, const char *expected)
{
    struct plugin_info *info = plugin_rig_describe("ladspa", id);
    if (!info)
        return;
    struct plugin_instances_settings settings = live_settings();
    settings.patience = patience;
    struct plugin_instances *instances = open_isolated(info, NULL, 0, &settings);
    struct block in = stream_noise(1, 1, BLOCK), out = stream_noise(2, 1, BLOCK);
    for (size_t step = 0; !instances->failure && step < 5000; step++) {
        step_within(instances, (const float *const *)in.data, &out, 2, NULL, 0);
        ck_assert(is_silent(&out, BLOCK));
        pause_ms(2);
    }
    ck_assert_str_eq(instances->failure, expected);
    plugin_instances_close(instances);
    ck_assert_uint_eq(plugin_rig_children(getpid(), NULL), 0);
    plugin_info_destroy(info);
}

START_TEST(live_ends_do_not_wait)
{
    /* A process that ends would be searched for leaks first, for long on a busy machine. */
    char before[256], options[300];
    snprintf(before, sizeof before, "%s", getenv("ASAN_OPTIONS"));
    snprintf(options, sizeof options, "%s:detect_leaks=0", before);
    setenv("ASAN_OPTIONS", options, true);
    check_live_end("mean:crash", 30, "crashed at 0.000 s, in block 1 (segmentation fault)");
    check_live_end("mean:exit", 30, "ended its process at 0.000 s, in block 1");
    check_live_end("mean:hang", 0.5, "hung at 0.000 s, in block 1 (no answer for 0.5 s)");
    setenv("ASAN_OPTIONS", before, true);
}

/* ---- signals ---- */

static bool has_said(const char *line)
{
    char path[128], text[64];
    bool found = false;
    snprintf(path, sizeof path, "%s/message", command_folder());
    FILE *file = fopen(path, "r");
    while (file && fgets(text, sizeof text, file))
        found = found || (strncmp(text, line, strlen(line)) == 0 && text[strlen(line)] == '\n');
    if (file)
        fclose(file);
    return found;
}

/* The demonstration program, once it has printed `line`, and its child. */
static pid_t start_demo(const char *id, const char *line, pid_t *child)
{
    pid_t demo = command_start("exec '%s' ladspa %s >message", INSTANCES_DEMO, id);
    for (int i = 0; i < 2000 && !has_said(line); i++)
        pause_ms(5);
    ck_assert(has_said(line));
    ck_assert_uint_eq(plugin_rig_children(demo, child), 1);
    return demo;
}

START_TEST(the_child_dies_with_its_parent)
{
    pid_t child, demo = start_demo("mean:hang", "open", &child);
    kill(demo, SIGKILL);
    ck_assert_int_eq(command_wait(demo).code, 128 + SIGKILL);
    for (int i = 0; i < 2000 && plugin_rig_runs(child); i++)
        pause_ms(5);
    ck_assert(!plugin_rig_runs(child));
}

START_TEST(a_signal_ends_waiting_for_one_that_hangs)
{
    pid_t child, demo = start_demo("mean:hang", "open", &child);
    pause_ms(100);
    kill(demo, SIGINT);
    ck_assert_int_eq(command_wait(demo).code, 0);
    ck_assert(has_said("stopped"));
    ck_assert(!plugin_rig_runs(child));
}

START_TEST(terminal_signals_are_halo_s)
{
    pid_t child, demo = start_demo("mean:copy", "piece", &child);
    kill(child, SIGINT);
    kill(child, SIGTERM);
    kill(child, SIGHUP);
    pause_ms(100);
    ck_assert(plugin_rig_runs(child));
    kill(demo, SIGINT);
    ck_assert_int_eq(command_wait(demo).code, 0);
    ck_assert(has_said("stopped"));
    ck_assert(!plugin_rig_runs(child));
}

int main(void)
{
    plugin_rig_prepare();
    return plugin_rig_code(suite_run());
}
