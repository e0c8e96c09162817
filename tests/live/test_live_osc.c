/* halo live under OSC control. */
#include "live_rig.h"
#include "suite.h"

#include <arpa/inet.h>
#include <lo/lo.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static lo_address target;
static char port[16];

static pid_t begin(const char *options)
{
    struct block signal = live_rig_noise(2, 0, 40 * LIVE_RIG_RATE, 0.05f);
    live_rig_save(&signal, "in.wav");
    sound_text("a.txt", "0.5\n");
    sound_text("b.txt", "0.25\n");
    sound_text("c,1.txt", "0.125\n");
    pid_t process = live_rig_start(
        LIVE_RIG_DEVICE "--block 256 --osc 0 --mask a.txt --or --mask b.txt,@mix=0.25 %s", options);
    snprintf(port, sizeof port, "%u", live_rig_osc_port());
    target = lo_address_new("127.0.0.1", port);
    return process;
}

static struct command_result end(pid_t process)
{
    lo_send(target, "/halo/quit", "");
    struct command_result result = live_rig_end(process);
    lo_address_free(target);
    ck_assert_msg(result.code == 0, "%s", result.err);
    return result;
}

/* The recording reaches the ceiling, and does not exceed it, in its last 100 ms of sound. */
static void expect_ceiling(const char *name, float ceiling)
{
    struct sound recording = sound_load(name);
    const struct block *block = &recording.block;
    size_t end = live_rig_frames_before_end(block), part = LIVE_RIG_RATE / 10;
    for (size_t c = 0; c < block->channels; c++)
        ck_assert_float_eq_tol(audio_peak(block->data[c] + end - part, part), ceiling, 1e-8f);
}

START_TEST(commands_are_obeyed)
{
    pid_t process = begin("--meter-interval 0.02 --record rec.wav --record-dry dry.wav");
    live_rig_wait("1 a.txt");
    lo_send(target, "/halo/choose", "i", 2);
    live_rig_wait("  2 b.txt  load");
    lo_send(target, "/halo/choose", "s", "a.txt");
    live_rig_wait("  1 a.txt  load");
    lo_send(target, "/halo/gain", "f", -6.5);
    live_rig_wait("gain -6.5 dB");
    lo_send(target, "/halo/mute", "i", 1);
    live_rig_wait("MUTED");
    lo_send(target, "/halo/mute", "F");
    lo_send(target, "/halo/dry", "");
    live_rig_wait("  0 dry  gain -6.5 dB  load");
    lo_send(target, "/halo/choose", "i", 2);
    live_rig_wait("  2 b.txt  gain -6.5 dB  load");
    lo_send(target, "/halo/reload", "");
    live_rig_wait("mask b.txt is loaded");
    lo_send(target, "/halo/choose", "i", 1);
    lo_send(target, "/halo/load", "is", 2, "c,1.txt"); /* after the switch has ended */
    live_rig_wait("mask c,1.txt is loaded");
    lo_send(target, "/halo/load", "is", 2, "nix.txt");
    live_rig_wait("cannot open mask nix.txt");
    lo_send(target, "/halo/choose", "i", 2);
    live_rig_wait("  2 c,1.txt  gain -6.5 dB  load");
    lo_send(target, "/halo/ceiling", "f", -60.0);
    live_rig_wait("limiter");
    live_rig_play(500);
    end(process);
    live_rig_expect_replay();
    expect_ceiling("rec.wav", 1e-3f);
}

/* Beside the program that runs, whose output is kept. What it printed is in the file "sent". */
static int send_command(const char *command)
{
    char line[1024];
    snprintf(line, sizeof line, "$HALO live --osc %s --send '%s' >%s 2>&1", port, command,
             command_path("sent"));
    return WEXITSTATUS(system(line));
}

