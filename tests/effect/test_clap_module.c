/* What halo.clap has beyond test_effect.c: the rules of CLAP, events at their frames, states as
 * bytes, presets, tails. */
#include "allocations.h"
#include "clap_host.h"
#include "command.h"
#include "sound.h"
#include "stream.h"
#include "suite.h"

#include <glob.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RATE = 48000, FLOAT_WAV = SF_FORMAT_WAV | SF_FORMAT_FLOAT, PARAMS = 6 };

static const char *const names[] = {"mono", "stereo", "true-stereo"};

static struct effect_host *open_with(const char *name, const char *mask)
{
    struct effect_host *host = effect_host_open(&(struct effect_host_request){.name = name});
    if (mask)
        ck_assert(clap_host_preset(host, CLAP_PRESET_DISCOVERY_LOCATION_FILE, mask));
    return host;
}

static void save_tap(const char *name, size_t taps, size_t place, float tap)
{
    struct sound sound = sound_create(FLOAT_WAV, RATE, 1, taps);
    sound.block.data[0][place] = tap;
    sound_save(&sound, name);
}

static void run_part(struct effect_host *host, const struct block *in, struct block *out, size_t at,
                     size_t frames)
{
    const float *from[EFFECT_HOST_CHANNELS_MOST];
    float *to[EFFECT_HOST_CHANNELS_MOST];
    for (size_t c = 0; c < in->channels; c++) {
        from[c] = in->data[c] + at;
        to[c] = out->data[c] + at;
    }
    effect_host_run(host, from, to, frames);
}

static void run_parts(struct effect_host *host, const struct block *in, struct block *out,
                      size_t block)
{
    for (size_t at = 0; at < in->frames; at += block)
        run_part(host, in, out, at, in->frames - at < block ? in->frames - at : block);
}

static const struct clap_plugin_params *params_of(const struct effect_host *host)
{
    return clap_host_extension(host, CLAP_EXT_PARAMS);
}

static double value_of(const struct effect_host *host, uint32_t param)
{
    double value = NAN;
    ck_assert(params_of(host)->get_value(clap_host_plugin(host), param, &value));
    return value;
}

static void run_silence(struct effect_host *host, size_t frames)
{
    struct block silence = stream_noise(1, effect_host_channels(host), frames);
    block_silence(&silence, 0, frames);
    run_part(host, &silence, &silence, 0, frames);
}

/* ---- the module ---- */

START_TEST(the_factory_has_three_plugins)
{
    const struct clap_plugin_entry *entry = clap_host_entry();
    ck_assert(entry->init(HALO_MODULE)); /* once more, as CLAP 1.2 allows */
    entry->deinit();
    ck_assert_ptr_null(entry->get_factory("clap.no-such-factory"));
    const struct clap_plugin_factory *factory = entry->get_factory(CLAP_PLUGIN_FACTORY_ID);
    ck_assert_uint_eq(factory->get_plugin_count(factory), 3);
    ck_assert_ptr_null(factory->get_plugin_descriptor(factory, 3));
    for (uint32_t i = 0; i < 3; i++) {
        const struct clap_plugin_descriptor *plugin = factory->get_plugin_descriptor(factory, i);
        ck_assert_str_eq(plugin->id + strlen("halo.convolver."), names[i]);
        ck_assert_uint_eq(plugin->clap_version.major, 1);
        ck_assert(*plugin->name && *plugin->vendor && *plugin->version && *plugin->description);
        ck_assert_str_eq(plugin->features[0], "audio-effect");
    }
    const struct clap_host old = {.clap_version = {0, 26, 0}},
                           host = {.clap_version = CLAP_VERSION_INIT};
    ck_assert_ptr_null(factory->create_plugin(factory, &old, "halo.convolver.mono"));
    ck_assert_ptr_null(factory->create_plugin(factory, &host, "halo.convolver"));
    ck_assert_ptr_null(factory->create_plugin(factory, &host, ""));
}

START_TEST(ports_are_one_each_way)
{
    for (size_t n = 0; n < 3; n++) {
        struct effect_host *host = open_with(names[n], NULL);
        const struct clap_plugin *plugin = clap_host_plugin(host);
        const struct clap_plugin_audio_ports *ports =
            clap_host_extension(host, CLAP_EXT_AUDIO_PORTS);
        for (int is_input = 0; is_input < 2; is_input++) {
            struct clap_audio_port_info info;
            ck_assert_uint_eq(ports->count(plugin, is_input), 1);
            ck_assert(!ports->get(plugin, 1, is_input, &info));
            ck_assert(ports->get(plugin, 0, is_input, &info));
            ck_assert_uint_eq(info.flags, CLAP_AUDIO_PORT_IS_MAIN);
            ck_assert_uint_eq(info.channel_count, effect_host_channels(host));
            ck_assert_str_eq(info.port_type, n == 0 ? CLAP_PORT_MONO : CLAP_PORT_STEREO);
            ck_assert_uint_eq(info.in_place_pair, info.id);
        }
        ck_assert_ptr_null(plugin->get_extension(plugin, "clap.no-such-extension"));
        effect_host_close(host);
    }
}

