#include "base/monotonic.h"
#include "base/printable.h"
#include "signal/audio.h"
#include "view/view_kind.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double QUIET_MOST = 10; /* seconds without a line */

enum { NEWS_LINES, NEWS = 14 }; /* values, any change of which prints a line */

struct plain {
    struct view view;
    uint64_t news[NEWS];
    double printed; /* when the last line was; monotonic seconds */
};

static uint64_t clips_of(const struct live_status *status)
{
    uint64_t clips = 0;
    for (size_t c = 0; c < status->inputs; c++)
        clips += status->in[c].clips;
    for (size_t c = 0; c < status->outputs; c++)
        clips += status->out[c].clips;
    return clips;
}

/* FNV-1a: detects changed lines without keeping a copy. */
static uint64_t hash_lines(const char *const *lines, size_t count)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < count; i++)
        for (const char *byte = lines[i]; *byte; byte++)
            hash = (hash ^ (unsigned char)*byte) * 0x100000001b3;
    return hash;
}

static void read_news(const struct live_status *status, uint64_t news[NEWS])
{
    uint64_t gain;
    memcpy(&gain, &status->gain_db, sizeof gain);
    const uint64_t values[NEWS] = {
        [NEWS_LINES] = hash_lines(status->lines, status->line_count),
        hash_lines(&status->control.text, status->control.text ? 1 : 0),
        status->chosen,
        status->switching,
        status->muted,
        status->feedback_seen,
        status->hidden,
        status->recording != NULL,
        gain,
        status->late,
        status->lost,
        clips_of(status),
        status->rate,
        status->block,
    };
    memcpy(news, values, sizeof values);
}

static double loudest_db(const struct meter_reading *readings, size_t channels)
{
    float most = 0;
    for (size_t c = 0; c < channels; c++)
        most = fmaxf(most, readings[c].hold);
    return audio_to_db(most);
}

static void print_choice(const struct live_status *status)
{
    if (status->choices == 0)
        return;
    if (status->hidden)
        printf("  ?");
    else if (status->chosen == 0 || status->chosen > status->choices)
        printf("  0 dry");
    else
        printf("  %zu %s", status->chosen, printable(status->names[status->chosen - 1]));
    if (status->switching)
        printf(" ...");
}

static void print_state(const struct live_status *status)
{
    if (status->gain_db != 0)
        printf("  gain %+.1f dB", status->gain_db);
    if (status->reduction_db < -0.05)
        printf("  limiter %.1f dB", status->reduction_db);
    if (status->feedback_seen)
        printf("  FEEDBACK: MUTED");
    else if (status->muted)
        printf("  MUTED");
}

static void print_line(const struct live_status *status)
{
    printf("%.1f s  in %.1f", status->seconds, loudest_db(status->in, status->inputs));
    if (!status->hidden)
        printf("  out %.1f", loudest_db(status->out, status->outputs));
    printf(" dBFS");
    print_choice(status);
    if (status->control.text)
        printf("  [%s]", printable(status->control.text));
    print_state(status);
    if (!isnan(status->load_now))
        printf("  load %.0f %%, worst %.0f %%", 100 * status->load_now, 100 * status->load_worst);
    if (status->late || status->lost)
        printf("  late %llu lost %llu", (unsigned long long)status->late,
               (unsigned long long)status->lost);
    uint64_t clips = clips_of(status);
    if (clips)
        printf("  clips %llu", (unsigned long long)clips);
    if (status->recording)
        printf("  recorded %.1f s", status->recorded);
    putchar('\n');
}

static void plain_show(struct view *view, const struct live_status *status)
{
    struct plain *plain = (struct plain *)view;
    uint64_t news[NEWS];
    double now = monotonic_seconds();
    read_news(status, news);
    bool same = memcmp(news, plain->news, sizeof news) == 0;
    if (same && !view->interval_given && now < plain->printed + QUIET_MOST)
        return;
    print_line(status);
    for (size_t i = 0; i < status->line_count && news[NEWS_LINES] != plain->news[NEWS_LINES]; i++)
        puts(printable(status->lines[i]));
    fflush(stdout);
    memcpy(plain->news, news, sizeof news);
    plain->printed = now;
}

const struct view_kind view_plain = {
    .size = sizeof(struct plain),
    .show = plain_show,
    .interval = 1,
};
