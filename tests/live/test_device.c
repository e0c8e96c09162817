/* halo devices, options refused before a device is opened, and the device null: its output,
 * sample by sample, and its injected faults. */
#include "alsa_rig.h"
#include "base/build_info.h"
#include "base/realtime.h"
#include "command.h"
#include "live/device/device.h"
#include "live/device/device_driver.h"
#include "live_rig.h"
#include "suite.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

START_TEST(missing_device_is_reported)
{
    alsa_rig_cards(NULL, 0);
    struct command_result result = command_done("\"$HALO\" devices");
#ifdef HALO_WITH_PORTAUDIO
    ck_assert_msg(strstr(result.out, "No sound device") != NULL, "%s", result.out);
#else
    ck_assert_msg(strstr(result.out, "no sound system") != NULL, "%s", result.out);
#endif
    ck_assert_str_eq(result.err, "");
}

START_TEST(json_without_devices)
{
    alsa_rig_cards(NULL, 0);
    struct command_result result = command_done("\"$HALO\" devices --json");
    json_t *root = command_json(result.out);
    ck_assert(json_is_array(json_object_get(root, "host_apis")));
    json_t *devices = json_object_get(root, "devices"); /* the null device */
    ck_assert_uint_eq(json_array_size(devices), 1);
    ck_assert_str_eq(command_json_string(json_array_get(devices, 0), "name"), "null");
}

START_TEST(alsa_without_default_is_refused)
{
#ifdef HALO_WITH_PORTAUDIO
    command_refused(1, "ALSA has no device called default",
                    "ALSA_CONFIG_PATH=/dev/null \"$HALO\" devices");
    command_refused(1, "ALSA has no device called default",
                    "ALSA_CONFIG_PATH=/nowhere/at/all \"$HALO\" devices");
#endif
}

START_TEST(wrong_arguments_are_refused)
{
    command_refused(2, "--colour is not an option", "\"$HALO\" devices --colour");
    command_refused(2, "takes options only", "\"$HALO\" devices please");
    struct command_result result = command_done("\"$HALO\" devices --help");
    ck_assert_msg(strstr(result.out, "--json") != NULL, "%s", result.out);
}

START_TEST(opening_nothing_is_refused)
{
    alsa_rig_cards(NULL, 0);
    struct device *device = NULL;
    struct device_request request = {0};
    ck_assert_int_eq(device_open(&request, &device), STATUS_USAGE);
    request.wants_output = true;
    ck_assert_int_eq(device_open(&request, &device), STATUS_FAILED);
    ck_assert_ptr_null(device);
    device_close(NULL);
}

/* As PipeWire and RTKit give it: with a flag, and higher than halo would ask for. */
static void *call_with_priority(void *context)
{
    enum { PRIORITY = REALTIME_PRIORITY + 20 };
    struct device_stream *stream = context;
    const struct sched_param parameters = {.sched_priority = PRIORITY};
    if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters) != 0) {
        puts("no real-time priority is granted");
        return NULL;
    }
    ck_assert(!device_process(stream, NULL, NULL, 64, false));
    ck_assert_int_eq(atomic_load(&stream->priority), PRIORITY);
    ck_assert_int_eq(realtime_priority(pthread_self()), PRIORITY);
    return NULL;
}

START_TEST(a_higher_priority_is_kept)
{
    pthread_t thread;
    struct device_stream stream = {0};
    ck_assert_int_eq(pthread_create(&thread, NULL, call_with_priority, &stream), 0);
    pthread_join(thread, NULL);
}

/* ---- the device null ---- */

enum { FRAMES = 20000 };

static struct device *open_null(const struct device_request *request)
{
    struct device *device = NULL;
    struct device_request both = *request;
    both.output = both.input;
    both.wants_input = both.wants_output = true;
    ck_assert_int_eq(device_open(&both, &device), STATUS_OK);
    return device;
}

/* A path in command_folder(). */
static const char *spec(const char *format)
{
    static char text[512];
    snprintf(text, sizeof text, format, command_folder(), command_folder());
    return text;
}

START_TEST(maps_choose_channels)
{
    static const size_t input_map[] = {4, 2}, output_map[] = {1, 4};
    struct block signal = live_rig_noise(4, 0, FRAMES, 0.5f);
    live_rig_save(&signal, "in.wav");
    const struct device_request request = {
        .input = spec("null:in=%s/in.wav,out=%s/out.wav,pace=0,period=100"),
        .input_map = input_map,
        .input_map_count = 2,
        .output_map = output_map,
        .output_map_count = 2,
    };
    struct device *device = open_null(&request);
    struct device_info info;
    device_info(device, &info);
    ck_assert_uint_eq(info.period, 100);
    ck_assert(!info.varies);
    ck_assert_str_eq(info.host_api, "null");
    struct halver halver = {.channels = 2};
    halver_run(&halver, device, FRAMES);
    ck_assert_int_eq(device_close(device), STATUS_OK);
    ck_assert_uint_eq(halver.times_lost, 0);
    struct sound played = sound_load("out.wav");
    float *const *out = played.block.data;
    ck_assert_uint_ge(played.block.frames, FRAMES);
    for (size_t i = 0; i < FRAMES; i++) {
        ck_assert(out[0][i] == 0.5f * signal.data[3][i]);
        ck_assert(out[3][i] == 0.5f * signal.data[1][i]);
        ck_assert(out[1][i] == 0 && out[2][i] == 0);
    }
}