/* A plugin that was never activated, one without init's success, and rates that cannot be. */
START_TEST(plugins_end_in_any_state)
{
    const struct clap_plugin_factory *factory =
        clap_host_entry()->get_factory(CLAP_PLUGIN_FACTORY_ID);
    const struct clap_host clap = {.clap_version = CLAP_VERSION_INIT};
    const struct clap_plugin *plugin =
        factory->create_plugin(factory, &clap, "halo.convolver.mono");
    plugin->destroy(plugin);
    struct effect_host *host = effect_host_open_idle(&(struct effect_host_request){.name = "mono"});
    plugin = clap_host_plugin(host);
    const double rates[] = {0, -1, NAN, INFINITY, 1e12};
    for (size_t r = 0; r < sizeof rates / sizeof *rates; r++)
        ck_assert(!plugin->activate(plugin, rates[r], 1, 64));
    effect_host_close(host);
}

START_TEST(buffers_that_do_not_fit_are_an_error)
{
    struct effect_host *host = open_with("stereo", NULL);
    float sound[2][64] = {{0}}, *data[] = {sound[0], sound[1]};
    double wide[2][64] = {{0}}, *data64[] = {wide[0], wide[1]};
    struct clap_audio_buffer good = {.data32 = data, .channel_count = 2},
                             one = {.data32 = data, .channel_count = 1},
                             doubles = {.data64 = data64, .channel_count = 2};
    struct clap_process process = {.frames_count = 64,
                                   .audio_inputs = &good,
                                   .audio_outputs = &good,
                                   .audio_inputs_count = 1,
                                   .audio_outputs_count = 1};
    ck_assert_int_ne(clap_host_process(host, &process), CLAP_PROCESS_ERROR); /* without events */
    process.audio_inputs = &one;
    ck_assert_int_eq(clap_host_process(host, &process), CLAP_PROCESS_ERROR);
    process.audio_inputs = &doubles;
    ck_assert_int_eq(clap_host_process(host, &process), CLAP_PROCESS_ERROR);
    process.audio_inputs = &good;
    process.audio_outputs = &doubles;
    ck_assert_int_eq(clap_host_process(host, &process), CLAP_PROCESS_ERROR);
    process.audio_outputs_count = 0;
    ck_assert_int_eq(clap_host_process(host, &process), CLAP_PROCESS_ERROR);
    effect_host_close(host);
}

/* ---- parameters ---- */

START_TEST(parameters_are_those_of_lv2)
{
    struct effect_host *host = open_with("mono", NULL);
    const struct clap_plugin *plugin = clap_host_plugin(host);
    const struct clap_plugin_params *params = params_of(host);
    struct clap_param_info info;
    ck_assert_uint_eq(params->count(plugin), PARAMS);
    ck_assert(!params->get_info(plugin, PARAMS, &info));
    for (uint32_t p = 0; p < PARAMS; p++) {
        double value;
        ck_assert(params->get_info(plugin, p, &info));
        ck_assert_uint_eq(info.id, p);
        ck_assert(*info.name && info.min_value <= info.default_value &&
                  info.default_value <= info.max_value);
        ck_assert(!!(info.flags & CLAP_PARAM_IS_BYPASS) == (p == 0));
        ck_assert(!!(info.flags & CLAP_PARAM_IS_AUTOMATABLE) == (p < 4));
        ck_assert(params->get_value(plugin, p, &value) && value == info.default_value);
    }
    double value;
    ck_assert(!params->get_value(plugin, PARAMS, &value));
    effect_host_close(host);
}

/* A value as text, and that text as a value, are the same text again. */
static void check_text(const struct effect_host *host, uint32_t param, double value)
{
    const struct clap_plugin *plugin = clap_host_plugin(host);
    const struct clap_plugin_params *params = params_of(host);
    char text[64], again[64], none[1];
    double back;
    ck_assert(params->value_to_text(plugin, param, value, text, sizeof text));
    ck_assert(!params->value_to_text(plugin, param, value, none, sizeof none));
    ck_assert_msg(params->text_to_value(plugin, param, text, &back), "%s", text);
    ck_assert_double_le(fabs(back - value), 1e-3);
    ck_assert(params->value_to_text(plugin, param, back, again, sizeof again));
    ck_assert_str_eq(text, again);
}

