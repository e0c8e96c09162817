#include "live/remote/osc_command.h"

#include "base/json_text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { PORTS_MOST = 65535, ARGUMENTS_MOST = COMMAND_ARGUMENTS_MOST + 1 };

static struct osc_message refused(const char *path, const char *reason)
{
    struct osc_message message = {.kind = OSC_REFUSED};
    snprintf(message.path, sizeof message.path, "%s", path);
    snprintf(message.reason, sizeof message.reason, "%s", reason);
    return message;
}

/* Converts an argument. It is copied first, since arguments are aligned to only 4 bytes. A type
 * that no command takes becomes a number that none takes. */
static struct command_argument argument_of(char type, const void *value)
{
    struct command_argument argument = {.number = NAN};
    int32_t whole;
    int64_t long_whole;
    float real;
    switch (type) {
    case LO_INT32:
        memcpy(&whole, value, sizeof whole);
        argument.number = whole;
        break;
    case LO_INT64:
        memcpy(&long_whole, value, sizeof long_whole);
        argument.number = (double)long_whole;
        break;
    case LO_FLOAT:
        memcpy(&real, value, sizeof real);
        argument.number = (double)real;
        break;
    case LO_DOUBLE:
        memcpy(&argument.number, value, sizeof argument.number);
        break;
    case LO_TRUE:
    case LO_FALSE:
        argument.number = type == LO_TRUE;
        argument.is_switch = true;
        break;
    case LO_STRING:
        argument.text = value;
        break;
    default:
        break;
    }
    return argument;
}

/* Makes a message that starts or ends a subscription. */
static struct osc_message subscription(enum osc_kind kind, const char *path,
                                       const struct command_argument *port, size_t count)
{
    struct osc_message message = {.kind = kind, .command.path = path};
    bool is_port = count == 1 && !port->text && !port->is_switch && port->number >= 1 &&
                   port->number <= PORTS_MOST && floor(port->number) == port->number;
    if (count > 0 && !is_port)
        return refused(path, "it takes nothing, or a PORT from 1 to 65535");
    message.port = is_port ? (size_t)port->number : 0;
    return message;
}

static struct osc_message parse(const char *path, const struct command_argument *arguments,
                                size_t count)
{
    static const char subscribe[] = "/halo/subscribe", unsubscribe[] = "/halo/unsubscribe";
    struct osc_message message = {.kind = OSC_COMMAND};
    char reason[COMMAND_REASON_MOST];
    if (strcmp(path, subscribe) == 0)
        return subscription(OSC_SUBSCRIBE, subscribe, arguments, count);
    if (strcmp(path, unsubscribe) == 0)
        return subscription(OSC_UNSUBSCRIBE, unsubscribe, arguments, count);
    return live_command_make(path, arguments, count, &message.command, reason)
               ? message
               : refused(path, reason);
}

static const char no_osc[] = "it is not OSC 1.0";

static struct osc_message read_message(void *bytes, size_t size)
{
    struct osc_message parsed = refused("", no_osc);
    lo_message message = size > 0 ? lo_message_deserialise(bytes, size, NULL) : NULL;
    if (!message)
        return parsed;
    struct command_argument arguments[ARGUMENTS_MOST];
    const char *path = lo_get_path(bytes, (ssize_t)size), *types = lo_message_get_types(message);
    size_t count = 0;
    for (; count < (size_t)lo_message_get_argc(message) && count < ARGUMENTS_MOST; count++)
        arguments[count] = argument_of(types[count], lo_message_get_argv(message)[count]);
    if (path)
        parsed = parse(path, arguments, count);
    lo_message_free(message);
    return parsed;
}

static const char bundle_mark[8] = "#bundle";
enum { BUNDLE_HEAD = 16 }; /* the mark, and a time that is ignored */

/* OSC 1.0: each element is its size, big-endian, and a message. Nested bundles are refused. */
void osc_packet_read(void *packet, size_t size,
                     void (*handle)(void *context, const struct osc_message *message),
                     void *context)
{
    char *bytes = packet;
    struct osc_message message;
    if (size < BUNDLE_HEAD || memcmp(bytes, bundle_mark, sizeof bundle_mark) != 0) {
        message = read_message(bytes, size);
        handle(context, &message);
        return;
    }
    for (size_t at = BUNDLE_HEAD; at < size;) {
        uint32_t length;
        bool whole = size - at >= sizeof length;
        if (whole) {
            memcpy(&length, bytes + at, sizeof length);
            length = ntohl(length);
            at += sizeof length;
            whole = length <= size - at && length % 4 == 0;
        }
        message = whole ? read_message(bytes + at, length) : refused("", no_osc);
        handle(context, &message);
        if (!whole)
            return;
        at += length;
    }
}