START_TEST(mono_input_leaves_two_outputs)
{
    struct block signal = live_rig_noise(1, 0, FRAMES, 0.5f);
    live_rig_save(&signal, "in.wav");
    const struct device_request request = {
        .input = spec("null:in=%s/in.wav,out=%s/out.wav,pace=0,period=100"), .channels_out = 2};
    struct device *device = open_null(&request);
    struct device_info info;
    device_info(device, &info);
    ck_assert_uint_eq(info.channels_in, 1);
    ck_assert_uint_eq(info.channels_out, 2);
    struct halver halver = {.channels = 1};
    halver_run(&halver, device, FRAMES);
    ck_assert_int_eq(device_close(device), STATUS_OK);
    struct sound played = sound_load("out.wav");
    ck_assert_uint_eq(played.block.channels, 2);
}

/* A file that is there stays: when nothing was played, when it cannot be written, and when its
 * folder goes away meanwhile. */
START_TEST(unfinished_output_changes_nothing)
{
    static const struct {
        const char *way, *why;
    } cases[] = {
        {"\"$HALO\" live --plain --device null:pace=0,out=o/o.wav --mask nix.wav --seconds 1",
         "nix"},
        {"trap '' XFSZ; ulimit -f 400; "
         "\"$HALO\" live --plain --device null:pace=0,out=o/o.wav --seconds 60",
         "cannot write o/o.wav"},
        {"(sleep 0.5; mv o elsewhere) & "
         "\"$HALO\" live --plain --device null:out=o/o.wav --seconds 1; c=$?; mv elsewhere o; exit $c",
         "cannot write o/o.wav"},
    };
    command_done("mkdir -p o && echo old >o/o.wav");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct command_result result = command_run("%s", cases[i].way);
        ck_assert_msg(result.code == 1, "case %zu: exit %d\n%s", i, result.code, result.err);
        ck_assert_msg(strstr(result.err, cases[i].why) != NULL, "case %zu: %s", i, result.err);
        command_done("test \"$(cat o/o.wav)\" = old && test $(ls o | wc -l) = 1");
    }
}

/* Not by its index, by a part of its name, or for want of another. */
START_TEST(null_is_used_by_its_name_alone)
{
    static const struct {
        int code;
        const char *device;
    } cases[] = {{2, "--device 0"}, {2, "--input 0 --output 0"}, {1, "--device nu"}, {1, ""}};
    alsa_rig_cards(NULL, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        command_refused(cases[i].code, "there is no", "\"$HALO\" live --plain --seconds 0.1 %s",
                        cases[i].device);
}

START_TEST(injected_faults_are_reported)
{
    const struct device_request request = {
        .input = "null:pace=0,period=64,jitter=1,vary=48,xrun=10000,lose=20000,back=1"};
    struct device *device = open_null(&request);
    struct device_info info;
    struct halver halver = {.channels = 2};
    halver_run(&halver, device, SIZE_MAX);
    ck_assert_int_eq(device_state(device), DEVICE_LOST);
    device_info(device, &info);
    ck_assert(info.varies);
    ck_assert_uint_eq(halver.times_lost, 1);
    ck_assert_uint_ge(halver.lost_at, 10000);
    ck_assert_uint_le(halver.lost_at, 10000 + 64);
    ck_assert_uint_ge(halver.frames, 20000);
    ck_assert_uint_le(halver.frames, 20000 + 64);
    device_close(device);

    struct device_request again = request;
    again.wants_output = true;
    ck_assert_int_eq(device_open(&again, &device), STATUS_FAILED); /* lost, once */
    device = open_null(&request);
    halver.frames = 0;
    halver_run(&halver, device, 50000); /* and not lost again */
    ck_assert_int_eq(device_state(device), DEVICE_RUNNING);
    device_close(device);
}

/* A signal ends a stream as q does, also after the end of its input. */
START_TEST(a_signal_keeps_the_output)
{
    command_done("\"$HALO\" mask make lowpass:1000,taps=4801 -o in.wav");
    pid_t process = command_start("exec \"$HALO\" live -q --device null:in=in.wav,out=out.wav");
    /* Until after the end of its input. */
    for (int i = 0; i < 1000 && !command_has_written(process, 60000); i++)
        live_rig_rest(10);
    ck_assert_int_eq(kill(process, SIGINT), 0);
    struct command_result result = command_wait(process);
    ck_assert_msg(result.code == 128 + SIGINT && !strstr(result.err, "is lost"), "%d: %s",
                  result.code, result.err);
    ck_assert_str_eq(result.out, "");
    struct sound played = sound_load("out.wav");
    ck_assert_uint_gt(played.block.frames, 4801);
}

START_TEST(wrong_specs_are_refused)
{
    static const struct {
        const char *device, *spec;
    } cases[] = {
        {"--device null:kazoo=1", "null has no 'kazoo'; it has in=FILE, out=FILE, rate=HZ"},
        {"--device null:period", "null has no 'period'"},
        {"--device null:period=x", "period must be from 1 to 16384, not 'x'"},
        {"--device null:pace=-1", "pace must be from 0 to 1000"},
        {"--device null:in=nix.wav", "nix.wav"},
        {"--device null:out=nowhere/o.wav", "nowhere/o.wav"},
        {"--driver null:pace=1 --device null:pace=2", "are the same device"},
        {"--input null --output kazoo", "there is no output"},
        {"--input null:pace=2 --output null:pace=3,period=x", "period must be from 1 to 16384"},
        {"--device null:rate=8000 --rate 9000", "null does not run at 9000 Hz; it supports 8000"},
    };
    alsa_rig_cards(NULL, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        command_refused(0, cases[i].spec, "\"$HALO\" live --plain --seconds 0.1 %s",
                        cases[i].device);
}
