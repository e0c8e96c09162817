/* halo measure and halo correct through a JACK server whose only other client is the room: it
 * convolves what halo plays with a known mask, adds noise, and gives it back a period later. */
#include "halo/halo.h"
#include "jack_rig.h"
#include "live_rig.h"
#include "mask_load.h"
#include "suite.h"
#include "thirds.h"
#include "tmux.h"

#include <jack/jack.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { RATE = LIVE_RIG_RATE, SIDES = 2, COLUMNS = SIDES * SIDES, LONGEST = 4096, PLACES = 2 };

static const float NOISE = 1e-5F;     /* its peak: -100 dBFS */
static const double ERROR_MOST = -60; /* dB, of all columns */

struct jack_room {
    jack_client_t *client;
    jack_nframes_t period;
    jack_port_t *in[SIDES], *out[SIDES];
    struct halo_convolver *convolvers[PLACES];
    _Atomic size_t place; /* where the microphones are */
    uint32_t random;
};

static int room_cycle(jack_nframes_t frames, void *context)
{
    struct jack_room *room = context;
    const float *in[SIDES];
    float *out[SIDES];
    for (size_t c = 0; c < SIDES; c++) {
        in[c] = jack_port_get_buffer(room->in[c], frames);
        out[c] = jack_port_get_buffer(room->out[c], frames);
    }
    struct halo_convolver *convolver = room->convolvers[atomic_load(&room->place)];
    if (halo_convolver_process_channels(convolver, in, out, frames) != HALO_OK)
        return 1;
    for (size_t c = 0; c < SIDES; c++)
        for (size_t i = 0; i < frames; i++) {
            room->random = room->random * 1664525 + 1013904223;
            out[c][i] += NOISE * ((float)room->random * 0x1p-31F - 1);
        }
    return 0;
}

/* The room tells that its microphones are a period late, which is the truth. */
static void tell_latency(jack_latency_callback_mode_t mode, void *context)
{
    struct jack_room *room = context;
    jack_latency_range_t range = {room->period, room->period};
    for (size_t c = 0; c < SIDES && mode == JackCaptureLatency; c++)
        jack_port_set_latency_range(room->out[c], mode, &range);
}

static jack_port_t *open_port(struct jack_room *room, const char *name, size_t c,
                              unsigned long flags)
{
    char full[32];
    snprintf(full, sizeof full, "%s%zu", name, c + 1);
    jack_port_t *port = jack_port_register(room->client, full, JACK_DEFAULT_AUDIO_TYPE,
                                           flags | JackPortIsTerminal, 0);
    ck_assert_ptr_nonnull(port);
    return port;
}

static const char *const truths[PLACES] = {"truth.wav", "truth2.wav"};

static void place_open(struct jack_room *room, size_t place)
{
    const struct halo_convolver_options options = {.size = sizeof options, .backend = "cpu"};
    struct halo_error error;
    struct halo_mask *mask;
    ck_assert_msg(halo_mask_load_file(command_path(truths[place]), RATE, SIDES, &mask, &error) ==
                      HALO_OK,
                  "%s", error.text);
    ck_assert_int_eq(halo_convolver_create(mask, &options, &room->convolvers[place], &error),
                     HALO_OK);
    halo_mask_destroy(mask);
}

static void room_open(struct jack_room *room)
{
    for (size_t place = 0; place < PLACES; place++)
        place_open(room, place);
    room->random = 1;
    room->client = jack_client_open("room", JackNoStartServer | JackUseExactName, NULL);
    ck_assert_ptr_nonnull(room->client);
    for (size_t c = 0; c < SIDES; c++) {
        room->in[c] = open_port(room, "loudspeaker_", c, JackPortIsInput);
        room->out[c] = open_port(room, "microphone_", c, JackPortIsOutput);
    }
    room->period = jack_get_buffer_size(room->client);
    jack_set_process_callback(room->client, room_cycle, room);
    jack_set_latency_callback(room->client, tell_latency, room);
    ck_assert_int_eq(jack_activate(room->client), 0);
}

static void room_close(struct jack_room *room)
{
    jack_client_close(room->client);
    for (size_t place = 0; place < PLACES; place++)
        halo_convolver_destroy(room->convolvers[place]);
}

