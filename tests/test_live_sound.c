/* halo live through a JACK server: every sample that is heard is what render makes of the
 * same, switches and all; and a server that dies. */
#include "jack_rig.h"
#include "live_rig.h"
#include "plugin_rig.h"
#include "suite.h"

#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { RATE = LIVE_RIG_RATE, FADE_IN = RATE / 2 };

/* ---- a signal in, and what comes out ---- */

static void save(const struct block *block, const char *name)
{
    struct sound sound =
        sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, block->channels, block->frames);
    for (size_t c = 0; c < block->channels; c++)
        memcpy(sound.block.data[c], block->data[c], block->frames * sizeof(float));
    sound_save(&sound, name);
    sound_free(&sound);
}

/* `latency`: frames that plugins make the sound late; what is rendered has none. */
static void check_heard_late(size_t period, size_t channels, size_t latency, const char *stages,
                             const char *options)
{
    command_clean();
    jack_rig_start(RATE, period);
    /* Silence while the output fades in. */
    struct block signal = live_rig_noise(channels, FADE_IN + RATE / 8, 3 * RATE / 2, 0.05f);
    struct jack_wire *wire = jack_wire_open(&signal, channels, signal.frames);
    pid_t process =
        live_rig_start("--host-api jack --input feed --output rec %s %s", stages, options);
    jack_wire_run(wire);
    live_rig_keys("q");
    struct command_result result = live_rig_end(process);
    ck_assert_msg(result.code == 0, "%s", result.err);
    ck_assert_uint_eq(jack_wire_gaps(wire), 0);
    char blocks[64];
    snprintf(blocks, sizeof blocks, "blocks of %zu frames at 48000 Hz", period);
    ck_assert_msg(strstr(result.err, blocks) != NULL, "%s", result.err);
    save(&signal, "in.wav");
    command_done("\"$HALO\" render in.wav truth.wav %s", stages);
    struct sound truth = sound_load("truth.wav");
    struct block heard = {.channels = channels, .frames = signal.frames - latency};
    float *late[channels];
    for (size_t c = 0; c < channels; c++)
        late[c] = jack_wire_recorded(wire)->data[c] + latency;
    heard.data = late;
    live_rig_expect(&heard, &truth.block, 0, heard.frames);
    sound_free(&truth);
    jack_wire_close(wire);
    block_free(&signal);
    jack_rig_end(SIGTERM);
}

static void check_heard(size_t period, size_t channels, const char *stages)
{
    check_heard_late(period, channels, 0, stages, "");
}

START_TEST(what_is_heard_is_what_render_makes)
{
    check_heard(64, 2, "--mask \"$FILTERS/hall.wav\"");
    check_heard(1024, 2, "--mask \"$FILTERS/hall.wav\"");
    check_heard(64, 1, "--mask \"$FILTERS/plate.wav\",channel=1 --gain -3");
    if (!getenv("HALO_TEST_FULL"))
        return;
    check_heard(1024, 1, "--mask \"$FILTERS/lowpass-1k.wav\"");
    check_heard(441, 2, "--mask \"$FILTERS/crossfeed.wav\"");
}
END_TEST

START_TEST(plugins_are_heard_as_render_makes_them)
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
        check_heard_late(64, 2, 480, stages, "");
        check_heard_late(1024, 2, 480 + 3 * 1024, stages, "--isolate");
    }
    for (size_t i = 0; i < 3; i++)
        plugin_info_destroy(infos[i]);
}
END_TEST

/* ---- what was done, and what was recorded ---- */

/* What an event changes goes to its value in a straight line. */
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

/* In the order of their frames: a switch is logged when it is over. */
static size_t read_log(struct reported *events)
{
    char path[128];
    snprintf(path, sizeof path, "%s/rec.wav.log", command_folder());
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    size_t count = 0;
    json_t *line;
    for (size_t i = 0; (line = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL)) != NULL; i++) {
        if (i > 0) {
            bool chosen = json_object_get(line, "choice") != NULL;
            struct reported event = {.frame = (size_t)command_cell_number(line, "frame"),
                                 .value = command_cell_number(line, chosen ? "choice" : "value"),
                                 .fade = chosen ? (size_t)command_cell_number(line, "fade") : 0};
            snprintf(event.what, sizeof event.what, "%s", command_cell_word(line, "event"));
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

/* By the words of live.h and of the command line, not by the program's code. */
struct model {
    struct line gain, fade, wet, second; /* second: how much of mask 2 sounds */
    bool muted, ends;
};

static void model_take(struct model *model, const struct reported *event)
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
            model_take(&model, &events[next++]);
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
        live_rig_rest(milliseconds);
    }
}

static pid_t start_recording(struct jack_wire **wire, const struct block *signal,
                             const char *options)
{
    command_clean();
    jack_rig_start(RATE, 64);
    *wire = jack_wire_open(signal, 2, RATE / 10);
    pid_t process = live_rig_start("--host-api jack --input feed --output rec --record rec.wav "
                                   "--record-dry dry.wav --mask \"$FILTERS/hall.wav\" "
                                   "--or --mask \"$FILTERS/plate.wav\" %s",
                                   options);
    jack_wire_run(*wire); /* a part; the feed goes on */
    return process;
}

