/* Commands and meters over OSC, with liblo as the sender and with malformed packets. */
#include "live/remote/osc.h"
#include "suite.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <lo/lo.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { COMES_MS = 10000 };

static struct osc *osc;
static lo_address target;

static void begin(void)
{
    char port[16];
    ck_assert_int_eq(osc_open(0, &osc), STATUS_OK);
    snprintf(port, sizeof port, "%u", osc_port(osc));
    target = lo_address_new("127.0.0.1", port);
}

static void end(void)
{
    lo_address_free(target);
    osc_close(osc);
}

/* The next command; fails if none arrives. */
static struct live_command next(void)
{
    struct live_command command;
    struct pollfd ready = {.fd = osc_fd(osc), .events = POLLIN};
    while (!osc_receive(osc, &command))
        ck_assert_int_eq(poll(&ready, 1, COMES_MS), 1);
    return command;
}

/* Loopback keeps the order: once this arrives, everything sent before it has arrived. */
static void expect_none_before_quit(void)
{
    ck_assert_int_gt(lo_send(target, "/halo/quit", ""), 0);
    ck_assert_int_eq(next().action, COMMAND_QUIT);
}

START_TEST(commands_are_understood)
{
    begin();
    lo_send(target, "/halo/choose", "i", 3);
    struct live_command command = next();
    ck_assert_int_eq(command.action, COMMAND_CHOOSE);
    ck_assert_uint_eq(command.choice, 3);
    lo_send(target, "/halo/choose", "f", 2.0);
    ck_assert_uint_eq(next().choice, 2);
    lo_send(target, "/halo/choose", "s", "hall.wav");
    command = next();
    ck_assert_int_eq(command.action, COMMAND_CHOOSE_NAMED);
    ck_assert_str_eq(command.text, "hall.wav");
    lo_send(target, "/halo/dry", "");
    command = next();
    ck_assert_int_eq(command.action, COMMAND_CHOOSE);
    ck_assert_uint_eq(command.choice, 0);
    lo_send(target, "/halo/gain", "f", -6.5);
    command = next();
    ck_assert_int_eq(command.action, COMMAND_GAIN);
    ck_assert_double_eq(command.value, -6.5);
    lo_send(target, "/halo/gain", "d", 1.25);
    ck_assert_double_eq(next().value, 1.25);
    lo_send(target, "/halo/gain", "h", (int64_t)-3);
    ck_assert_double_eq(next().value, -3);
    lo_send(target, "/halo/mute", "i", 1);
    lo_send(target, "/halo/mute", "f", 0.0);
    lo_send(target, "/halo/mute", "T");
    lo_send(target, "/halo/mute", "F");
    for (int i = 0; i < 4; i++) {
        command = next();
        ck_assert(command.action == COMMAND_MUTE && command.on == (i % 2 == 0));
    }
    lo_send(target, "/halo/load", "is", 2, "a folder/room.wav");
    command = next();
    ck_assert_int_eq(command.action, COMMAND_LOAD);
    ck_assert_uint_eq(command.choice, 2);
    ck_assert_str_eq(command.text, "a folder/room.wav");
    lo_send(target, "/halo/control", "isf", 2, "gain", -6.5);
    command = next();
    ck_assert_int_eq(command.action, COMMAND_CONTROL);
    ck_assert_uint_eq(command.stage, 2);
    ck_assert_str_eq(command.text, "gain");
    ck_assert_str_eq(command.value_text, "-6.5");
    lo_send(target, "/halo/control", "iss", 1, "mode", "Lowpass");
    command = next();
    ck_assert_uint_eq(command.stage, 1);
    ck_assert_str_eq(command.value_text, "Lowpass");
    lo_send(target, "/halo/mix", "ii", 3, 1);
    command = next();
    ck_assert_int_eq(command.action, COMMAND_CONTROL);
    ck_assert_str_eq(command.text, "@mix");
    ck_assert_str_eq(command.value_text, "1");
    lo_send(target, "/halo/bypass", "iF", 3);
    command = next();
    ck_assert_uint_eq(command.stage, 3);
    ck_assert_str_eq(command.text, "@bypass");
    ck_assert_str_eq(command.value_text, "off");
    lo_send(target, "/halo/reload", "");
    ck_assert_int_eq(next().action, COMMAND_RELOAD);
    ck_assert_uint_eq(osc_refused(osc), 0);
    end();
}