START_TEST(values_are_text_and_back)
{
    struct effect_host *host = open_with("mono", NULL);
    const struct clap_plugin *plugin = clap_host_plugin(host);
    const struct clap_plugin_params *params = params_of(host);
    for (uint32_t p = 0; p < PARAMS; p++) {
        struct clap_param_info info;
        ck_assert(params->get_info(plugin, p, &info));
        bool steps = info.flags & CLAP_PARAM_IS_STEPPED;
        for (int i = 0; i <= 7; i++)
            if (!steps || i % 7 == 0)
                check_text(host, p, info.min_value + i / 7.0 * (info.max_value - info.min_value));
    }
    static const char *const wrong[] = {"", "loud", "-", "3 apples", "nan", "inf", "0x10", "6 dBx"};
    double value;
    for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++)
        ck_assert_msg(!params->text_to_value(plugin, 1, wrong[w], &value), "%s", wrong[w]);
    ck_assert(params->text_to_value(plugin, 1, "-6dB", &value) && value == -6);
    ck_assert(params->text_to_value(plugin, 1, "1000", &value) && value == 24);
    ck_assert(params->text_to_value(plugin, 5, "gpu", &value) && value == 1);
    ck_assert(!params->text_to_value(plugin, PARAMS, "0", &value));
    effect_host_close(host);
}

static void push_value(struct effect_host *host, struct clap_event_header header, uint32_t param,
                       double value)
{
    const struct clap_event_param_value event = {
        .header = header, .param_id = param, .note_id = -1, .value = value};
    clap_host_push(host, &event.header);
}

START_TEST(foreign_events_are_ignored)
{
    enum { SIZE = sizeof(struct clap_event_param_value) };
    struct effect_host *host = open_with("mono", NULL);
    push_value(host, (struct clap_event_header){SIZE, 0, 7, CLAP_EVENT_PARAM_VALUE, 0}, 1, -6);
    push_value(host, (struct clap_event_header){SIZE, 0, 0, CLAP_EVENT_PARAM_MOD, 0}, 1, -6);
    push_value(host, (struct clap_event_header){SIZE - 8, 0, 0, CLAP_EVENT_PARAM_VALUE, 0}, 1, -6);
    push_value(host, (struct clap_event_header){SIZE, 0, 0, CLAP_EVENT_PARAM_VALUE, 0}, PARAMS, 1);
    push_value(host, (struct clap_event_header){SIZE, 0, 0, CLAP_EVENT_PARAM_VALUE, 0}, UINT32_MAX,
               1);
    clap_host_set_at(host, 3, 1, NAN);
    run_silence(host, 64);
    ck_assert(value_of(host, 1) == 0);
    clap_host_set_at(host, 3, 1, -1e9);
    clap_host_set_at(host, 4, 2, 0.123456789012345678);
    clap_host_set_at(host, 4, 5, 0.9); /* steps are truncated */
    run_silence(host, 64);
    ck_assert(value_of(host, 1) == -90);
    ck_assert(value_of(host, 2) == 0.123456789012345678); /* to the bit */
    ck_assert(value_of(host, 5) == 0);
    clap_host_set_at(host, 100000, 1, -3); /* late rather than lost */
    run_silence(host, 64);
    ck_assert(value_of(host, 1) == -3);
    effect_host_close(host);
}

/* One run with events in it is the same as several that end where they are. */
START_TEST(events_take_effect_at_their_frames)
{
    static const struct {
        uint32_t frame, param;
        double value;
    } events[] = {{0, 1, -3},   {1, 2, 0.5},  {777, 1, -12}, {777, 3, 3}, {2000, 0, 1},
                  {4001, 0, 0}, {4002, 2, 1}, {6000, 1, 0},  {6001, 3, 0}};
    enum { EVENTS = sizeof events / sizeof *events, FRAMES = 8192 };
    sound_noise_file("mask.wav", 7, FLOAT_WAV, RATE, 2, 3000);
    struct block in = stream_noise(6, 2, FRAMES), whole = stream_noise(9, 2, FRAMES),
                 parts = stream_noise(9, 2, FRAMES);
    struct effect_host *host = open_with("stereo", command_path("mask.wav"));
    for (size_t e = 0; e < EVENTS; e++)
        clap_host_set_at(host, events[e].frame, events[e].param, events[e].value);
    run_part(host, &in, &whole, 0, FRAMES);
    effect_host_close(host);
    host = open_with("stereo", command_path("mask.wav"));
    for (size_t e = 0, at = 0; at < FRAMES;) {
        for (; e < EVENTS && events[e].frame == at; e++)
            clap_host_set_at(host, 0, events[e].param, events[e].value);
        size_t end = e < EVENTS ? events[e].frame : FRAMES;
        run_part(host, &in, &parts, at, end - at);
        at = end;
    }
    effect_host_close(host);
    for (size_t c = 0; c < 2; c++)
        ck_assert_mem_eq(whole.data[c], parts.data[c], FRAMES * sizeof(float));
}

