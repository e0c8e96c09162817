/* halo live without hardware: every output sample equals render, switches included; and a device
 * that is lost. */
#include "live_rig.h"
#include "plugin_rig.h"
#include "stream.h"
#include "suite.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RATE = LIVE_RIG_RATE, FADE_IN = RATE / 2 };

/* ---- input and output ---- */

/* Frame i of out.wav was played when frame i of in.wav was recorded. `latency`: frames added by
 * the stages; render removes them. False: an isolated plugin was late, on a busy machine. */
static bool is_late_output(size_t period, size_t channels, size_t latency, const char *stages,
                           const char *device)
{
    enum { FRAMES = 3 * RATE / 2 };
    command_clean();
    /* Silence while the output fades in. */
    struct block signal = live_rig_noise(channels, FADE_IN + RATE / 8, FRAMES, 0.05f);
    live_rig_save(&signal, "in.wav");
    struct command_result result =
        command_done("\"$HALO\" live --plain --no-feedback-guard %s --block %zu --seconds 1.6 "
                     "--output-map %s %s",
                     device, period, channels == 1 ? "1" : "1,2", stages);
    char blocks[64];
    snprintf(blocks, sizeof blocks, "blocks of %zu frames at 48000 Hz", period);
    ck_assert_msg(strstr(result.err, blocks) != NULL, "%s", result.err);
    ck_assert_msg(strstr(result.err, " 0 lost\n") != NULL, "%s", result.err);
    if (strstr(result.err, "missed a block"))
        return false;
    command_done("\"$HALO\" render in.wav truth.wav %s", stages);
    struct sound truth = sound_load("truth.wav"), out = sound_load("out.wav");
    struct block output = {.channels = channels, .frames = FRAMES - latency};
    float *late[channels];
    for (size_t c = 0; c < channels; c++)
        late[c] = out.block.data[c] + latency;
    output.data = late;
    live_rig_expect(&output, &truth.block, 0, output.frames);
    return true;
}

static void check_late_output(size_t period, size_t channels, size_t latency, const char *stages,
                              const char *device)
{
    int tries = 0;
    while (!is_late_output(period, channels, latency, stages, device))
        ck_assert_msg(++tries < 15, "the machine is too slow for %s", stages);
}

static void check_output(size_t period, size_t channels, const char *stages)
{
    check_late_output(period, channels, 0, stages, LIVE_RIG_FAST);
}

START_TEST(output_equals_render)
{
    check_output(64, 2, "--mask \"$FILTERS/hall.wav\"");
    check_output(1024, 2, "--mask \"$FILTERS/hall.wav\"");
    check_output(64, 1, "--mask \"$FILTERS/plate.wav\",channel=1 --gain -3");
    check_output(1024, 1, "--mask \"$FILTERS/lowpass-1k.wav\"");
    check_output(441, 2, "--mask \"$FILTERS/crossfeed.wav\"");
}

/* One block is added once a call has another length than the first ones. */
START_TEST(changing_periods_cost_a_block)
{
    check_late_output(128, 2, 128, "--mask \"$FILTERS/hall.wav\"",
                      "--device null:in=in.wav,out=out.wav,pace=0,vary=100");
}

/* The latency is as reported, for blocks shorter and longer than a hop. */
START_TEST(spectral_stages_equal_render)
{
    check_late_output(256, 2, 1792, "--spectral \"$FILTERS/identity.mask2d\"", LIVE_RIG_FAST);
    check_late_output(1024, 2, 768,
                      "--spectral identity2d,scale=db,size=1024 --mask \"$FILTERS/hall.wav\"",
                      LIVE_RIG_FAST);
}

/* Plugins have to answer each block in time, of which a busy machine needs much. */
static const char in_time[] = "--device null:in=in.wav,out=out.wav,pace=1";
static const char in_time_vary[] = "--device null:in=in.wav,out=out.wav,pace=1,vary=3200";