static void refuse_command(int code, const char *expected, const char *command)
{
    char answer[400] = "";
    ck_assert_int_eq(send_command(command), code);
    FILE *file = fopen(command_path("sent"), "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(fgets(answer, sizeof answer, file));
    fclose(file);
    ck_assert_msg(strstr(answer, expected) != NULL, "%s", answer);
}

START_TEST(commands_are_sent_by_halo)
{
    pid_t process = begin("--meter-interval 0.02");
    live_rig_wait("1 a.txt");
    ck_assert_int_eq(send_command("choose 2"), 0);
    live_rig_wait("  2 b.txt  load");
    ck_assert_int_eq(send_command("choose a.txt"), 0);
    live_rig_wait("  1 a.txt  load");
    ck_assert_int_eq(send_command("/halo/gain -6.5"), 0);
    live_rig_wait("gain -6.5 dB");
    ck_assert_int_eq(send_command("mute on"), 0);
    live_rig_wait("MUTED");
    ck_assert_int_eq(send_command("mute 0") + send_command("dry"), 0);
    live_rig_wait("  0 dry  gain -6.5 dB  load");
    ck_assert_int_eq(send_command("choose 2' '--json"), 0);
    json_t *sent = json_load_file(command_path("sent"), 0, NULL);
    ck_assert_ptr_nonnull(sent);
    ck_assert_str_eq(command_json_string(sent, "sent"), "choose 2");
    json_decref(sent);
    refuse_command(1, "refused: there is no mask 9", "choose 9");
    refuse_command(1, "refused: there is no stage 7", "control 7 gain -6dB");
    refuse_command(2, "there is no command 'chose'", "chose 1");
    refuse_command(2, "gain takes a number of dB, not 'much'", "gain much");
    ck_assert_int_eq(send_command("quit"), 0);
    struct command_result result = live_rig_end(process);
    ck_assert_msg(result.code == 0, "%s", result.err);
    refuse_command(1, "does not answer", "choose 2");
    command_refused(2, "--send needs --osc PORT",
                    "env -u XDG_RUNTIME_DIR \"$HALO\" live --send dry");
    lo_address_free(target);
}

/* ---- without a port ---- */

#define RUNTIME "export XDG_RUNTIME_DIR=\"$PWD/run\"; "

/* One that prints to `name` and whose process id is in `name`.pid; returns when it runs. */
static void start_beside(const char *name, const char *setting)
{
    command_done(
        RUNTIME
        "%s \"$HALO\" live --plain --device null --meter-interval 0.02 "
        "--seconds 100 --mask a.txt --or --mask b.txt </dev/null >%s 2>&1 & echo $! >%s.pid; "
        "until grep -q a.txt %s; do sleep 0.02; done",
        setting, name, name, name);
}

static void wait_beside(const char *name, const char *expected)
{
    command_done("for i in $(seq 1500); do grep -q '%s' %s && exit; sleep 0.02; done; exit 1",
                 expected, name);
}

static void start_two(void)
{
    sound_text("a.txt", "0.5\n");
    sound_text("b.txt", "0.25\n");
    command_done("mkdir -m 700 run");
    command_refused(1, "no halo live answers", RUNTIME "$HALO live --send dry");
    start_beside("one", "");
    start_beside("two", "HALO_SERVICE=car.2");
}

START_TEST(the_one_that_runs_is_found)
{
    start_two();
    struct command_result result = command_run(RUNTIME "$HALO live --send 'choose 2'");
    ck_assert_int_eq(result.code, 2);
    command_expect(result.err, "several halo live run: ");
    command_expect(result.err, "car.2");
    command_expect(result.err, "choose one with --to");
    command_done(RUNTIME "$HALO live --send 'choose 2' --to car.2");
    wait_beside("two", "2 b.txt  load");
    command_done("! grep -q '2 b.txt' one");
    command_done(RUNTIME "$HALO live --send 'gain -6.5' --to \"$(cat one.pid)\"");
    wait_beside("one", "gain -6.5 dB");
    command_refused(1, "no halo live runs as x", RUNTIME "$HALO live --send dry --to x");
    command_refused(1, "no halo live runs as ../run", RUNTIME "$HALO live --send dry --to ../run");
    command_refused(2, "--to NAME needs --send", "$HALO live --to x");
    command_done(RUNTIME "$HALO live --send quit --to car.2; "
                         "while test -e /proc/$(cat two.pid)/exe; do sleep 0.02; done; "
                         "test ! -e run/halo/car.2 && $HALO live --send 'mute on'");
    wait_beside("one", "MUTED");
    command_refused(1, "refused: there is no mask 9", RUNTIME "$HALO live --send 'choose 9'");
    command_done(RUNTIME "$HALO live --send quit");
}

/* A name is free again, and its socket removed, once its process is gone; a process that stands
 * still has it. */
START_TEST(a_killed_one_is_not_found)
{
    start_two();
    command_done("kill -STOP $(cat one.pid)");
    command_refused(1, "does not answer", RUNTIME "$HALO live --send dry --to $(cat one.pid)");
    command_done("kill -KILL $(cat one.pid) $(cat two.pid); "
                 "while test -e /proc/$(cat one.pid)/exe -o -e /proc/$(cat two.pid)/exe; "
                 "do sleep 0.02; done; "
                 "test -S run/halo/car.2; touch run/halo/note");
    start_beside("three", "HALO_SERVICE=car.2");
    command_done(RUNTIME "$HALO live --send 'choose 2'; cd run/halo; "
                         "test \"$(echo *)\" = 'car.2 note'");
    wait_beside("three", "2 b.txt  load");
    start_beside("four", "HALO_SERVICE=car.2"); /* that name is taken */
    command_done(RUNTIME "$HALO live --send quit --to $(cat four.pid); "
                         "$HALO live --send quit --to car.2");
}

/* Folders that cannot be written, or that others can: halo live runs, and no command is sent. */
START_TEST(a_folder_of_others_is_not_used)
{
    static const char *const spoils[] = {
        "chmod 777 run",
        "mkdir -m 755 run/halo",
        "mkdir -m 700 other; ln -s ../other run/halo",
        "touch run/halo",
        "test $(id -u) = 0 && mkdir -m 700 run/halo && chown 65534 run/halo || rmdir run",
        "test $(id -u) = 0 && chown 65534 run || chmod 500 run",
        "rmdir run; ln -s /sys run",
    };
    for (size_t i = 0; i < sizeof spoils / sizeof *spoils; i++) {
        command_clean();
        sound_text("a.txt", "0.5\n");
        command_done("mkdir -m 700 run; %s", spoils[i]);
        struct command_result result = command_done(
            RUNTIME "$HALO live -v --plain --device null:pace=0 --seconds 1 --mask a.txt");
        command_expect(result.err, "halo live --send cannot reach this: ");
        command_refused(0, "PORT", RUNTIME "$HALO live --send dry");
        command_done("test ! -S run/halo/* && test ! -S other/*; rm -rf run");
    }
}

/* Names as they stand on the screen, without the folder that all are in, and cut. */
START_TEST(what_is_shown_can_be_chosen)
{
    static const char *const names[] = {"2",   "a measured hall, left wall.txt",
                                        "0",   "a m..right wall.txt",
                                        "dry", "masks/a measured hall, left wall.txt"};
    static const char *const shown[] = {"  2 ", "  1 ", "  0 dry", "  2 ", "  0 dry", "  1 "};
    command_done(
        "mkdir masks; cp \"$FILTERS/identity.txt\" 'masks/a measured hall, left wall.txt'; "
        "cp \"$FILTERS/identity.txt\" 'masks/a measured hall, right wall.txt'");
    pid_t process = live_rig_start("--osc 0 --device null --meter-interval 0.02 "
                                   "--mask 'masks/a measured hall\\, left wall.txt' --or "
                                   "--mask 'masks/a measured hall\\, right wall.txt'");
    snprintf(port, sizeof port, "%u", live_rig_osc_port());
    target = lo_address_new("127.0.0.1", port);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        live_rig_keys(i % 2 ? "0" : "1");
        lo_send(target, "/halo/choose", "s", names[i]);
        live_rig_wait_answer(shown[i]);
    }
    end(process);
}