/* Until frame 1000 nothing changes, and from there the gain falls. */
START_TEST(a_gain_begins_at_its_frame)
{
    save_tap("mask.wav", 1, 0, 1);
    struct effect_host *host = open_with("mono", command_path("mask.wav"));
    struct block in = stream_noise(6, 1, 4096), out = stream_noise(9, 1, 4096);
    for (size_t i = 0; i < in.frames; i++)
        in.data[0][i] = 1;
    clap_host_set_at(host, 1000, clap_host_param("gain"), -90);
    run_part(host, &in, &out, 0, 4096);
    for (size_t i = 0; i <= 1000; i++)
        ck_assert(out.data[0][i] == 1);
    ck_assert(out.data[0][1001] < 1);
    ck_assert_float_le(fabsf(out.data[0][1000 + RATE / 50 + 1]), 1e-4f);
    effect_host_close(host);
}

/* ---- states ---- */

static void set_all(struct effect_host *host)
{
    static const double values[PARAMS] = {1, -6.1, 0.3, 12.34, 2.5, 0};
    for (uint32_t p = 0; p < PARAMS; p++)
        clap_host_set_at(host, 0, p, values[p]);
    run_silence(host, 64);
}

START_TEST(states_hold_every_parameter)
{
    save_tap("mask.wav", 1000, 200, 0.5f);
    struct effect_host *host = open_with("mono", command_path("mask.wav"));
    set_all(host);
    struct clap_host_bytes state = {.piece = 1}, again = {.piece = 1000};
    ck_assert(clap_host_save(host, &state));
    effect_host_close(host);
    host = open_with("mono", NULL);
    ck_assert(clap_host_load(host, &state));
    ck_assert_uint_eq(clap_host_calls(host).rescans, 1);
    ck_assert(value_of(host, 0) == 1 && value_of(host, 1) == -6.1 && value_of(host, 4) == 2.5);
    ck_assert(clap_host_save(host, &again));
    ck_assert_uint_eq(state.size, again.size);
    ck_assert_mem_eq(state.data, again.data, state.size);
    effect_host_close(host);
}

/* Loading fails, and everything stays as it was. */
static void check_damaged(struct effect_host *host, const struct clap_host_bytes *bytes)
{
    struct clap_host_bytes before = {.size = 0}, after = {.size = 0};
    ck_assert(clap_host_save(host, &before));
    (void)effect_host_log(host);
    ck_assert_msg(!clap_host_load(host, bytes), "%.*s", (int)bytes->size, bytes->data);
    ck_assert_uint_eq(command_lines(effect_host_log(host)), 1);
    ck_assert(clap_host_save(host, &after));
    ck_assert_uint_eq(before.size, after.size);
    ck_assert_mem_eq(before.data, after.data, before.size);
}

static struct clap_host_bytes bytes_of(const char *text)
{
    struct clap_host_bytes bytes = {.size = strlen(text)};
    memcpy(bytes.data, text, bytes.size);
    return bytes;
}

START_TEST(damaged_states_change_nothing)
{
    save_tap("mask.wav", 1000, 200, 0.5f);
    struct effect_host *host = open_with("mono", command_path("mask.wav"));
    set_all(host);
    struct clap_host_bytes state = {.size = 0}, damaged;
    ck_assert(clap_host_save(host, &state));
    const char *mask = strstr(state.data, "mask ");
    for (size_t size = 0; size < state.size; size++) { /* cut, but not at the end of a line */
        damaged = state;
        damaged.size = size;
        if (size > 0 && state.data[size - 1] == '\n' && size <= (size_t)(mask - state.data))
            continue;
        check_damaged(host, &damaged);
    }
    damaged = state;
    damaged.data[damaged.size++] = 'x';
    check_damaged(host, &damaged);
    damaged = state;
    damaged.data[damaged.size - 1] = '\0';
    check_damaged(host, &damaged);
    damaged.size = sizeof damaged.data;
    memset(damaged.data + state.size, 'a', damaged.size - state.size);
    check_damaged(host, &damaged);
    static const char *const wrong[] = {"",
                                        "halo.clap 2\n",
                                        "halo.clap 1\ngain\n",
                                        "halo.clap 1\ngain x\n",
                                        "halo.clap 1\ngain nan\n",
                                        "halo.clap 1\ngain 25\n",
                                        "halo.clap 1\nbypass 0.5\n",
                                        "halo.clap 1\nvolume 1\n",
                                        "halo.clap 1\nmask 0\n",
                                        "halo.clap 1\nmask -1\n",
                                        "halo.clap 1\nmask 1e99\n/",
                                        "halo.clap 1\n\n"};
    for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
        damaged = bytes_of(wrong[w]);
        check_damaged(host, &damaged);
    }
    effect_host_close(host);
}

