/* A plugin as a filter: blocks, latency, automation, bad samples, controls; and the mix of a
 * stage. The plugins are tests/plugins (mean) and a gain in dB (amp of swh-plugins). */
#include "allocations.h"
#include "chain/stage_mix.h"
#include "chain/stages.h"
#include "plugin/plugin_filter.h"
#include "plugin_rig.h"
#include "signal/audio.h"
#include "stream.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RATE = PLUGIN_RIG_RATE, BLOCK = PLUGIN_FILTER_BLOCK, SPEC_MOST = 8 };

struct rig {
    struct plugin_info *info;
    struct plugin_spec spec;
    struct plugin_map map;
    struct plugin_filter_settings settings;
    struct filter *filter;
};

/* NULL-terminated words; the plugin has a block of 4. */
static bool rig_load(struct rig *rig, const char *id, const char *const *spec, size_t channels)
{
    *rig = (struct rig){.info = plugin_rig_describe("ladspa", id)};
    if (!rig->info)
        return false;
    for (; *spec; spec++)
        ck_assert_int_eq(
            plugin_spec_take(&rig->spec, rig->info, (struct automation_time){RATE, 0}, *spec),
            STATUS_OK);
    const struct plugin_map_settings settings = {0};
    ck_assert_int_eq(plugin_map_init(&rig->map, rig->info, channels, &settings), STATUS_OK);
    rig->settings = (struct plugin_filter_settings){.info = rig->info,
                                                    .map = &rig->map,
                                                    .spec = &rig->spec,
                                                    .rate = RATE,
                                                    .channels = channels,
                                                    .block = 4 * BLOCK};
    return true;
}

static void rig_make(struct rig *rig)
{
    ck_assert_int_eq(plugin_filter_create(&rig->settings, &rig->filter), STATUS_OK);
}

static void rig_free(struct rig *rig)
{
    filter_destroy(rig->filter);
    plugin_spec_free(&rig->spec);
    plugin_map_free(&rig->map);
    plugin_info_destroy(rig->info);
}

/* Frames [from, to) of channel 0 equal the input `late` frames before. */
static void expect_same(const struct block *out, const struct block *in, size_t late, size_t from,
                        size_t to)
{
    for (size_t i = from; i < to; i++) {
        float expected = i >= late && i - late < in->frames ? in->data[0][i - late] : 0;
        ck_assert_msg(out->data[0][i] == expected, "frame %zu of %zu..%zu", i, from, to);
    }
}

static void expect_silence(const struct block *out, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        ck_assert_msg(out->data[0][i] == 0, "frame %zu of %zu..%zu", i, from, to);
}

/* ---- blocks ---- */

START_TEST(blocks_are_powers_of_two_where_they_can_be)
{
    static const struct {
        size_t block;
        bool streamed;
        size_t expected;
    } rows[] = {
        {65536, false, 256}, {1024, false, 256}, {128, false, 128},   {1000, false, 1000},
        {48, false, 16},     {7, false, 7},      {960, false, 64},    {1, false, 1},
        {1024, true, 1024},  {64, true, 64},     {16384, true, 8192}, {480, true, 32},
        {441, true, 441},    {8, true, 8},       {1000, true, 1000},
    };
    static const char *const none[] = {NULL};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rig rig;
        if (!rig_load(&rig, "mean:copy", none, 1))
            return;
        rig.settings.block = rows[i].block;
        rig.settings.streamed = rows[i].streamed;
        rig_make(&rig);
        ck_assert_uint_eq(plugin_filter_info(rig.filter).block, rows[i].expected);
        struct block in = stream_noise(1, 1, 20000);
        struct block out = stream_through(rig.filter, in.data, in.frames, 20000);
        expect_same(&out, &in, 0, 0, out.frames);
        rig_free(&rig);
    }
}

/* ---- latency ---- */

START_TEST(latency_is_known_beforehand)
{
    static const char *const spec[] = {"at=0", "amount=300", NULL};
    struct rig rig;
    if (!rig_load(&rig, "mean:late-latency", spec, 2))
        return;
    rig_make(&rig);
    ck_assert_uint_eq(rig.filter->latency, 300);
    ck_assert_uint_eq(plugin_filter_info(rig.filter).instances, 2);
    struct block in = stream_noise(1, 2, 20000);
    struct block out = stream_through(rig.filter, in.data, in.frames, 21000);
    expect_same(&out, &in, 300, 0, out.frames);
    ck_assert_uint_eq(rig.filter->late, 0);
    rig_free(&rig);
}

