
#include "base/monotonic.h"
#include "base/plural.h"
#include "base/short_list.h"
#include "live/remote/osc_command.h"
#include "signal/audio.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the Unix socket of this user: the folder ---- */

/* Whether a folder is owned by this user and nobody has the permissions `not_others`. */
static bool is_ours(int folder, mode_t not_others)
{
    struct stat about;
    return fstat(folder, &about) == 0 && about.st_uid == geteuid() &&
           (about.st_mode & not_others) == 0;
}

static const char no_folder[] = "the folder halo is not there";

/* Opens the folder of the sockets; creates it if `makes`. -1: it failed, *flaw says why. */
static int open_folder(bool makes, const char **flaw)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    int folder = -1;
    *flaw = "XDG_RUNTIME_DIR is not set";
    if (!runtime || runtime[0] != '/')
        return -1;
    int above = open(runtime, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (above >= 0 && !is_ours(above, S_IWGRP | S_IWOTH))
        *flaw = "other users can write in XDG_RUNTIME_DIR";
    else if (above < 0 || (makes && mkdirat(above, "halo", S_IRWXU) < 0 && errno != EEXIST))
        *flaw = strerror(errno);
    else if ((folder = openat(above, "halo", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
        *flaw = errno == ENOENT ? no_folder : strerror(errno);
    if (folder >= 0 && !is_ours(folder, S_IRWXG | S_IRWXO)) {
        *flaw = "other users can use the folder halo in XDG_RUNTIME_DIR";
        close(folder);
        folder = -1;
    }
    if (above >= 0)
        close(above);
    return folder;
}

/* The address of a socket in the folder, by descriptor: a path may be too long, or change. */
static struct sockaddr_un address_in(int folder, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", folder, name);
    return address;
}

/* Connects a socket. It gets a name from the kernel, to which the other side can answer. Returns -1
 * if nobody listens to `name`; then the socket file is removed. */
static int connect_to(int folder, const char *name)
{
    const struct sockaddr_un to = address_in(folder, name), own = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&own, sizeof own.sun_family) == 0 &&
        connect(fd, (const struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    if (fd >= 0 && errno == ECONNREFUSED)
        (void)unlinkat(folder, name, 0);
    if (fd >= 0)
        close(fd);
    return -1;
}

static int is_socket(const struct dirent *entry)
{
    return entry->d_type == DT_SOCK;
}

/* ---- receiving: the Unix socket ---- */

/* Binds the socket to a name, unless another process uses that name. */
static bool bind_as(struct osc_local *local, const char *name)
{
    const struct sockaddr_un address = address_in(local->folder, name);
    int other = connect_to(local->folder, name);
    if (other >= 0)
        close(other);
    snprintf(local->name, sizeof local->name, "%s", name);
    return other < 0 && bind(local->fd, (const struct sockaddr *)&address, sizeof address) == 0;
}

/* Closes the socket and removes it from its folder. */
static void osc_local_close(struct osc_local *local)
{
    if (local->fd < 0)
        return;
    if (*local->name)
        (void)unlinkat(local->folder, local->name, 0);
    close(local->fd);
    close(local->folder);
}

/* Opens the Unix socket. If this fails, local->fd is -1, and a detailed note says why. */
static void osc_local_listen(struct osc_local *local)
{
    char pid[24];
    const char *service = getenv("HALO_SERVICE"), *flaw;
    snprintf(pid, sizeof pid, "%ld", (long)getpid());
    bool is_named =
        service && *service && *service != '.' && !strchr(service, '/') && strlen(service) <= 64;
    local->fd = -1;
    local->folder = open_folder(true, &flaw);
    if (local->folder >= 0) {
        local->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (local->fd >= 0 && ((is_named && bind_as(local, service)) || bind_as(local, pid)))
            return;
        flaw = strerror(errno);
        *local->name = '\0';
        osc_local_close(local);
        local->fd = -1;
    }
    note_detail("halo live --send cannot reach this: %s", flaw);
}

/* ---- sending: the Unix socket ---- */

static enum status fail_none(void)
{
    return fail(CAUSE_MISSING, "no halo live answers: start one, or give its --osc PORT");
}

static enum status connect_to_only(int folder, char name[static OSC_LOCAL_NAME_MOST], int *fd)
{
    struct dirent **entries;
    struct short_list all = {0};
    int count = scandirat(folder, ".", &entries, is_socket, alphasort);
    *fd = -1;
    for (int i = 0; i < count; i++) {
        int found = connect_to(folder, entries[i]->d_name);
        if (found >= 0) {
            short_list_add(&all, entries[i]->d_name);
            snprintf(name, OSC_LOCAL_NAME_MOST, "%.*s", OSC_LOCAL_NAME_MOST - 1,
                     entries[i]->d_name);
            if (*fd >= 0)
                close(*fd);
            *fd = found;
        }
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    if (all.count == 1)
        return STATUS_OK;
    if (*fd < 0)
        return fail_none();
    close(*fd);
    return fail(CAUSE_USAGE, "several halo live run: %s; choose one with --to",
                short_list_text(&all, ""));
}

enum status osc_local_connect(char name[static OSC_LOCAL_NAME_MOST], int *fd)
{
    const char *flaw;
    int folder = open_folder(false, &flaw);
    enum status status = STATUS_OK;
    if (folder < 0)
        return flaw == no_folder ? fail_none()
                                 : fail(CAUSE_USAGE, "--send needs --osc PORT: %s", flaw);
    if (!*name)
        status = connect_to_only(folder, name, fd);
    else if (strchr(name, '/') || (*fd = connect_to(folder, name)) < 0)
        status = fail(CAUSE_MISSING, "no halo live runs as %s", name);
    close(folder);
    return status;
}

enum {
    PACKET_MOST = 65536, /* bytes, the limit of UDP */
    WAITING_MOST = 64,   /* commands kept from one packet; further ones are refused */
    REFUSALS_MOST = 8,   /* refusals displayed per second; further ones are only counted */
};

struct subscriber {
    struct osc_sender address;
    double until; /* monotonic seconds: end of the subscription; in the past: the entry is free */
};

struct osc {
    int fd; /* UDP socket; -1: none */
    struct osc_local local;
    size_t packets; /* packets of this round so far */
    uint64_t refused;
    char refusals[REFUSALS_MOST]
                 [OSC_PATH_MOST + COMMAND_REASON_MOST]; /* a ring of lines to display */
    size_t refusals_first, refusals_count;
    uint64_t refusals_left_out; /* refusals only counted since the last line about them */
    size_t refusals_now;        /* refusals in the second that began at `refusals_since` */
    double refusals_since;      /* monotonic seconds */
    char shown[OSC_PATH_MOST + COMMAND_REASON_MOST];
    struct osc_sender sender; /* sender of the current packet */
    struct subscriber subscribers[OSC_SUBSCRIBERS_MOST];
    struct live_command waiting[WAITING_MOST]; /* commands of the packet, not returned yet */
    size_t waiting_first, waiting_count;
    _Alignas(8) char packet[PACKET_MOST];
};

/* ---- opening ---- */

/* Opens the UDP socket. halo makes its own, since liblo's servers listen on all addresses. */
static enum status listen_on(struct osc *osc, int port)
{
    if (port > 65535)
        return fail(CAUSE_USAGE, "there is no UDP port %d; the last is 65535", port);
    TRY(library_open(&lo_library));
    osc->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    const int yes = 1; /* makes the kernel report subscribers that are gone */
    if (osc->fd >= 0)
        setsockopt(osc->fd, IPPROTO_IP, IP_RECVERR, &yes, sizeof yes);
    if (osc->fd < 0 || bind(osc->fd, (struct sockaddr *)&address, sizeof address) != 0)
        return fail_errno(errno, "cannot listen for OSC on UDP port %d", port);
    return STATUS_OK;
}

enum status osc_open(int port, struct osc **result)
{
    struct osc *osc = calloc(1, sizeof *osc);
    *result = NULL;
    if (!osc)
        return fail_memory("OSC control");
    osc->fd = -1;
    osc->local.fd = -1;
    enum status status = port == OSC_NO_PORT ? STATUS_OK : listen_on(osc, port);
    if (status == STATUS_OK)
        osc_local_listen(&osc->local);
    if (status == STATUS_OK && (osc->fd >= 0 || osc->local.fd >= 0))
        *result = osc;
    else
        osc_close(osc);
    return status;
}

void osc_close(struct osc *osc)
{
    if (!osc)
        return;
    if (osc->fd >= 0)
        close(osc->fd);
    osc_local_close(&osc->local);
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

int osc_local_fd(const struct osc *osc)
{
    return osc->local.fd;
}

static bool send_to(const struct osc *osc, const struct osc_sender *to, const void *bytes,
                    size_t size)
{
    int fd = to->address.any.sa_family == AF_UNIX ? osc->local.fd : osc->fd;
    return sendto(fd, bytes, size, MSG_DONTWAIT, &to->address.any, to->size) >= 0;
}

static const char error_path[] = "/halo/error";

static void answer(struct osc *osc, const struct osc_sender *sender, const char *path,
                   const char *reason)
{
    size_t size;
    lo_message message = lo_message_new();
    lo_message_add(message, "ss", path, reason);
    void *bytes = lo_message_serialise(message, error_path, NULL, &size);
    if (bytes) /* a sender that does not listen misses the answer */
        (void)send_to(osc, sender, bytes, size);
    free(bytes);
    lo_message_free(message);
}

static void add_refusal(struct osc *osc, const char *path, const char *reason)
{
    double now = monotonic_seconds();
    if (now >= osc->refusals_since + 1) {
        osc->refusals_since = now;
        osc->refusals_now = 0;
    }
    if (osc->refusals_now == REFUSALS_MOST || osc->refusals_count == REFUSALS_MOST) {
        osc->refusals_left_out++;
        return;
    }
    size_t place = (osc->refusals_first + osc->refusals_count++) % REFUSALS_MOST;
    osc->refusals_now++;
    snprintf(osc->refusals[place], sizeof osc->refusals[place], "%s%s%s", path, *path ? ": " : "",
             reason);
}

void osc_refuse(struct osc *osc, const struct osc_sender *sender, const char *path,
                const char *reason)
{
    osc->refused++;
    add_refusal(osc, path, reason);
    if (strcmp(path, error_path) != 0) /* otherwise two halo would answer each other for ever */
        answer(osc, sender, path, reason);
}

const char *osc_refusal(struct osc *osc)
{
    if (osc->refusals_count > 0) {
        memcpy(osc->shown, osc->refusals[osc->refusals_first], sizeof osc->shown);
        osc->refusals_first = (osc->refusals_first + 1) % REFUSALS_MOST;
        osc->refusals_count--;
        return osc->shown;
    }
    if (osc->refusals_left_out == 0 || monotonic_seconds() < osc->refusals_since + 1)
        return NULL;
    snprintf(osc->shown, sizeof osc->shown, "refused %llu more message%s",
             (unsigned long long)osc->refusals_left_out, plural_s(osc->refusals_left_out));
    osc->refusals_left_out = 0;
    return osc->shown;
}

uint64_t osc_refused(const struct osc *osc)
{
    return osc->refused;
}

/* ---- subscribers ---- */

static struct subscriber *subscriber_at(struct osc *osc, const struct osc_sender *address)
{
    for (size_t i = 0; i < OSC_SUBSCRIBERS_MOST; i++) {
        struct subscriber *subscriber = &osc->subscribers[i];
        if (subscriber->until > 0 && subscriber->address.size == address->size &&
            memcmp(&subscriber->address.address, &address->address, address->size) == 0)
            return subscriber;
    }
    return NULL;
}

static void forget(struct osc *osc, const struct osc_sender *address)
{
    struct subscriber *subscriber = subscriber_at(osc, address);
    if (subscriber)
        subscriber->until = 0;
}

/* Returns false if there are too many subscribers. */
static bool subscribe(struct osc *osc, const struct osc_sender *address)
{
    double now = monotonic_seconds();
    struct subscriber *subscriber = subscriber_at(osc, address);
    for (size_t i = 0; !subscriber && i < OSC_SUBSCRIBERS_MOST; i++)
        if (osc->subscribers[i].until < now)
            subscriber = &osc->subscribers[i];
    if (subscriber)
        *subscriber = (struct subscriber){.address = *address, .until = now + OSC_LEASE};
    return subscriber;
}

/* Removes subscribers that are gone: the kernel queues an error for each packet not received. */
static void forget_the_gone(struct osc *osc)
{
    struct osc_sender sender = {.size = sizeof sender.address.udp};
    char control[256];
    struct msghdr message = {
        .msg_name = &sender.address,
        .msg_namelen = sender.size,
        .msg_control = control,
        .msg_controllen = sizeof control,
    };
    while (recvmsg(osc->fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0) {
        if (sender.address.any.sa_family == AF_INET)
            forget(osc, &sender);
        message.msg_namelen = sender.size;
        message.msg_controllen = sizeof control;
    }
}

/* ---- receiving ---- */

/* Queues a command. Returns NULL, or the reason why it is refused. */
static const char *add_command(struct osc *osc, const struct live_command *command,
                               const struct osc_sender *sender)
{
    if (osc->waiting_count == WAITING_MOST)
        return "there are too many in one packet";
    struct live_command *waiting = &osc->waiting[osc->waiting_count++];
    *waiting = *command;
    waiting->sender = *sender;
    return NULL;
}

static void handle_message(void *context, const struct osc_message *message)
{
    struct osc *osc = context;
    const struct osc_sender sender = osc->sender;
    struct osc_sender address = sender;
    const char *flaw = NULL, *path = message->command.path;
    if (message->port && sender.address.any.sa_family == AF_INET)
        address.address.udp.sin_port = htons((uint16_t)message->port);
    switch (message->kind) {
    case OSC_SUBSCRIBE:
        flaw = subscribe(osc, &address) ? NULL : "there are too many subscribers";
        break;
    case OSC_UNSUBSCRIBE:
        forget(osc, &address);
        break;
    case OSC_COMMAND:
        flaw = add_command(osc, &message->command, &sender);
        break;
    case OSC_REFUSED:
        flaw = message->reason;
        path = message->path;
        break;
    }
    if (flaw)
        osc_refuse(osc, &sender, path, flaw);
}

static ssize_t receive_from(struct osc *osc, int fd)
{
    osc->sender.size = sizeof osc->sender.address;
    return recvfrom(fd, osc->packet, sizeof osc->packet, 0, &osc->sender.address.any,
                    &osc->sender.size);
}

static bool receive_packet(struct osc *osc)
{
    ssize_t got = osc->local.fd >= 0 ? receive_from(osc, osc->local.fd) : -1;
    if (got < 0 && osc->fd < 0)
        return false;
    if (got < 0)
        got = receive_from(osc, osc->fd);
    if (got < 0)
        return errno != EAGAIN; /* true: the error of a packet sent earlier; go on */
    osc->waiting_first = osc->waiting_count = 0;
    /* Packets to other addresses of this machine may come from other machines. */
    const struct osc_sender *sender = &osc->sender;
    bool is_local = sender->address.any.sa_family == AF_UNIX ||
                    ntohl(sender->address.udp.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    if (is_local && library_open(&lo_library) == STATUS_OK)
        osc_packet_read(osc->packet, (size_t)got, handle_message, osc);
    else
        osc->refused++;
    return true;
}

bool osc_receive(struct osc *osc, struct live_command *command)
{
    forget_the_gone(osc);
    while (osc->waiting_first == osc->waiting_count) {
        if (osc->packets == OSC_PACKETS_MOST || !receive_packet(osc)) {
            osc->packets = 0;
            return false;
        }
        osc->packets++;
    }
    *command = osc->waiting[osc->waiting_first++];
    return true;
}

/* ---- sending ---- */

static double db_of(double amplitude)
{
    return fmax(audio_to_db(amplitude), OSC_SILENCE);
}

static void add_meters(lo_bundle bundle, const char *path, const struct meter_reading *readings,
                       size_t channels)
{
    for (size_t c = 0; c < channels; c++) {
        const struct meter_reading *reading = &readings[c];
        lo_message message = lo_message_new();
        lo_message_add(message, "ifffh", (int32_t)c + 1, db_of(reading->peak), db_of(reading->rms),
                       db_of(reading->hold), (int64_t)reading->clips);
        lo_bundle_add_message(bundle, path, message);
    }
}

static double known(double value, double otherwise)
{
    return isnan(value) ? otherwise : value;
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
    lo_message_add(message, "isfiiffffhhf", status->hidden ? -1 : (int32_t)status->chosen,
                   chosen_name(status), status->gain_db, (int32_t)status->muted,
                   (int32_t)status->feedback_seen, known(status->reduction_db, 0),
                   known(status->load_now, -1), known(status->load_p99, -1),
                   known(status->load_worst, -1), (int64_t)status->late, (int64_t)status->lost,
                   status->seconds);
    lo_bundle_add_message(bundle, "/halo/status", message);
}

static void send_to_all(struct osc *osc, const void *bytes, size_t size)
{
    double now = monotonic_seconds();
    for (size_t i = 0; i < OSC_SUBSCRIBERS_MOST; i++) {
        struct subscriber *subscriber = &osc->subscribers[i];
        if (subscriber->until < now)
            continue;
        /* Over UDP, a call may report an earlier packet's error. So try twice. */
        bool sent = send_to(osc, &subscriber->address, bytes, size) || errno != ECONNREFUSED ||
                    send_to(osc, &subscriber->address, bytes, size) || errno != ECONNREFUSED;
        if (!sent && subscriber->address.address.any.sa_family == AF_UNIX)
            subscriber->until = 0;
    }
}

bool osc_is_subscribed(const struct osc *osc)
{
    double now = monotonic_seconds();
    for (size_t i = 0; osc && i < OSC_SUBSCRIBERS_MOST; i++)
        if (osc->subscribers[i].until >= now)
            return true;
    return false;
}

void osc_send_meters(struct osc *osc, const struct live_status *status)
{
    forget_the_gone(osc);
    if (!osc_is_subscribed(osc))
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
