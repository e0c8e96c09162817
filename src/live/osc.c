#include "live/osc.h"

#include "base/monotonic.h"
#include "live/osc_command.h"
#include "signal/audio.h"
#include "view/view.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <lo/lo.h>
#include <math.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    PACKET_MOST = 65536, /* bytes; UDP has no longer ones */
    WAITING_MOST = 64,   /* commands of one packet, more are refused */
};

struct subscriber {
    struct sockaddr_in address;
    double until; /* monotonic seconds; in the past: nobody */
};

struct osc {
    int fd;
    size_t packets; /* taken in this round */
    uint64_t refused;
    struct sockaddr_in sender; /* of the packet at hand */
    struct subscriber subscribers[OSC_SUBSCRIBERS_MOST];
    struct osc_command waiting[WAITING_MOST]; /* from a packet, not handed out */
    size_t waiting_first, waiting_count;
    _Alignas(8) char packet[PACKET_MOST];
};

/* ---- set up ---- */

/* liblo's own servers listen on all addresses, so the socket is ours. */
static int bound_socket(unsigned port)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    const int yes = 1; /* tells of subscribers that are gone */
    setsockopt(fd, IPPROTO_IP, IP_RECVERR, &yes, sizeof yes);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

enum status osc_open(unsigned port, struct osc **result)
{
    if (port > 65535)
        return fail(STATUS_USAGE, "there is no UDP port %u; the last is 65535", port);
    struct osc *osc = calloc(1, sizeof *osc);
    if (!osc)
        return fail_memory("OSC control");
    osc->fd = bound_socket(port);
    if (osc->fd < 0) {
        free(osc);
        return fail(STATUS_FAILED, "cannot listen for OSC on UDP port %u: %s", port,
                    strerror(errno));
    }
    *result = osc;
    return STATUS_OK;
}

void osc_close(struct osc *osc)
{
    if (!osc)
        return;
    close(osc->fd);
    free(osc);
}

unsigned osc_port(const struct osc *osc)
{
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    if (getsockname(osc->fd, (struct sockaddr *)&address, &size) != 0)
        return 0;
    return ntohs(address.sin_port);
}

int osc_fd(const struct osc *osc)
{
    return osc->fd;
}

void osc_refuse(struct osc *osc)
{
    osc->refused++;
}

uint64_t osc_refused(const struct osc *osc)
{
    return osc->refused;
}

/* ---- subscribers ---- */

static struct subscriber *subscriber_at(struct osc *osc, const struct sockaddr_in *address)
{
    for (size_t i = 0; i < OSC_SUBSCRIBERS_MOST; i++) {
        struct subscriber *subscriber = &osc->subscribers[i];
        if (subscriber->until > 0 && subscriber->address.sin_port == address->sin_port &&
            subscriber->address.sin_addr.s_addr == address->sin_addr.s_addr)
            return subscriber;
    }
    return NULL;
}

static struct subscriber *free_place(struct osc *osc, double now)
{
    for (size_t i = 0; i < OSC_SUBSCRIBERS_MOST; i++)
        if (osc->subscribers[i].until < now)
            return &osc->subscribers[i];
    return NULL;
}

static void forget(struct osc *osc, const struct sockaddr_in *address)
{
    struct subscriber *subscriber = subscriber_at(osc, address);
    if (subscriber)
        subscriber->until = 0;
}

static void subscribe(struct osc *osc, const struct sockaddr_in *address)
{
    double now = monotonic_seconds();
    struct subscriber *subscriber = subscriber_at(osc, address);
    if (!subscriber)
        subscriber = free_place(osc, now);
    if (subscriber)
        *subscriber = (struct subscriber){.address = *address, .until = now + OSC_LEASE};
    else
        osc_refuse(osc);
}

