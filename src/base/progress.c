#include "base/progress.h"

#include "base/monotonic.h"
#include "base/status.h"
#include "base/terminal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BAR = 30, SHARE = 8 /* characters, of "[] 100 %" */ };
static const double INTERVAL = 0.2; /* seconds between two pictures */

void progress_begin(struct progress *progress, uint32_t rate, bool wanted)
{
    double now = monotonic_seconds();
    *progress = (struct progress){
        .shown = wanted && isatty(STDERR_FILENO),
        .rate = rate,
        .start = now,
        .next = now + INTERVAL,
    };
}

/* In one row of the terminal: what wraps cannot be replaced by the next picture. */
static void show(double share, const char *details)
{
    size_t columns, rows, width = BAR;
    terminal_output_size(&columns, &rows);
    bool has_details = SHARE + BAR + strlen(details) < columns;
    if (!has_details && columns < SHARE + BAR + 1)
        width = columns > SHARE + 1 ? columns - SHARE - 1 : 1;
    char bar[BAR + 1];
    size_t full = (size_t)(share * (double)width);
    memset(bar, '#', full);
    memset(bar + full, '-', width - full);
    bar[width] = '\0';
    note_transient("[%s] %3.0f %%%s", bar, 100 * share, has_details ? details : "");
}

void progress_update(void *context, uint64_t frames, int64_t total)
{
    struct progress *progress = context;
    if (!progress->shown)
        return;
    double now = monotonic_seconds();
    if (now < progress->next)
        return;
    progress->next = now + INTERVAL;
    double elapsed = now - progress->start;
    double seconds = (double)frames / progress->rate;
    double speed = seconds / elapsed;
    if (total <= 0) {
        note_transient("%.0f s of sound, %.0fx real time", seconds, speed);
        return;
    }
    double share = fmin((double)frames / (double)total, 1);
    double left = elapsed * (1 - share) / fmax(share, 1e-6);
    char details[80];
    snprintf(details, sizeof details, "  %.0fx real time  %d:%02d left", speed, (int)(left / 60),
             (int)fmod(left, 60));
    show(share, details);
}