START_TEST(bundles_are_unpacked)
{
    begin();
    lo_bundle bundle = lo_bundle_new(LO_TT_IMMEDIATE);
    lo_message gain = lo_message_new(), odd = lo_message_new(), dry = lo_message_new();
    lo_message_add_float(gain, 3);
    lo_bundle_add_message(bundle, "/halo/gain", gain);
    lo_bundle_add_message(bundle, "/halo/nothing", odd);
    lo_bundle_add_message(bundle, "/halo/dry", dry);
    ck_assert_int_gt(lo_send_bundle(target, bundle), 0);
    ck_assert_int_eq(next().action, COMMAND_GAIN);
    ck_assert_int_eq(next().action, COMMAND_CHOOSE);
    ck_assert_uint_eq(osc_refused(osc), 1);
    lo_bundle_free_recursive(bundle);
    end();
}

START_TEST(odd_messages_are_counted)
{
    char longest[COMMAND_TEXT_MOST + 1];
    memset(longest, 'a', sizeof longest);
    longest[COMMAND_TEXT_MOST] = '\0';
    begin();
    lo_send(target, "/halo/choose", "");
    lo_send(target, "/halo/choose", "i", -1);
    lo_send(target, "/halo/choose", "f", 1.5);
    lo_send(target, "/halo/choose", "s", "");
    lo_send(target, "/halo/choose", "s", longest);
    lo_send(target, "/halo/choose", "ii", 1, 2);
    lo_send(target, "/halo/gain", "s", "loud");
    lo_send(target, "/halo/gain", "f", (double)NAN);
    lo_send(target, "/halo/gain", "d", (double)INFINITY);
    lo_send(target, "/halo/mute", "i", 2);
    lo_send(target, "/halo/load", "si", "a", 1);
    lo_send(target, "/halo/load", "is", 0, "a");
    lo_send(target, "/halo/control", "isf", 0, "gain", 1.0);
    lo_send(target, "/halo/control", "if", 1, 1.0);
    lo_send(target, "/halo/control", "isf", 1, "gain", (double)NAN);
    lo_send(target, "/halo/mix", "f", 0.5);
    lo_send(target, "/halo/bypass", "ii", 1, 2);
    lo_send(target, "/halo/bypass", "i", 1);
    lo_send(target, "/halo/quit", "i", 1);
    lo_send(target, "/halo/subscribe", "i", 70000);
    lo_send(target, "/halo/subscribe", "i", 0);
    lo_send(target, "/halo", "");
    lo_send(target, "/halo/choose/more", "i", 1);
    lo_send(target, "/other", "i", 1);
    expect_none_before_quit();
    ck_assert_uint_eq(osc_refused(osc), 24);
    end();
}

struct answers {
    int count;
    char path[OSC_PATH_MOST], reason[256];
};

static int take_answer(const char *path, const char *types, lo_arg **values, int count,
                       lo_message message, void *context)
{
    struct answers *answers = context;
    (void)count, (void)message;
    ck_assert_str_eq(path, "/halo/error");
    ck_assert_str_eq(types, "ss");
    answers->count++;
    snprintf(answers->path, sizeof answers->path, "%s", (const char *)values[0]);
    snprintf(answers->reason, sizeof answers->reason, "%s", (const char *)values[1]);
    return 0;
}

/* What the sender of the last message gets for it. */
static void expect_answer(lo_server server, struct answers *answers, const char *path,
                          const char *reason)
{
    struct live_command command;
    struct pollfd ready = {.fd = osc_fd(osc), .events = POLLIN};
    int before = answers->count;
    ck_assert_int_eq(poll(&ready, 1, COMES_MS), 1);
    ck_assert(!osc_receive(osc, &command));
    ck_assert_int_gt(lo_server_recv_noblock(server, COMES_MS), 0);
    ck_assert_int_eq(answers->count, before + 1);
    ck_assert_str_eq(answers->path, path);
    ck_assert_msg(strstr(answers->reason, reason) != NULL, "%s", answers->reason);
}

