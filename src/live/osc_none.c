/* In place of osc.c where there is no liblo. */
#include "live/osc.h"

enum status osc_open(unsigned port, struct osc **osc)
{
    (void)port, (void)osc;
    return fail(STATUS_FAILED, "cannot listen for OSC messages: halo was built without liblo");
}

void osc_close(struct osc *osc)
{
    (void)osc;
}

unsigned osc_port(const struct osc *osc)
{
    (void)osc;
    return 0;
}

int osc_fd(const struct osc *osc)
{
    (void)osc;
    return -1;
}

bool osc_receive(struct osc *osc, struct osc_command *command)
{
    (void)osc, (void)command;
    return false;
}

void osc_send_meters(struct osc *osc, const struct live_status *status)
{
    (void)osc, (void)status;
}

void osc_refuse(struct osc *osc)
{
    (void)osc;
}

uint64_t osc_refused(const struct osc *osc)
{
    (void)osc;
    return 0;
}
