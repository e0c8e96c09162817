/* Devices through JACK: the output, sample by sample, and a server that dies. */
#include "base/monotonic.h"
#include "command.h"
#include "jack_rig.h"
#include "live/device.h"
#include "live_rig.h"
#include "stream.h"
#include "suite.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { RATE = 48000 };

static struct device_request duplex(void)
{
    return (struct device_request){
        .host_api = "jack", .wants_input = true, .wants_output = true, .block = 64};
}

static struct device *open_device(const struct device_request *request)
{
    struct device *device = NULL;
    ck_assert_int_eq(device_open(request, &device), STATUS_OK);
    return device;
}

/* ---- sound ---- */

static void check_halved(size_t period)
{
    jack_rig_start(RATE, period);
    struct block signal = stream_noise(1, 2, RATE / 4);
    struct jack_wire *wire = jack_wire_open(&signal, 2, signal.frames);
    struct device_request request = duplex();
    request.input = "feed";
    request.output = "rec";
    struct device *device = open_device(&request);
    struct device_info info;
    device_info(device, &info);
    ck_assert_uint_eq(info.period, period);
    ck_assert(!info.varies);
    ck_assert_uint_eq(info.rate, RATE);
    ck_assert_uint_eq(info.channels_in, 2);
    ck_assert_uint_eq(info.channels_out, 2);
    ck_assert_str_eq(info.input, "feed");
    ck_assert_str_eq(info.output, "rec");
    ck_assert_uint_lt(info.input_latency, 10 * RATE);
    struct halver halver = {.channels = 2};
    device_run(device, halver_step, &halver);
    jack_wire_run(wire);
    ck_assert_int_eq(device_state(device), DEVICE_RUNNING);
    ck_assert(device_stop(device));
    device_close(device);
    ck_assert_uint_eq(jack_wire_gaps(wire), 0);
    /* Recorded in the same cycle as it was sent. */
    for (size_t c = 0; c < 2; c++)
        for (size_t i = 0; i < signal.frames; i++)
            ck_assert(jack_wire_recorded(wire)->data[c][i] == 0.5f * signal.data[c][i]);
    jack_wire_close(wire);
    block_free(&signal);
    jack_rig_end(SIGTERM);
}

START_TEST(sound_passes_without_delay)
{
    check_halved(64);
    check_halved(1024);
}
END_TEST

START_TEST(silence_plays_where_no_step_runs)
{
    jack_rig_start(RATE, 256);
    struct block signal = stream_noise(1, 2, RATE / 4);
    struct jack_wire *wire = jack_wire_open(&signal, 2, signal.frames);
    struct device_request request = duplex();
    request.input = "feed";
    request.output = "rec";
    struct device *device = open_device(&request);
    struct halver halver = {.channels = 2};
    device_run(device, halver_step, &halver);
    ck_assert(device_stop(device));
    size_t calls = halver.calls;
    jack_wire_run(wire);
    ck_assert_uint_eq(halver.calls, calls);
    for (size_t c = 0; c < 2; c++)
        for (size_t i = 0; i < signal.frames; i++)
            ck_assert(jack_wire_recorded(wire)->data[c][i] == 0);
    device_close(device);
    jack_wire_close(wire);
    block_free(&signal);
    jack_rig_end(SIGTERM);
}
END_TEST

/* ---- a server that dies ---- */

static void wait_until_lost(struct device *device)
{
    int64_t deadline = monotonic_ns() + INT64_C(10000000000);
    const struct timespec pause = {.tv_nsec = 20000000};
    while (device_state(device) == DEVICE_RUNNING) {
        ck_assert_msg(monotonic_ns() < deadline, "the loss was not seen");
        nanosleep(&pause, NULL);
    }
}

