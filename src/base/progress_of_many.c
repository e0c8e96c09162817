#include "base/progress_of_many.h"

#include "base/monotonic.h"
#include "base/plural.h"
#include "base/status.h"
#include "base/terminal.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

static const double INTERVAL = 0.2;     /* seconds between two lines */
static const double SHARE_LEAST = 0.01; /* of the work, before an estimate */
static const double ELAPSED_LEAST = 1;  /* seconds, before that */

void progress_of_many_begin(struct progress_of_many *progress, size_t count, double weight,
                            bool wanted)
{
    double now = monotonic_seconds();
    *progress = (struct progress_of_many){
        .shown = wanted && isatty(STDERR_FILENO),
        .count = count,
        .weight = weight,
        .start = now,
        .next = now + INTERVAL,
    };
    pthread_mutex_init(&progress->lock, NULL);
}

void progress_of_many_end(struct progress_of_many *progress)
{
    pthread_mutex_destroy(&progress->lock);
}

double progress_of_many_left(const struct progress_of_many *progress, double elapsed)
{
    double share = progress->weight > 0 ? progress->weight_done / progress->weight : 0;
    if (share < SHARE_LEAST || elapsed < ELAPSED_LEAST)
        return -1;
    return elapsed * fmax(1 - share, 0) / share;
}

static void show(const struct progress_of_many *progress, double elapsed)
{
    char failed[40] = "", left[40] = "", line[200];
    double seconds = progress_of_many_left(progress, elapsed);
    size_t columns, rows;
    if (progress->failed)
        snprintf(failed, sizeof failed, ", %zu failed", progress->failed);
    if (seconds >= 3600)
        snprintf(left, sizeof left, ", about %.1f hours left", seconds / 3600);
    else if (seconds >= 0)
        snprintf(left, sizeof left, ", about %d:%02d left", (int)(seconds / 60),
                 (int)fmod(seconds, 60));
    double share = progress->weight > 0 ? progress->weight_done / progress->weight : 0;
    snprintf(line, sizeof line, "%zu of %zu file%s, %.1f %%, %.1f a second%s%s", progress->done,
             progress->count, plural_s(progress->count), 100 * fmin(share, 1),
             (double)progress->done / elapsed, failed, left);
    terminal_output_size(&columns, &rows);
    note_transient("%.*s", (int)(columns > 1 ? columns - 1 : 1), line);
}

static void count(struct progress_of_many *progress, double weight, bool done, bool failed)
{
    pthread_mutex_lock(&progress->lock);
    double now = monotonic_seconds();
    progress->done += done;
    progress->failed += failed;
    progress->weight_done += weight;
    if (progress->shown && now >= progress->next) {
        progress->next = now + INTERVAL;
        show(progress, now - progress->start);
    }
    pthread_mutex_unlock(&progress->lock);
}

void progress_of_many_add(struct progress_of_many *progress, double weight, bool failed)
{
    count(progress, weight, true, failed);
}

/* A job that runs twice does not go back. */
void progress_of_many_move(struct progress_of_many *progress, double *moved, double weight,
                           uint64_t frames, int64_t total)
{
    double part = total > 0 ? weight * fmin((double)frames / (double)total, 1) : 0;
    if (!progress->shown || part <= *moved)
        return;
    count(progress, part - *moved, false, false);
    *moved = part;
}

void progress_of_many_skip(struct progress_of_many *progress, double weight)
{
    pthread_mutex_lock(&progress->lock);
    progress->count--;
    progress->weight -= weight;
    pthread_mutex_unlock(&progress->lock);
}
