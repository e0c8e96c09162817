/* Remote control by Open Sound Control (OSC 1.0, opensoundcontrol.org), over UDP if the user asks
 * for a port, and over a Unix socket of this user.
 *
 * The UDP socket is bound to 127.0.0.1: no other machine reaches it. Numbers may be of type i, h, f
 * or d; stage, choice and port numbers must be whole.
 *
 *   /halo/choose NUMBER       from 1; 0 is the dry signal
 *   /halo/choose NAME         of type s: name of a mask (full or as displayed), "dry" or a number
 *   /halo/dry
 *   /halo/gain DB
 *   /halo/ceiling DB          of the limiter
 *   /halo/mute 0|1            or T, F
 *   /halo/control STAGE SYMBOL VALUE    a control of the chain's stage (from 1); the value is a
 *                                       number, or text as on the command line ("-6dB")
 *   /halo/mix STAGE VALUE     @mix of a stage: 0 to 1
 *   /halo/bypass STAGE 0|1    @bypass of a stage; or T, F
 *   /halo/load NUMBER PATH    replace a choice's mask by the file
 *   /halo/reload              read the file of the last chosen mask again
 *   /halo/preset NAME         change to a preset
 *   /halo/preset/next         or /halo/preset/previous
 *   /halo/preset/save NAME    save what is heard as a preset; replaces one of that name
 *   /halo/preset/for-device NAME   the present output device has this preset, until halo ends
 *   /halo/eq STAGE BANDS PREAMP    bands of a mask, as of parametric:, and a gain in dB
 *   /halo/stage/add STAGE OPTION SPEC     a new stage before that stage, or at the end
 *   /halo/stage/remove STAGE
 *   /halo/stage/move STAGE NUMBER
 *   /halo/undo
 *   /halo/blind/begin         compare the last two states; live_edit.h
 *   /halo/blind/hear 1|2      or /halo/blind/keep, or /halo/blind/end without an argument
 *   /halo/quit
 *   /halo/subscribe [PORT]    send meters to that local port, or to the sender, for OSC_LEASE
 *                             seconds; send again to renew
 *   /halo/unsubscribe [PORT]
 *
 * Each osc_send_meters sends subscribers one bundle:
 *
 *   /halo/meters/in  i channel (from 1)  f peak  f rms  f hold (dBFS)  h clipped samples
 *   /halo/meters/out the same for the output; not sent in a blind test
 *   /halo/status     i chosen (-1: blind)  s its name  f gain dB  i muted  i howled
 *                    f limiter dB  f load now  f p99  f worst (1: the period; -1: blind)
 *                    h late  h lost (blocks)  f seconds
 *
 * Silence is sent as OSC_SILENCE dBFS.
 *
 * A message that is unknown, has wrong types or values out of range, or cannot be executed, changes
 * nothing. It is counted, and its sender gets this answer:
 *
 *   /halo/error      s the message's path ("": not OSC)  s the reason
 *
 * Packets from other machines, and /halo/error itself, are counted but not answered.
 * Threads: the control thread. Nothing here waits. */
#ifndef HALO_OSC_H
#define HALO_OSC_H

#include "base/build_info.h"
#include "base/status.h"
#include "live/remote/live_command.h"
#include "view/view.h"

#include <stdint.h>

enum {
    OSC_PATH_MOST = 64,    /* bytes of a message's path that are kept, with its 0 */
    OSC_PACKETS_MOST = 64, /* packets that one round of osc_receive reads at most */
    OSC_SUBSCRIBERS_MOST = 8,
    OSC_LEASE = 10,     /* seconds */
    OSC_SILENCE = -144, /* dBFS */
    OSC_NO_PORT = -1,
};

struct osc;

#ifdef HALO_WITH_OSC

/* Opens the sockets. port 0: any free port; OSC_NO_PORT: only the Unix socket. If the Unix
 * socket fails, it is left out, with a detailed note. *osc NULL: there is no
 * socket. Errors: port in use; memory. */
MUST_CHECK enum status osc_open(int port, struct osc **osc);
void osc_close(struct osc *osc);

unsigned osc_port(const struct osc *osc);

/* For poll(): call osc_receive on any event, also on POLLERR. -1: there is no such socket. */
int osc_fd(const struct osc *osc);
int osc_local_fd(const struct osc *osc);

/* Whether meters have to be sent; false if osc is NULL. */
bool osc_is_subscribed(const struct osc *osc);

/* Gets the next command. False ends a round: there is no command, or OSC_PACKETS_MOST packets were
 * read. So a flood of packets cannot block the caller. */
bool osc_receive(struct osc *osc, struct live_command *command);

/* Sends the status to all subscribers and forgets the subscribers that are gone. */
void osc_send_meters(struct osc *osc, const struct live_status *status);

/* Counts a command that the caller could not execute as refused, and answers its sender. */
void osc_refuse(struct osc *osc, const struct osc_sender *sender, const char *path,
                const char *reason);
uint64_t osc_refused(const struct osc *osc);

/* The next refusal as a line to display, or NULL. Up to eight are returned per second, then a line
 * that counts the others. Valid until the next call. */
const char *osc_refusal(struct osc *osc);

/* Sends a command such as "choose 2" to a running halo live, and waits for the answer. With a port,
 * it goes to that UDP port; with OSC_NO_PORT, to the Unix socket `name`, or to the only running
 * halo live if `name` is NULL. A command that loads a file may still fail later. Errors (usage): an
 * invalid command; none or several run; no answer; a refusal. json: print what was sent. */
MUST_CHECK enum status osc_send(int port, const char *name, const char *command, bool json);

#else /* without liblo, these functions refuse or do nothing */

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
