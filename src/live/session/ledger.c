#include "live/session/ledger.h"

#include "base/monotonic.h"
#include "live/device/device.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINES_MOST = 10 /* outages printed */ };

#define MS INT64_C(1000000)
static const int64_t PAUSE_LEAST = 400 * MS; /* twice as long as the control thread sleeps */
static const int64_t FAULT = 1000;           /* ns that a minor page fault takes */
static const int64_t MIGRATION = MS / 2; /* ns for a migration, until caches are filled; at most */
static const int64_t SECOND = 1000 * MS;

static const struct cause_row {
    const char *name;
    const char *what;   /* what happened */
    const char *advice; /* what to do; NULL: allow a real-time priority */
} rows[OUTAGE_CAUSES] = {
    [OUTAGE_XRUN] = {"xrun", "the device lost sound",
                     "ask for longer blocks (--block) or more latency (--latency)"},
    [OUTAGE_CALLED_LATE] = {"called_late", "the device asked for sound late", NULL},
    [OUTAGE_AWAY] = {"device_lost", "the device was gone", "look at its plug or its sound server"},
    [OUTAGE_REOPENED] = {"device_reopened",
                         "the device was opened again, with its new rate or a longer buffer",
                         "leave its rate as it is, or ask for more latency (--latency)"},
    [OUTAGE_TOO_LONG] = {"too_long", "the step computed for longer than a block lasts",
                         "use longer blocks (--block), a shorter mask or fewer channels, or a GPU"},
    [OUTAGE_MASK_CHANGE] = {"mask_change", "a mask was changed, and two were computed",
                            "use longer blocks (--block) or a shorter --fade"},
    [OUTAGE_WORKER] = {"worker_late", "the worker of a long mask was late",
                       "leave it a processor, or use longer blocks (--block)"},
    [OUTAGE_GPU] = {"gpu_late", "the GPU was late",
                    "keep other programs off it, or use --backend cpu"},
    [OUTAGE_PAGE_FAULTS] = {"page_faults", "memory was not there",
                            "to lock it, " DEVICE_MEMORY_ADVICE},
    [OUTAGE_PREEMPTED] = {"preempted", "other programs ran in the step's place", NULL},
    [OUTAGE_MIGRATED] = {"migrated", "the step was moved to another processor",
                         "bind it to one: taskset -c 1 halo"},
    [OUTAGE_STOPPED] = {"stopped",
                        "the process was stopped (a signal, a debugger, a frozen machine)",
                        "let it run"},
};

enum status ledger_init(struct ledger *ledger, uint32_t rate)
{
    *ledger = (struct ledger){
        .rate = rate,
        .slack = INT64_MAX,
        .schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC),
    };
    ledger->outages = calloc(LEDGER_MOST, sizeof *ledger->outages);
    return ledger->outages ? STATUS_OK : fail_memory("a ledger of late blocks");
}

void ledger_set_rate(struct ledger *ledger, uint32_t rate)
{
    double ratio = (double)rate / (double)ledger->rate;
    for (size_t i = 0; i < ledger->kept; i++)
        ledger->outages[i].time.frame =
            (uint64_t)llround(ratio * (double)ledger->outages[i].time.frame);
    ledger->rate = rate;
}

void ledger_free(struct ledger *ledger)
{
    if (ledger->outages && ledger->schedstat >= 0)
        close(ledger->schedstat);
    free(ledger->outages);
}

/* ---- pauses of the whole process ---- */

void ledger_see(struct ledger *ledger, const struct ledger_sight *sight)
{
    const struct ledger_sight *last = &ledger->last;
    int64_t stopped =
        sight->now - last->now - (sight->cpu - last->cpu) - (sight->waited - last->waited);
    if (last->now > 0 && stopped >= PAUSE_LEAST)
        ledger->pauses[ledger->paused++ % LEDGER_PAUSES] =
            (struct ledger_pause){last->now, sight->now, stopped};
    ledger->last = *sight;
}