static int64_t never(const struct clap_istream *stream, void *data, uint64_t size)
{
    (void)stream, (void)data, (void)size;
    return -1;
}

static int64_t too_much(const struct clap_istream *stream, void *data, uint64_t size)
{
    (void)stream, (void)data;
    return (int64_t)size + 1;
}

static int64_t full(const struct clap_ostream *stream, const void *data, uint64_t size)
{
    (void)stream, (void)data, (void)size;
    return -1;
}

static int64_t stuck(const struct clap_ostream *stream, const void *data, uint64_t size)
{
    (void)stream, (void)data, (void)size;
    return 0;
}

START_TEST(streams_that_fail_are_an_error)
{
    struct effect_host *host =
        effect_host_open(&(struct effect_host_request){.name = "mono", .bare = true});
    const struct clap_plugin *plugin = clap_host_plugin(host);
    const struct clap_plugin_state *state = clap_host_extension(host, CLAP_EXT_STATE);
    ck_assert(!state->load(plugin, &(struct clap_istream){NULL, never}));
    ck_assert(!state->load(plugin, &(struct clap_istream){NULL, too_much}));
    ck_assert(!state->save(plugin, &(struct clap_ostream){NULL, full}));
    ck_assert(!state->save(plugin, &(struct clap_ostream){NULL, stuck}));
    effect_host_close(host);
}

/* The host of a session may load a state at any time, also between two blocks that sound. */
START_TEST(a_state_loaded_while_sound_runs_fades_in)
{
    enum { FRAMES = 40000, LOADED = 10000, FADE = RATE / 20 + 2 * 64 };
    save_tap("old.wav", 100, 0, 1);
    save_tap("new.wav", 5000, 0, 0.25f);
    struct effect_host *host = open_with("mono", command_path("new.wav"));
    struct clap_host_bytes state = {.size = 0};
    ck_assert(clap_host_save(host, &state));
    effect_host_close(host);
    host = open_with("mono", command_path("old.wav"));
    struct block in = stream_noise(6, 1, FRAMES), out = stream_noise(9, 1, FRAMES);
    for (size_t i = 0; i < FRAMES; i++)
        in.data[0][i] = 1;
    for (size_t at = 0; at < FRAMES; at += 100) {
        for (int i = 0; at == LOADED && i < 3; i++) /* the last one counts */
            ck_assert(clap_host_load(host, &state));
        run_part(host, &in, &out, at, 100);
    }
    for (size_t i = 1; i < FRAMES; i++) {
        float step = out.data[0][i - 1] - out.data[0][i];
        ck_assert_msg(step >= -1e-6f && step <= 0.001f, "frame %zu: %g", i, (double)step);
    }
    ck_assert(out.data[0][LOADED] == 1);
    ck_assert_float_le(fabsf(out.data[0][LOADED + FADE + 100] - 0.25f), 1e-6f);
    ck_assert_uint_ge(clap_host_calls(host).process_requests, 1);
    effect_host_close(host);
}

/* A mask that was asked for before, and is ready after it, does not replace that of the state. */
START_TEST(a_state_outlives_an_older_request)
{
    save_tap("old.wav", 1000, 500, 1);
    save_tap("new.wav", 1000, 500, 0.25f);
    struct effect_host *host = open_with("mono", command_path("new.wav"));
    struct clap_host_bytes state = {.size = 0};
    ck_assert(clap_host_save(host, &state));
    effect_host_close(host);
    host = effect_host_open(
        &(struct effect_host_request){.name = "mono", .worker = EFFECT_HOST_WORKS_WHEN_REPORTED});
    ck_assert(clap_host_preset(host, CLAP_PRESET_DISCOVERY_LOCATION_FILE, command_path("old.wav")));
    run_silence(host, 64);
    clap_host_set_at(host, 0, clap_host_param("trim"), 5);
    run_silence(host, 64); /* asks for old.wav, trimmed */
    ck_assert(clap_host_load(host, &state));
    ck_assert_uint_ge(effect_host_work(host), 1);
    struct block in = stream_noise(1, 1, 20000), out = stream_noise(2, 1, 20000);
    for (int i = 0; i < 5; i++) {
        run_parts(host, &in, &out, 100);
        effect_host_work(host);
    }
    for (size_t i = 500; i < in.frames; i++)
        ck_assert_float_le(fabsf(out.data[0][i] - 0.25f * in.data[0][i - 500]), 1e-5f);
    ck_assert_ptr_nonnull(strstr(effect_host_reported(host), "new.wav"));
    effect_host_close(host);
}

