/* Commands that steer a running halo live. They come by OSC, by --send and from web pages.
 *
 * osc.h lists the messages. A command is a name, "/halo/gain", and its arguments. Threads: any. */
#ifndef HALO_LIVE_COMMAND_H
#define HALO_LIVE_COMMAND_H

#include "base/status.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/un.h>

enum {
    COMMAND_TEXT_MOST = 4096,  /* bytes of a name, path or spec, with its 0 */
    COMMAND_VALUE_MOST = 128,  /* bytes of a value, with its 0 */
    COMMAND_REASON_MOST = 256, /* bytes of a reason, with its 0 */
    COMMAND_ARGUMENTS_MOST = 3,
};

enum command_action {
    COMMAND_CHOOSE,       /* uses choice */
    COMMAND_CHOOSE_NAMED, /* uses text */
    COMMAND_GAIN,         /* uses value, which is finite; the caller checks its range */
    COMMAND_CEILING,      /* uses value, as COMMAND_GAIN */
    COMMAND_MUTE,         /* uses on */
    COMMAND_LOAD,         /* uses choice, text */
    COMMAND_CONTROL,      /* uses stage, text (the symbol), value_text */
    COMMAND_EQ,           /* uses stage, text (the bands, perhaps empty), value (the preamp) */
    COMMAND_RELOAD,
    COMMAND_PRESET, /* uses text */
    COMMAND_PRESET_NEXT,
    COMMAND_PRESET_PREVIOUS,
    COMMAND_PRESET_SAVE,       /* uses text */
    COMMAND_PRESET_FOR_DEVICE, /* uses text */
    COMMAND_QUIT,
    COMMAND_STAGE_ADD,    /* uses stage, value_text (the option), text (the spec) */
    COMMAND_STAGE_REMOVE, /* uses stage */
    COMMAND_STAGE_MOVE,   /* uses stage, choice (the new number) */
    COMMAND_UNDO,
    COMMAND_BLIND_BEGIN,
    COMMAND_BLIND_HEAR, /* uses choice: version 1 or 2 */
    COMMAND_BLIND_KEEP, /* uses choice */
    COMMAND_BLIND_END,
};

/* Sender of an OSC message, on this machine; gets the answer. */
struct osc_sender {
    union {
        struct sockaddr any;
        struct sockaddr_in udp;
        struct sockaddr_un local;
    } address;
    socklen_t size; /* bytes of the address; 0: the command did not come by OSC */
};

struct live_command {
    enum command_action action;
    const char *path; /* path of its message; a constant string */
    struct osc_sender sender;
    bool is_remote; /* a web page sent it, which may open only what was offered to it */
    size_t choice;  /* number of a mask, from 1; 0: dry. The caller checks that it exists. */
    size_t stage;   /* number of a stage, from 1. The caller checks that it exists. */
    bool on;
    char value_text[COMMAND_VALUE_MOST];
    double value;                 /* dB */
    char text[COMMAND_TEXT_MOST]; /* not empty if used, but by COMMAND_EQ */
};

struct command_argument {
    const char *text; /* NULL: a number or a switch */
    double number;    /* 0 or 1 for a switch */
    bool is_switch;   /* true or false, not a number */
};

/* Makes a command of a path and arguments. False: it is unknown, or an argument has a wrong type or
 * range; `reason` says so. */
bool live_command_make(const char *path, const struct command_argument *arguments, size_t count,
                       struct live_command *command, char reason[static COMMAND_REASON_MOST]);

/* Splits text such as "gain -6" into path and arguments, whose texts are in `words`. Errors
 * (usage): it is no command. */
MUST_CHECK enum status live_command_split(const char *text, char words[static COMMAND_TEXT_MOST],
                                          const char **path, struct command_argument *arguments,
                                          size_t *count);

#endif