START_TEST(plugins_equal_render)
{
    static const char stages[] = "--lv2 http://lv2plug.in/plugins/eg-amp,gain=-6 "
                                 "--lv2 http://gareus.org/oss/lv2/nodelay,delay=480 "
                                 "--mask \"$FILTERS/hall.wav\" --ladspa amp:amp_stereo,Gain=0.5";
    struct plugin_info *infos[] = {
        plugin_rig_describe("lv2", "http://lv2plug.in/plugins/eg-amp"),
        plugin_rig_describe("lv2", "http://gareus.org/oss/lv2/nodelay"),
        plugin_rig_describe("ladspa", "amp:amp_stereo"),
    };
    if (infos[0] && infos[1] && infos[2]) {
        char here[sizeof stages + 16];
        snprintf(here, sizeof here, "--no-isolate %s", stages);
        check_late_output(64, 2, 480, here, LIVE_RIG_FAST);
        check_late_output(64, 2, 480, stages, LIVE_RIG_FAST);
        check_late_output(4096, 2, 480, stages, in_time);
        check_late_output(4096, 2, 480 + 4096, stages, in_time_vary);
    }
    for (size_t i = 0; i < 3; i++)
        plugin_info_destroy(infos[i]);
}

/* In process and isolated; with @mix= and before a mask. */
START_TEST(plugins_with_late_latency_equal_render)
{
    struct plugin_info *amp = plugin_rig_describe("ladspa", "mean:late-latency");
    if (!amp)
        return;
    plugin_info_destroy(amp);
    check_late_output(64, 2, 300,
                      "--no-isolate --ladspa mean:late-latency,at=0,amount=300,@mix=0.5 --gain -6",
                      LIVE_RIG_FAST);
    check_late_output(1024, 2, 300,
                      "--ladspa mean:late-latency,at=0,amount=300 --mask \"$FILTERS/hall.wav\"",
                      LIVE_RIG_FAST);
    check_late_output(4096, 2, 300, "--ladspa mean:late-latency,at=0,amount=300,@mix=0.5", in_time);
}

/* ---- the log and the recording ---- */

/* The value changed by an event moves to its target linearly. */
struct line {
    double from, to;
    size_t at, frames;
};

static double line_at(const struct line *line, size_t frame)
{
    if (frame >= line->at + line->frames)
        return line->to;
    double part = (double)(frame - line->at) / (double)line->frames;
    return line->from + (line->to - line->from) * part;
}

static void line_turn(struct line *line, double to, size_t frame, size_t frames)
{
    if (to != line->to)
        *line = (struct line){line_at(line, frame), to, frame, frames};
}

enum { EVENTS_MOST = 64 };

struct reported {
    size_t frame;
    char what[16];
    double value;
    size_t fade;
};

/* In order of frames: a switch is logged when it has ended. */
static size_t read_log(struct reported *events)
{
    char path[128];
    snprintf(path, sizeof path, "%s/rec.wav.log", command_folder());
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    size_t count = 0;
    json_t *line;
    for (size_t i = 0; (line = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL)) != NULL; i++) {
        bool heard = i > 0 && strcmp(command_json_string(line, "event"), "outage") != 0;
        if (heard) {
            bool chosen = json_object_get(line, "choice") != NULL;
            struct reported event = {
                .frame = (size_t)command_json_number(line, "frame"),
                .value = command_json_number(line, chosen ? "choice" : "value"),
                .fade = chosen ? (size_t)command_json_number(line, "fade") : 0};
            snprintf(event.what, sizeof event.what, "%s", command_json_string(line, "event"));
            size_t at = count++;
            ck_assert_uint_lt(at, EVENTS_MOST);
            for (; at > 0 && events[at - 1].frame > event.frame; at--)
                events[at] = events[at - 1];
            events[at] = event;
        }
        json_decref(line);
    }
    fclose(file);
    return count;
}

/* Written from live.h and the option syntax, independently of the program's code. */
struct model {
    struct line gain, fade, wet, second; /* second: the weight of mask 2 */
    bool muted, ends;
};