/* The latency is reported only after a third of a second: the first run is late and learns the
 * value, the second one is right from its first frame. */
START_TEST(late_latency_is_right_after_a_restart)
{
    static const char *const spec[] = {"at=18000", "amount=300", NULL};
    struct rig rig;
    if (!rig_load(&rig, "mean:late-latency", spec, 1))
        return;
    rig_make(&rig);
    ck_assert_uint_eq(rig.filter->latency, 0);
    struct block in = stream_noise(1, 1, 30000);
    struct block out = stream_through(rig.filter, in.data, in.frames, 30000);
    expect_same(&out, &in, 300, 0, out.frames);
    ck_assert_uint_eq(rig.filter->late, 300);
    ck_assert_ptr_nonnull(rig.filter->notice);
    ck_assert_ptr_nonnull(strstr(rig.filter->notice, "300 frames late"));

    rig.settings.latency = plugin_filter_info(rig.filter).latency;
    filter_destroy(rig.filter);
    rig_make(&rig);
    ck_assert_uint_eq(rig.filter->latency, 300);
    out = stream_through(rig.filter, in.data, in.frames, 30000);
    expect_same(&out, &in, 300, 0, out.frames);
    ck_assert_uint_eq(rig.filter->late, 0);
    ck_assert_ptr_null(rig.filter->notice);
    rig_free(&rig);
}

/* 500 frames, then 200 from frame 5100 on: the plugin skips its input frames 4600 to 4900, and all
 * other frames stay in place. Then 700, which outputs all of them. */
START_TEST(sound_stays_in_place_while_latency_changes)
{
    static const char *const spec[] = {"at=0", "amount=500", "at=5100:amount=200",
                                       "at=10000:amount=700", NULL};
    struct rig rig;
    if (!rig_load(&rig, "mean:late-latency", spec, 1))
        return;
    rig_make(&rig);
    ck_assert_uint_eq(rig.filter->latency, 700);
    struct block in = stream_noise(1, 1, 20000);
    for (int run = 0; run < 2; run++) {
        struct block out = stream_through(rig.filter, in.data, in.frames, 21000);
        expect_same(&out, &in, 700, 0, 5300);
        expect_silence(&out, 5300, 5600);
        expect_same(&out, &in, 700, 5600, out.frames);
        ck_assert_uint_eq(rig.filter->late, 0);
        filter_reset(rig.filter); /* and everything again */
    }
    rig_free(&rig);
}

/* ---- automation ---- */

static float factor(float db)
{
    return powf(10, db * 0.05f);
}

static void expect_gain(const struct block *out, const struct block *in, size_t from, size_t to,
                        float db)
{
    for (size_t i = from; i < to; i++)
        ck_assert_msg(fabsf(out->data[0][i] - in->data[0][i] * factor(db)) < 1e-6f,
                      "frame %zu: %g, not %g at %g dB", i, (double)out->data[0][i],
                      (double)(in->data[0][i] * factor(db)), (double)db);
}

/* In this process, isolated, and where the plugin wants whole blocks. */
enum way { WAY_HERE, WAY_ISOLATED, WAY_WHOLE, WAYS };

static size_t up_to_block(size_t frame, enum way way)
{
    return way == WAY_WHOLE ? (frame + BLOCK - 1) / BLOCK * BLOCK : frame;
}

static void rig_make_that_way(struct rig *rig, enum way way)
{
    rig->settings.isolated = way == WAY_ISOLATED;
    rig->info->wants_whole_blocks = way == WAY_WHOLE;
    rig_make(rig);
}

START_TEST(steps_begin_at_their_frame)
{
    static const char *const spec[] = {"0=-6", "at=512:0=-12", "at=513:0=3", "at=9001:0=-3", NULL};
    static const uint64_t befores[] = {0, 100, 256, 5000};
    struct rig rig;
    for (size_t i = 0; i < 4 * WAYS; i++) {
        if (!rig_load(&rig, "amp_1181:amp", spec, 1))
            return;
        enum way way = (enum way)(i / 4);
        size_t before = befores[i % 4];
        rig.settings.before = before;
        rig_make_that_way(&rig, way);
        struct block in = stream_noise(1, 1, 20000);
        struct block out = stream_through(rig.filter, in.data, in.frames, 20000);
        size_t first = up_to_block(512 + before, way), second = up_to_block(513 + before, way);
        size_t third = up_to_block(9001 + before, way);
        expect_gain(&out, &in, 0, first, -6);
        expect_gain(&out, &in, first, second, -12);
        expect_gain(&out, &in, second, third, 3);
        expect_gain(&out, &in, third, 20000, -3);
        rig_free(&rig);
    }
}

