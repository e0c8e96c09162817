#include "live/osc_command.h"

#include <arpa/inet.h>
#include <lo/lo.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The arguments of a message in the order they came. */
struct arguments {
    int count;
    const char *types;
    lo_arg **values;
};

/* Numbers lie on borders of 4 bytes, which is why they are copied. */
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

static bool whole_at(const struct arguments *arguments, int at, double most, size_t *whole)
{
    double number;
    if (!number_at(arguments, at, &number) || number < 0 || number > most ||
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

/* 0 or 1, or T, F. */
static bool switch_at(const struct arguments *arguments, int at, bool *on)
{
    size_t number = 0;
    char type = at < arguments->count ? arguments->types[at] : LO_NIL;
    if (type != LO_TRUE && type != LO_FALSE && !whole_at(arguments, at, 1, &number))
        return false;
    *on = type == LO_TRUE || number == 1;
    return true;
}

/* ---- one function a message: false where its arguments are others ---- */

enum { CHOICES_MOST = 1000000, STAGES_MOST = 1000000, PORTS_MOST = 65535 };

static bool read_choose(const struct arguments *arguments, struct osc_message *message)
{
    message->command.action = OSC_CHOOSE;
    if (arguments->count != 1)
        return false;
    if (whole_at(arguments, 0, CHOICES_MOST, &message->command.choice))
        return true;
    message->command.action = OSC_CHOOSE_NAMED;
    return text_at(arguments, 0, message->command.text, OSC_TEXT_MOST);
}

static bool read_dry(const struct arguments *arguments, struct osc_message *message)
{
    message->command.action = OSC_CHOOSE;
    return arguments->count == 0;
}

static bool read_gain(const struct arguments *arguments, struct osc_message *message)
{
    message->command.action = OSC_GAIN;
    return arguments->count == 1 && number_at(arguments, 0, &message->command.value);
}

static bool read_mute(const struct arguments *arguments, struct osc_message *message)
{
    message->command.action = OSC_MUTE;
    return arguments->count == 1 && switch_at(arguments, 0, &message->command.on);
}

/* ---- of a stage ---- */

static bool read_stage(const struct arguments *arguments, int count, struct osc_command *command)
{
    command->action = OSC_CONTROL;
    return arguments->count == count && whole_at(arguments, 0, STAGES_MOST, &command->stage) &&
           command->stage > 0;
}

/* A number becomes the words for it. */
static bool value_text_at(const struct arguments *arguments, int at, char *value_text)
{
    double number;
    if (!number_at(arguments, at, &number))
        return text_at(arguments, at, value_text, OSC_VALUE_MOST);
    snprintf(value_text, OSC_VALUE_MOST, "%.9g", number);
    return true;
}

static bool read_control(const struct arguments *arguments, struct osc_message *message)
{
    struct osc_command *command = &message->command;
    return read_stage(arguments, 3, command) &&
           text_at(arguments, 1, command->text, OSC_TEXT_MOST) &&
           value_text_at(arguments, 2, command->value_text);
}

static bool read_mix(const struct arguments *arguments, struct osc_message *message)
{
    strcpy(message->command.text, "@mix");
    return read_stage(arguments, 2, &message->command) &&
           value_text_at(arguments, 1, message->command.value_text);
}

static bool read_bypass(const struct arguments *arguments, struct osc_message *message)
{
    bool on;
    strcpy(message->command.text, "@bypass");
    if (!read_stage(arguments, 2, &message->command) || !switch_at(arguments, 1, &on))
        return false;
    strcpy(message->command.value_text, on ? "on" : "off");
    return true;
}

/* ---- of masks, and of all ---- */

static bool read_load(const struct arguments *arguments, struct osc_message *message)
{
    message->command.action = OSC_LOAD;
    return arguments->count == 2 &&
           whole_at(arguments, 0, CHOICES_MOST, &message->command.choice) &&
           message->command.choice > 0 &&
           text_at(arguments, 1, message->command.text, OSC_TEXT_MOST);
}

static bool read_reload(const struct arguments *arguments, struct osc_message *message)
{
    message->command.action = OSC_RELOAD;
    return arguments->count == 0;
}

static bool read_quit(const struct arguments *arguments, struct osc_message *message)
{
    message->command.action = OSC_QUIT;
    return arguments->count == 0;
}

static bool read_port(const struct arguments *arguments, struct osc_message *message)
{
    size_t port = 0;
    if (arguments->count > 1)
        return false;
    if (arguments->count == 1 && (!whole_at(arguments, 0, PORTS_MOST, &port) || port == 0))
        return false;
    message->port = (unsigned)port;
    return true;
}

static const struct {
    const char *path;
    enum osc_kind kind;
    bool (*read)(const struct arguments *arguments, struct osc_message *message);
} messages[] = {
    {"/halo/choose", OSC_COMMAND, read_choose},
    {"/halo/dry", OSC_COMMAND, read_dry},
    {"/halo/gain", OSC_COMMAND, read_gain},
    {"/halo/mute", OSC_COMMAND, read_mute},
    {"/halo/control", OSC_COMMAND, read_control},
    {"/halo/mix", OSC_COMMAND, read_mix},
    {"/halo/bypass", OSC_COMMAND, read_bypass},
    {"/halo/load", OSC_COMMAND, read_load},
    {"/halo/reload", OSC_COMMAND, read_reload},
    {"/halo/quit", OSC_COMMAND, read_quit},
    {"/halo/subscribe", OSC_SUBSCRIBE, read_port},
    {"/halo/unsubscribe", OSC_UNSUBSCRIBE, read_port},
};

static struct osc_message parse(const char *path, const struct arguments *arguments)
{
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        struct osc_message message = {.kind = messages[i].kind};
        if (strcmp(path, messages[i].path) == 0 && messages[i].read(arguments, &message))
            return message;
    }
    return (struct osc_message){.kind = OSC_REFUSED};
}

static struct osc_message read_message(void *bytes, size_t size)
{
    struct osc_message parsed = {.kind = OSC_REFUSED};
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
enum { BUNDLE_HEAD = 16 }; /* the mark and a time, which is not looked at: all is done at once */

/* OSC 1.0: each element is its size, big-endian, and a message. Bundles in bundles are
 * refused: nobody needs them here, and they would have to be bounded. */
void osc_packet_read(void *packet, size_t size,
                     void (*take)(void *context, const struct osc_message *message), void *context)
{
    char *bytes = packet;
    struct osc_message message = {.kind = OSC_REFUSED};
    if (size < BUNDLE_HEAD || memcmp(bytes, bundle_mark, sizeof bundle_mark) != 0) {
        message = read_message(bytes, size);
        take(context, &message);
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
        message = (struct osc_message){.kind = OSC_REFUSED};
        if (whole)
            message = read_message(bytes + at, length);
        take(context, &message);
        if (!whole)
            return;
        at += length;
    }
}