START_TEST(refusals_are_answered)
{
    struct answers answers = {0};
    struct live_command command;
    begin();
    lo_server server = lo_server_new_with_proto(NULL, LO_UDP, NULL);
    lo_server_add_method(server, NULL, NULL, take_answer, &answers);
    lo_send_from(target, server, LO_TT_IMMEDIATE, "/halo/gain", "s", "loud");
    expect_answer(server, &answers, "/halo/gain", "a number of dB");
    lo_send_from(target, server, LO_TT_IMMEDIATE, "/halo/gain", "f", (double)NAN);
    expect_answer(server, &answers, "/halo/gain", "a number of dB");
    lo_send_from(target, server, LO_TT_IMMEDIATE, "/halo/kazoo", "i", 1);
    expect_answer(server, &answers, "/halo/kazoo", "no such message");
    lo_send_from(target, server, LO_TT_IMMEDIATE, "/halo/choose", "f", 1.5);
    expect_answer(server, &answers, "/halo/choose", "NUMBER");
    ck_assert_str_eq(osc_refusal(osc), "/halo/gain: it takes a number of dB");
    ck_assert_str_eq(osc_refusal(osc), "/halo/gain: it takes a number of dB");
    ck_assert_str_eq(osc_refusal(osc), "/halo/kazoo: there is no such message");
    ck_assert_str_eq(osc_refusal(osc), "/halo/choose: it takes a NUMBER (0: dry) or a NAME");
    ck_assert_ptr_null(osc_refusal(osc));
    lo_send_from(target, server, LO_TT_IMMEDIATE, "/halo/mute", "i", 1);
    command = next();
    ck_assert_str_eq(command.path, "/halo/mute");
    osc_refuse(osc, &command.sender, command.path, "it is too loud");
    ck_assert_int_gt(lo_server_recv_noblock(server, COMES_MS), 0);
    ck_assert_str_eq(answers.reason, "it is too loud");
    ck_assert_str_eq(osc_refusal(osc), "/halo/mute: it is too loud");
    ck_assert_ptr_null(osc_refusal(osc));
    lo_send_from(target, server, LO_TT_IMMEDIATE, "/halo/error", "ss", "/a", "b");
    expect_none_before_quit();
    ck_assert_int_eq(lo_server_recv_noblock(server, 100), 0);
    ck_assert_uint_eq(osc_refused(osc), 6);
    lo_server_free(server);
    end();
}

/* However fast they come: a few are shown, and the others counted. */
START_TEST(a_flood_of_refusals_is_counted)
{
    enum { SENT = 100 };
    const struct osc_sender nobody = {0};
    size_t shown = 0, counted = 0;
    const char *line;
    begin();
    for (size_t i = 0; i < SENT; i++)
        osc_refuse(osc, &nobody, "/halo/error", "loud");
    for (int tries = 0; shown + counted < SENT && tries < 1000; tries++) {
        poll(NULL, 0, 20);
        while ((line = osc_refusal(osc))) {
            unsigned more = 0;
            if (sscanf(line, "refused %u more messages", &more) != 1)
                shown++;
            counted += more;
        }
    }
    ck_assert_uint_eq(shown + counted, SENT);
    ck_assert_uint_ge(shown, 2);
    ck_assert_uint_le(shown, 20);
    end();
}

/* ---- malformed packets ---- */

static int raw_socket(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)osc_port(osc)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

/* xorshift64 (Marsaglia 2003). */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void drain(void)
{
    struct live_command command;
    for (int empty = 0; empty < 2;) /* a full round ends with false too */
        empty = osc_receive(osc, &command) ? 0 : empty + 1;
}