/* The share of a ramp from frame 1111 to 3003 that holds at a frame of the sound. */
static float share_at(size_t frame, size_t step)
{
    if (frame < 1111)
        return 0;
    if (frame >= 3003)
        return 1;
    size_t begin = frame / step * step;
    return begin < 1111 ? 0 : (float)(begin - 1111) / (3003 - 1111);
}

START_TEST(ramps_follow_their_formula)
{
    static const char *const spec[] = {"0=-6", "at=1111-3003:0=2", "at=3003-3004:0=2", NULL};
    struct rig rig;
    for (enum way way = 0; way < WAYS; way++) {
        if (!rig_load(&rig, "amp_1181:amp", spec, 1))
            return;
        size_t before = rig.settings.before = way == WAY_WHOLE ? 0 : 77;
        size_t step = way == WAY_WHOLE ? BLOCK : PLUGIN_FILTER_STEP;
        rig_make_that_way(&rig, way);
        struct block in = stream_noise(1, 1, 8192);
        for (int run = 0; run < 2; run++) {
            struct block out = stream_through(rig.filter, in.data, in.frames, 8192);
            for (size_t at = before; at < 8192; at++) {
                size_t frame = way == WAY_WHOLE ? at / BLOCK * BLOCK : at - before;
                expect_gain(&out, &in, at, at + 1, -6 + 8 * share_at(frame, step));
            }
            filter_reset(rig.filter); /* the first value again */
        }
        rig_free(&rig);
    }
}

/* As many changes as can be: ramps of several ports, which end and begin anywhere, in long pieces;
 * isolated, they all have to fit into the shared memory. */
START_TEST(many_ramps_fit)
{
    static const char *const spec[] = {
        "2=0", "at=31-17000:2=1e9", "at=1-5000:3=8000", "at=5001-5002:3=0", "at=5003-20011:3=1",
        NULL};
    struct block out[2];
    for (int isolated = 0; isolated < 2; isolated++) {
        struct rig rig;
        if (!rig_load(&rig, "mean:values", spec, 1))
            return;
        rig.settings.block = 16384;
        rig.settings.isolated = isolated;
        rig.settings.allow_loud = true;
        rig_make(&rig);
        struct block in = stream_noise(1, 1, 32768);
        out[isolated] = stream_through(rig.filter, in.data, in.frames, 32768);
        rig_free(&rig);
    }
    ck_assert_mem_eq(out[0].data[0], out[1].data[0], 32768 * sizeof(float));
    ck_assert_float_eq(out[0].data[0][0], 100);
    ck_assert_float_eq(out[0].data[0][4999], 100 + 7900 * (4992 - 1) / 4999.0f);
    ck_assert_float_eq(out[0].data[0][5000], 8000);
    ck_assert_float_eq(out[0].data[0][5002], 0);
    ck_assert_float_eq(out[0].data[0][20010], (20000 - 5003) / 15008.0f);
    ck_assert_float_eq(out[0].data[0][20011], 1);
}

/* ---- bad samples ---- */

START_TEST(bad_samples_are_silenced_and_counted)
{
    static const char *const ids[] = {"mean:nan", "mean:infinity"};
    static const char *const spec[] = {"at=5000", "amount=77", NULL};
    for (size_t i = 0; i < 2; i++)
        for (int live = 0; live < 2; live++) {
            struct rig rig;
            if (!rig_load(&rig, ids[i], spec, 1))
                return;
            rig.settings.live = live;
            rig.settings.allow_loud = true;
            rig_make(&rig);
            struct block in = stream_noise(1, 1, 9000);
            struct block out = stream_through(rig.filter, in.data, in.frames, 9000);
            expect_same(&out, &in, 0, 0, 5000);
            expect_silence(&out, 5000, 5077);
            expect_same(&out, &in, 0, 5077, 9000);
            ck_assert_uint_eq(plugin_filter_info(rig.filter).bad, 77);
            ck_assert_int_eq(rig.filter->notice != NULL, live);
            rig_free(&rig);
        }
}