static void end_recording(struct jack_wire *wire, pid_t process)
{
    live_rig_keys("q");
    struct command_result result = live_rig_end(process);
    ck_assert_msg(result.code == 0, "%s", result.err);
    jack_wire_close(wire);
    jack_rig_end(SIGTERM);
}

START_TEST(switches_gains_and_mutes_null)
{
    struct block signal = live_rig_noise(2, 0, 30 * RATE, 0.05f);
    struct jack_wire *wire;
    pid_t process = start_recording(&wire, &signal, "--fade 100ms");
    live_rig_rest(500);
    type_slowly("2", 250);
    type_slowly("1", 250);
    type_slowly(" ", 100);
    type_slowly(" ", 100);
    type_slowly("[[[", 50);
    type_slowly("2", 30); /* a switch is asked for while another is under way */
    type_slowly("1", 300);
    type_slowly("m", 100);
    type_slowly("m", 600);
    end_recording(wire, process);

    command_done("\"$HALO\" render dry.wav a.wav --mask \"$FILTERS/hall.wav\" && "
                 "\"$HALO\" render dry.wav b.wav --mask \"$FILTERS/plate.wav\"");
    struct sound heard = sound_load("rec.wav"), dry = sound_load("dry.wav");
    struct sound a = sound_load("a.wav"), b = sound_load("b.wav");
    struct reported events[EVENTS_MOST];
    size_t count = read_log(events);
    ck_assert_uint_eq(count, 12); /* 2 1 dry wet -1 -1 -1 2 1 mute unmute end */
    ck_assert_uint_eq(dry.block.frames, heard.block.frames);
    struct block truth;
    ck_assert_int_eq(block_init(&truth, 2, heard.block.frames, "a model"), STATUS_OK);
    model_run(&truth, &dry.block, &a.block, &b.block, events, count);
    live_rig_expect(&heard.block, &truth, 0, truth.frames);
    block_free(&truth);
    sound_free(&heard);
    sound_free(&dry);
    sound_free(&a);
    sound_free(&b);
    live_rig_expect_replay();
    block_free(&signal);
}
END_TEST

START_TEST(a_recording_replays_after_many_keys)
{
    static const char choice[] = "12 [[]]mm21 r2r1";
    struct block signal = live_rig_noise(2, 0, 30 * RATE, 0.05f);
    struct jack_wire *wire;
    uint32_t state = 12345;
    pid_t process = start_recording(&wire, &signal, "--mute");
    for (size_t i = 0; i < 80; i++) {
        state = state * 1664525 + 1013904223;
        char key[2] = {choice[state >> 28], '\0'};
        live_rig_keys(key);
        live_rig_rest((int)(state >> 8 & 63));
    }
    end_recording(wire, process);
    live_rig_expect_replay();
    block_free(&signal);
}
END_TEST

/* ---- a server that dies ---- */

static void check_death(int number)
{
    command_clean();
    jack_rig_start(RATE, 128);
    pid_t process = live_rig_start("--host-api jack --record rec.wav --mask \"$FILTERS/hall.wav\"");
    live_rig_rest(300);
    jack_rig_end(number);
    struct command_result result = live_rig_end(process);
    ck_assert_int_eq(result.code, 1);
    const char *reported = strstr(result.err, "is lost");
    ck_assert_msg(reported != NULL && strstr(reported + 1, "is lost") == NULL, "%s", result.err);
    ck_assert_msg(strstr(reported, "--reconnect would wait for it") != NULL, "%s", result.err);
    ck_assert_msg(strstr(result.err, "rec.wav: 0.") != NULL, "%s", result.err);
    struct sound heard = sound_load("rec.wav");
    ck_assert_uint_gt(heard.block.frames, RATE / 5);
    sound_free(&heard);
}

START_TEST(a_dead_server_ends_it_in_a_line)
{
    check_death(SIGTERM);
    check_death(SIGKILL);
}
END_TEST

START_TEST(it_comes_back_with_the_server)
{
    command_clean();
    jack_rig_start(RATE, 128);
    pid_t process = live_rig_start("--host-api jack --reconnect --record rec.wav --record-dry "
                                   "dry.wav --mask \"$FILTERS/hall.wav\"");
    live_rig_rest(300);
    jack_rig_end(SIGKILL);
    live_rig_wait("the device is lost; waiting for it to come back");
    jack_rig_start(44100, 128);
    live_rig_wait("still waiting: system does not run at 48000 Hz");
    jack_rig_end(SIGTERM);
    jack_rig_start(RATE, 100); /* no multiple of the blocks */
    live_rig_wait("the device is back");
    live_rig_rest(300);
    live_rig_keys("q");
    struct command_result result = live_rig_end(process);
    ck_assert_msg(result.code == 0, "%s", result.err);
    ck_assert_msg(strstr(result.err, "lost and came back: 1") != NULL, "%s", result.err);
    struct sound heard = sound_load("rec.wav");
    ck_assert_uint_gt(heard.block.frames, RATE / 3);
    sound_free(&heard);
    jack_rig_end(SIGTERM);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        what_is_heard_is_what_render_makes, plugins_are_heard_as_render_makes_them,
        switches_gains_and_mutes_null,      a_recording_replays_after_many_keys,
        a_dead_server_ends_it_in_a_line,    it_comes_back_with_the_server,
    };
    if (!jack_rig_is_there())
        return 77;
    plugin_rig_prepare();
    return plugin_rig_code(suite_run("live_sound", tests, sizeof tests / sizeof *tests));
}