/* ns that the control thread waited on a run queue: the second number of schedstat. */
static int64_t waited(const struct ledger *ledger)
{
    char text[96];
    ssize_t length = pread(ledger->schedstat, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    const char *second = strchr(text, ' ');
    return second ? strtoll(second, NULL, 10) : 0;
}

void ledger_watch(struct ledger *ledger)
{
    struct timespec cpu = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    const struct ledger_sight sight = {
        .now = monotonic_ns(),
        .cpu = (int64_t)cpu.tv_sec * SECOND + cpu.tv_nsec,
        .waited = waited(ledger),
    };
    ledger_see(ledger, &sight);
}

/* Whether the process was stopped: in a pause, the device's thread ran for less than half of it. */
static bool was_stopped(const struct ledger *ledger, const struct block_time *time)
{
    bool late = time->ns > time->lasts; /* otherwise used.cpu_ns is not known */
    int64_t off = time->idle + (late ? time->ns - time->used.cpu_ns : 0) - time->lasts;
    for (size_t i = 0; i < LEDGER_PAUSES; i++) {
        const struct ledger_pause *pause = &ledger->pauses[i];
        int64_t from = time->begin - time->idle, to = time->begin + time->ns;
        from = from > pause->from ? from : pause->from;
        to = to < pause->to ? to : pause->to;
        if (pause->stopped > 0 && off >= pause->stopped / 2 && to - from >= pause->stopped / 2)
            return true;
    }
    return false;
}

/* ---- causes ---- */

/* Why a step used a processor for too long. */
static enum outage_cause cause_of_work(const struct ledger *ledger, const struct block_time *time)
{
    int64_t excess = time->ns - time->lasts;
    if (ledger->switching)
        return OUTAGE_MASK_CHANGE;
    if (time->held_up & FILTER_GPU_LATE)
        return OUTAGE_GPU;
    if (time->held_up & FILTER_WORKER_LATE)
        return OUTAGE_WORKER;
    if (time->used.major > 0 || time->used.faults * FAULT >= excess)
        return OUTAGE_PAGE_FAULTS;
    return time->used.processor && excess < MIGRATION ? OUTAGE_MIGRATED : OUTAGE_TOO_LONG;
}

/* Why a step did not get a processor. */
static enum outage_cause cause_of_absence(const struct block_time *time)
{
    if (time->used.major > 0)
        return OUTAGE_PAGE_FAULTS;
    if (time->used.preempted == 0 && time->held_up & FILTER_WORKER_LATE)
        return OUTAGE_WORKER; /* the worker released a job late, so the step slept */
    return OUTAGE_PREEMPTED;
}

static enum outage_cause find_cause(const struct ledger *ledger, const struct block_time *time)
{
    if (was_stopped(ledger, time))
        return OUTAGE_STOPPED;
    if (time->ns > time->lasts)
        return time->used.cpu_ns > time->lasts ? cause_of_work(ledger, time)
                                               : cause_of_absence(time);
    return time->lost ? OUTAGE_XRUN : OUTAGE_CALLED_LATE;
}

/* ---- entries ---- */

static const struct outage *enter(struct ledger *ledger, const struct block_time *time,
                                  enum outage_cause cause)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t gap = (time->ns > time->idle ? time->ns : time->idle) - time->lasts;
    int64_t began = time->ns > time->idle ? time->begin : time->begin - time->idle;
    ledger->count[cause]++;
    if (ledger->kept == LEDGER_MOST)
        return NULL;
    struct outage *outage = &ledger->outages[ledger->kept++];
    *outage = (struct outage){
        .time = *time,
        .cause = cause,
        .gap = gap > 0 ? gap : 0,
        .at = (int64_t)now.tv_sec * SECOND + now.tv_nsec - (monotonic_ns() - began),
    };
    return outage;
}

const struct outage *ledger_add(struct ledger *ledger, const struct block_time *block)
{
    struct block_time time = *block;
    if (time.idle > time.begin - ledger->since)
        time.idle = time.begin - ledger->since;
    ledger->ended = time.begin + time.ns;
    bool late = time.ns > time.lasts || time.idle - time.lasts > ledger->slack;
    if (late)
        ledger_watch(ledger); /* the process may have been stopped until now */
    late = late || was_stopped(ledger, &time);
    ledger->late += late;
    ledger->lost += time.lost;
    return late || time.lost ? enter(ledger, &time, find_cause(ledger, &time)) : NULL;
}

const struct outage *ledger_add_away(struct ledger *ledger, uint64_t frame, enum outage_cause cause)
{
    int64_t now = monotonic_ns();
    const struct block_time time = {
        .frame = frame, .begin = now, .idle = ledger->ended > 0 ? now - ledger->ended : 0};
    ledger->since = now;
    /* the control thread slept longer while the device was away */
    ledger->last = (struct ledger_sight){0};
    memset(ledger->pauses, 0, sizeof ledger->pauses);
    return enter(ledger, &time, cause);
}

uint64_t ledger_total(const struct ledger *ledger)
{
    uint64_t total = 0;
    for (size_t i = 0; i < OUTAGE_CAUSES; i++)
        total += ledger->count[i];
    return total;
}

