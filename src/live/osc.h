/* Control from outside: Open Sound Control messages over UDP, from this machine only.
 *
 * The socket is bound to 127.0.0.1, so no other machine reaches it. A number may be sent as
 * i, h, f or d, but must be whole where that is meant.
 *
 *   /halo/choose NUMBER       1 and up; 0 is the dry signal
 *   /halo/choose NAME         as s
 *   /halo/dry
 *   /halo/gain DB
 *   /halo/mute 0|1            or T, F
 *   /halo/control STAGE SYMBOL VALUE    of the chain's stage (1 and up) that control, as the
 *                                       command line has it: a number, or words as s ("-6dB")
 *   /halo/mix STAGE VALUE     its @mix: 0 to 1
 *   /halo/bypass STAGE 0|1    its @bypass; or T, F
 *   /halo/load NUMBER PATH    replace that choice's mask by the file
 *   /halo/reload              read the mask that was chosen last again
 *   /halo/quit
 *   /halo/subscribe [PORT]    send meters to that port of this machine, or to the sender's,
 *                             for OSC_LEASE seconds; renew before they end
 *   /halo/unsubscribe [PORT]
 *
 * Subscribers get one bundle for each osc_send_meters:
 *
 *   /halo/meters/in  i channel (from 1)  f peak  f rms  f hold (dBFS)  h clipped samples
 *   /halo/meters/out the same; none while blind
 *   /halo/status     i chosen (-1: blind)  s its name  f gain dB  i muted  i howled
 *                    f limiter dB  f load now  f p99  f worst (1: the period; -1: blind)
 *                    h late  h lost (blocks)  f seconds
 *
 * Silence is sent as OSC_SILENCE dBFS. Packets that are no OSC, messages that are unknown or
 * of other types, and packets from elsewhere are ignored and counted.
 * Threads: the control thread's. Nothing here waits.
 * Source: opensoundcontrol.org, OSC 1.0 specification.
 */
#ifndef HALO_OSC_H
#define HALO_OSC_H

#include "base/build_info.h"
#include "base/status.h"
#include "view/live_status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    OSC_TEXT_MOST = 1024,  /* bytes of a name or path, its 0 included */
    OSC_VALUE_MOST = 128,  /* bytes of a value, likewise */
    OSC_PACKETS_MOST = 64, /* of one round of osc_receive */
    OSC_SUBSCRIBERS_MOST = 8,
    OSC_LEASE = 10,     /* seconds */
    OSC_SILENCE = -144, /* dBFS */
};

struct osc;

enum osc_action {
    OSC_CHOOSE,       /* choice */
    OSC_CHOOSE_NAMED, /* text */
    OSC_GAIN,         /* value, finite */
    OSC_MUTE,         /* on */
    OSC_LOAD,         /* choice, text */
    OSC_CONTROL,      /* stage, text: its symbol, words: the value */
    OSC_RELOAD,
    OSC_QUIT,
};

struct osc_command {
    enum osc_action action;
    size_t choice; /* 0: dry, not with OSC_LOAD; not checked against how many there are */
    size_t stage;  /* from 1; not checked either */
    bool on;
    char value_text[OSC_VALUE_MOST];
    double value;             /* dB */
    char text[OSC_TEXT_MOST]; /* never empty where it is used */
};

#ifdef HALO_WITH_OSC

/* port 0: any that is free. Errors: the port is taken. */
MUST_CHECK enum status osc_open(unsigned port, struct osc **osc);
void osc_close(struct osc *osc);

unsigned osc_port(const struct osc *osc);

/* For poll(): call osc_receive at any event of it, POLLERR too. */
int osc_fd(const struct osc *osc);

/* The next command; false ends a round: there is none, or OSC_PACKETS_MOST packets were
 * taken since the last false, so that a flood cannot hold up the caller. */
bool osc_receive(struct osc *osc, struct osc_command *command);

/* Send the picture to all subscribers. Those that are gone are forgotten. */
void osc_send_meters(struct osc *osc, const struct live_status *status);

/* A choice that could not be taken (no such number or name) is the command's to say and to
 * count, so that one number tells of all that was ignored. */
void osc_refuse(struct osc *osc);
uint64_t osc_refused(const struct osc *osc);

#else /* without liblo there is never one */

MUST_CHECK static inline enum status osc_open(unsigned port, struct osc **osc)
{
    (void)port, (void)osc;
    return fail(STATUS_FAILED, "cannot listen for OSC messages: halo was built without liblo");
}
#define osc_close(osc) ((void)(osc))
#define osc_port(osc) ((void)(osc), 0u)
#define osc_fd(osc) ((void)(osc), -1)
#define osc_receive(osc, command) ((void)(osc), (void)(command), false)
#define osc_send_meters(osc, status) ((void)(osc), (void)(status))
#define osc_refuse(osc) ((void)(osc))
#define osc_refused(osc) ((void)(osc), UINT64_C(0))

#endif

#endif