static const char *const true_packets[] = {
    "/halo/choose\0\0\0\0,i\0\0\0\0\0\1",
    "/halo/load\0\0,is\0\0\0\0\1room.wav\0\0\0\0",
    "#bundle\0\0\0\0\0\0\0\0\1\0\0\0\20/halo/dry\0\0\0,\0\0\0",
    "/halo/gain\0\0,d\0\0\100\10\0\0\0\0\0\0",
};
static const size_t true_sizes[] = {24, 32, 36, 24};

START_TEST(garbage_is_only_counted)
{
    begin();
    int fd = raw_socket();
    static const char cut[] = "/halo/choose"; /* no types, no padding */
    static const char open_string[] = "/halo/load\0\0,is\0\0\0\0\1aaaa";
    static const char liar[] = "#bundle\0\0\0\0\0\0\0\0\1\177\377\377\374/halo/quit";
    static const char odd_type[] = "/halo/dry\0\0\0,?\0\0";
    ck_assert_int_gt(send(fd, cut, 12, 0), 0);
    ck_assert_int_gt(send(fd, open_string, 24, 0), 0);
    ck_assert_int_gt(send(fd, liar, 30, 0), 0);
    ck_assert_int_gt(send(fd, odd_type, 16, 0), 0);
    ck_assert_int_ge(send(fd, "", 0, 0), 0);
    ck_assert_int_gt(send(fd, "\0\0\0\0", 4, 0), 0);
    expect_none_before_quit();
    ck_assert_uint_eq(osc_refused(osc), 6);
    close(fd);
    end();
}

/* Valid packets with bytes changed and ends cut off. */
START_TEST(broken_packets_are_harmless)
{
    uint64_t state = 88172645463325252;
    begin();
    int fd = raw_socket();
    for (int i = 0; i < 20000; i++) {
        char packet[64];
        size_t kind = next_random(&state) % 4, size = true_sizes[kind];
        memcpy(packet, true_packets[kind], size);
        for (uint64_t changes = next_random(&state) % 4; changes > 0; changes--)
            packet[next_random(&state) % size] = (char)next_random(&state);
        if (next_random(&state) % 4 == 0)
            size = next_random(&state) % (size + 1);
        send(fd, packet, size, 0);
        if (i % 16 == 0)
            drain();
    }
    drain();
    ck_assert_uint_gt(osc_refused(osc), 1000);
    expect_none_before_quit();
    close(fd);
    end();
}

START_TEST(floods_are_bounded)
{
    struct live_command command;
    begin();
    int fd = raw_socket();
    for (int i = 0; i < 100; i++)
        ck_assert_int_gt(send(fd, "/x\0\0", 4, 0), 0);
    ck_assert(!osc_receive(osc, &command));
    ck_assert_uint_eq(osc_refused(osc), OSC_PACKETS_MOST);
    ck_assert(!osc_receive(osc, &command));
    ck_assert_uint_eq(osc_refused(osc), 100);
    for (int i = 0; i < 100; i++)
        ck_assert_int_gt(send(fd, true_packets[0], true_sizes[0], 0), 0);
    int round = 0;
    while (osc_receive(osc, &command))
        round++;
    ck_assert_int_eq(round, OSC_PACKETS_MOST);
    close(fd);
    end();
}

/* ---- from other machines ---- */

/* A non-loopback address of this machine, or 0. */
static in_addr_t outer_address(void)
{
    struct ifaddrs *all;
    in_addr_t found = 0;
    if (getifaddrs(&all) != 0)
        return 0;
    for (const struct ifaddrs *one = all; one; one = one->ifa_next) {
        if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET)
            continue;
        in_addr_t address =
            ((const struct sockaddr_in *)(const void *)one->ifa_addr)->sin_addr.s_addr;
        if (ntohl(address) >> 24 != IN_LOOPBACKNET)
            found = address;
    }
    freeifaddrs(all);
    return found;
}

