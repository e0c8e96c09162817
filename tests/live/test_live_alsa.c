/* halo live through a simulated ALSA card: the sound, and unplugging. */
#include "alsa_rig.h"
#include "base/monotonic.h"
#include "live_rig.h"
#include "suite.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { RATE = LIVE_RIG_RATE, SILENCE = RATE, FRAMES = 2 * RATE };

static const struct alsa_card CARD = {.name = "card", .infile = "in.raw", .outfile = "out.raw"};

enum { DELAY_MOST = 16384 /* frames */ };

/* The delay of `output` against `truth`, found by matching noise; DELAY_MOST: none. */
static size_t find_delay(const struct block *output, const struct block *truth)
{
    enum { ALIKE = 256, FROM = SILENCE + RATE / 4 };
    size_t delay;
    for (delay = 0; delay < DELAY_MOST; delay++) {
        double error = 0, size = 0;
        for (size_t i = FROM; i < FROM + ALIKE; i++) {
            error += fabs((double)output->data[0][i + delay] - (double)truth->data[0][i]);
            size += fabs((double)truth->data[0][i]);
        }
        if (error < 1e-4 * size)
            break;
    }
    return delay;
}

/* False: the machine was too slow for the card and lost sound, or played it too late. */
static bool is_output(size_t block, const char *stages)
{
    command_clean();
    alsa_rig_cards(&CARD, 1);
    struct block signal = live_rig_noise(2, SILENCE, FRAMES, 0.05f);
    alsa_rig_save(&signal, "in.raw");
    struct sound in = sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, 2, FRAMES);
    for (size_t c = 0; c < 2; c++)
        memcpy(in.block.data[c], signal.data[c], FRAMES * sizeof(float));
    sound_save(&in, "in.wav");
    struct command_result result =
        command_done("\"$HALO\" live --plain --no-feedback-guard --device card --block %zu "
                     "--seconds 2 %s",
                     block, stages);
    char blocks[64];
    snprintf(blocks, sizeof blocks, "blocks of %zu frames at 48000 Hz", block);
    ck_assert_msg(strstr(result.err, blocks) != NULL, "%s", result.err);
    bool whole = strstr(result.err, " 0 lost\n") != NULL;
    if (whole) {
        command_done("\"$HALO\" render in.wav truth.wav %s", stages);
        struct sound truth = sound_load("truth.wav");
        struct block output = alsa_rig_load("out.raw", 2);
        size_t delay = find_delay(&output, &truth.block), frames = FRAMES - RATE / 4;
        whole = delay < DELAY_MOST;
        for (size_t c = 0; c < 2; c++) /* the cards started together; the delay is subtracted */
            memmove(output.data[c], output.data[c] + delay,
                    (output.frames - delay) * sizeof(float));
        if (whole)
            live_rig_expect(&output, &truth.block, SILENCE, frames - SILENCE);
    }
    return whole;
}

static void check_output(size_t block, const char *stages)
{
    int tries = 0;
    while (!is_output(block, stages))
        ck_assert_msg(++tries < 15, "the machine is too slow for %zu frames", block);
}

START_TEST(output_equals_render)
{
    check_output(1024, "--mask \"$FILTERS/hall.wav\"");
}

/* False: the card was gone before much of it was heard. */
static bool is_heard_until_unplugged(void)
{
    command_clean();
    struct alsa_card card = {.name = "card", .unplug = RATE / 2};
    alsa_rig_cards(&card, 1);
    struct command_result result =
        command_run("timeout -s KILL 60 \"$HALO\" live --plain --device card --block 256 "
                    "--record rec.wav --mask \"$FILTERS/hall.wav\"");
    ck_assert_int_eq(result.code, 1);
    if (!strstr(result.err, "halo: the device ALSA: card is lost; --reconnect")) {
        ck_assert_msg(strstr(result.err, "delivers no sound") != NULL, "%s", result.err);
        return false;
    }
    struct sound output = sound_load("rec.wav");
    size_t frames = output.block.frames;
    ck_assert_uint_le(frames, RATE / 2);
    return frames > RATE / 8;
}

START_TEST(an_unplugged_card_ends_it_with_one_line)
{
    int tries = 0;
    while (!is_heard_until_unplugged())
        ck_assert_msg(++tries < 15, "the machine is too slow for the card");
}

