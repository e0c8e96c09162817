/* Isolated instances behave as instances in this process, and their failures harm nothing else. */
#include "allocations.h"
#include "command.h"
#include "plugin/plugin_isolated_instances.h"
#include "plugin/plugin_output.h"
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
        ck_assert_int_eq(block_init(&out[i], instances * here->outputs, all, "a test"), STATUS_OK);
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
    ck_assert_uint_eq(isolated->delay, 0);
    plugin_instances_close(here);
    plugin_instances_close(isolated);
    block_free(&in);
    block_free(&out[0]);
    block_free(&out[1]);
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
END_TEST

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
END_TEST

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
END_TEST

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
END_TEST

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
END_TEST

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
END_TEST

/* ---- changes ---- */

/* A kind that takes changes itself: each sample is the value of its control at that frame. */
struct taker {
    struct plugin plugin;
    size_t count;
    struct plugin_change changes[8]; /* of the next block */
    size_t blocks;
};

static void taker_change(struct plugin *plugin, size_t port, float value, size_t frame)
{
    struct taker *taker = (struct taker *)plugin;
    ck_assert_uint_lt(taker->count, 8);
    taker->changes[taker->count++] =
        (struct plugin_change){.frame = frame, .port = port, .value = value};
}

static void taker_process(struct plugin *plugin, const float *const *in, float *const *out,
                          size_t frames)
{
    static float value;
    struct taker *taker = (struct taker *)plugin;
    (void)in;
    ck_assert_uint_eq(frames, BLOCK);
    taker->blocks++;
    for (size_t i = 0, next = 0; i < frames; i++) {
        while (next < taker->count && taker->changes[next].frame == i)
            value = taker->changes[next++].value;
        out[0][i] = value;
    }
    taker->count = 0;
}

static void taker_reset(struct plugin *plugin)
{
    (void)plugin;
}

static void taker_destroy(struct plugin *plugin)
{
    plugin_ports_free(plugin);
    free(plugin);
}

static const struct plugin_kind taker_kind;
static enum status taker_create(const struct plugin_info *info,
                                const struct plugin_settings *settings, struct plugin **result)
{
    struct taker *taker = calloc(1, sizeof *taker);
    ck_assert_ptr_nonnull(taker);
    taker->plugin = (struct plugin){.kind = &taker_kind, .info = info};
    *result = &taker->plugin;
    return plugin_ports_init(&taker->plugin, settings->rate);
}

static const struct plugin_kind taker_kind = {
    .name = "taker",
    .create = taker_create,
    .process = taker_process,
    .change = taker_change,
    .reset = taker_reset,
    .destroy = taker_destroy,
};

START_TEST(a_kind_takes_changes_with_their_frames)
{
    struct plugin_port ports[] = {
        {.type = PLUGIN_AUDIO, .is_input = true},
        {.type = PLUGIN_AUDIO},
        {.type = PLUGIN_CONTROL, .is_input = true, .minimum = 0, .maximum = 9},
    };
    const struct plugin_info info = {.kind = &taker_kind,
                                     .id = "taker",
                                     .port_count = 3,
                                     .ports = ports,
                                     .wants_whole_blocks = true};
    struct plugin_instances_settings settings = file_settings(1);
    settings.plugin.varied = true;
    const struct plugin_change first = {.port = 2, .value = 1};
    const struct plugin_change changes[] = {
        {3, 2, 2}, {BLOCK - 1, 2, 3}, {BLOCK, 2, 4}, {2 * BLOCK + 100, 2, 5}};
    struct plugin_instances *instances;
    ck_assert_int_eq(plugin_instances_open(&info, &first, 1, &settings, &instances), STATUS_OK);
    struct block in = stream_noise(1, 1, PIECE), out;
    ck_assert_int_eq(block_init(&out, 1, PIECE, "a test"), STATUS_OK);
    process_at(instances, &in, &out, 0, PIECE, changes, 4);
    for (size_t i = 0; i < PIECE; i++) {
        float expected = 1;
        for (size_t c = 0; c < 4; c++)
            expected = changes[c].frame <= i ? changes[c].value : expected;
        ck_assert_msg(out.data[0][i] == expected, "frame %zu: %g", i, (double)out.data[0][i]);
    }
    ck_assert_uint_eq(instances->run_count, PIECE / BLOCK);
    ck_assert_float_eq(instances->values[2], 5);
    plugin_instances_close(instances);
    block_free(&in);
    block_free(&out);
}
END_TEST

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
    ck_assert_int_eq(block_init(&out, 1, PIECE, "a test"), STATUS_OK);
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
    block_free(&in);
    block_free(&out);
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
END_TEST

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
END_TEST

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
END_TEST

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
END_TEST

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
    block_free(&in);
    block_free(&out);
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
END_TEST

/* ---- live ---- */

static void finish(struct plugin_instances *instances)
{
    ck_assert(isolated_wait((struct isolated_instances *)instances));
}