/* ---- reports ---- */

/* The most frequent cause. Xruns and late calls come last, since they have another cause. */
static enum outage_cause most_frequent(const struct ledger *ledger)
{
    enum outage_cause most = OUTAGE_CAUSES;
    for (size_t i = OUTAGE_CAUSES; i-- > 0;) {
        bool follows = i == OUTAGE_XRUN || i == OUTAGE_CALLED_LATE;
        bool first = most == OUTAGE_CAUSES;
        if (ledger->count[i] > 0 && (first || (!follows && ledger->count[i] > ledger->count[most])))
            most = (enum outage_cause)i;
    }
    return most;
}

enum outage_cause ledger_verdict(const struct ledger *ledger, int priority, char *text, size_t size)
{
    enum outage_cause cause = most_frequent(ledger);
    const char *advice = cause < OUTAGE_CAUSES ? rows[cause].advice : "";
    if (!advice && priority > 0)
        advice = "end programs of a higher priority, or use longer blocks (--block)";
    snprintf(text, size, "%s%s", advice ? advice : "it has no real-time priority: to allow it, ",
             advice ? "" : DEVICE_PRIORITY_ADVICE);
    return cause;
}

/* Writes a time as ISO 8601, in UTC. */
static void put_time(int64_t at, char *text, size_t size)
{
    const time_t seconds = (time_t)(at / SECOND);
    struct tm utc;
    gmtime_r(&seconds, &utc);
    size_t length = strftime(text, size, "%FT%T", &utc);
    snprintf(text + length, size - length, ".%03dZ", (int)(at % SECOND / MS));
}

static double seconds_of(const struct outage *outage, uint32_t rate)
{
    return (double)outage->time.frame / (double)rate;
}

json_t *ledger_outage_json(const struct outage *outage, uint32_t rate)
{
    char at[40];
    const struct block_time *time = &outage->time;
    put_time(outage->at, at, sizeof at);
    return json_pack(
        "{s:I, s:f, s:s, s:f, s:s, s:b, s:f, s:f, s:I, s:I, s:I, s:b}", "frame",
        (json_int_t)time->frame, "seconds", seconds_of(outage, rate), "time", at, "gap_ms",
        1e-6 * (double)outage->gap, "cause", rows[outage->cause].name, "lost", time->lost,
        "took_ms", 1e-6 * (double)time->ns, "cpu_ms", 1e-6 * (double)time->used.cpu_ns, "preempted",
        (json_int_t)time->used.preempted, "faults", (json_int_t)time->used.faults, "major_faults",
        (json_int_t)time->used.major, "migrated", time->used.processor != 0);
}

json_t *ledger_json(const struct ledger *ledger)
{
    json_t *array = json_array();
    for (size_t i = 0; i < ledger->kept; i++)
        json_array_append_new(array, ledger_outage_json(&ledger->outages[i], ledger->rate));
    return array;
}

json_t *ledger_verdict_json(const struct ledger *ledger, int priority)
{
    char advice[256];
    enum outage_cause cause = ledger_verdict(ledger, priority, advice, sizeof advice);
    return cause == OUTAGE_CAUSES ? json_null()
                                  : json_pack("{s:s, s:I, s:I, s:s}", "cause", rows[cause].name,
                                              "blocks", (json_int_t)ledger->count[cause], "of",
                                              (json_int_t)ledger_total(ledger), "advice", advice);
}

void ledger_print(const struct ledger *ledger, int priority)
{
    char text[256];
    uint64_t all = ledger_total(ledger);
    for (size_t i = 0; i < ledger->kept && i < LINES_MOST; i++) {
        const struct outage *outage = &ledger->outages[i];
        put_time(outage->at, text, sizeof text);
        warning("  %.3f s, %s: %s, %.2f ms late; step %.2f of %.2f ms%s",
                seconds_of(outage, ledger->rate), strchr(text, 'T') + 1, rows[outage->cause].name,
                1e-6 * (double)outage->gap, 1e-6 * (double)outage->time.ns,
                1e-6 * (double)outage->time.lasts, outage->time.lost ? "; sound was lost" : "");
    }
    if (all > LINES_MOST)
        warning("  and %llu more", (unsigned long long)(all - LINES_MOST));
    enum outage_cause cause = ledger_verdict(ledger, priority, text, sizeof text);
    if (cause < OUTAGE_CAUSES)
        warning("%llu of %llu: %s; %s", (unsigned long long)ledger->count[cause],
                (unsigned long long)all, rows[cause].what, text);
}