/* A FIFO without a writer, as a file of a network that hangs. */
START_TEST(a_mask_that_cannot_be_read_stops_nothing)
{
    pid_t process = begin("--meter-interval 0.02 --watch");
    ck_assert_int_eq(mkfifo(command_path("fifo"), 0600), 0);
    live_rig_wait("1 a.txt");
    lo_send(target, "/halo/load", "is", 2, "fifo");
    lo_send(target, "/halo/gain", "f", -6.5);
    live_rig_wait("gain -6.5 dB");
    lo_send(target, "/halo/choose", "i", 2);
    live_rig_wait("  2 b.txt  gain -6.5 dB  load");
    ck_assert_int_eq(unlink(command_path("b.txt")), 0);
    ck_assert_int_eq(mkfifo(command_path("b.txt"), 0600), 0);
    lo_send(target, "/halo/reload", "");
    lo_send(target, "/halo/choose", "i", 1);
    live_rig_wait("  1 a.txt  gain -6.5 dB  load");
    end(process);
}

static int take_reason(const char *path, const char *types, lo_arg **values, int count,
                       lo_message message, void *context)
{
    (void)types, (void)count, (void)message;
    ck_assert_str_eq(path, "/halo/error");
    snprintf(context, 300, "%s: %s", (const char *)values[0], (const char *)values[1]);
    return 0;
}