/* The first absurd sample ends it, and its block and all later ones are silent. */
START_TEST(absurd_samples_are_failures)
{
    static const struct {
        const char *id, *spec[3], *expected;
    } rows[] = {
        {"mean:nan", {"at=5000", NULL}, "not a number at 0.102 s, in frame 4900"},
        {"mean:infinity", {"at=5000", NULL}, "not a number at 0.102 s, in frame 4900"},
        {"mean:loud", {"at=5000", "amount=1001", NULL}, "+60 dBFS at 0.102 s, in frame 4900"},
        {"mean:loud", {"at=5000", "amount=8000", NULL}, "+78 dBFS at 0.102 s, in frame 4900"},
        {"mean:loud", {"at=5000", "amount=1000", NULL}, NULL},
    };
    for (size_t i = 0; i < 5; i++)
        for (int live = 0; live < 2; live++) {
            struct rig rig;
            if (!rig_load(&rig, rows[i].id, rows[i].spec, 2))
                return;
            rig.settings.live = live;
            rig.settings.before = 100;
            rig_make(&rig);
            struct block in = stream_noise(1, 2, 9000);
            struct block out = stream_through(rig.filter, in.data, in.frames, 9000);
            expect_same(&out, &in, 0, 0, 4096);
            ck_assert_int_eq(rig.filter->failure != NULL, rows[i].expected != NULL);
            if (rows[i].expected) {
                ck_assert_ptr_nonnull(strstr(rig.filter->failure, rows[i].id));
                ck_assert_msg(strstr(rig.filter->failure, rows[i].expected) != NULL, "%s",
                              rig.filter->failure);
                expect_silence(&out, 4096, 9000);
            } else {
                ck_assert_float_eq(out.data[0][5000], 1000);
            }
            rig_free(&rig);
        }
}

/* ---- controls while the sound runs ---- */

START_TEST(controls_apply_at_the_next_block)
{
    static const char *const spec[] = {"0=-6", NULL};
    struct rig rig;
    if (!rig_load(&rig, "amp_1181:amp", spec, 1))
        return;
    rig.settings.live = rig.settings.streamed = true;
    rig.settings.block = 64;
    rig_make(&rig);
    struct block in = stream_noise(1, 1, 64);
    ck_assert_float_eq(plugin_filter_value(rig.filter, 0), -6);
    struct block out = stream_through(rig.filter, in.data, in.frames, 64);
    expect_gain(&out, &in, 0, 64, -6);
    plugin_filter_set(rig.filter, 0, 12);
    ck_assert_float_eq(plugin_filter_value(rig.filter, 0), 12);
    out = stream_through(rig.filter, in.data, in.frames, 64);
    expect_gain(&out, &in, 0, 64, 12);
    plugin_filter_set(rig.filter, 0, 1000);
    ck_assert_float_eq(plugin_filter_value(rig.filter, 0), 70);
    rig_free(&rig);
}

