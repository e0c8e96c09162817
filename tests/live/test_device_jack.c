/* Devices through JACK: the output, sample by sample, and a server that dies. */
#include "base/monotonic.h"
#include "command.h"
#include "jack_rig.h"
#include "live/device/device.h"
#include "live_rig.h"
#include "stream.h"
#include "suite.h"

#include <jack/jack.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { RATE = 48000 };

static struct device_request duplex(void)
{
    return (struct device_request){
        .driver = "jack", .wants_input = true, .wants_output = true, .block = 64};
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
    jack_rig_end(SIGTERM);
}

START_TEST(sound_passes_without_delay)
{
    check_halved(64);
    check_halved(1024);
}

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
    jack_rig_end(SIGTERM);
}

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

START_TEST(server_crashes_and_comes_back)
{
    check_death(SIGKILL);
}

/* Stopped, not dead: that is reported, and sound goes on afterwards. */
START_TEST(a_stopped_server_is_waited_for)
{
    struct halver halver = {.channels = 2};
    struct device_request request = duplex();
    jack_rig_start(RATE, 256);
    struct device *device = open_device(&request);
    device_run(device, halver_step, &halver);
    jack_rig_signal(SIGSTOP);
    for (size_t i = 0; i < 150; i++) { /* 3 s */
        ck_assert_int_eq(device_state(device), DEVICE_RUNNING);
        live_rig_rest(20);
    }
    ck_assert_double_gt(device_stalled(device), 1.5);
    size_t calls = halver.calls;
    jack_rig_signal(SIGCONT);
    int64_t deadline = monotonic_ns() + INT64_C(10000000000);
    while (halver.calls < calls + 100) {
        ck_assert_msg(monotonic_ns() < deadline, "the server does not go on");
        ck_assert_int_eq(device_state(device), DEVICE_RUNNING);
        live_rig_rest(20);
    }
    ck_assert_int_eq(device_state(device), DEVICE_RUNNING);
    ck_assert(device_stalled(device) == 0);
    ck_assert(device_stop(device));
    device_close(device);
    jack_rig_end(SIGTERM);
}

/* A client that is closed or opened meanwhile is abandoned, and found again. */
START_TEST(a_stopped_server_holds_nothing_up)
{
    struct device_request request = duplex();
    jack_rig_start(RATE, 256);
    struct device *device = open_device(&request);
    jack_rig_signal(SIGSTOP);
    device_close(device);
    ck_assert_int_eq(device_open(&request, &device), STATUS_FAILED);
    jack_rig_signal(SIGCONT);
    int64_t deadline = monotonic_ns() + COMMAND_PATIENCE * INT64_C(1000000000);
    while (device_open(&request, &device) != STATUS_OK)
        ck_assert_msg(monotonic_ns() < deadline, "the server is not found again");
    device_close(device);
    jack_rig_signal(SIGSTOP);
    ck_assert_int_eq(device_open(&request, &device), STATUS_FAILED);
    jack_rig_signal(SIGCONT);
    while (device_open(&request, &device) != STATUS_OK)
        ck_assert_msg(monotonic_ns() < deadline, "the server is not found again");
    device_close(device);
    jack_rig_end(SIGTERM);
}