static void model_apply(struct model *model, const struct reported *event)
{
    const size_t smooth = RATE / 50;
    size_t at = event->frame;
    if (strcmp(event->what, "choose") == 0)
        line_turn(&model->second, event->value == 2, at, event->fade);
    else if (strcmp(event->what, "gain") == 0)
        line_turn(&model->gain, event->value, at, smooth);
    else if (strcmp(event->what, "dry") == 0)
        line_turn(&model->wet, event->value == 0, at, smooth);
    else if (strcmp(event->what, "mute") == 0)
        line_turn(&model->fade, event->value == 0, at, event->value != 0 ? smooth : FADE_IN);
    else if (strcmp(event->what, "end") == 0)
        line_turn(&model->fade, 0, at, RATE / 10);
    else
        ck_abort_msg("an event of no known kind: %s", event->what);
}

static void model_run(struct block *out, const struct block *dry, const struct block *a,
                      const struct block *b, const struct reported *events, size_t count)
{
    struct model model = {
        .gain = {.to = 1}, .wet = {.to = 1}, .fade = {.to = 1, .frames = FADE_IN}};
    size_t next = 0;
    for (size_t i = 0; i < out->frames; i++) {
        while (next < count && events[next].frame == i)
            model_apply(&model, &events[next++]);
        double second = line_at(&model.second, i), wet = line_at(&model.wet, i);
        double scale = line_at(&model.gain, i) * line_at(&model.fade, i);
        for (size_t c = 0; c < out->channels; c++) {
            double masks = (1 - second) * (double)a->data[c][i] + second * (double)b->data[c][i];
            out->data[c][i] = (float)(scale * (wet * masks + (1 - wet) * (double)dry->data[c][i]));
        }
    }
    ck_assert_uint_eq(next, count);
}

static void type_slowly(const char *typed, int milliseconds)
{
    for (; *typed; typed++) {
        const char key[2] = {*typed, '\0'};
        live_rig_keys(key);
        live_rig_play(milliseconds);
    }
}

static pid_t start_recording(const char *options)
{
    struct block signal = live_rig_noise(2, 0, 60 * RATE, 0.05f);
    live_rig_save(&signal, "in.wav");
    return live_rig_start(LIVE_RIG_DEVICE "--block 64 --record rec.wav --record-dry dry.wav "
                                          "--mask \"$FILTERS/hall.wav\" --or --mask "
                                          "\"$FILTERS/plate.wav\" %s",
                          options);
}

static void end_recording(pid_t process)
{
    live_rig_keys("q");
    struct command_result result = live_rig_end(process);
    ck_assert_msg(result.code == 0, "%s", result.err);
}

START_TEST(switches_gains_and_mutes_null)
{
    pid_t process = start_recording("--fade 100ms");
    live_rig_play(500);
    type_slowly("2", 250);
    type_slowly("1", 250);
    type_slowly(" ", 100);
    type_slowly(" ", 100);
    type_slowly("[[[", 50);
    type_slowly("2", 30); /* a switch is requested during another */
    type_slowly("1", 300);
    type_slowly("m", 100);
    type_slowly("m", 600);
    end_recording(process);

    command_done("\"$HALO\" render dry.wav a.wav --mask \"$FILTERS/hall.wav\" && "
                 "\"$HALO\" render dry.wav b.wav --mask \"$FILTERS/plate.wav\"");
    struct sound output = sound_load("rec.wav"), dry = sound_load("dry.wav");
    struct sound a = sound_load("a.wav"), b = sound_load("b.wav");
    struct reported events[EVENTS_MOST];
    size_t count = read_log(events);
    ck_assert_uint_eq(count, 12); /* 2 1 dry wet -1 -1 -1 2 1 mute unmute end */
    ck_assert_uint_eq(dry.block.frames, output.block.frames);
    struct block truth = stream_block(2, output.block.frames);
    model_run(&truth, &dry.block, &a.block, &b.block, events, count);
    live_rig_expect(&output.block, &truth, 0, truth.frames);
    live_rig_expect_replay();
}