/* Two loudspeakers of 100 Hz to 15 kHz, each at both ears: what a sweep can measure. */
static void make_truth(size_t place)
{
    static const char *const names[SIDES] = {"left.wav", "right.wav"};
    for (int i = 0; i < SIDES; i++)
        command_done("\"$HALO\" mask make -f -o %s 'combine:room:rt60=0.2,seed=%d*"
                     "bandpass:100-15k,phase=minimum,gain=-10'",
                     names[i], (int)place * SIDES + i + 1);
    struct sound left = sound_load(names[0]), right = sound_load(names[1]);
    size_t frames = left.block.frames > right.block.frames ? left.block.frames : right.block.frames;
    struct sound truth = sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, COLUMNS, frames);
    for (size_t c = 0; c < COLUMNS; c++) {
        const struct block *from = c < SIDES ? &left.block : &right.block;
        memcpy(truth.block.data[c], from->data[c % SIDES], from->frames * sizeof(float));
    }
    sound_save(&truth, truths[place]);
}

static void make_truths(void)
{
    command_clean();
    setenv("XDG_CONFIG_HOME", command_path("config"), 1);
    for (size_t place = 0; place < PLACES; place++)
        make_truth(place);
}

/* Time zero is when the room's client had the sound. */
static void expect_truth(const char *answer)
{
    json_t *root = command_json(answer);
    ck_assert_str_eq(
        json_string_value(json_object_get(json_object_get(root, "measurement"), "timing")),
        "device");
    struct sound got = sound_load("room.wav"), truth = sound_load("truth.wav");
    double error = 0, energy = 0;
    ck_assert_uint_eq(got.block.channels, COLUMNS);
    ck_assert_uint_eq(got.rate, RATE);
    ptrdiff_t late = (ptrdiff_t)command_json_number(root, "zero_tap");
    for (size_t c = 0; c < COLUMNS; c++)
        for (ptrdiff_t i = 0; i < (ptrdiff_t)truth.block.frames; i++) {
            bool inside = i + late >= 0 && i + late < (ptrdiff_t)got.block.frames;
            double a = truth.block.data[c][i], b = inside ? got.block.data[c][i + late] : 0;
            error += (a - b) * (a - b);
            energy += a * a;
        }
    ck_assert_double_lt(10 * log10(error / energy), ERROR_MOST);
}

/* False: a busy machine loses sound, which halo says. */
static bool is_measured(size_t period)
{
    struct jack_room room = {0};
    jack_rig_start(RATE, period);
    room_open(&room);
    struct command_result result =
        command_run("\"$HALO\" measure --plain --json room.wav --driver jack --input room "
                    "--output room --input-map 1,2 --output-map 1,2 --length 1s --pause 500ms");
    room_close(&room);
    jack_rig_end(SIGTERM);
    if (result.code == 0) {
        expect_truth(result.out);
        return true;
    }
    command_expect(result.err, "the device lost sound");
    ck_assert_ptr_null(strstr(command_files(), "room"));
    return false;
}

START_TEST(a_room_in_jack_is_measured)
{
    make_truths();
    for (size_t period = 512; period <= LONGEST; period *= 2)
        if (is_measured(period))
            return;
    puts("not seen: a whole recording of JACK, for which the machine is too slow");
}

/* ---- halo correct ---- */

#define DEVICE                                                                                     \
    "--driver jack --input room --output room --input-map 1 --output-map 1,2 --length 1s "         \
    "--pause 500ms "

/* A loudspeaker's levels through the correction at the second place are those of the truth. */
static void expect_check(const json_t *speaker, size_t number)
{
    struct mask *places[PLACES], *correction = mask_loaded("den-correction.wav", NULL);
    double measured[THIRDS], truth[THIRDS];
    for (size_t place = 0; place < PLACES; place++)
        places[place] = mask_loaded(truths[place], NULL);
    thirds_measure(places, PLACES, number * SIDES, NULL, 0, measured);
    thirds_measure(places + 1, 1, number * SIDES, correction, number, truth);
    thirds_expect(speaker, "checked", measured, truth, THIRDS);
    ck_assert_double_eq(command_json_number(speaker, "output"), (double)number + 1);
    ck_assert_double_le(command_json_number(speaker, "apart"), 1);
    ck_assert_double_lt(command_json_number(speaker, "predicted_deviation"),
                        command_json_number(speaker, "deviation"));
}

