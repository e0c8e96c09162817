/* halo live --send: a command to a halo live that runs on this machine. */
#include "base/json_text.h"
#include "live/lo_library.h"
#include "live/osc.h"
#include "live/osc_command.h"
#include "live/osc_local.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

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

/* A refusal, or meters, which are sent once the command was read. */
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