/* The kernel queues what became of packets sent: nobody listens there any more. */
static void forget_the_gone(struct osc *osc)
{
    struct sockaddr_in address = {.sin_family = AF_UNSPEC};
    char control[256];
    struct msghdr message = {
        .msg_name = &address,
        .msg_namelen = sizeof address,
        .msg_control = control,
        .msg_controllen = sizeof control,
    };
    while (recvmsg(osc->fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0) {
        if (address.sin_family == AF_INET)
            forget(osc, &address);
        message.msg_namelen = sizeof address;
        message.msg_controllen = sizeof control;
    }
}

/* ---- in ---- */

static void take_message(void *context, const struct osc_message *message)
{
    struct osc *osc = context;
    struct sockaddr_in address = osc->sender;
    if (message->port)
        address.sin_port = htons((uint16_t)message->port);
    if (message->kind == OSC_SUBSCRIBE)
        subscribe(osc, &address);
    else if (message->kind == OSC_UNSUBSCRIBE)
        forget(osc, &address);
    else if (message->kind == OSC_COMMAND && osc->waiting_count < WAITING_MOST)
        osc->waiting[osc->waiting_count++] = message->command;
    else
        osc_refuse(osc);
}

/* false: none is there. */
static bool take_packet(struct osc *osc)
{
    socklen_t size = sizeof osc->sender;
    ssize_t got = recvfrom(osc->fd, osc->packet, sizeof osc->packet, 0,
                           (struct sockaddr *)&osc->sender, &size);
    if (got < 0)
        return errno != EAGAIN; /* another's error: a packet sent did not arrive */
    osc->waiting_first = osc->waiting_count = 0;
    /* This machine's other addresses are not loopback: what they serve may be relayed. */
    bool near = ntohl(osc->sender.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    if (near)
        osc_packet_read(osc->packet, (size_t)got, take_message, osc);
    else
        osc_refuse(osc);
    return true;
}

bool osc_receive(struct osc *osc, struct osc_command *command)
{
    forget_the_gone(osc);
    while (osc->waiting_first == osc->waiting_count) {
        if (osc->packets == OSC_PACKETS_MOST || !take_packet(osc)) {
            osc->packets = 0;
            return false;
        }
        osc->packets++;
    }
    *command = osc->waiting[osc->waiting_first++];
    return true;
}

/* ---- out ---- */

static float db_of(double amplitude)
{
    return (float)fmax(audio_to_db(amplitude), OSC_SILENCE);
}

static void add_meters(lo_bundle bundle, const char *path, const struct meter_reading *readings,
                       size_t channels)
{
    for (size_t c = 0; c < channels; c++) {
        lo_message message = lo_message_new();
        lo_message_add_int32(message, (int32_t)c + 1);
        lo_message_add_float(message, db_of(readings[c].peak));
        lo_message_add_float(message, db_of(readings[c].rms));
        lo_message_add_float(message, db_of(readings[c].hold));
        lo_message_add_int64(message, (int64_t)readings[c].clips);
        lo_bundle_add_message(bundle, path, message);
    }
}

static float known(double value, float otherwise)
{
    return isnan(value) ? otherwise : (float)value;
}

static const char *chosen_name(const struct live_status *status)
{
    if (status->hidden)
        return "?";
    return status->chosen > 0 && status->chosen <= status->choices
               ? status->names[status->chosen - 1]
               : "dry";
}

static void add_status(lo_bundle bundle, const struct live_status *status)
{
    lo_message message = lo_message_new();
    lo_message_add_int32(message, status->hidden ? -1 : (int32_t)status->chosen);
    lo_message_add_string(message, chosen_name(status));
    lo_message_add_float(message, (float)status->gain_db);
    lo_message_add_int32(message, status->muted);
    lo_message_add_int32(message, status->fed_back);
    lo_message_add_float(message, known(status->reduction_db, 0));
    lo_message_add_float(message, known(status->load_now, -1));
    lo_message_add_float(message, known(status->load_p99, -1));
    lo_message_add_float(message, known(status->load_worst, -1));
    lo_message_add_int64(message, (int64_t)status->late);
    lo_message_add_int64(message, (int64_t)status->lost);
    lo_message_add_float(message, (float)status->seconds);
    lo_bundle_add_message(bundle, "/halo/status", message);
}

static void send_to_all(struct osc *osc, const void *bytes, size_t size)
{
    double now = monotonic_seconds();
    for (size_t i = 0; i < OSC_SUBSCRIBERS_MOST; i++) {
        const struct subscriber *subscriber = &osc->subscribers[i];
        if (subscriber->until < now)
            continue;
        /* A send may report what became of an earlier one to somebody else. */
        for (int tries = 0; tries < 2; tries++)
            if (sendto(osc->fd, bytes, size, MSG_DONTWAIT,
                       (const struct sockaddr *)&subscriber->address,
                       sizeof subscriber->address) >= 0 ||
                errno != ECONNREFUSED)
                break;
    }
}

void osc_send_meters(struct osc *osc, const struct live_status *status)
{
    double now = monotonic_seconds();
    bool any = false;
    forget_the_gone(osc);
    for (size_t i = 0; i < OSC_SUBSCRIBERS_MOST; i++)
        any = any || osc->subscribers[i].until >= now;
    if (!any)
        return;
    struct live_status shown = view_visible(status);
    lo_bundle bundle = lo_bundle_new(LO_TT_IMMEDIATE);
    add_meters(bundle, "/halo/meters/in", shown.in, shown.inputs);
    add_meters(bundle, "/halo/meters/out", shown.out, shown.outputs);
    add_status(bundle, &shown);
    size_t size;
    void *bytes = lo_bundle_serialise(bundle, NULL, &size);
    if (bytes)
        send_to_all(osc, bytes, size);
    free(bytes);
    lo_bundle_free_recursive(bundle);
}
