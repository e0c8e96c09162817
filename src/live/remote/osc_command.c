#include "live/remote/osc_command.h"

#include "base/decimal.h"
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

/* Arguments of a message. */
struct arguments {
    int count;
    const char *types;
    lo_arg **values;
};

/* Reads a number. It is copied first, since arguments are aligned to only 4 bytes. */
static bool number_at(const struct arguments *arguments, int at, double *number)
{
    if (at >= arguments->count)
        return false;
    const void *value = arguments->values[at];
    int32_t whole;
    int64_t long_whole;
    float real;
    switch (arguments->types[at]) {
    case LO_INT32:
        memcpy(&whole, value, sizeof whole);
        *number = whole;
        return true;
    case LO_INT64:
        memcpy(&long_whole, value, sizeof long_whole);
        *number = (double)long_whole;
        return true;
    case LO_FLOAT:
        memcpy(&real, value, sizeof real);
        *number = real;
        return isfinite(real);
    case LO_DOUBLE:
        memcpy(number, value, sizeof *number);
        return isfinite(*number);
    default:
        return false;
    }
}

static bool whole_at(const struct arguments *arguments, int at, double least, double most,
                     size_t *whole)
{
    double number;
    if (!number_at(arguments, at, &number) || number < least || number > most ||
        floor(number) != number)
        return false;
    *whole = (size_t)number;
    return true;
}

static bool text_at(const struct arguments *arguments, int at, char *text, size_t size)
{
    if (at >= arguments->count || arguments->types[at] != LO_STRING)
        return false;
    const char *value = (const char *)arguments->values[at];
    if (!*value || strlen(value) >= size)
        return false;
    strcpy(text, value);
    return true;
}

static bool switch_at(const struct arguments *arguments, int at, bool *on)
{
    size_t number = 0;
    char type = at < arguments->count ? arguments->types[at] : LO_NIL;
    if (type != LO_TRUE && type != LO_FALSE && !whole_at(arguments, at, 0, 1, &number))
        return false;
    *on = type == LO_TRUE || number == 1;
    return true;
}

static bool value_text_at(const struct arguments *arguments, int at, char *value_text)
{
    double number;
    if (!number_at(arguments, at, &number))
        return text_at(arguments, at, value_text, OSC_VALUE_MOST);
    snprintf(value_text, OSC_VALUE_MOST, "%.9g", number);
    return true;
}

enum { PORTS_MOST = 65535 };
#define WHOLE_MOST 9007199254740992.0 /* 2^53: a double has all whole numbers up to it */

/* `arguments` has a letter per argument:
 * - c choice, C choice from 1, s stage from 1, p port, d number
 * - t text, v value, o on or off, O on or off given as a value
 * `usage` describes the arguments to users. `text` is the initial osc_command.text. */
static const struct {
    const char *path;
    const char *arguments;
    const char *usage;
    enum osc_kind kind;
    enum osc_action action;
    const char *text;
} messages[] = {
    {"/halo/choose", "c", "a NUMBER (0: dry) or a NAME", OSC_COMMAND, OSC_CHOOSE, ""},
    {"/halo/choose", "t", "a NUMBER (0: dry) or a NAME", OSC_COMMAND, OSC_CHOOSE_NAMED, ""},
    {"/halo/dry", "", "no arguments", OSC_COMMAND, OSC_CHOOSE, ""},
    {"/halo/gain", "d", "a number of dB", OSC_COMMAND, OSC_GAIN, ""},
    {"/halo/mute", "o", "0 or 1", OSC_COMMAND, OSC_MUTE, ""},
    {"/halo/control", "stv", "STAGE (from 1), SYMBOL and VALUE", OSC_COMMAND, OSC_CONTROL, ""},
    {"/halo/mix", "sv", "STAGE (from 1) and VALUE", OSC_COMMAND, OSC_CONTROL, "@mix"},
    {"/halo/bypass", "sO", "STAGE (from 1) and 0 or 1", OSC_COMMAND, OSC_CONTROL, "@bypass"},
    {"/halo/load", "Ct", "NUMBER (from 1) and PATH", OSC_COMMAND, OSC_LOAD, ""},
    {"/halo/reload", "", "no arguments", OSC_COMMAND, OSC_RELOAD, ""},
    {"/halo/preset", "t", "a NAME", OSC_COMMAND, OSC_PRESET, ""},
    {"/halo/preset/next", "", "no arguments", OSC_COMMAND, OSC_PRESET_NEXT, ""},
    {"/halo/preset/previous", "", "no arguments", OSC_COMMAND, OSC_PRESET_PREVIOUS, ""},
    {"/halo/preset/save", "t", "a NAME", OSC_COMMAND, OSC_PRESET_SAVE, ""},
    {"/halo/quit", "", "no arguments", OSC_COMMAND, OSC_QUIT, ""},
    {"/halo/subscribe", "", "nothing, or a PORT from 1 to 65535", OSC_SUBSCRIBE, 0, ""},
    {"/halo/subscribe", "p", "nothing, or a PORT from 1 to 65535", OSC_SUBSCRIBE, 0, ""},
    {"/halo/unsubscribe", "", "nothing, or a PORT from 1 to 65535", OSC_UNSUBSCRIBE, 0, ""},
    {"/halo/unsubscribe", "p", "nothing, or a PORT from 1 to 65535", OSC_UNSUBSCRIBE, 0, ""},
};

