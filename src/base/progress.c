#include "base/progress.h"

#include "base/monotonic.h"
#include "base/plural.h"
#include "base/status.h"
#include "base/terminal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BAR = 30, SHARE = 8 /* characters, of "[] 100 %" */ };
static const double INTERVAL = 0.2; /* seconds between two lines */

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

/* Prints a row of the terminal. A longer text would wrap, and the next could not replace it. */
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

static const double SHARE_LEAST = 0.01; /* part of the work that must be done before an estimate */
static const double ELAPSED_LEAST = 1;  /* seconds that must pass before an estimate */

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

/* Seconds that are left, after `elapsed` seconds. Negative: too little is done to tell. */
static double progress_of_many_left(const struct progress_of_many *progress, double elapsed)
{
    double share = progress->weight > 0 ? progress->weight_done / progress->weight : 0;
    if (share < SHARE_LEAST || elapsed < ELAPSED_LEAST)
        return -1;
    return elapsed * fmax(1 - share, 0) / share;
}

static void show_many(const struct progress_of_many *progress, double elapsed)
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
        show_many(progress, now - progress->start);
    }
    pthread_mutex_unlock(&progress->lock);
}

void progress_of_many_add(struct progress_of_many *progress, double weight, bool failed)
{
    count(progress, weight, true, failed);
}

/* If a job runs twice, its progress does not go back. */
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
