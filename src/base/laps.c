#include "base/laps.h"

#include "base/monotonic.h"
#include "base/realtime.h"
#include "base/status.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[LAPS] = {
    [LAP_OPEN] = "open",       [LAP_CONTEXT] = "context", [LAP_MASKS] = "masks",
    [LAP_CHAIN] = "chain",     [LAP_DEVICE] = "device",   [LAP_PIN] = "pin",
    [LAP_PLAN] = "plan",       [LAP_FORM] = "form",       [LAP_SINK] = "sink",
    [LAP_BUFFERS] = "buffers", [LAP_FIRST] = "first",     [LAP_READ] = "read",
    [LAP_STARVED] = "starved", [LAP_STEP] = "step",       [LAP_SEND] = "send",
    [LAP_LAUNCH] = "launch",   [LAP_COMPUTE] = "compute", [LAP_RETURN] = "return",
    [LAP_HISTORY] = "history", [LAP_HELD] = "held",       [LAP_MEASURE] = "measure",
    [LAP_WRITE] = "write",     [LAP_COMMIT] = "commit",   [LAP_LIBRARY] = "library",
};

static int64_t started; /* 0: laps_begin was not called */
static bool is_shown;
static _Atomic int64_t spent[LAPS];

void laps_begin(bool is_verbose)
{
    const char *wanted = getenv("HALO_LAPS");
    is_shown = is_verbose || (wanted && strcmp(wanted, "1") == 0);
    for (size_t l = 0; l < LAPS; l++)
        atomic_store(&spent[l], 0);
    started = monotonic_ns();
}

HALO_REALTIME int64_t lap_begin(void)
{
    return started ? monotonic_ns() : 0;
}

HALO_REALTIME void lap_end(enum lap lap, int64_t begin)
{
    if (begin)
        atomic_fetch_add(&spent[lap], monotonic_ns() - begin);
}

void laps_note(void)
{
    enum { SHOWN = 500000 };
    char text[LAPS * 24] = "";
    size_t length = 0;
    if (!is_shown)
        return;
    for (size_t l = 0; l < LAPS; l++)
        if (spent[l] >= SHOWN)
            length += (size_t)snprintf(text + length, sizeof text - length, ", %s %.3f", names[l],
                                       1e-9 * (double)spent[l]);
    note("seconds: %.3f in all%s", 1e-9 * (double)(monotonic_ns() - started), text);
}