/* Whether a command succeeded. A busy machine loses sound, which halo says. */
static bool is_heard(const struct command_result *result)
{
    if (result->code == 0)
        return true;
    command_expect(result->err, "the device lost sound");
    puts("not seen: a whole recording of JACK, for which the machine is too slow");
    return false;
}

START_TEST(a_room_in_jack_is_corrected)
{
    struct jack_room room = {0};
    make_truths();
    jack_rig_start(RATE, LONGEST);
    room_open(&room);
    pid_t process = live_rig_launch("correct", "den --plain --json --positions 2 " DEVICE);
    live_rig_wait("Place 2 of 2: move the microphone");
    atomic_store(&room.place, 1);
    live_rig_keys("\n");
    struct command_result result = live_rig_end(process);
    if (is_heard(&result)) {
        const json_t *speakers = json_object_get(command_json(result.out), "loudspeakers");
        ck_assert_uint_eq(json_array_size(speakers), SIDES);
        for (size_t s = 0; s < SIDES; s++)
            expect_check(json_array_get(speakers, s), s);
        command_done("\"$HALO\" mask convert 'correct:den-1.wav*den-2.wav' again.wav");
        struct sound made = sound_load("den-correction.wav"), again = sound_load("again.wav");
        sound_expect_same(&made, &again);
    }

    result = command_run("\"$HALO\" correct hall --plain --positions 2 " DEVICE);
    if (result.code == 2) /* else sound was lost */
        command_expect(result.err, "standard input ended before Enter was pressed");
    else
        ck_assert(!is_heard(&result));
    command_done("! ls hall-2.wav hall-correction.wav config/halo/presets/hall");

    result = command_run("\"$HALO\" correct nook --json --positions 1 --no-check " DEVICE);
    if (is_heard(&result))
        command_expect(result.out, "\"checked\": null");
    room_close(&room);
    jack_rig_end(SIGTERM);
}

/* ---- the screen ---- */

#define SCREEN                                                                                     \
    "stty -g >before; \"$HALO\" correct den " DEVICE                                               \
    "2>said; echo left with $?; stty -g | cmp - before && echo as before"

/* Types a key and waits for what it does. */
static void press(const char *key, const char *expected)
{
    tmux_type(key);
    tmux_wait(expected);
}

static void begin_screen(void)
{
    tmux_open(100, 40, SCREEN);
    tmux_wait("space begin");
}

static void leave(const char *key, const char *expected)
{
    press(key, expected);
    tmux_wait("as before");
    command_done("! ls den-correction.wav config/halo/presets/den && rm -f den-1*.wav");
}

START_TEST(a_screen_leads_to_a_correction)
{
    struct jack_room room = {0};
    if (!tmux_there())
        return;
    make_truths();
    jack_rig_start(RATE, LONGEST);
    room_open(&room);

    tmux_open(100, 40, "\"$HALO\" correct den; echo left with $?");
    tmux_wait("Step 1: the devices");
    press("q", "left with 5");

    begin_screen();
    press("n", "noise on output 1, level -12 dB");
    press("o", "noise on output 2");
    press("+", "level -9 dB");
    leave("C-c", "left with 130");

    begin_screen();
    press("Space", "Place 1 of 3 is measured");
    leave("q", "left with 5");

    begin_screen();
    press("Space", "Place 1 of 3 is measured");
    press("r", "sweep 1 of 1");
    tmux_wait("Place 1 of 3 is measured");
    press("Space", "Place 2 of 3 is measured");
    press("d", "target flat, minimum phase, at most 6 dB louder");
    press("t", "target house, minimum phase, at most 6 dB louder");
    press("p", "target house, mixed phase, at most 6 dB louder");
    press("+", "target house, mixed phase, at most 7 dB louder");
    press("o", "output 2, ");
    press("Space", "The correction and the preset are written.");
    press("Space", "Measured through it, thirds of an octave are within 0.");
    press("o", "output 2, ");
    press("Space", "left with 0");
    tmux_wait("as before");
    command_done("\"$HALO\" mask convert "
                 "'correct:den-1.wav*den-2.wav,target=house,phase=mixed,boost=7' again.wav");
    struct sound made = sound_load("den-correction.wav"), again = sound_load("again.wav");
    sound_expect_same(&made, &again);
    command_done("\"$HALO\" preset show den && ! ls den-3.wav");
    tmux_close();
    room_close(&room);
    jack_rig_end(SIGTERM);
}

int main(void)
{
    return jack_rig_is_there() ? suite_run() : 77;
}