static void expect_reason(lo_server server, const char *reason, const char *expected)
{
    ck_assert_int_gt(lo_server_recv_noblock(server, 20000), 0);
    ck_assert_msg(strstr(reason, expected) != NULL, "%s", reason);
}

/* What is out of range, or is not there, changes nothing and is answered. */
START_TEST(what_cannot_be_done_is_answered)
{
    char reason[300] = "";
    pid_t process = begin("--json --meter-interval 0.02 --mask a.txt,@mix=1");
    lo_server server = lo_server_new_with_proto(NULL, LO_UDP, NULL);
    lo_server_add_method(server, NULL, NULL, take_reason, reason);
#define SEND(...) lo_send_from(target, server, LO_TT_IMMEDIATE, __VA_ARGS__)
    SEND("/halo/gain", "f", 1e9);
    expect_reason(server, reason, "/halo/gain: the gain is from -60 to 24 dB, not 1e+09");
    SEND("/halo/ceiling", "d", 0.5);
    expect_reason(server, reason, "/halo/ceiling: the ceiling is from -60 to 0 dB, not 0.5");
    SEND("/halo/gain", "d", -60.5);
    expect_reason(server, reason, "from -60 to 24");
    SEND("/halo/choose", "i", 3);
    expect_reason(server, reason, "/halo/choose: there is no mask 3: there are 2");
    SEND("/halo/choose", "s", "kazoo");
    expect_reason(server, reason, "there is no mask 'kazoo'");
    SEND("/halo/load", "is", 7, "b.txt");
    expect_reason(server, reason, "/halo/load: there is no mask 7");
    SEND("/halo/load", "is", 2, "nix.txt");
    expect_reason(server, reason, "/halo/load: cannot open mask nix.txt");
    SEND("/halo/mix", "if", 2, 1.5);
    expect_reason(server, reason, "/halo/mix: ");
    SEND("/halo/mix", "if", 9, 0.5);
    expect_reason(server, reason, "/halo/mix: there is no stage 9");
    SEND("/halo/control", "isf", 2, "kazoo", 0.5);
    expect_reason(server, reason, "/halo/control: stage 2 has no control 'kazoo'");
    SEND("/halo/bypass", "ii", 1, 1);
    expect_reason(server, reason, "/halo/bypass: stage 1 has no control '@bypass'");
    SEND("/halo/preset/save", "s", "../kazoo");
    expect_reason(server, reason, "/halo/preset/save: a preset cannot be called '../kazoo'");
    SEND("/halo/control", "isf", INT32_MAX, "kazoo", 0.5);
    expect_reason(server, reason, "/halo/control: there is no stage 2147483647");
    SEND("/halo/choose", "h", (int64_t)1 << 40);
    expect_reason(server, reason, "/halo/choose: there is no mask 1099511627776");
    static char longest[5000];
    memset(longest, 'k', sizeof longest - 1);
    SEND("/halo/load", "is", 1, longest);
    expect_reason(server, reason, "/halo/load: a text is longer than 4095 bytes");
    longest[4096] = '\0';
    SEND("/halo/preset", "s", longest);
    expect_reason(server, reason, "/halo/preset: a text is longer than 4095 bytes");
#undef SEND
    live_rig_wait("\"osc_refused\":16");
    live_rig_wait("\"text\":\"OSC /halo/");
    struct command_result result = end(process);
    ck_assert_ptr_null(strstr(result.out, "\"gain_db\":24"));
    ck_assert_ptr_null(strstr(result.out, "\"gain_db\":-60"));
    ck_assert_ptr_null(strstr(result.out, "\"chosen\":2"));
    lo_server_free(server);
}