START_TEST(a_recording_replays_after_many_keys)
{
    static const char choice[] = "12 [[]]mm21 r2r1";
    uint32_t state = 12345;
    pid_t process = start_recording("--mute");
    for (size_t i = 0; i < 80; i++) {
        state = state * 1664525 + 1013904223;
        char key[2] = {choice[state >> 28], '\0'};
        live_rig_keys(key);
        live_rig_play((int)(state >> 8 & 63));
    }
    end_recording(process);
    live_rig_expect_replay();
}

/* The fade to the second mask is heard to its middle. */
START_TEST(a_recording_that_ends_within_a_fade_replays)
{
    pid_t process = start_recording("--fade 1s");
    live_rig_play(1000);
    live_rig_keys("2");
    live_rig_play(400);
    end_recording(process);
    command_done("grep -q choose rec.wav.log");
    live_rig_expect_replay();
}

/* ---- a lost device ---- */

START_TEST(lost_sound_is_counted)
{
    struct command_result result =
        command_done("\"$HALO\" live --plain --device null:pace=0,xrun=24000 --block 64 "
                     "--seconds 1 --mask \"$FILTERS/hall.wav\"");
    ck_assert_msg(strstr(result.err, " 1 lost\n") != NULL, "%s", result.err);
}

/* While it runs, and without --reconnect. */
START_TEST(another_rate_is_followed)
{
    struct block signal = live_rig_noise(1, 0, 20 * RATE, 0.05f);
    live_rig_save(&signal, "in.wav");
    pid_t process = live_rig_start("--device null:in=in.wav,turn=%d,to=44100 --record rec.wav "
                                   "--mask \"$FILTERS/hall.wav\" --prove --json --seconds 4",
                                   RATE);
    live_rig_wait("the rate is 44100 Hz now, no longer 48000: the recording ends");
    struct command_result result = live_rig_end(process);
    ck_assert_msg(result.code == 0, "%s", result.err);
    ck_assert_msg(strstr(result.out, "\"rate\":44100") != NULL, "%s", result.out);
    struct sound output = sound_load("rec.wav");
    ck_assert_uint_eq(output.rate, RATE);
    ck_assert_uint_ge(output.block.frames, RATE);
    ck_assert_uint_lt(output.block.frames, 3 * RATE);
    const char *at = strrchr(result.out, '{'); /* the report; its time goes on */
    while (at > result.out && at[-1] != '\n')
        at--;
    json_t *report = json_loads(at, JSON_DISABLE_EOF_CHECK, NULL);
    ck_assert_msg(report != NULL, "%s", result.out);
    double seconds = json_number_value(json_object_get(report, "seconds"));
    ck_assert_msg(seconds > 3.9 && seconds < 6, "%g s", seconds);
    json_decref(report);
}

/* Blocks of another length after the reconnection work too. */
START_TEST(it_comes_back_with_the_device)
{
    struct block signal = live_rig_noise(2, 0, RATE, 0.05f);
    live_rig_save(&signal, "in.wav");
    pid_t process = live_rig_start("--device null:in=in.wav,pace=4,lose=%d,back=2 --block 128 "
                                   "--reconnect --record rec.wav --mask \"$FILTERS/hall.wav\"",
                                   RATE / 2);
    live_rig_wait("the device is lost; waiting for it to return");
    live_rig_wait("still waiting: null is away");
    live_rig_wait("the device is back");
    live_rig_play(300);
    live_rig_keys("q");
    struct command_result result = live_rig_end(process);
    ck_assert_msg(result.code == 0, "%s", result.err);
    ck_assert_msg(strstr(result.err, "interruptions by a lost device: 1") != NULL, "%s",
                  result.err);
    struct sound output = sound_load("rec.wav");
    ck_assert_uint_gt(output.block.frames, RATE / 2 + RATE / 8);
}

int main(void)
{
    plugin_rig_prepare();
    return plugin_rig_code(suite_run());
}