START_TEST(stages_list_their_controls)
{
    struct stage_list list = {0};
    struct stage_settings settings = {
        .convolver = {.live = true}, .streamed = true, .isolate = ISOLATE_OFF};
    struct stream_format format = {.rate = RATE, .channels = 2};
    struct stage_control control;
    struct filter *chain;
    struct plugin_info *there = plugin_rig_describe("ladspa", "amp_1181:amp");
    plugin_info_destroy(there);
    if (!there)
        return;
    ck_assert_int_eq(stage_list_add(&list, stage_ops_named("gain"), "0", NULL), STATUS_OK);
    ck_assert_int_eq(stage_list_add(&list, stage_ops_named("ladspa"), "amp_1181:amp,0=-6", NULL),
                     STATUS_OK);
    ck_assert_int_eq(stage_list_add(&list, stage_ops_named("gain"), "0,@mix=0.25", NULL),
                     STATUS_OK);
    ck_assert_int_eq(stage_list_load(&list, &settings, &format), STATUS_OK);
    ck_assert_int_eq(stage_list_create(&list, 2, 64, NULL, &chain), STATUS_OK);

    static const struct {
        size_t stage;
        const char *name;
        float minimum, maximum, value;
    } expected[] = {{1, "Amps gain (dB)", -70, 70, -6},
                    {1, "Mix", 0, 1, 1},
                    {1, "Bypass", 0, 1, 0},
                    {2, "Mix", 0, 1, 0.25f},
                    {2, "Bypass", 0, 1, 0}};
    for (size_t i = 0; i < 5; i++) {
        ck_assert(stage_controls_at(&list, i, &control));
        ck_assert_uint_eq(control.stage, expected[i].stage);
        ck_assert_float_eq(control.range.minimum, expected[i].minimum);
        ck_assert_float_eq(control.range.maximum, expected[i].maximum);
        ck_assert_float_eq(control.value, expected[i].value);
    }
    ck_assert(!stage_controls_at(&list, 5, &control));

    float value = 0;
    struct block in = stream_noise(1, 2, 64);
    ck_assert_int_eq(stage_controls_find(&list, 1, "amps", &control), STATUS_OK);
    ck_assert_int_eq(stage_controls_parse(&list, &control, "12dB", &value), STATUS_OK);
    stage_controls_set(&list, &control, value);
    struct block out = stream_through(chain, in.data, in.frames, 64);
    ck_assert_int_eq(stage_controls_find(&list, 1, "amps", &control), STATUS_OK);
    ck_assert_float_eq(control.value, 12);
    ck_assert_float_eq(stage_controls_fit(&control, 100), 70);
    expect_gain(&out, &in, 0, 64, 12);

    ck_assert_int_eq(stage_controls_find(&list, 1, "@bypass", &control), STATUS_OK);
    ck_assert_int_eq(stage_controls_parse(&list, &control, "on", &value), STATUS_OK);
    stage_controls_set(&list, &control, value);
    for (int i = 0; i < 10; i++) /* until the ramp has ended */
        out = stream_through(chain, in.data, in.frames, 64);
    expect_same(&out, &in, 0, 0, 64);

    log_capture((char[400]){0}, 400);
    ck_assert_int_eq(stage_controls_find(&list, 0, "gain", &control), STATUS_USAGE);
    ck_assert_int_eq(stage_controls_find(&list, 0, "@mix", &control), STATUS_USAGE);
    ck_assert_int_eq(stage_controls_find(&list, 1, "foo", &control), STATUS_USAGE);
    ck_assert_int_eq(stage_controls_find(&list, 3, "foo", &control), STATUS_USAGE);
    log_capture(NULL, 0);
    filter_destroy(chain);
    stage_list_free(&list);
}

START_TEST(streams_refuse_times)
{
    static const char *const texts[][2] = {{"gain", "0,at=3s:gain=3"},
                                           {"gain", "0,at=3s:@mix=0"},
                                           {"ladspa", "mean:copy,at=3s:amount=5"}};
    char problem[400] = "";
    for (size_t i = 0; i < 3; i++) {
        struct stage_list list = {0};
        struct stage_settings settings = {.streamed = true};
        struct stream_format format = {.rate = RATE, .channels = 2};
        struct plugin_info *there = plugin_rig_describe("ladspa", "mean:copy");
        plugin_info_destroy(there);
        if (!there)
            return;
        ck_assert_int_eq(stage_list_add(&list, stage_ops_named(texts[i][0]), texts[i][1], NULL),
                         STATUS_OK);
        log_capture(problem, sizeof problem);
        ck_assert_int_eq(stage_list_load(&list, &settings, &format), STATUS_USAGE);
        log_capture(NULL, 0);
        ck_assert_ptr_nonnull(strstr(problem, "at= is for files"));
        stage_list_free(&list);
    }
}

START_TEST(steps_allocate_nothing)
{
    static const char *const spec[] = {"at=0", "amount=300", NULL};
    struct rig rig;
    if (!allocations_are_counted() || !rig_load(&rig, "mean:late-latency", spec, 2))
        return;
    rig.settings.live = rig.settings.streamed = true;
    rig.settings.block = 64;
    rig_make(&rig);
    const struct stage_mix_spec mix_spec = {.has_mix = true, .has_value = true, .value = 0.5};
    const struct stage_mix_settings settings = {.spec = &mix_spec, .rate = RATE, .live = true};
    struct filter *mix;
    ck_assert_int_eq(stage_mix_create(rig.filter, &settings, &mix), STATUS_OK);
    rig.filter = mix;
    struct block in = stream_noise(1, 2, 64), out;
    out = stream_block(2, 64);
    size_t before = allocations_of_all();
    for (int i = 0; i < 100; i++) {
        stage_mix_set(mix, STAGE_CONTROL_MIX, (float)(i % 3) / 2);
        filter_process(mix, (const float *const *)in.data, out.data);
    }
    ck_assert_uint_eq(allocations_of_all(), before);
    rig_free(&rig);
}

