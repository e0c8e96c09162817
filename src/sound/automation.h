/* Timed changes: at=12.5s:gain=-6, at=10s-12.5s:gain=-6.
 *
 * A TIME is a count of frames (480) or a duration (10ms, 12.5s), rounded to frames, from the
 * sound's first frame. One time makes a step, two a ramp from the value at the first to the given
 * one at the second.
 * Threads: any, one at a time.
 */
#ifndef HALO_AUTOMATION_H
#define HALO_AUTOMATION_H

#include "base/status.h"

#include <stdint.h>

struct automation_point {
    uint64_t at;   /* frame of the sound */
    uint64_t over; /* frames of the ramp; 0: a step */
    size_t target; /* defined by the owner: a port, ... */
    double value;
};

struct automation {
    size_t count;
    struct automation_point *points; /* by time, then in order of addition */
};

/* Least duration of a change of level, in seconds: avoids clicks. */
#define AUTOMATION_SMOOTH 0.01

static inline bool automation_is_word(const char *word)
{
    return word[0] == 'a' && word[1] == 't' && word[2] == '=';
}

/* Parse the times of "at=10s-12.5s:gain=-6"; *change: the rest, within `word`.
 * Errors (usage): another form, or a ramp that ends before it begins. */
MUST_CHECK enum status automation_parse(const char *word, uint32_t rate,
                                        struct automation_point *point, const char **change);

/* Errors: memory; usage: it overlaps a ramp of the same target. */
MUST_CHECK enum status automation_add(struct automation *automation,
                                      const struct automation_point *point);
void automation_free(struct automation *automation);

/* A filter's position while processing. */
struct automation_cursor {
    const struct automation *automation;
    uint64_t before;   /* frames before the sound: times count from there */
    uint64_t position; /* frames processed */
    size_t next;       /* point */
};

/* Real-time. The next point that is due, or NULL. Then: advance by at most `most` frames, up to the
 * next point; returns how many. */
const struct automation_point *automation_due(struct automation_cursor *cursor);
size_t automation_advance(struct automation_cursor *cursor, size_t most);

#endif