START_TEST(list_follows_the_server)
{
    jack_rig_start(RATE, 256);
    struct device_list list;
    ck_assert_int_eq(device_list_init(&list), STATUS_OK);
    ck_assert_uint_eq(list.count, 3); /* and none, null */
    ck_assert_str_eq(list.rows[1].name, "none");
    ck_assert(list.hosts[0].is_default && strcmp(list.hosts[0].name, "JACK") == 0);
    for (size_t i = 1; i < list.host_count; i++)
        ck_assert(!list.hosts[i].is_default && strcmp(list.hosts[i].name, "JACK") != 0);
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

/* ---- ports ---- */

/* One client of the test, to look at the server with. */
static jack_client_t *open_eye(void)
{
    jack_client_t *eye = jack_client_open("eye", JackNoStartServer, NULL);
    ck_assert_ptr_nonnull(eye);
    return eye;
}

static bool is_connected(jack_client_t *eye, const char *source, const char *sink)
{
    const jack_port_t *port = jack_port_by_name(eye, source);
    return port && jack_port_connected_to(port, sink);
}

/* As halo's loop does, until the two are connected or not. */
static void watch_until(struct device *device, jack_client_t *eye, const char *source,
                        const char *sink, bool connected)
{
    int64_t deadline = monotonic_ns() + INT64_C(10000000000);
    while (is_connected(eye, source, sink) != connected) {
        ck_assert_msg(monotonic_ns() < deadline, "%s and %s: connected is not %d", source, sink,
                      connected);
        ck_assert_int_eq(device_state(device), DEVICE_RUNNING);
        live_rig_rest(20);
    }
}

/* Long enough for connections to be learnt, and for those undone to be forgotten. */
static void watch_for_a_while(struct device *device)
{
    for (size_t i = 0; i < 50; i++) {
        ck_assert_int_eq(device_state(device), DEVICE_RUNNING);
        live_rig_rest(20);
    }
}

START_TEST(ports_are_named_and_counted)
{
    const size_t second = 2, swapped[] = {2, 1};
    struct device_request request = duplex();
    request.input_map = &second;
    request.input_map_count = 1;
    request.output_map = swapped;
    request.output_map_count = 2;
    jack_rig_start(RATE, 256);
    struct device *device = open_device(&request);
    struct device_info info;
    device_info(device, &info);
    ck_assert_str_eq(info.host_api, "JACK");
    ck_assert_uint_eq(info.channels_in, 1);
    ck_assert_uint_eq(info.channels_out, 2);
    jack_client_t *eye = open_eye();
    const char **ports = jack_get_ports(eye, "^halo:", NULL, 0);
    static const char *const expected[] = {"halo:in_1", "halo:out_1", "halo:out_2"};
    for (size_t i = 0; i < 3; i++)
        ck_assert_str_eq(ports[i], expected[i]);
    ck_assert_ptr_null(ports[3]);
    jack_free(ports);
    ck_assert(is_connected(eye, "system:capture_2", "halo:in_1"));
    ck_assert(is_connected(eye, "halo:out_1", "system:playback_2"));
    ck_assert(is_connected(eye, "halo:out_2", "system:playback_1"));
    ck_assert(!is_connected(eye, "halo:out_1", "system:playback_1"));
    ck_assert(!is_connected(eye, "system:capture_1", "halo:in_1"));
    device_close(device);
    ck_assert_ptr_null(jack_get_ports(eye, "^halo:", NULL, 0));
    jack_client_close(eye);
    jack_rig_end(SIGTERM);
}

START_TEST(unconnected_ports_are_left_alone)
{
    struct device_request request = duplex();
    request.input = request.output = "none";
    request.channels_in = 5;
    request.channels_out = 7;
    jack_rig_start(RATE, 256);
    struct device *device = open_device(&request);
    jack_client_t *eye = open_eye();
    const char **ports = jack_get_ports(eye, "^halo:", NULL, 0);
    size_t count = 0;
    for (; ports[count]; count++)
        ck_assert_int_eq(jack_port_connected(jack_port_by_name(eye, ports[count])), 0);
    ck_assert_uint_eq(count, 12);
    jack_free(ports);
    device_close(device);
    jack_client_close(eye);
    jack_rig_end(SIGTERM);
}

START_TEST(connections_come_back)
{
    struct device_request request = duplex();
    struct block signal = stream_noise(1, 1, 64);
    jack_rig_start(RATE, 256);
    struct device *device = open_device(&request);
    struct jack_wire *wire = jack_wire_open(&signal, 1, 64);
    jack_client_t *eye = open_eye();
    ck_assert_int_eq(jack_connect(eye, "halo:out_1", "rec:1"), 0);
    ck_assert_int_eq(jack_connect(eye, "feed:1", "halo:in_2"), 0);
    ck_assert_int_eq(jack_disconnect(eye, "system:capture_2", "halo:in_2"), 0);
    watch_for_a_while(device);
    jack_wire_close(wire); /* and comes back, to the same server */
    watch_for_a_while(device);
    wire = jack_wire_open(&signal, 1, 64);
    watch_until(device, eye, "halo:out_1", "rec:1", true);
    watch_until(device, eye, "feed:1", "halo:in_2", true);
    jack_rig_end(SIGKILL);
    wait_until_lost(device);
    device_close(device);
    jack_client_close(eye);
    jack_wire_close(wire);

    jack_rig_start(RATE, 128);
    eye = open_eye();
    request.returns = true;
    device = open_device(&request);
    watch_until(device, eye, "system:capture_1", "halo:in_1", true);
    watch_until(device, eye, "halo:out_2", "system:playback_2", true);
    watch_for_a_while(device);
    ck_assert(!is_connected(eye, "system:capture_2", "halo:in_2"));
    wire = jack_wire_open(&signal, 1, 64);
    watch_until(device, eye, "halo:out_1", "rec:1", true);
    watch_until(device, eye, "feed:1", "halo:in_2", true);
    device_close(device);

    request.returns = false; /* another stream begins anew */
    device = open_device(&request);
    watch_until(device, eye, "system:capture_2", "halo:in_2", true);
    watch_for_a_while(device);
    ck_assert(!is_connected(eye, "feed:1", "halo:in_2"));
    device_close(device);
    jack_wire_close(wire);
    jack_client_close(eye);
    jack_rig_end(SIGTERM);
}

static int do_nothing(jack_nframes_t frames, void *context)
{
    (void)frames, (void)context;
    return 0;
}

static void check_notice(struct device *device, bool expected, int line)
{
    watch_for_a_while(device);
    const char *notice = device_notice(device);
    ck_assert_msg((notice != NULL) == expected, "at line %d: %s", line,
                  notice ? notice : "no notice");
    ck_assert(!notice || strcmp(notice, "the input is connected to halo's own output") == 0);
}

START_TEST(own_output_is_reported)
{
    struct device_request request = duplex();
    jack_rig_start(RATE, 256);
    struct device *device = open_device(&request);
    jack_client_t *eye = open_eye();
    check_notice(device, false, __LINE__);
    ck_assert_int_eq(jack_connect(eye, "halo:out_2", "halo:in_1"), 0);
    check_notice(device, true, __LINE__);
    ck_assert_int_eq(jack_disconnect(eye, "halo:out_2", "halo:in_1"), 0);
    check_notice(device, false, __LINE__);
    /* What a device plays, as sound servers offer it. */
    jack_client_t *sink = jack_client_open("sink", JackNoStartServer, NULL);
    ck_assert_ptr_nonnull(jack_port_register(sink, "playback_1", JACK_DEFAULT_AUDIO_TYPE,
                                             JackPortIsInput | JackPortIsPhysical, 0));
    ck_assert_ptr_nonnull(jack_port_register(sink, "monitor_1", JACK_DEFAULT_AUDIO_TYPE,
                                             JackPortIsOutput | JackPortIsPhysical, 0));
    jack_set_process_callback(sink, do_nothing, NULL); /* without one JACK hides connections */
    ck_assert_int_eq(jack_activate(sink), 0);
    ck_assert_int_eq(jack_connect(eye, "sink:monitor_1", "halo:in_1"), 0);
    check_notice(device, false, __LINE__);
    ck_assert_int_eq(jack_connect(eye, "halo:out_1", "sink:playback_1"), 0);
    check_notice(device, true, __LINE__);
    device_close(device);
    request.input = request.output = "sink";
    char text[300];
    log_capture(text, sizeof text);
    ck_assert_int_eq(device_open(&request, &device), STATUS_FAILED);
    log_capture(NULL, 0);
    ck_assert_msg(strstr(text, "the input sink is the sound that sink plays") != NULL, "%s", text);
    jack_client_close(sink);
    jack_client_close(eye);
    jack_rig_end(SIGTERM);
}

/* ---- what the server changes ---- */

START_TEST(periods_change)
{
    static const jack_nframes_t periods[] = {64, 1024, 128};
    struct device_request request = duplex();
    struct halver halver = {.channels = 2};
    jack_rig_start(RATE, 256);
    struct device *device = open_device(&request);
    jack_client_t *eye = open_eye();
    device_run(device, halver_step, &halver);
    for (size_t i = 0; i < sizeof periods / sizeof *periods; i++) {
        ck_assert_int_eq(jack_set_buffer_size(eye, periods[i]), 0);
        size_t calls = halver.calls;
        int64_t deadline = monotonic_ns() + INT64_C(10000000000);
        while (halver.calls < calls + 10)
            ck_assert_msg(monotonic_ns() < deadline, "no sound at %u", periods[i]);
        struct device_info info;
        device_info(device, &info);
        ck_assert_uint_eq(info.period, periods[i]);
        ck_assert_int_eq(device_state(device), DEVICE_RUNNING);
    }
    ck_assert(device_stop(device));
    device_close(device);
    jack_client_close(eye);
    jack_rig_end(SIGTERM);
}

/* Faster than real time. */
START_TEST(sound_is_exact_in_freewheel)
{
    jack_rig_start(RATE, 128);
    struct block signal = stream_noise(1, 2, 4 * RATE);
    struct jack_wire *wire = jack_wire_open(&signal, 2, signal.frames);
    struct device_request request = duplex();
    request.input = "feed";
    request.output = "rec";
    struct device *device = open_device(&request);
    struct halver halver = {.channels = 2};
    device_run(device, halver_step, &halver);
    jack_client_t *eye = open_eye();
    ck_assert_int_eq(jack_set_freewheel(eye, 1), 0);
    jack_wire_run(wire);
    ck_assert_int_eq(jack_set_freewheel(eye, 0), 0); /* before any client leaves */
    size_t calls = halver.calls;
    int64_t deadline = monotonic_ns() + INT64_C(10000000000);
    while (halver.calls < calls + 20)
        ck_assert_msg(monotonic_ns() < deadline, "no sound after freewheeling");
    ck_assert_int_eq(device_state(device), DEVICE_RUNNING);
    for (size_t c = 0; c < 2; c++)
        for (size_t i = 0; i < signal.frames; i++)
            ck_assert(jack_wire_recorded(wire)->data[c][i] == 0.5f * signal.data[c][i]);
    ck_assert(device_stop(device));
    device_close(device);
    jack_client_close(eye);
    jack_wire_close(wire);
    jack_rig_end(SIGTERM);
}

static void expect_latency(jack_client_t *eye, const char *port, jack_latency_callback_mode_t mode,
                           jack_nframes_t expected)
{
    jack_latency_range_t range = {0};
    int64_t deadline = monotonic_ns() + INT64_C(10000000000);
    for (;;) {
        jack_port_get_latency_range(jack_port_by_name(eye, port), mode, &range);
        if (range.min == expected && range.max == expected)
            return;
        ck_assert_msg(monotonic_ns() < deadline, "%s has %u to %u frames, not %u", port, range.min,
                      range.max, expected);
        live_rig_rest(5);
    }
}

START_TEST(latency_is_reported)
{
    struct device_request request = duplex();
    jack_rig_start(RATE, 256);
    struct device *device = open_device(&request);
    jack_client_t *eye = open_eye();
    static const jack_nframes_t own[] = {0, 1000, 17};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        device_set_latency(device, own[i]);
        expect_latency(eye, "halo:in_1", JackCaptureLatency, 256);
        expect_latency(eye, "halo:out_1", JackCaptureLatency, 256 + own[i]);
        expect_latency(eye, "halo:out_1", JackPlaybackLatency, 256);
        expect_latency(eye, "system:capture_1", JackPlaybackLatency, 256 + own[i]);
        struct device_info info;
        device_info(device, &info);
        ck_assert_uint_eq(info.input_latency, 256);
        ck_assert_uint_eq(info.output_latency, 256);
    }
    device_close(device);
    jack_client_close(eye);
    jack_rig_end(SIGTERM);
}

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
        {{.driver = "kazoo"}, "there is no driver or host API 'kazoo'; there is "},
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
    jack_rig_end(SIGTERM);
}

int main(void)
{
    return jack_rig_is_there() ? suite_run() : 77;
}