/* ---- the mix, around a test filter ---- */

enum { DELAY = 100 };

/* Twice the input DELAY frames before; fails on request. */
struct doubler {
    struct filter filter;
    float history[DELAY];
    bool fail;
};

static void doubler_process(struct filter *filter, const float *const *in, float *const *out)
{
    struct doubler *doubler = (struct doubler *)filter;
    for (size_t i = 0; i < filter->block; i++) {
        float x = i < DELAY ? doubler->history[i] : in[0][i - DELAY];
        out[0][i] = doubler->fail ? 0 : 2 * x;
        out[1][i] = 0;
    }
    memcpy(doubler->history, in[0] + filter->block - DELAY, sizeof doubler->history);
    filter->failure = doubler->fail ? "it broke" : NULL;
}

static void doubler_reset(struct filter *filter)
{
    memset(((struct doubler *)filter)->history, 0, sizeof((struct doubler *)filter)->history);
}

static void doubler_destroy(struct filter *filter)
{
    free(filter);
}

static const struct filter_kind doubler_kind = {
    .process = doubler_process, .reset = doubler_reset, .destroy = doubler_destroy};

static struct filter *make_mix(const struct stage_mix_spec *spec, bool live,
                               struct doubler **doubler)
{
    struct filter *mix;
    const struct stage_mix_settings settings = {
        .spec = spec, .rate = RATE, .before = 50, .number = 3, .live = live};
    *doubler = calloc(1, sizeof **doubler);
    (*doubler)->filter = (struct filter){
        .kind = &doubler_kind, .inputs = 1, .outputs = 2, .block = 512, .latency = DELAY};
    ck_assert_int_eq(stage_mix_create(&(*doubler)->filter, &settings, &mix), STATUS_OK);
    ck_assert_uint_eq(mix->latency, DELAY);
    return mix;
}

START_TEST(dry_is_aligned_and_bypasses)
{
    static const struct stage_mix_spec rows[] = {
        {.has_mix = true, .has_value = true, .value = 0.25},
        {.has_mix = true, .has_value = true, .value = 1},
        {.bypass = true},
        {0},
        {.has_wet = true, .has_value = true, .value = -20},
        {.has_wet = true, .has_value = true, .value = 20},
        {.has_wet = true, .has_value = true, .value = 20, .bypass = true}};
    static const float wet[] = {0.25f, 1, 0, 1, 0.1f, 10, 0}, dry[] = {0.75f, 0, 1, 0, 1, 1, 1};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct doubler *doubler;
        struct filter *mix = make_mix(&rows[r], false, &doubler);
        struct block in = stream_noise(1, 1, 4000);
        struct block out = stream_through(mix, in.data, in.frames, 4200);
        for (size_t i = 0; i < 4200; i++) {
            float x = i >= DELAY && i - DELAY < 4000 ? in.data[0][i - DELAY] : 0;
            ck_assert_float_eq(out.data[0][i], 2 * x * wet[r] + x * dry[r]);
            ck_assert_float_eq(out.data[1][i], x * dry[r]);
        }
        filter_destroy(mix);
    }
}

/* The sound is 50 frames late before the stage, and 100 more after it. */
START_TEST(mixes_change_at_their_time)
{
    struct stage_mix_spec spec = {0};
    ck_assert_int_eq(
        stage_mix_take(&spec, (struct automation_time){RATE, 0}, "at=1000-2000:@mix=0"), STATUS_OK);
    ck_assert_int_eq(stage_mix_take(&spec, (struct automation_time){RATE, 0}, "at=3000:@mix=1"),
                     STATUS_OK);
    struct doubler *doubler;
    struct filter *mix = make_mix(&spec, false, &doubler);
    struct block in = stream_noise(1, 1, 5000);
    for (int run = 0; run < 2; run++) {
        struct block out = stream_through(mix, in.data, in.frames, 5000);
        for (size_t i = DELAY; i < 5000; i++) {
            float at = (float)i - 150, wet = at < 1000 ? 1 : fmaxf(1 - (at - 1000) / 1000, 0);
            if (at >= 3000)
                wet = fminf((at - 3000) / 480, 1); /* 10 ms */
            float x = in.data[0][i - DELAY];
            ck_assert_msg(fabsf(out.data[0][i] - (2 * x * wet + x * (1 - wet))) < 1e-5f,
                          "frame %zu", i);
        }
        filter_reset(mix);
    }
    filter_destroy(mix);
    automation_free(&spec.automation);
}

