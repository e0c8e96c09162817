#include "base/progress.h"

#include "base/monotonic.h"
#include "base/status.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { BAR = 30 };
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
    char bar[BAR + 1];
    size_t full = (size_t)(share * BAR);
    memset(bar, '#', full);
    memset(bar + full, '-', BAR - full);
    bar[BAR] = '\0';
    double left = elapsed * (1 - share) / fmax(share, 1e-6);
    note_transient("[%s] %3.0f %%  %.0fx real time  %d:%02d left", bar, 100 * share, speed,
                   (int)(left / 60), (int)fmod(left, 60));
}
