#include "sound/automation.h"

#include "base/decimal.h"
#include "base/realtime.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double FRAMES_MOST = 1e15;
static const uint64_t BEFORE_THE_SOUND = UINT64_MAX;

static bool read_count(const char **text, uint32_t rate, uint64_t *frames)
{
    char *end;
    double value;
    bool number = decimal_read(*text, &end, &value) && value >= 0 && value < FRAMES_MOST;
    if (strncmp(end, "ms", 2) == 0) {
        value *= 1e-3 * rate;
        end += 2;
    } else if (*end == 's') {
        value *= rate;
        end++;
    } else if (value != floor(value)) {
        number = false;
    }
    *text = end;
    *frames = number ? (uint64_t)rint(fmin(value, FRAMES_MOST)) : 0;
    return number;
}

/* Parse a TIME and advance *text. In "end-5s-end:" it is "end-5s", as no ramp begins at the end. */
static bool read_time(const char **text, struct automation_time time, uint64_t *frames)
{
    uint64_t before = 0;
    if (strncmp(*text, "end", 3) != 0)
        return read_count(text, time.rate, frames);
    *text += 3;
    if (**text == '-') {
        ++*text;
        if (!read_count(text, time.rate, &before))
            return false;
    }
    *frames = before <= time.frames ? time.frames - before : BEFORE_THE_SOUND;
    return true;
}

static bool counts_from_end(const char *word)
{
    const char *end = strstr(word, "end");
    return end && end < strchr(word, ':');
}

enum status automation_parse(const char *word, struct automation_time time,
                             struct automation_point *point, const char **change)
{
    const char *text = word + strlen("at=");
    uint64_t from = 0, to = 0;
    bool good = read_time(&text, time, &from);
    bool ramp = good && *text == '-';
    if (ramp) {
        text++;
        good = read_time(&text, time, &to);
    }
    if (!good || *text != ':')
        return fail(CAUSE_USAGE,
                    "at= takes a time and a change, such as at=12.5s:gain=-6, or two times for a "
                    "ramp, such as at=10s-12.5s:gain=-6 or at=end-5s-end:gain=-60, not '%s'",
                    word);
    if (time.frames == 0 && counts_from_end(word))
        return fail(CAUSE_USAGE,
                    "'%s' counts from the end of the sound, which is not known before it is "
                    "read; save the sound to a file first",
                    word);
    if (from == BEFORE_THE_SOUND || to == BEFORE_THE_SOUND)
        return fail(CAUSE_USAGE, "'%s' is before the sound, which has %llu frames", word,
                    (unsigned long long)time.frames);
    if (ramp && to <= from)
        return fail(CAUSE_USAGE, "'%s' ends before it begins", word);
    *point = (struct automation_point){.at = from,
                                       .over = ramp ? to - from : 0,
                                       .smooth = (uint64_t)(AUTOMATION_SMOOTH * time.rate)};
    *change = text + 1;
    return STATUS_OK;
}

static bool begins_within(const struct automation_point *point, const struct automation_point *ramp)
{
    return point->target == ramp->target && point->at >= ramp->at &&
           point->at - ramp->at < ramp->over;
}

/* Refuse changes that overlap a ramp, since their values would be undefined. */
static enum status check_alone(const struct automation *automation,
                               const struct automation_point *point)
{
    for (size_t i = 0; i < automation->count; i++) {
        const struct automation_point *other = &automation->points[i];
        bool within = begins_within(point, other);
        if (!within && !begins_within(other, point))
            continue;
        const struct automation_point *ramp = within ? other : point;
        return fail(CAUSE_USAGE,
                    "two at= overlap: one begins at frame %llu, within the ramp from frame %llu to "
                    "%llu of the other",
                    (unsigned long long)(within ? point : other)->at, (unsigned long long)ramp->at,
                    (unsigned long long)(ramp->at + ramp->over));
    }
    return STATUS_OK;
}

static void insert(struct automation *automation, const struct automation_point *point)
{
    struct automation_point *points = automation->points;
    size_t place = automation->count++;
    for (; place > 0 && points[place - 1].at > point->at; place--)
        points[place] = points[place - 1];
    points[place] = *point;
}

/* Whether a step is at a ramp's first frame: the ramp then begins after the step, at its value. */
static bool joins(const struct automation_point *step, const struct automation_point *ramp)
{
    return step->over == 0 && ramp->over > ramp->smooth && step->target == ramp->target &&
           step->at == ramp->at;
}

static void put_off(struct automation_point *ramp)
{
    ramp->at += ramp->smooth;
    ramp->over -= ramp->smooth;
}

enum status automation_add(struct automation *automation, const struct automation_point *added)
{
    struct automation_point point = *added, later = {.over = 0};
    struct automation_point *points =
        realloc(automation->points, (automation->count + 1) * sizeof *points);
    if (!points)
        return fail_memory("a stage");
    automation->points = points;
    for (size_t i = 0; i < automation->count; i++)
        if (joins(&points[i], &point)) {
            put_off(&point);
        } else if (joins(&point, &points[i])) {
            later = points[i];
            put_off(&later);
            memmove(&points[i], &points[i + 1], (--automation->count - i) * sizeof *points);
        }
    TRY(check_alone(automation, &point));
    insert(automation, &point);
    if (later.over > 0)
        insert(automation, &later);
    return STATUS_OK;
}

void automation_free(struct automation *automation)
{
    free(automation->points);
    *automation = (struct automation){0};
}

HALO_REALTIME const struct automation_point *automation_due(struct automation_cursor *cursor)
{
    const struct automation *automation = cursor->automation;
    if (cursor->position < cursor->before || cursor->next == automation->count ||
        automation->points[cursor->next].at > cursor->position - cursor->before)
        return NULL;
    return &automation->points[cursor->next++];
}

HALO_REALTIME size_t automation_advance(struct automation_cursor *cursor, size_t most)
{
    const struct automation *automation = cursor->automation;
    uint64_t from = cursor->position, to = cursor->before;
    if (from >= to && cursor->next < automation->count)
        to += automation->points[cursor->next].at;
    size_t frames = to > from && to - from < most ? (size_t)(to - from) : most;
    cursor->position += frames;
    return frames;
}
