/* Remote control by Open Sound Control (OSC 1.0, opensoundcontrol.org), over UDP where a port is
 * asked for, and over a Unix socket of this user.
 *
 * The UDP socket is bound to 127.0.0.1: no other machine reaches it. Numbers may be of type i, h, f
 * or d; numbers of things must be whole.
 *
 *   /halo/choose NUMBER       from 1; 0 is the dry signal
 *   /halo/choose NAME         of type s: in full or as a screen shows it; "dry"; or a number
 *   /halo/dry
 *   /halo/gain DB
 *   /halo/mute 0|1            or T, F
 *   /halo/control STAGE SYMBOL VALUE    a control of the chain's stage (from 1); the value is a
 *                                       number, or text as on the command line ("-6dB")
 *   /halo/mix STAGE VALUE     its @mix: 0 to 1
 *   /halo/bypass STAGE 0|1    its @bypass; or T, F
 *   /halo/load NUMBER PATH    replace the choice's mask with the file
 *   /halo/reload              read the last chosen mask again
 *   /halo/preset NAME         change to a preset
 *   /halo/preset/next         or /halo/preset/previous
 *   /halo/preset/save NAME    save what is heard; replaces a preset of that name
 *   /halo/quit
 *   /halo/subscribe [PORT]    send meters to that local port, or to the sender, for OSC_LEASE
 *                             seconds; send again to renew
 *   /halo/unsubscribe [PORT]
 *
 * Each osc_send_meters sends subscribers one bundle:
 *
 *   /halo/meters/in  i channel (from 1)  f peak  f rms  f hold (dBFS)  h clipped samples
 *   /halo/meters/out the same; none while blind
 *   /halo/status     i chosen (-1: blind)  s its name  f gain dB  i muted  i howled
 *                    f limiter dB  f load now  f p99  f worst (1: the period; -1: blind)
 *                    h late  h lost (blocks)  f seconds
 *
 * Silence is sent as OSC_SILENCE dBFS.
 *
 * A message that is unknown, has other types or values out of range, or cannot be executed changes
 * nothing: it is counted, and answered to its sender with
 *
 *   /halo/error      s the message's path ("": not OSC)  s the reason
 *
 * Packets from other machines are counted only, as is /halo/error itself.
 * Threads: the control thread. Nothing here waits.
 */
#ifndef HALO_OSC_H
#define HALO_OSC_H

#include "base/build_info.h"
#include "base/status.h"
#include "view/view.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/un.h>

enum {
    OSC_TEXT_MOST = 1024,  /* bytes of a name or path, with its 0 */
    OSC_VALUE_MOST = 128,  /* bytes of a value, with its 0 */
    OSC_PATH_MOST = 64,    /* bytes of a message's path that are kept, with its 0 */
    OSC_PACKETS_MOST = 64, /* of one round of osc_receive */
    OSC_SUBSCRIBERS_MOST = 8,
    OSC_LEASE = 10,     /* seconds */
    OSC_SILENCE = -144, /* dBFS */
    OSC_NO_PORT = -1,
};

struct osc;

enum osc_action {
    OSC_CHOOSE,       /* choice */
    OSC_CHOOSE_NAMED, /* text */
    OSC_GAIN,         /* value, finite; the caller checks its range */
    OSC_MUTE,         /* on */
    OSC_LOAD,         /* choice, text */
    OSC_CONTROL,      /* stage, text: the symbol, value_text */
    OSC_RELOAD,
    OSC_PRESET, /* text */
    OSC_PRESET_NEXT,
    OSC_PRESET_PREVIOUS,
    OSC_PRESET_SAVE, /* text */
    OSC_QUIT,
};

/* Who sent a command, for the answer; on this machine. */
struct osc_sender {
    union {
        struct sockaddr any;
        struct sockaddr_in udp;
        struct sockaddr_un local;
    } address;
    socklen_t size; /* bytes of the address */
};

struct osc_command {
    enum osc_action action;
    const char *path; /* of its message, for good */
    struct osc_sender sender;
    size_t choice; /* from 1; 0: dry. The caller checks that choice and stage exist */
    size_t stage;  /* from 1 */
    bool on;
    char value_text[OSC_VALUE_MOST];
    double value;             /* dB */
    char text[OSC_TEXT_MOST]; /* not empty if used */
};

#ifdef HALO_WITH_OSC

/* port 0: any free port; OSC_NO_PORT: only the Unix socket. If that cannot be made, it is missing,
 * with a note if notes are detailed. *osc is NULL if neither is there. Errors: the port is in use;
 * memory. */
MUST_CHECK enum status osc_open(int port, struct osc **osc);
void osc_close(struct osc *osc);

unsigned osc_port(const struct osc *osc);

/* For poll(): call osc_receive on any event, POLLERR too. -1: not there. */
int osc_fd(const struct osc *osc);
int osc_local_fd(const struct osc *osc);

/* Whether meters are to be sent; false if osc is NULL. */
bool osc_is_subscribed(const struct osc *osc);

/* The next command. False ends a round: none is left, or OSC_PACKETS_MOST packets were read, so
 * that a flood cannot block the caller. */
bool osc_receive(struct osc *osc, struct osc_command *command);

/* Send the status to all subscribers and forget those that are gone. */
void osc_send_meters(struct osc *osc, const struct live_status *status);

/* Count a command that the caller could not execute among those refused, and answer it. */
void osc_refuse(struct osc *osc, const struct osc_sender *sender, const char *path,
                const char *reason);
uint64_t osc_refused(const struct osc *osc);

/* The next refusal as a line to show, or NULL: eight in a second, then a line that counts the
 * others. Valid until the next call. */
const char *osc_refusal(struct osc *osc);

/* Send a command as words ("choose 2") to the halo live on that port, and wait for its answer. If
 * there is no port, it goes to the one on the Unix socket of that name; NULL: to the only one that
 * runs. The command may still fail later where it loads a file. Errors (usage): the command; that
 * none or several run, that none answers, or the reason for which it was refused.
 * json: prints what was sent. */
MUST_CHECK enum status osc_send(int port, const char *name, const char *command, bool json);

#else /* without liblo there is no osc */

MUST_CHECK static inline enum status osc_open(int port, struct osc **osc)
{
    *osc = NULL;
    return port == OSC_NO_PORT
               ? STATUS_OK
               : fail(CAUSE_UNSUPPORTED, "cannot use OSC: halo was built without liblo");
}
MUST_CHECK static inline enum status osc_send(int port, const char *name, const char *command,
                                              bool json)
{
    (void)port, (void)name, (void)command, (void)json;
    return fail(CAUSE_UNSUPPORTED, "cannot use OSC: halo was built without liblo");
}
#define osc_close(osc) ((void)(osc))
#define osc_port(osc) ((void)(osc), 0u)
#define osc_fd(osc) ((void)(osc), -1)
#define osc_local_fd(osc) ((void)(osc), -1)
#define osc_is_subscribed(osc) ((void)(osc), false)
#define osc_receive(osc, command) ((void)(osc), (void)(command), false)
#define osc_send_meters(osc, status) ((void)(osc), (void)(status))
#define osc_refuse(osc, sender, path, reason)                                                      \
    ((void)(osc), (void)(sender), (void)(path), (void)(reason))
#define osc_refused(osc) ((void)(osc), UINT64_C(0))
#define osc_refusal(osc) ((void)(osc), (const char *)NULL)

#endif

#endif