START_TEST(only_loopback_is_accepted)
{
    struct sockaddr_in bound;
    socklen_t size = sizeof bound;
    begin();
    ck_assert_int_eq(getsockname(osc_fd(osc), (struct sockaddr *)&bound, &size), 0);
    ck_assert_uint_eq(ntohl(bound.sin_addr.s_addr), INADDR_LOOPBACK);
    in_addr_t outer = outer_address();
    if (outer) {
        int fd = socket(AF_INET, SOCK_DGRAM, 0);
        struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = outer};
        ck_assert_int_eq(bind(fd, (struct sockaddr *)&from, sizeof from), 0);
        struct sockaddr_in to = bound;
        if (sendto(fd, true_packets[0], true_sizes[0], 0, (struct sockaddr *)&to, sizeof to) > 0) {
            expect_none_before_quit();
            ck_assert_uint_eq(osc_refused(osc), 1);
        }
        to.sin_addr.s_addr = outer; /* nobody listens there */
        sendto(fd, true_packets[0], true_sizes[0], 0, (struct sockaddr *)&to, sizeof to);
        expect_none_before_quit();
        close(fd);
    }
    end();
}

START_TEST(a_taken_port_is_refused)
{
    char reply[256] = "";
    struct osc *second;
    begin();
    log_capture(reply, sizeof reply);
    ck_assert_int_eq(osc_open((int)osc_port(osc), &second), STATUS_FAILED);
    ck_assert_msg(strstr(reply, "in use") != NULL, "%s", reply);
    ck_assert_int_eq(osc_open(70000, &second), STATUS_USAGE);
    log_capture(NULL, 0);
    end();
}

/* ---- meters ---- */

struct received {
    int in, out, status;
    float peak, rms, hold, gain, load;
    int64_t clips, late;
    int chosen;
    char name[64];
};

/* Arguments are aligned to 4 bytes. */
static float float_at(lo_arg **values, int at)
{
    float value;
    memcpy(&value, (const void *)values[at], sizeof value);
    return value;
}

static int int_at(lo_arg **values, int at)
{
    int32_t value;
    memcpy(&value, (const void *)values[at], sizeof value);
    return value;
}

static int receive(const char *path, const char *types, lo_arg **values, int count,
                   lo_message message, void *context)
{
    struct received *received = context;
    (void)count, (void)message;
    if (strcmp(path, "/halo/status") == 0) {
        ck_assert_str_eq(types, "isfiiffffhhf");
        received->status++;
        received->chosen = int_at(values, 0);
        snprintf(received->name, sizeof received->name, "%s", (const char *)values[1]);
        received->gain = float_at(values, 2);
        received->load = float_at(values, 6);
        memcpy(&received->late, (const void *)values[9], sizeof received->late);
        return 0;
    }
    if (strcmp(path, "/halo/error") == 0)
        return 0;
    ck_assert_str_eq(types, "ifffh");
    bool in = strcmp(path, "/halo/meters/in") == 0;
    ck_assert(in || strcmp(path, "/halo/meters/out") == 0);
    received->in += in;
    received->out += !in;
    if (!in || int_at(values, 0) != 2)
        return 0;
    received->peak = float_at(values, 1);
    received->rms = float_at(values, 2);
    received->hold = float_at(values, 3);
    memcpy(&received->clips, (const void *)values[4], sizeof received->clips);
    return 0;
}

static const char *const names[] = {"hall.wav", "room.wav"};
static const struct meter_reading readings[] = {
    {.peak = 1, .rms = 1, .hold = 1},
    {.peak = 0.5f, .rms = 0, .hold = 0.1f, .clips = 7},
};
static const struct live_status picture = {
    .rate = 48000,
    .inputs = 2,
    .outputs = 1,
    .in = readings,
    .out = readings,
    .choices = 2,
    .names = names,
    .chosen = 2,
    .gain_db = -3,
    .load_now = 0.25,
    .late = 5,
};

/* Sends the meters and handles the replies of the next 200 ms. */
static void exchange(lo_server server, const struct live_status *status)
{
    struct live_command command;
    while (osc_receive(osc, &command))
        ;
    osc_send_meters(osc, status);
    lo_server_recv_noblock(server, 200);
    while (lo_server_recv_noblock(server, 0) > 0)
        ;
}

