#include "base/monotonic.h"
#include "signal/audio.h"
#include "view/view_kind.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double QUIET_MOST = 10; /* seconds without a line */

/* A change in any of these prints a line. */
struct plain_news {
    size_t chosen;
    bool switching, muted, feedback_seen, hidden, recording;
    double gain_db;
    uint64_t late, lost, clips, lines, control;
    uint32_t rate;
    size_t block;
};

struct plain {
    struct view view;
    struct plain_news news;
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

static struct plain_news news_of(const struct live_status *status)
{
    return (struct plain_news){
        .chosen = status->chosen,
        .switching = status->switching,
        .muted = status->muted,
        .feedback_seen = status->feedback_seen,
        .hidden = status->hidden,
        .recording = status->recording != NULL,
        .gain_db = status->gain_db,
        .late = status->late,
        .lost = status->lost,
        .clips = clips_of(status),
        .lines = hash_lines(status->lines, status->line_count),
        .control = hash_lines(&status->control.text, status->control.text ? 1 : 0),
        .rate = status->rate,
        .block = status->block,
    };
}

static bool news_same(const struct plain_news *a, const struct plain_news *b)
{
    return a->chosen == b->chosen && a->switching == b->switching && a->muted == b->muted &&
           a->feedback_seen == b->feedback_seen && a->hidden == b->hidden &&
           a->recording == b->recording && a->gain_db == b->gain_db && a->late == b->late &&
           a->lost == b->lost && a->clips == b->clips && a->lines == b->lines &&
           a->control == b->control && a->rate == b->rate && a->block == b->block;
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
        printf("  %zu %s", status->chosen, status->names[status->chosen - 1]);
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
        printf("  [%s]", status->control.text);
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
    struct plain_news news = news_of(status);
    double now = monotonic_seconds();
    bool same = news_same(&news, &plain->news);
    if (same && !view->interval_given && now < plain->printed + QUIET_MOST)
        return;
    print_line(status);
    for (size_t i = 0; i < status->line_count && news.lines != plain->news.lines; i++)
        puts(status->lines[i]);
    fflush(stdout);
    plain->news = news;
    plain->printed = now;
}

static void plain_message(struct view *view, const char *text)
{
    (void)view;
    note("%s", text);
}

static enum status plain_open(struct view **view)
{
    struct plain *plain = calloc(1, sizeof *plain);
    if (!plain)
        return fail_memory("the view");
    plain->printed = -QUIET_MOST;
    *view = &plain->view;
    return STATUS_OK;
}

const struct view_kind view_plain = {
    .open = plain_open,
    .show = plain_show,
    .message = plain_message,
    .interval = 1,
};