/* The dry sound is untouched at all times, also by a mix that would have changed it. */
START_TEST(levels_change_at_their_time)
{
    struct stage_mix_spec spec = {0};
    char problem[200] = "";
    const struct automation_time when = {RATE, 0};
    ck_assert_int_eq(stage_mix_take(&spec, when, "at=1000-2000:@wet=-20dB"), STATUS_OK);
    ck_assert_int_eq(stage_mix_take(&spec, when, "at=3000:@bypass=on"), STATUS_OK);
    log_capture(problem, sizeof problem);
    ck_assert_int_eq(stage_mix_take(&spec, when, "@mix=0.5"), STATUS_USAGE);
    log_capture(NULL, 0);
    ck_assert_ptr_nonnull(strstr(problem, "exclude each other"));
    spec.has_mix = false;
    struct doubler *doubler;
    struct filter *mix = make_mix(&spec, false, &doubler);
    struct block in = stream_noise(1, 1, 5000);
    for (int run = 0; run < 2; run++) {
        struct block out = stream_through(mix, in.data, in.frames, 5000);
        for (size_t i = DELAY; i < 5000; i++) {
            float at = (float)i - 150,
                  wet = at < 1000 ? 1 : fmaxf(1 - (at - 1000) / 1000 * 0.9f, 0.1f);
            if (at >= 3000)
                wet = 0.1f * fmaxf(1 - (at - 3000) / 480, 0); /* 10 ms */
            float x = in.data[0][i - DELAY];
            ck_assert_msg(fabsf(out.data[0][i] - (2 * x * wet + x)) < 1e-5f, "frame %zu", i);
            ck_assert_float_eq(out.data[1][i], x);
        }
        filter_reset(mix);
    }
    filter_destroy(mix);
    automation_free(&spec.automation);
}

START_TEST(live_a_failing_stage_is_left_out)
{
    const struct stage_mix_spec none = {0};
    struct doubler *doubler;
    struct filter *mix = make_mix(&none, true, &doubler);
    struct block in = stream_noise(1, 1, 2048);
    doubler->fail = true;
    struct block out = stream_through(mix, in.data, in.frames, 2048);
    expect_same(&out, &in, DELAY, 512 + 480, 2048);
    ck_assert_ptr_null(mix->failure);
    ck_assert_str_eq(mix->notice, "stage 3: it broke; the sound continues without it");
    filter_destroy(mix);

    mix = make_mix(&none, false, &doubler);
    doubler->fail = true;
    out = stream_through(mix, in.data, in.frames, 2048);
    ck_assert_str_eq(mix->failure, "it broke");
    filter_destroy(mix);
}

START_TEST(live_a_late_stage_is_left_out_meanwhile)
{
    const struct stage_mix_spec none = {0};
    struct doubler *doubler;
    struct filter *mix = make_mix(&none, true, &doubler);
    struct block in = stream_noise(1, 1, 2048);
    for (int how = 0; how < 2; how++) { /* now, and as it was then */
        doubler->filter.absent = how == 0;
        stage_mix_make_absent(mix, how == 1);
        struct block out = stream_through(mix, in.data, in.frames, 2048);
        expect_same(&out, &in, DELAY, 480, 2048);
        for (size_t i = DELAY; i < 480 && how == 1; i++) /* silence fades to the dry sound */
            ck_assert_float_eq_tol(out.data[0][i], in.data[0][i - DELAY] * (float)i / 480, 1e-5f);
        ck_assert(stage_mix_is_absent(mix));
        doubler->filter.absent = false;
        stage_mix_make_absent(mix, false);
        out = stream_through(mix, in.data, in.frames, 2048);
        for (size_t i = 480; i < 2048; i++)
            ck_assert_float_eq_tol(out.data[0][i], 2 * in.data[0][i - DELAY], 1e-5f);
        ck_assert(!stage_mix_is_absent(mix));
    }
    filter_destroy(mix);
}

int main(void)
{
    plugin_rig_prepare();
    return plugin_rig_code(suite_run());
}