static bool read_argument(const struct arguments *arguments, int at, char letter,
                          struct osc_message *message)
{
    struct osc_command *command = &message->command;
    switch (letter) {
    case 'c':
        return whole_at(arguments, at, 0, WHOLE_MOST, &command->choice);
    case 'C':
        return whole_at(arguments, at, 1, WHOLE_MOST, &command->choice);
    case 's':
        return whole_at(arguments, at, 1, WHOLE_MOST, &command->stage);
    case 't':
        return text_at(arguments, at, command->text, OSC_TEXT_MOST);
    case 'v':
        return value_text_at(arguments, at, command->value_text);
    case 'd':
        return number_at(arguments, at, &command->value);
    case 'p':
        return whole_at(arguments, at, 1, PORTS_MOST, &message->port);
    case 'O':
        if (!switch_at(arguments, at, &command->on))
            return false;
        strcpy(command->value_text, command->on ? "on" : "off");
        return true;
    default:
        return switch_at(arguments, at, &command->on);
    }
}

static struct osc_message refused(const char *path, const char *reason)
{
    struct osc_message message = {.kind = OSC_REFUSED};
    snprintf(message.path, sizeof message.path, "%s", path);
    snprintf(message.reason, sizeof message.reason, "%s", reason);
    return message;
}

static bool has_long_text(const struct arguments *arguments)
{
    bool found = false;
    for (int at = 0; at < arguments->count; at++)
        found |= arguments->types[at] == LO_STRING &&
                 strlen((const char *)arguments->values[at]) >= OSC_TEXT_MOST;
    return found;
}

static struct osc_message parse(const char *path, const struct arguments *arguments)
{
    char reason[OSC_REASON_MOST] = "there is no such message";
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        struct osc_message message = {.kind = messages[i].kind,
                                      .command.action = messages[i].action,
                                      .command.path = messages[i].path};
        const char *letters = messages[i].arguments;
        if (strcmp(path, messages[i].path) != 0)
            continue;
        if (has_long_text(arguments))
            snprintf(reason, sizeof reason, "a text is longer than %d bytes", OSC_TEXT_MOST - 1);
        else
            snprintf(reason, sizeof reason, "it takes %s", messages[i].usage);
        bool fits = arguments->count == (int)strlen(letters);
        strcpy(message.command.text, messages[i].text);
        for (int at = 0; fits && letters[at]; at++)
            fits = read_argument(arguments, at, letters[at], &message);
        if (fits)
            return message;
    }
    return refused(path, reason);
}

static const char no_osc[] = "it is not OSC 1.0";

static struct osc_message read_message(void *bytes, size_t size)
{
    struct osc_message parsed = refused("", no_osc);
    lo_message message = size > 0 ? lo_message_deserialise(bytes, size, NULL) : NULL;
    if (!message)
        return parsed;
    struct arguments arguments = {
        .count = lo_message_get_argc(message),
        .types = lo_message_get_types(message),
        .values = lo_message_get_argv(message),
    };
    const char *path = lo_get_path(bytes, (ssize_t)size);
    if (path)
        parsed = parse(path, &arguments);
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

/* Adds a word of *text as the argument for a letter of `arguments`, and moves *text past it. If the
 * last argument is text, it may contain blanks. */
static bool add_word(lo_message message, char letter, bool is_last, char **text)
{
    char *word = *text,
         *end = word + (letter == 't' && is_last ? strlen(word) : strcspn(word, " "));
    double number = 0;
    *text = end + strspn(end, " ");
    *end = '\0';
    if (letter == 't' || letter == 'v')
        return *word && lo_message_add(message, "s", word) == 0;
    bool on = strcmp(word, "on") == 0, off = strcmp(word, "off") == 0;
    if (strchr("oO", letter) && (on || off))
        number = on;
    else if (!decimal_parse(word, &number))
        return false;
    return lo_message_add(message, "d", number) == 0;
}

/* Makes the message of a row of `messages` from text. NULL: the text does not fit the row. */
static lo_message message_of(const char *letters, const char *rest)
{
    char copy[OSC_TEXT_MOST], *at = copy;
    lo_message message = lo_message_new();
    bool fits = message && (size_t)snprintf(copy, sizeof copy, "%s", rest) < sizeof copy;
    for (; fits && *letters; letters++)
        fits = add_word(message, *letters, !letters[1], &at);
    if (fits && !*at)
        return message;
    lo_message_free(message);
    return NULL;
}

/* Makes a message of text such as "choose 2", for the caller to free. *path: its path. */
static enum status osc_message_make(const char *text, const char **path, lo_message *message)
{
    const char *prefix = "/halo/", *usage = NULL;
    text += strncmp(text, prefix, strlen(prefix)) == 0 ? strlen(prefix) : 0;
    size_t length = strcspn(text, " ");
    const char *rest = text + length + strspn(text + length, " ");
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        *path = messages[i].path;
        const char *name = *path + strlen(prefix);
        if (messages[i].kind != OSC_COMMAND || strlen(name) != length ||
            strncmp(name, text, length) != 0)
            continue;
        usage = messages[i].usage;
        *message = message_of(messages[i].arguments, rest);
        if (*message)
            return STATUS_OK;
    }
    return usage ? fail(CAUSE_USAGE, "%.*s takes %s, not '%s'", (int)length, text, usage, rest)
                 : fail(CAUSE_USAGE,
                        "there is no command '%.*s'; halo live --help lists those of "
                        "OSC",
                        (int)length, text);
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
