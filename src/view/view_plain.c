#include "base/monotonic.h"
#include "base/printable.h"
#include "signal/audio.h"
#include "view/view_kind.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Without an interval: a line for each change, for screen readers and logs. */
enum { ITEM_MOST = 320 /* bytes of an item, with its 0 */ };

struct plain_item {
    void (*print)(const struct live_status *status, char text[ITEM_MOST]); /* "": nothing to say */
    const char *usual; /* not said at the start */
    double rest;       /* seconds between two lines of it, at least */
};

enum { ITEMS = 12 };

struct plain {
    struct view view;
    char items[ITEMS][ITEM_MOST]; /* as last printed */
    double printed[ITEMS];        /* when; monotonic seconds, 0: not yet */
    uint64_t lines;               /* their hash, as last printed */
    bool has_begun;
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

/* ---- a line for each interval ---- */

/* FNV-1a: detects changed lines without keeping a copy. */
static uint64_t hash_lines(const char *const *lines, size_t count)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < count; i++)
        for (const char *byte = lines[i]; *byte; byte++)
            hash = (hash ^ (unsigned char)*byte) * 0x100000001b3;
    return hash;
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
    if (status->preset)
        printf("  preset %s", printable(status->preset));
    if (status->coming_preset)
        printf(" -> %s ...", printable(status->coming_preset));
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
    if (status->has_bridge)
        printf("  clocks %+.1f ppm, bridge %zu", status->ratio_ppm, status->latency_bridge);
    uint64_t clips = clips_of(status);
    if (clips)
        printf("  clips %llu", (unsigned long long)clips);
    if (status->recording)
        printf("  recorded %.1f s", status->recorded);
    putchar('\n');
}

/* ---- a line for each change ---- */

static void print_device(const struct live_status *status, char text[ITEM_MOST])
{
    snprintf(text, ITEM_MOST, "device %s, %u Hz, blocks of %zu frames",
             status->device ? status->device : "none", status->rate, status->block);
}

static void print_latency(const struct live_status *status, char text[ITEM_MOST])
{
    size_t frames = live_status_latency(status);
    snprintf(text, ITEM_MOST, "latency %.1f ms, %zu frames",
             status->rate ? 1e3 * (double)frames / status->rate : 0, frames);
}

static void print_preset(const struct live_status *status, char text[ITEM_MOST])
{
    snprintf(text, ITEM_MOST, "preset %s", status->preset ? status->preset : "none");
}

static void print_mask(const struct live_status *status, char text[ITEM_MOST])
{
    bool is_dry = status->chosen == 0 || status->chosen > status->choices;
    if (status->choices == 0 || status->hidden)
        text[0] = '\0';
    else
        snprintf(text, ITEM_MOST, "%s %zu %s", is_dry ? "signal" : "mask",
                 is_dry ? 0 : status->chosen, is_dry ? "dry" : status->names[status->chosen - 1]);
}

static void print_control(const struct live_status *status, char text[ITEM_MOST])
{
    snprintf(text, ITEM_MOST, "%s%s", status->control.text ? "control " : "",
             status->control.text ? status->control.text : "");
}

static void print_gain(const struct live_status *status, char text[ITEM_MOST])
{
    snprintf(text, ITEM_MOST, "gain %+.1f dB", status->gain_db);
}

static void print_mute(const struct live_status *status, char text[ITEM_MOST])
{
    snprintf(text, ITEM_MOST, "%s",
             status->feedback_seen ? "FEEDBACK: muted"
             : status->muted       ? "muted"
                                   : "not muted");
}

static void print_limiter(const struct live_status *status, char text[ITEM_MOST])
{
    snprintf(text, ITEM_MOST, "the limiter %s",
             status->reduction_db < -0.05 ? "turns down" : "rests");
}

static void print_late(const struct live_status *status, char text[ITEM_MOST])
{
    snprintf(text, ITEM_MOST, "blocks late %llu, lost %llu", (unsigned long long)status->late,
             (unsigned long long)status->lost);
}

static void print_clips(const struct live_status *status, char text[ITEM_MOST])
{
    snprintf(text, ITEM_MOST, "clips %llu", (unsigned long long)clips_of(status));
}

static void print_recording(const struct live_status *status, char text[ITEM_MOST])
{
    snprintf(text, ITEM_MOST, "%s%s", status->recording ? "recording " : "not recording",
             status->recording ? status->recording : "");
}

static void print_hidden(const struct live_status *status, char text[ITEM_MOST])
{
    snprintf(text, ITEM_MOST, "masks are %s", status->hidden ? "hidden" : "shown");
}

static const struct plain_item plain_items[ITEMS] = {
    {print_device, NULL, 0},
    {print_latency, NULL, 1},
    {print_hidden, "masks are shown", 0},
    {print_preset, "preset none", 0},
    {print_mask, NULL, 0},
    {print_control, NULL, 1},
    {print_gain, "gain +0.0 dB", 1},
    {print_mute, "not muted", 0},
    {print_limiter, "the limiter rests", 5},
    {print_late, "blocks late 0, lost 0", 5},
    {print_clips, "clips 0", 5},
    {print_recording, "not recording", 0},
};

static void print_item(struct plain *plain, size_t item, const struct live_status *status,
                       double now)
{
    const struct plain_item *about = &plain_items[item];
    char text[ITEM_MOST], *last = plain->items[item];
    about->print(status, text);
    bool is_usual = !plain->has_begun && about->usual && strcmp(text, about->usual) == 0;
    bool is_new = strcmp(text, last) != 0;
    if (!is_new || (plain->printed[item] > 0 && now < plain->printed[item] + about->rest))
        return;
    memcpy(last, text, sizeof text);
    if (is_usual || !*text)
        return;
    plain->printed[item] = now;
    printf("%.1f s  %s\n", status->seconds, printable(text));
}

/* ---- the view ---- */

static void plain_show(struct view *view, const struct live_status *status)
{
    struct plain *plain = (struct plain *)view;
    uint64_t lines = hash_lines(status->lines, status->line_count);
    double now = monotonic_seconds();
    if (view->interval_given)
        print_line(status);
    bool quiet = note_verbosity_now() <= VERBOSITY_QUIET; /* what spoils the sound is a warning */
    for (size_t i = 0; i < ITEMS && !view->interval_given && !quiet; i++)
        print_item(plain, i, status, now);
    for (size_t i = 0; i < status->line_count && lines != plain->lines; i++)
        puts(printable(status->lines[i]));
    fflush(stdout);
    plain->lines = lines;
    plain->has_begun = true;
}

const struct view_kind view_plain = {
    .size = sizeof(struct plain),
    .show = plain_show,
    .interval = 0.2,
};