static void check_death(int number)
{
    struct halver halver = {.channels = 2};
    struct device_request request = duplex();
    jack_rig_start(RATE, 256);
    struct device *device = open_device(&request);
    device_run(device, halver_step, &halver);
    jack_rig_end(number);
    wait_until_lost(device);
    ck_assert(device_stop(device));
    device_close(device);

    struct device *none = NULL;
    ck_assert_int_eq(device_open(&request, &none), STATUS_FAILED); /* no server */
    ck_assert_ptr_null(none);

    jack_rig_start(RATE, 128);
    device = open_device(&request);
    struct device_info info;
    device_info(device, &info);
    ck_assert_uint_eq(info.period, 128);
    device_close(device);
    jack_rig_end(SIGTERM);
}

START_TEST(server_stops_and_comes_back)
{
    check_death(SIGTERM);
}
END_TEST

START_TEST(server_crashes_and_comes_back)
{
    check_death(SIGKILL);
}
END_TEST

/* Stopped, not dead: the hanging client is abandoned, and ends when the server continues. */
START_TEST(server_hangs_and_continues)
{
    struct device_request request = duplex();
    jack_rig_start(RATE, 256);
    struct device *device = open_device(&request);
    jack_rig_signal(SIGSTOP);
    wait_until_lost(device);
    device_close(device);
    ck_assert_int_eq(device_open(&request, &device), STATUS_FAILED);
    jack_rig_signal(SIGCONT);
    int64_t deadline = monotonic_ns() + INT64_C(10000000000);
    while (device_open(&request, &device) != STATUS_OK)
        ck_assert_msg(monotonic_ns() < deadline, "the server is not found again");
    device_close(device);
    jack_rig_end(SIGTERM);
}
END_TEST

START_TEST(list_follows_the_server)
{
    jack_rig_start(RATE, 256);
    struct device_list list;
    ck_assert_int_eq(device_list_init(&list), STATUS_OK);
    ck_assert_uint_eq(list.count, 2); /* and null */
    ck_assert_str_eq(list.rows[0].name, "system");
    ck_assert_uint_eq(list.rows[0].channels_in, 2);
    ck_assert_uint_eq(list.rows[0].channels_out, 2);
    ck_assert(list.rows[0].rate == RATE);
    device_list_free(&list);
    jack_rig_end(SIGTERM);
    ck_assert_int_eq(device_list_init(&list), STATUS_OK);
    ck_assert_uint_eq(list.count, 1);
    device_list_free(&list);
}
END_TEST

/* ---- options ---- */

START_TEST(wrong_arguments_are_refused)
{
    jack_rig_start(RATE, 256);
    struct block signal = stream_noise(1, 1, 64);
    struct jack_wire *wire = jack_wire_open(&signal, 1, 64);
    char text[512];
    struct device *device = NULL;
    const size_t third = 3;
    struct {
        struct device_request request;
        const char *expected;
    } cases[] = {
        {{.rate = 44100}, "does not run at 44100 Hz; it supports 48000"},
        {{.input = "kazoo"}, "there is no input 'kazoo'; there is 0 system"},
        {{.input = "e"}, "input 'e' may be 0 system"},
        {{.input = "99"}, "there is no device 99"},
        {{.host_api = "kazoo"}, "there is no host API 'kazoo'; there is "},
        {{.input_map = &third, .input_map_count = 1}, "system has 2 input channels, no channel 3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cases[i].request.wants_input = true;
        log_capture(text, sizeof text);
        enum status status = device_open(&cases[i].request, &device);
        log_capture(NULL, 0);
        ck_assert_int_ne(status, STATUS_OK);
        ck_assert_msg(strstr(text, cases[i].expected) != NULL, "no \"%s\" in: %s",
                      cases[i].expected, text);
    }
    jack_wire_close(wire);
    block_free(&signal);
    jack_rig_end(SIGTERM);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        sound_passes_without_delay,  silence_plays_where_no_step_runs,
        server_stops_and_comes_back, server_crashes_and_comes_back,
        server_hangs_and_continues,  list_follows_the_server,
        wrong_arguments_are_refused,
    };
    return jack_rig_is_there() ? suite_run("device_jack", tests, sizeof tests / sizeof *tests) : 77;
}