START_TEST(subscribers_get_meters)
{
    struct received received = {.in = 0};
    begin();
    lo_server server = lo_server_new_with_proto(NULL, LO_UDP, NULL);
    lo_server_add_method(server, NULL, NULL, receive, &received);
    exchange(server, &picture);
    ck_assert_int_eq(received.status, 0); /* no subscribers */
    lo_send_from(target, server, LO_TT_IMMEDIATE, "/halo/subscribe", "");
    exchange(server, &picture);
    ck_assert(received.in == 2 && received.out == 1 && received.status == 1);
    ck_assert_float_eq_tol(received.peak, -6.0206f, 1e-3f);
    ck_assert_float_eq(received.rms, OSC_SILENCE);
    ck_assert_float_eq_tol(received.hold, -20.f, 1e-3f);
    ck_assert_int_eq(received.clips, 7);
    ck_assert_int_eq(received.chosen, 2);
    ck_assert_str_eq(received.name, "room.wav");
    ck_assert_float_eq(received.gain, -3);
    ck_assert_float_eq(received.load, 0.25f);
    ck_assert_int_eq(received.late, 5);
    lo_send_from(target, server, LO_TT_IMMEDIATE, "/halo/subscribe", ""); /* adds no other */
    exchange(server, &picture);
    ck_assert_int_eq(received.status, 2);
    lo_send_from(target, server, LO_TT_IMMEDIATE, "/halo/unsubscribe", "");
    exchange(server, &picture);
    ck_assert_int_eq(received.status, 2);
    lo_send(target, "/halo/subscribe", "i", lo_server_get_port(server)); /* by port */
    exchange(server, &picture);
    ck_assert_int_eq(received.status, 3);
    ck_assert_uint_eq(osc_refused(osc), 0);
    lo_server_free(server);
    end();
}

START_TEST(blind_meters_reveal_nothing)
{
    struct received received = {.in = 0};
    struct live_status blind = picture;
    blind.hidden = true;
    begin();
    lo_server server = lo_server_new_with_proto(NULL, LO_UDP, NULL);
    lo_server_add_method(server, NULL, NULL, receive, &received);
    lo_send(target, "/halo/subscribe", "i", lo_server_get_port(server));
    exchange(server, &blind);
    ck_assert_int_eq(received.status, 1);
    ck_assert_int_eq(received.out, 0);
    ck_assert_int_eq(received.chosen, -1);
    ck_assert_str_eq(received.name, "?");
    ck_assert_float_eq(received.load, -1);
    lo_server_free(server);
    end();
}

/* A dead subscriber is removed, which makes a slot free. */
START_TEST(dead_subscribers_are_removed)
{
    struct received received = {.in = 0};
    struct live_command command;
    begin();
    lo_server server = lo_server_new_with_proto(NULL, LO_UDP, NULL);
    lo_server_add_method(server, NULL, NULL, receive, &received);
    int sockets[OSC_SUBSCRIBERS_MOST];
    for (int i = 0; i < OSC_SUBSCRIBERS_MOST; i++) {
        sockets[i] = raw_socket();
        static const char subscribe[] = "/halo/subscribe\0,\0\0";
        ck_assert_int_gt(send(sockets[i], subscribe, 20, 0), 0);
    }
    while (osc_receive(osc, &command))
        ;
    lo_send(target, "/halo/subscribe", "i", lo_server_get_port(server));
    exchange(server, &picture);
    ck_assert_int_eq(received.status, 0); /* no slot free */
    ck_assert_uint_eq(osc_refused(osc), 1);
    for (int i = 0; i < OSC_SUBSCRIBERS_MOST; i++)
        close(sockets[i]);
    for (int i = 0; i < 3; i++)
        exchange(server, &picture);
    lo_send(target, "/halo/subscribe", "i", lo_server_get_port(server));
    exchange(server, &picture);
    ck_assert_int_eq(received.status, 1);
    lo_server_free(server);
    expect_none_before_quit();
    end();
}