/* With a decimal comma, as a desktop's locale may have it. */
START_TEST(the_locale_of_a_host_changes_nothing)
{
    (void)command_run("localedef -i de_DE -f UTF-8 ./de_DE.UTF-8");
    setenv("LOCPATH", command_folder(), 1);
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8")) {
        printf("skipped: localedef (locales) cannot make a locale\n");
        return;
    }
    sound_text("mask.txt", "0.5\n0.25\n");
    struct effect_host *host = open_with("mono", command_path("mask.txt"));
    clap_host_set_at(host, 0, clap_host_param("mix"), 0.3);
    run_silence(host, 64);
    struct clap_host_bytes state = {.size = 0};
    char text[64];
    ck_assert(clap_host_save(host, &state));
    ck_assert_ptr_nonnull(strstr(state.data, "\nmix 0.29999"));
    ck_assert(clap_host_load(host, &state));
    ck_assert(params_of(host)->value_to_text(clap_host_plugin(host), 2, 0.5, text, sizeof text));
    ck_assert_str_eq(text, "0.5");
    effect_host_close(host);
    setlocale(LC_NUMERIC, "C");
    unsetenv("LOCPATH");
}

/* ---- presets ---- */

START_TEST(a_mask_is_a_preset)
{
    save_tap("mask.wav", 1000, 200, 0.5f);
    struct effect_host *host = open_with("mono", NULL);
    ck_assert(!clap_host_preset(host, CLAP_PRESET_DISCOVERY_LOCATION_PLUGIN, NULL));
    ck_assert(!clap_host_preset(host, CLAP_PRESET_DISCOVERY_LOCATION_FILE, NULL));
    ck_assert(!clap_host_preset(host, CLAP_PRESET_DISCOVERY_LOCATION_FILE, "/nowhere/hall.wav"));
    ck_assert_ptr_nonnull(strstr(clap_host_preset_error(host), "/nowhere/hall.wav"));
    ck_assert_uint_eq(clap_host_calls(host).preset_errors, 3);
    ck_assert_uint_eq(clap_host_calls(host).dirty, 0);
    ck_assert_str_eq(effect_host_reported(host), "");
    char folder[4096];
    ck_assert_ptr_nonnull(getcwd(folder, sizeof folder));
    ck_assert_int_eq(chdir(command_folder()), 0);
    ck_assert(clap_host_preset(host, CLAP_PRESET_DISCOVERY_LOCATION_FILE, "mask.wav"));
    ck_assert_int_eq(chdir(folder), 0);
    ck_assert(*effect_host_reported(host) == '/'); /* whatever the folder is tomorrow */
    ck_assert_uint_eq(clap_host_calls(host).presets_loaded, 1);
    ck_assert_uint_eq(clap_host_calls(host).dirty, 1);
    static char endless[9000];
    memset(endless, 'x', sizeof endless - 1);
    ck_assert(!clap_host_preset(host, CLAP_PRESET_DISCOVERY_LOCATION_FILE, endless));
    effect_host_close(host);
}

struct found {
    char location[4096];
    size_t types, presets, errors;
    bool fits[3];
};

static bool on_filetype(const struct clap_preset_discovery_indexer *indexer,
                        const struct clap_preset_discovery_filetype *type)
{
    ck_assert(*type->name && *type->file_extension != '.');
    ((struct found *)indexer->indexer_data)->types++;
    return true;
}

static bool on_location(const struct clap_preset_discovery_indexer *indexer,
                        const struct clap_preset_discovery_location *location)
{
    struct found *found = indexer->indexer_data;
    ck_assert_uint_eq(location->kind, CLAP_PRESET_DISCOVERY_LOCATION_FILE);
    snprintf(found->location, sizeof found->location, "%s", location->location);
    return true;
}

static void on_error(const struct clap_preset_discovery_metadata_receiver *receiver, int32_t error,
                     const char *message)
{
    (void)error;
    ck_assert(*message);
    ((struct found *)receiver->receiver_data)->errors++;
}

static bool on_preset(const struct clap_preset_discovery_metadata_receiver *receiver,
                      const char *name, const char *key)
{
    ck_assert(*name && !key);
    ((struct found *)receiver->receiver_data)->presets++;
    return true;
}

static void on_plugin_id(const struct clap_preset_discovery_metadata_receiver *receiver,
                         const struct clap_universal_plugin_id *id)
{
    ck_assert_str_eq(id->abi, "clap");
    for (size_t n = 0; n < 3; n++)
        if (strcmp(id->id + strlen("halo.convolver."), names[n]) == 0)
            ((struct found *)receiver->receiver_data)->fits[n] = true;
}

static struct found metadata_of(const struct clap_preset_discovery_provider *provider,
                                const char *file)
{
    struct found found = {.types = 0};
    const struct clap_preset_discovery_metadata_receiver receiver = {
        .receiver_data = &found,
        .on_error = on_error,
        .begin_preset = on_preset,
        .add_plugin_id = on_plugin_id,
    };
    bool any =
        provider->get_metadata(provider, CLAP_PRESET_DISCOVERY_LOCATION_FILE, file, &receiver);
    ck_assert_uint_eq(found.presets, any);
    ck_assert_uint_eq(found.errors, !any);
    return found;
}

