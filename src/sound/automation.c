#include "sound/automation.h"

#include "base/decimal.h"
#include "base/realtime.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double FRAMES_MOST = 1e15;

/* Parse a TIME; advances *text. */
static bool read_time(const char **text, uint32_t rate, uint64_t *frames)
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

enum status automation_parse(const char *word, uint32_t rate, struct automation_point *point,
                             const char **change)
{
    const char *text = word + strlen("at=");
    uint64_t from = 0, to = 0;
    bool good = read_time(&text, rate, &from);
    bool ramp = good && *text == '-';
    if (ramp) {
        text++;
        good = read_time(&text, rate, &to);
    }
    if (!good || *text != ':')
        return fail(STATUS_USAGE,
                    "at= takes a time and a change, such as at=12.5s:gain=-6, or two times for a "
                    "ramp, such as at=10s-12.5s:gain=-6, not '%s'",
                    word);
    if (ramp && to <= from)
        return fail(STATUS_USAGE, "'%s' ends before it begins", word);
    *point = (struct automation_point){.at = from, .over = ramp ? to - from : 0};
    *change = text + 1;
    return STATUS_OK;
}

static bool begins_within(const struct automation_point *point, const struct automation_point *ramp)
{
    return point->target == ramp->target && point->at >= ramp->at &&
           point->at - ramp->at < ramp->over;
}

/* Overlapping changes have no defined value. */
static enum status check_alone(const struct automation *automation,
                               const struct automation_point *point)
{
    for (size_t i = 0; i < automation->count; i++) {
        const struct automation_point *other = &automation->points[i];
        bool within = begins_within(point, other);
        if (!within && !begins_within(other, point))
            continue;
        const struct automation_point *ramp = within ? other : point;
        return fail(STATUS_USAGE,
                    "two at= overlap: one begins at frame %llu, within the ramp from frame %llu to "
                    "%llu of the other",
                    (unsigned long long)(within ? point : other)->at, (unsigned long long)ramp->at,
                    (unsigned long long)(ramp->at + ramp->over));
    }
    return STATUS_OK;
}

enum status automation_add(struct automation *automation, const struct automation_point *point)
{
    TRY(check_alone(automation, point));
    struct automation_point *points =
        realloc(automation->points, (automation->count + 1) * sizeof *points);
    if (!points)
        return fail_memory("a stage");
    automation->points = points;
    size_t place = automation->count++;
    for (; place > 0 && points[place - 1].at > point->at; place--)
        points[place] = points[place - 1];
    points[place] = *point;
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