/* ---- commands as text ---- */

/* Makes a message of text such as "choose 2", for the caller to free. *path: its path. */
static enum status osc_message_make(const char *text, const char **path, lo_message *message)
{
    char words[COMMAND_TEXT_MOST];
    struct command_argument arguments[COMMAND_ARGUMENTS_MOST];
    size_t count;
    TRY(live_command_split(text, words, path, arguments, &count));
    *message = lo_message_new();
    for (size_t i = 0; i < count; i++)
        if (arguments[i].text)
            (void)lo_message_add(*message, "s", arguments[i].text);
        else
            (void)lo_message_add(*message, "d", arguments[i].number);
    return STATUS_OK;
}

/* ---- sending a command and waiting for the answer ---- */

enum { ANSWER_MS = 2000, ANSWER_BYTES = 1 << 16 };

static enum status send_bundle(int fd, const char *path, lo_message first, const char *then)
{
    size_t size;
    lo_bundle bundle = lo_bundle_new(LO_TT_IMMEDIATE);
    if (first)
        lo_bundle_add_message(bundle, path, first);
    lo_bundle_add_message(bundle, then, lo_message_new());
    void *bytes = lo_bundle_serialise(bundle, NULL, &size);
    bool sent = bytes && send(fd, bytes, size, 0) >= 0;
    enum status status = sent ? STATUS_OK : fail_errno(errno, "cannot send %s", path);
    free(bytes);
    lo_bundle_free_recursive(bundle);
    return status;
}

/* Waits for the answer: a refusal, or the meters. Meters are sent after the command was read. */
static enum status read_answer(const char *name, int fd)
{
    _Alignas(8) static char bytes[ANSWER_BYTES];
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    ssize_t size = poll(&wait, 1, ANSWER_MS) > 0 ? recv(fd, bytes, sizeof bytes, 0) : -1;
    if (size < 0)
        return fail(CAUSE_TEMPORARY, "halo live %s does not answer", name);
    const char *path = lo_get_path(bytes, size);
    if (!path || strcmp(path, "/halo/error") != 0)
        return STATUS_OK;
    lo_message message = lo_message_deserialise(bytes, (size_t)size, NULL);
    bool is_known = message && lo_message_get_argc(message) == 2 &&
                    strcmp(lo_message_get_types(message), "ss") == 0;
    enum status status =
        fail(CAUSE_OTHER, "it was refused: %s",
             is_known ? &lo_message_get_argv(message)[1]->s : "for an unknown reason");
    if (message)
        lo_message_free(message);
    return status;
}

static enum status connect_to(int port, char name[OSC_LOCAL_NAME_MOST], int *fd)
{
    const struct sockaddr_in to = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (port == OSC_NO_PORT)
        return osc_local_connect(name, fd);
    snprintf(name, OSC_LOCAL_NAME_MOST, "--osc %d", port);
    *fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (*fd >= 0 && connect(*fd, (const struct sockaddr *)&to, sizeof to) == 0)
        return STATUS_OK;
    if (*fd >= 0)
        close(*fd);
    return fail_errno(errno, "cannot send to port %d", port);
}

enum status osc_send(int port, const char *name, const char *command, bool json)
{
    char target[OSC_LOCAL_NAME_MOST];
    const struct timeval patience = {.tv_sec = ANSWER_MS / 1000};
    const char *path;
    lo_message message;
    int fd;
    TRY(library_open(&lo_library));
    TRY(osc_message_make(command, &path, &message));
    snprintf(target, sizeof target, "%s", name ? name : "");
    enum status connected = connect_to(port, target, &fd);
    if (connected != STATUS_OK) {
        lo_message_free(message);
        return connected;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    enum status status = send_bundle(fd, path, message, "/halo/subscribe");
    if (status == STATUS_OK && strcmp(path, "/halo/quit") != 0) {
        status = read_answer(target, fd);
        enum status ended = send_bundle(fd, "/halo/unsubscribe", NULL, "/halo/unsubscribe");
        status = status != STATUS_OK ? status : ended;
    }
    close(fd);
    if (status == STATUS_OK && json)
        status =
            json_print(json_pack("{s:o, s:o}", "sent", json_text(command), "to", json_text(target)),
                       0, "what was sent");
    return status;
}