/* Each mask that is installed is a preset of some plugin, and loads in all that it is one of. */
static void expect_metadata(const struct clap_preset_discovery_provider *provider, const char *file)
{
    struct found found = metadata_of(provider, file);
    ck_assert_msg(found.presets == 1, "%s", file);
    for (size_t n = 0; n < 3; n++) {
        struct effect_host *host = open_with(names[n], NULL);
        ck_assert_msg(clap_host_preset(host, CLAP_PRESET_DISCOVERY_LOCATION_FILE, file) ==
                          found.fits[n],
                      "%s in %s", file, names[n]);
        effect_host_close(host);
    }
}

static void check_metadata(const struct clap_preset_discovery_provider *provider, const char *file,
                           bool mono, bool stereo, bool true_stereo)
{
    struct found found = metadata_of(provider, file);
    ck_assert_uint_eq(found.presets, mono || stereo || true_stereo);
    ck_assert_msg(found.fits[0] == mono && found.fits[1] == stereo && found.fits[2] == true_stereo,
                  "%s: %d %d %d", file, found.fits[0], found.fits[1], found.fits[2]);
}

/* As installed: PREFIX/lib/clap/halo.clap and PREFIX/share/halo/filters. */
START_TEST(installed_masks_are_found)
{
    command_done("mkdir -p lib/clap share/halo && ln -s $FILTERS share/halo/filters");
    const struct clap_plugin_entry *entry = clap_host_entry();
    const struct clap_preset_discovery_factory *factory =
        entry->get_factory(CLAP_PRESET_DISCOVERY_FACTORY_ID);
    struct found found = {.types = 0};
    const struct clap_preset_discovery_indexer indexer = {
        .clap_version = CLAP_VERSION_INIT,
        .name = "a test",
        .indexer_data = &found,
        .declare_filetype = on_filetype,
        .declare_location = on_location,
    };
    ck_assert_ptr_nonnull(entry->get_factory(CLAP_PRESET_DISCOVERY_FACTORY_ID_COMPAT));
    ck_assert_uint_eq(factory->count(factory), 1);
    ck_assert_ptr_null(factory->get_descriptor(factory, 1));
    ck_assert_ptr_null(factory->create(factory, &indexer, "halo.nothing"));
    ck_assert(entry->init(command_path("lib/clap/halo.clap")));
    const struct clap_preset_discovery_provider *provider =
        factory->create(factory, &indexer, factory->get_descriptor(factory, 0)->id);
    ck_assert(provider->init(provider));
    ck_assert_uint_eq(found.types, 2);
    ck_assert_str_eq(found.location, HALO_FILTERS);
    glob_t masks = {.gl_pathc = 0};
    ck_assert_int_eq(glob(HALO_FILTERS "/*.wav", 0, NULL, &masks), 0);
    ck_assert_int_eq(glob(HALO_FILTERS "/[a-z]*.txt", GLOB_APPEND, NULL, &masks), 0);
    for (size_t m = 0; m < masks.gl_pathc; m++)
        expect_metadata(provider, masks.gl_pathv[m]);
    globfree(&masks);
    check_metadata(provider, HALO_FILTERS "/lowpass-1k.wav", true, true, true);
    check_metadata(provider, HALO_FILTERS "/room-true-stereo.wav", true, false, true);
    check_metadata(provider, HALO_FILTERS "/README.md", false, false, false);
    check_metadata(provider, "/nowhere.wav", false, false, false);
    provider->destroy(provider);
    ck_assert(entry->init(HALO_MODULE));
    provider = factory->create(factory, &indexer, "halo.masks");
    found = (struct found){.types = 0};
    ck_assert(provider->init(provider)); /* not installed: no place, and no error */
    ck_assert_str_eq(found.location, "");
    provider->destroy(provider);
}

/* ---- tails, rates and resets ---- */

static uint32_t tail_of(const struct effect_host *host)
{
    const struct clap_plugin_tail *tail = clap_host_extension(host, CLAP_EXT_TAIL);
    return tail->get(clap_host_plugin(host));
}