START_TEST(live_is_a_piece_late)
{
    struct plugin_info *info = plugin_rig_describe("ladspa", "mean:copy");
    if (!info)
        return;
    enum { STEPS = 50 };
    const struct plugin_instances_settings settings = live_settings();
    struct plugin_instances *instances = open_isolated(info, NULL, 0, &settings);
    struct block in = stream_noise(1, 1, STEPS * BLOCK), out = stream_noise(2, 1, BLOCK);
    ck_assert_uint_eq(instances->delay, BLOCK);
    for (size_t step = 0; step < STEPS; step++) {
        const float *const from[] = {in.data[0] + step * BLOCK};
        size_t before = allocations_of_thread();
        instances->kind->process(instances, from, out.data, BLOCK, NULL, 0);
        ck_assert_uint_eq(allocations_of_thread(), before);
        if (step == 0 || step == 20)
            ck_assert(is_silent(&out, BLOCK));
        else
            ck_assert_mem_eq(out.data[0], from[0] - BLOCK, BLOCK * sizeof(float));
        finish(instances);
        if (step == 19)
            instances->kind->reset(instances);
    }
    ck_assert_uint_eq(instances->late, 0);
    plugin_instances_close(instances);
    block_free(&in);
    block_free(&out);
    plugin_info_destroy(info);
}
END_TEST

/* A child that is behind catches up, with every change applied. */
START_TEST(live_continues_after_late_pieces)
{
    struct plugin_info *info = plugin_rig_describe("ladspa", "mean:slow");
    if (!info)
        return;
    const struct plugin_instances_settings settings = live_settings();
    size_t amount = plugin_rig_port(info, "amount"), at = plugin_rig_port(info, "at");
    const struct plugin_change quick = {.port = amount, .value = 0},
                               late = {.port = at, .value = 1};
    struct plugin_instances *instances = open_isolated(info, NULL, 0, &settings);
    struct block in = stream_noise(1, 1, BLOCK), out = stream_noise(2, 1, BLOCK);
    const float *const *from = (const float *const *)in.data;
    for (size_t step = 0; step < 20; step++) {
        instances->kind->process(instances, from, out.data, BLOCK, step == 12 ? &quick : &late,
                                 step >= 12);
        ck_assert(step > 0 || is_silent(&out, BLOCK));
    }
    ck_assert_uint_gt(instances->late, 0);
    ck_assert_ptr_null(instances->failure);
    for (size_t step = 0; step < 3; step++) {
        finish(instances);
        instances->kind->process(instances, from, out.data, BLOCK, NULL, 0);
    }
    ck_assert_mem_eq(out.data[0], in.data[0], BLOCK * sizeof(float));
    ck_assert_float_eq(instances->values[amount], 0);
    ck_assert_float_eq(instances->values[at], 1);
    plugin_instances_close(instances);
    block_free(&in);
    block_free(&out);
    plugin_info_destroy(info);
}
END_TEST

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
        size_t before = allocations_of_thread();
        instances->kind->process(instances, (const float *const *)in.data, out.data, BLOCK, NULL,
                                 0);
        ck_assert_uint_eq(allocations_of_thread(), before);
        ck_assert(is_silent(&out, BLOCK));
        pause_ms(2);
    }
    ck_assert_str_eq(instances->failure, expected);
    plugin_instances_close(instances);
    ck_assert_uint_eq(plugin_rig_children(getpid(), NULL), 0);
    block_free(&in);
    block_free(&out);
    plugin_info_destroy(info);
}

START_TEST(live_ends_do_not_wait)
{
    check_live_end("mean:crash", 30, "crashed at 0.000 s, in block 1 (segmentation fault)");
    check_live_end("mean:exit", 30, "ended its process at 0.000 s, in block 1");
    check_live_end("mean:hang", 0.5, "hung at 0.000 s, in block 1 (no answer for 0.5 s)");
}
END_TEST

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
    command_clean();
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
END_TEST

START_TEST(a_signal_ends_waiting_for_one_that_hangs)
{
    pid_t child, demo = start_demo("mean:hang", "open", &child);
    pause_ms(100);
    kill(demo, SIGINT);
    ck_assert_int_eq(command_wait(demo).code, 0);
    ck_assert(has_said("stopped"));
    ck_assert(!plugin_rig_runs(child));
}
END_TEST

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
END_TEST

int main(void)
{
    const TTest *const tests[] = {isolated_ladspa_is_identical,
                                  isolated_limiter_is_identical,
                                  late_latency_is_reported_by_block,
                                  isolated_lv2_is_identical,
                                  lv2_presets_reach_the_child,
                                  lv2_settings_and_states_reach_the_child,
                                  a_kind_takes_changes_with_their_frames,
                                  ends_are_reported,
                                  openings_fail_in_one_line,
                                  a_missing_program_is_reported,
                                  nothing_is_left_behind,
                                  plugin_output_becomes_a_detail,
                                  live_is_a_piece_late,
                                  live_continues_after_late_pieces,
                                  live_ends_do_not_wait,
                                  the_child_dies_with_its_parent,
                                  a_signal_ends_waiting_for_one_that_hangs,
                                  terminal_signals_are_halo_s};
    plugin_rig_prepare();
    return plugin_rig_code(suite_run("plugin_isolated", tests, sizeof tests / sizeof *tests));
}
