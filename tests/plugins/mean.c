#include "mean.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { HISTORY = sizeof((struct mean *)0)->history / sizeof(float) };

static size_t amount(const struct mean *mean)
{
    float value = *mean->ports[MEAN_AMOUNT];
    return value > 0 ? (size_t)value : 0;
}

static bool is_time(const struct mean *mean, uint32_t frames)
{
    float at = *mean->ports[MEAN_AT];
    return (double)(mean->frame + frames) > (double)at;
}

static void copy(struct mean *mean, uint32_t frames)
{
    memcpy(mean->ports[MEAN_OUT], mean->ports[MEAN_IN], frames * sizeof(float));
}

/* ---- process ends ---- */

static bool crash(void)
{
    static volatile uintptr_t nowhere = 64;
    *(volatile int *)nowhere = 1;
    return true;
}

static bool hang(void)
{
    while (pause() != 0)
        continue;
    return true;
}

static bool refuse(void)
{
    return false;
}

static void run_crash(struct mean *mean, uint32_t frames)
{
    copy(mean, frames);
    if (is_time(mean, frames))
        crash();
}

static void run_abort(struct mean *mean, uint32_t frames)
{
    copy(mean, frames);
    if (is_time(mean, frames))
        abort();
}

static void run_exit(struct mean *mean, uint32_t frames)
{
    copy(mean, frames);
    if (is_time(mean, frames))
        exit(0);
}

static void run_hang(struct mean *mean, uint32_t frames)
{
    copy(mean, frames);
    if (is_time(mean, frames))
        hang();
}

/* Hangs without sleeping. */
static void run_hang_busy(struct mean *mean, uint32_t frames)
{
    static volatile bool always = true;
    copy(mean, frames);
    while (always && is_time(mean, frames))
        continue;
}

/* ---- bad samples ---- */

/* `amount` frames of `value`. */
static void spoil(struct mean *mean, uint32_t frames, float value)
{
    double from = (double)*mean->ports[MEAN_AT], to = from + (double)amount(mean);
    copy(mean, frames);
    for (uint32_t i = 0; i < frames; i++)
        if ((double)(mean->frame + i) >= from && (double)(mean->frame + i) < to)
            mean->ports[MEAN_OUT][i] = value;
}

static void run_nan(struct mean *mean, uint32_t frames)
{
    spoil(mean, frames, NAN);
}

static void run_infinity(struct mean *mean, uint32_t frames)
{
    spoil(mean, frames, INFINITY);
}

/* `amount` itself. */
static void run_loud(struct mean *mean, uint32_t frames)
{
    double from = (double)*mean->ports[MEAN_AT];
    copy(mean, frames);
    for (uint32_t i = 0; i < frames; i++)
        if ((double)(mean->frame + i) >= from)
            mean->ports[MEAN_OUT][i] = *mean->ports[MEAN_AMOUNT];
}

/* The value of `amount` in every frame. */
static void run_values(struct mean *mean, uint32_t frames)
{
    for (uint32_t i = 0; i < frames; i++)
        mean->ports[MEAN_OUT][i] = *mean->ports[MEAN_AMOUNT];
}

/* ---- memory errors ---- */

/* Writes `amount` samples history the end. */
static void run_overrun(struct mean *mean, uint32_t frames)
{
    copy(mean, frames);
    volatile float *out = mean->ports[MEAN_OUT];
    for (size_t i = 0; is_time(mean, frames) && i < amount(mean); i++)
        out[frames + i] = 1;
}

/* A copy, unless both are the same memory. */
static void run_in_place(struct mean *mean, uint32_t frames)
{
    volatile float *out = mean->ports[MEAN_OUT];
    for (uint32_t i = 0; i < frames; i++)
        out[i] = 0;
    for (uint32_t i = 0; i < frames; i++)
        out[i] += mean->ports[MEAN_IN][i];
}

/* A copy; its input is cleared afterwards. */
static void run_writes_input(struct mean *mean, uint32_t frames)
{
    copy(mean, frames);
    memset(mean->ports[MEAN_IN], 0, frames * sizeof(float));
}

/* Allocates `amount` MiB per block, touched and never freed. */
static void run_greedy(struct mean *mean, uint32_t frames)
{
    copy(mean, frames);
    if (!is_time(mean, frames))
        return;
    size_t size = amount(mean) << 20;
    volatile char *memory = malloc(size);
    for (size_t i = 0; memory && i < size; i += 4096)
        memory[i] = 1;
}

/* ---- latency ---- */

/* Delays the sound by `amount` frames, and reports it from frame `at` on. */
static void run_late_latency(struct mean *mean, uint32_t frames)
{
    size_t delay = amount(mean) % HISTORY;
    for (uint32_t i = 0; i < frames; i++) {
        mean->history[mean->next] = mean->ports[MEAN_IN][i];
        mean->ports[MEAN_OUT][i] = mean->history[(mean->next + HISTORY - delay) % HISTORY];
        mean->next = (mean->next + 1) % HISTORY;
    }
    if (is_time(mean, frames))
        *mean->ports[MEAN_LATENCY] = (float)delay;
}

/* ---- time and output ---- */

/* Sleeps `amount` milliseconds per block. */
static void run_slow(struct mean *mean, uint32_t frames)
{
    const struct timespec time = {.tv_sec = (time_t)(amount(mean) / 1000),
                                  .tv_nsec = (long)(amount(mean) % 1000) * 1000000L};
    copy(mean, frames);
    if (is_time(mean, frames))
        nanosleep(&time, NULL);
}

static void run_prints(struct mean *mean, uint32_t frames)
{
    copy(mean, frames);
    if (!is_time(mean, frames))
        return;
    puts("a plugin's word on standard output");
    fflush(stdout);
    fputs("a plugin's word on standard error\n", stderr);
}

/* ---- */

const struct mean_deed mean_deeds[] = {
    {"copy", NULL, copy},
    {"crash", NULL, run_crash},
    {"abort", NULL, run_abort},
    {"exit", NULL, run_exit},
    {"hang", NULL, run_hang},
    {"crash-made", crash, copy},
    {"hang-made", hang, copy},
    {"null", refuse, copy},
    {"unknown-feature", NULL, copy},
    {"nan", NULL, run_nan},
    {"infinity", NULL, run_infinity},
    {"loud", NULL, run_loud},
    {"values", NULL, run_values},
    {"overrun", NULL, run_overrun},
    {"in-place", NULL, run_in_place},
    {"writes-input", NULL, run_writes_input},
    {"greedy", NULL, run_greedy},
    {"late-latency", NULL, run_late_latency},
    {"slow", NULL, run_slow},
    {"prints", NULL, run_prints},
    {"hang-busy", NULL, run_hang_busy},
};
const size_t mean_deed_count = sizeof mean_deeds / sizeof *mean_deeds;

struct mean *mean_create(size_t deed)
{
    if (mean_deeds[deed].begin && !mean_deeds[deed].begin())
        return NULL;
    struct mean *mean = calloc(1, sizeof *mean);
    if (mean)
        mean->deed = &mean_deeds[deed];
    return mean;
}

void mean_run(struct mean *mean, uint32_t frames)
{
    *mean->ports[MEAN_LATENCY] = 0;
    mean->deed->run(mean, frames);
    mean->frame += frames;
}

void mean_reset(struct mean *mean)
{
    mean->frame = 0;
    memset(mean->history, 0, sizeof mean->history);
}