START_TEST(tails_are_exact)
{
    enum { TAPS = 4000, PRE_DELAY = 480, TAIL = TAPS - 1 + PRE_DELAY };
    save_tap("mask.wav", TAPS, TAPS - 1, 0.5f);
    struct effect_host *host = open_with("mono", NULL);
    run_silence(host, 64);
    ck_assert_uint_eq(tail_of(host), 0);
    ck_assert_int_eq(clap_host_status(host), CLAP_PROCESS_TAIL);
    effect_host_deactivate(host);
    ck_assert(
        clap_host_preset(host, CLAP_PRESET_DISCOVERY_LOCATION_FILE, command_path("mask.wav")));
    effect_host_activate(host);
    ck_assert_uint_eq(tail_of(host), TAPS - 1); /* before the first frame */
    struct block in = stream_noise(1, 1, 8192), out = stream_noise(2, 1, 8192);
    block_silence(&in, 0, in.frames);
    in.data[0][99] = 1;
    clap_host_set_at(host, 0, clap_host_param("pre_delay"), 10);
    run_parts(host, &in, &out, 100);
    ck_assert_uint_eq(tail_of(host), TAIL);
    ck_assert_uint_eq(clap_host_calls(host).tails, 1);
    for (size_t i = 0; i < out.frames; i++)
        ck_assert((fabsf(out.data[0][i]) > 1e-6f) == (i == 99 + TAIL)); /* FFTs leave dust */
    ck_assert_int_eq(clap_host_status(host), CLAP_PROCESS_TAIL);
    clap_host_set_at(host, 0, clap_host_param("enabled"), 1);
    run_silence(host, 64);
    ck_assert_uint_eq(tail_of(host), TAIL); /* it fades out */
    run_silence(host, RATE / 10);
    ck_assert_uint_eq(tail_of(host), 0);
    effect_host_close(host);
}

/* While a mask is exchanged, a host must not put the plugin to sleep. */
START_TEST(a_change_keeps_the_plugin_awake)
{
    save_tap("mask.wav", 4000, 0, 0.5f);
    struct effect_host *host = effect_host_open(
        &(struct effect_host_request){.name = "mono", .worker = EFFECT_HOST_WORKS_WHEN_REPORTED});
    ck_assert(
        clap_host_preset(host, CLAP_PRESET_DISCOVERY_LOCATION_FILE, command_path("mask.wav")));
    run_silence(host, 64);
    clap_host_set_at(host, 0, clap_host_param("trim"), 5);
    run_silence(host, 64);
    ck_assert_int_eq(clap_host_status(host), CLAP_PROCESS_CONTINUE); /* the mask is asked for */
    run_silence(host, 64);
    ck_assert_int_eq(clap_host_status(host), CLAP_PROCESS_CONTINUE);
    ck_assert_uint_ge(effect_host_work(host), 1);
    run_silence(host, 64);
    ck_assert_int_eq(clap_host_status(host), CLAP_PROCESS_CONTINUE); /* it fades in */
    run_silence(host, RATE);
    effect_host_work(host);
    run_silence(host, 64);
    ck_assert_int_eq(clap_host_status(host), CLAP_PROCESS_TAIL);
    ck_assert_uint_eq(tail_of(host), 4000 - 5 * RATE / 1000 - 1);
    effect_host_close(host);
}

/* Parameters that were set before, and another rate, are there at the first frame. */
START_TEST(activation_prepares_the_mask_again)
{
    struct sound saved = sound_create(FLOAT_WAV, 96000, 1, 96000);
    saved.block.data[0][9600] = 1;
    sound_save(&saved, "mask.wav");
    struct effect_host *host = effect_host_open_idle(&(struct effect_host_request){
        .name = "mono", .rate = 96000, .worker = EFFECT_HOST_WORKS_NEVER});
    ck_assert(
        clap_host_preset(host, CLAP_PRESET_DISCOVERY_LOCATION_FILE, command_path("mask.wav")));
    effect_host_activate(host);
    ck_assert_uint_eq(tail_of(host), 95999);
    effect_host_deactivate(host);
    struct block in = stream_noise(1, 1, 2000), out = stream_noise(2, 1, 2000);
    clap_host_set_at(host, 0, clap_host_param("trim"), 100);
    clap_host_flush(host);
    effect_host_activate(host);
    run_part(host, &in, &out, 0, 2000);
    for (size_t i = 0; i < out.frames; i++)
        ck_assert(out.data[0][i] == in.data[0][i]);
    effect_host_close(host);
}

START_TEST(a_reset_forgets_all_sound)
{
    sound_noise_file("mask.wav", 3, FLOAT_WAV, RATE, 2, 20000);
    struct effect_host *host = open_with("stereo", command_path("mask.wav"));
    const struct clap_plugin *plugin = clap_host_plugin(host);
    struct block in = stream_noise(2, 2, 30000), wanted = stream_noise(3, 2, 30000),
                 out = stream_noise(3, 2, 30000);
    run_parts(host, &in, &wanted, 333);
    size_t before = allocations_of_thread();
    plugin->reset(plugin);
    ck_assert(!allocations_are_counted() || allocations_of_thread() == before);
    run_parts(host, &in, &out, 333);
    for (size_t c = 0; c < 2; c++)
        ck_assert_mem_eq(out.data[c], wanted.data[c], in.frames * sizeof(float));
    effect_host_close(host);
}