/* That many frames of two channels. */
static void wait_for_recording(size_t frames)
{
    struct stat file = {0};
    int64_t deadline = monotonic_ns() + 60 * INT64_C(1000000000);
    while (stat(command_path("rec.wav"), &file) != 0 ||
           (size_t)file.st_size < frames * 2 * sizeof(float)) {
        ck_assert_msg(monotonic_ns() < deadline, "%ld bytes were recorded", (long)file.st_size);
        live_rig_rest(50);
    }
}

START_TEST(a_card_that_is_plugged_in_again_resumes)
{
    struct alsa_card card = {.name = "card", .unplug = RATE / 2};
    alsa_rig_cards(&card, 1);
    pid_t process = live_rig_start("--device card --block 256 --reconnect --record rec.wav "
                                   "--mask \"$FILTERS/hall.wav\"");
    live_rig_wait("the device is lost; waiting for it to return");
    card.unplug = 0;
    alsa_rig_cards(&card, 1);
    live_rig_wait("the device is back");
    wait_for_recording(RATE / 2 + RATE / 8); /* more than before it was lost */
    live_rig_keys("q");
    struct command_result result = live_rig_end(process);
    ck_assert_msg(result.code == 0, "%s", result.err);
}

/* As libpulse may when its server is killed: nothing else in that process gets sound again, and a
 * service is started anew. */
START_TEST(a_sound_system_that_hangs_ends_it)
{
    if (!getenv("HALO_TEST_FULL")) /* it takes as long as it has to be given to return */
        return;
    const struct alsa_card card = {.name = "card", .unplug = RATE / 2, .hangs = 1};
    alsa_rig_cards(&card, 1);
    struct command_result result =
        command_run("\"$HALO\" live --plain --device card --block 256 --reconnect");
    ck_assert_int_eq(result.code, 1);
    command_expect(result.err, "the device is lost; waiting for it to return");
    command_expect(result.err,
                   "the sound system hangs since ALSA: card was lost: start halo again");
}

static double number_of(const json_t *root, const char *object, const char *name)
{
    return json_number_value(json_object_get(object ? json_object_get(root, object) : root, name));
}

START_TEST(a_signal_ends_an_opening_that_hangs)
{
    const struct alsa_card card = {.name = "card", .hangs = 2};
    alsa_rig_cards(&card, 1);
    struct command_result result =
        command_run("timeout -k 3 2 \"$HALO\" live --json --device card --block 256");
    ck_assert_msg(result.code == 124, "%d: %s, %s", result.code, result.err,
                  result.out); /* 137: it was killed */
    json_t *root = command_json(result.out), *error = json_object_get(root, "error");
    ck_assert_msg(error != NULL, "%s", result.out);
    ck_assert_double_eq(number_of(error, NULL, "code"), 143);
}

/* ---- two cards ---- */

/* Two cards whose clocks differ: as one stream they would lose a period every few seconds. The
 * ratio is that of the clocks. False: something was lost, or the ratio is another; a machine that
 * is late does both. */
static bool plays_from_card_to_card(unsigned rate_in, double clock_ppm)
{
    enum { SECONDS = 8, BLOCK = 1024 };
    command_clean();
    const struct alsa_card cards[] = {
        {.name = "there", .outfile = "out.raw"},
        {.name = "here", .rate = rate_in, .speed = 1 + 1e-6 * clock_ppm}};
    alsa_rig_cards(cards, 2);
    struct command_result result =
        command_done("\"$HALO\" live --json --meter-interval 60 --no-feedback-guard "
                     "--input here --output there --block %d --seconds %d | tail -n 1",
                     BLOCK, SECONDS);
    json_t *root = command_json(result.out);
    double lost = number_of(root, NULL, "lost"), ppm = number_of(root, "bridge", "ratio_ppm");
    double delay = number_of(root, "bridge", "latency");
    printf("%g lost, %+.1f ppm, delay %g frames\n", lost, ppm, delay);
    ck_assert_double_gt(delay, BLOCK);
    if (lost > 0 || fabs(ppm - clock_ppm) > 20)
        return false;
    ck_assert_double_lt(delay, BLOCK + 2 * BLOCK + 512);
    return true;
}

START_TEST(two_cards_have_two_clocks)
{
    static const struct {
        unsigned rate;
        double ppm;
    } cases[] = {{44100, 2000}, {48000, 300}, {48000, -300}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int tries = 0;
        while (!plays_from_card_to_card(cases[i].rate, cases[i].ppm))
            ck_assert_msg(++tries < 5, "the machine is too slow for two cards");
    }
}
