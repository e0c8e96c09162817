/* halo live through a simulated ALSA card: the sound, and unplugging. */
#include "alsa_rig.h"
#include "live_rig.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
        block_free(&output);
        sound_free(&truth);
    }
    block_free(&signal);
    sound_free(&in);
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
END_TEST

START_TEST(an_unplugged_card_ends_it_with_one_line)
{
    command_clean();
    struct alsa_card card = {.name = "card", .unplug = RATE / 2};
    alsa_rig_cards(&card, 1);
    struct command_result result =
        command_run("timeout -s KILL 20 \"$HALO\" live --plain --device card --block 256 "
                    "--record rec.wav --mask \"$FILTERS/hall.wav\"");
    ck_assert_int_eq(result.code, 1);
    ck_assert_msg(strstr(result.err, "halo: the device ALSA: card is lost; --reconnect") != NULL,
                  "%s", result.err);
    struct sound output = sound_load("rec.wav");
    ck_assert_uint_gt(output.block.frames, RATE / 8);
    ck_assert_uint_le(output.block.frames, RATE / 2);
    sound_free(&output);
}
END_TEST

START_TEST(a_card_that_is_plugged_in_again_resumes)
{
    command_clean();
    struct alsa_card card = {.name = "card", .unplug = RATE / 2};
    alsa_rig_cards(&card, 1);
    pid_t process = live_rig_start("--device card --block 256 --reconnect --record rec.wav "
                                   "--mask \"$FILTERS/hall.wav\"");
    live_rig_wait("the device is lost; waiting for it to return");
    card.unplug = 0;
    alsa_rig_cards(&card, 1);
    live_rig_wait("the device is back");
    live_rig_rest(1000);
    live_rig_keys("q");
    struct command_result result = live_rig_end(process);
    ck_assert_msg(result.code == 0, "%s", result.err);
    struct sound output = sound_load("rec.wav");
    ck_assert_uint_gt(output.block.frames, RATE / 2 + RATE / 8); /* more than before it was lost */
    sound_free(&output);
}
END_TEST

SUITE_MAIN("live_alsa", output_equals_render, an_unplugged_card_ends_it_with_one_line,
           a_card_that_is_plugged_in_again_resumes)