static int count_reason(const char *path, const char *types, lo_arg **values, int count,
                        lo_message message, void *context)
{
    (void)path, (void)types, (void)count, (void)message;
    char *reasons = context;
    size_t length = strlen(reasons);
    snprintf(reasons + length, 4000 - length, "%s\n", (const char *)values[1]);
    return 0;
}

/* Each of those that come faster than presets are read has its answer, and the last one counts. */
START_TEST(each_preset_asked_for_is_answered)
{
    enum { ASKED = 7 };
    static char reasons[4000];
    pid_t process = begin("--plain");
    lo_server server = lo_server_new_with_proto(NULL, LO_UDP, NULL);
    lo_server_add_method(server, NULL, NULL, count_reason, reasons);
    live_rig_wait("mask 1");
    for (int i = 0; i < ASKED; i++) {
        char name[] = "kazoo0";
        name[5] = (char)('0' + i);
        lo_send_from(target, server, LO_TT_IMMEDIATE, "/halo/preset", "s", name);
    }
    for (int i = 0; i < ASKED; i++) {
        char answer[64];
        ck_assert_msg(lo_server_recv_noblock(server, 20000) > 0, "%d answers: %s", i, reasons);
        snprintf(answer, sizeof answer, "cannot change to preset kazoo%d: ", i);
        if (i == ASKED - 1) /* of each one, in any order */
            for (int k = 0; k < ASKED; k++) {
                answer[strlen("cannot change to preset kazoo")] = (char)('0' + k);
                ck_assert_msg(strstr(reasons, answer) != NULL, "%s", reasons);
            }
    }
    ck_assert_ptr_null(strstr(strstr(reasons, "kazoo6: "), "asked for since"));
    end(process);
    lo_server_free(server);
}

START_TEST(bad_messages_are_counted)
{
    pid_t process = begin("--json --meter-interval 0.02");
    lo_send(target, "/halo/choose", "i", 3);
    lo_send(target, "/halo/choose", "s", "kazoo");
    lo_send(target, "/halo/kazoo", "");
    lo_send(target, "/halo/load", "is", 7, "b.txt");
    lo_send(target, "/halo/gain", "s", "loud");
    int udp = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)atoi(port)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ck_assert_int_eq(sendto(udp, "no OSC", 6, 0, (struct sockaddr *)&to, sizeof to), 6);
    close(udp);
    live_rig_wait("\"osc_refused\":6");
    live_rig_wait("\"chosen\":1");
    end(process);
}
