/* Devices through ALSA on simulated cards: their output, and unplugging. */
#include "alsa_rig.h"
#include "base/monotonic.h"
#include "command.h"
#include "live/device/device.h"
#include "live_rig.h"
#include "stream.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { RATE = 48000 };

/* The index in x of the first frame played, found by its noise. */
static size_t find(const float *x, size_t count, const float *played)
{
    for (size_t i = 0; i + 8 <= count; i++) {
        size_t alike = 0;
        while (alike < 8 && 0.5f * x[i + alike] == played[alike])
            alike++;
        if (alike == 8)
            return i;
    }
    ck_abort_msg("what was played is not what came in");
    return 0;
}

/* Everything played, without leading and trailing silence, is half of the input without a gap. */
static void expect_halved(const struct block *played, const struct block *signal, size_t frames)
{
    size_t begin = 0;
    while (begin < played->frames && played->data[0][begin] == 0)
        begin++;
    ck_assert_uint_le(begin + frames, played->frames);
    size_t from = find(signal->data[0], signal->frames, played->data[0] + begin);
    ck_assert_uint_le(from + frames, signal->frames);
    for (size_t c = 0; c < 2; c++)
        for (size_t i = 0; i < frames; i++)
            ck_assert_msg(played->data[c][begin + i] == 0.5f * signal->data[c][from + i],
                          "channel %zu, frame %zu", c, i);
}

/* False: the machine was too slow for the card and lost sound. */
static bool passes_halved(size_t block)
{
    command_clean();
    const struct alsa_card card = {.name = "card", .infile = "in.raw", .outfile = "out.raw"};
    struct block signal = stream_noise(2, 2, 4 * RATE);
    alsa_rig_save(&signal, "in.raw");
    alsa_rig_cards(&card, 1);
    struct device_request request = {.input = "card",
                                     .output = "card",
                                     .wants_input = true,
                                     .wants_output = true,
                                     .block = block};
    struct device *device = NULL;
    ck_assert_int_eq(device_open(&request, &device), STATUS_OK);
    struct device_info info;
    device_info(device, &info);
    ck_assert_uint_eq(info.period, block);
    ck_assert_uint_eq(info.rate, RATE);
    ck_assert_str_eq(info.host_api, "ALSA");
    struct halver halver = {.channels = 2};
    halver_run(&halver, device, RATE / 4);
    /* The buffer is played to its end before the card is closed. */
    live_rig_rest(200);
    device_info(device, &info);
    device_close(device);
    struct block played = alsa_rig_load("out.raw", 2);
    if (!halver.times_lost)
        expect_halved(&played, &signal, RATE / 4);
    return halver.times_lost == 0;
}

START_TEST(sound_passes_at_the_period_asked_for)
{
    static const size_t blocks[] = {64, 1024};
    for (size_t i = 0; i < 2; i++) {
        int tries = 0;
        while (!passes_halved(blocks[i]))
            ck_assert_msg(++tries < 20, "the machine is too slow for %zu frames", blocks[i]);
    }
}

START_TEST(one_direction_only)
{
    const struct alsa_card card = {.name = "card"};
    alsa_rig_cards(&card, 1);
    struct device_request request = {.wants_input = true, .block = 128, .channels_in = 1};
    struct device *device = NULL;
    struct device_info info;
    ck_assert_int_eq(device_open(&request, &device), STATUS_OK);
    device_info(device, &info);
    ck_assert_uint_eq(info.channels_in, 1);
    ck_assert_uint_eq(info.channels_out, 0);
    ck_assert_str_eq(info.output, "");
    device_close(device);
    request = (struct device_request){.wants_output = true, .latency = DEVICE_LATENCY_HIGH};
    ck_assert_int_eq(device_open(&request, &device), STATUS_OK);
    device_info(device, &info);
    ck_assert_uint_eq(info.channels_in, 0);
    ck_assert_uint_eq(info.channels_out, 2);
    ck_assert_str_eq(info.input, "");
    device_close(device);
}

START_TEST(card_is_pulled_and_comes_back)
{
    struct alsa_card card = {.name = "card", .unplug = RATE / 4};
    alsa_rig_cards(&card, 1);
    struct device_request request = {.wants_input = true, .wants_output = true, .block = 256};
    struct device *device = NULL;
    ck_assert_int_eq(device_open(&request, &device), STATUS_OK);
    struct halver halver = {.channels = 2};
    device_run(device, halver_step, &halver);
    int64_t deadline = monotonic_ns() + INT64_C(10000000000);
    while (device_state(device) == DEVICE_RUNNING) {
        ck_assert_msg(monotonic_ns() < deadline, "the loss was not seen");
        live_rig_rest(20);
    }
    device_close(device);
    card.unplug = 0;
    alsa_rig_cards(&card, 1);
    ck_assert_int_eq(device_open(&request, &device), STATUS_OK);
    ck_assert_int_eq(device_state(device), DEVICE_RUNNING);
    device_close(device);
}

START_TEST(cards_are_listed)
{
    const struct alsa_card cards[] = {{.name = "hall"},
                                      {.name = "kitchen", .rate = 44100, .channels = 4}};
    alsa_rig_cards(cards, 2);
    struct command_result result = command_done("\"$HALO\" devices --json");
    ck_assert_str_eq(result.err, "");
    json_t *root = command_json(result.out);
    json_t *devices = json_object_get(root, "devices"), *device;
    size_t index, seen = 0;
    json_array_foreach(devices, index, device)
    {
        if (strcmp(command_json_string(device, "name"), "null") == 0) { /* by name only */
            ck_assert(json_is_null(json_object_get(device, "index")));
            continue;
        }
        ck_assert(command_json_number(device, "index") == (double)index);
        if (strcmp(command_json_string(device, "name"), "kitchen") != 0)
            continue;
        ck_assert_str_eq(command_json_string(device, "host_api"), "ALSA");
        ck_assert(command_json_number(device, "channels_in") == 4);
        ck_assert(command_json_number(device, "channels_out") == 4);
        ck_assert(command_json_number(device, "rate") == 44100);
        ck_assert(json_is_false(json_object_get(device, "default_in")));
        seen++;
    }
    ck_assert_uint_eq(seen, 1);
    result = command_done("\"$HALO\" devices");
    ck_assert_msg(strstr(result.out, "kitchen") != NULL, "%s", result.out);
}
