/* Timed changes: at=12.5s:gain=-6, at=10s-12.5s:gain=-6, at=end-5s-end:gain=-60.
 *
 * A TIME is a count of frames (480) or a duration (10ms, 12.5s), rounded to frames, from the
 * sound's first frame, or with "end-" before its end. One time makes a step. Two times make a ramp
 * from the current value at the first time to the given value at the second. A step at a ramp's
 * first frame sets the value where the ramp begins; the step takes AUTOMATION_SMOOTH of the ramp's
 * time. Threads: any, one at a time. */
#ifndef HALO_AUTOMATION_H
#define HALO_AUTOMATION_H

#include "base/status.h"

#include <stdint.h>

/* The sound that times refer to. */
struct automation_time {
    uint32_t rate;
    uint64_t frames; /* length of the sound; 0: unknown */
};

struct automation_point {
    uint64_t at;   /* frame of the sound */
    uint64_t over; /* frames of the ramp; 0: a step */
    size_t target; /* number of the value that changes, defined by the owner: a port, ... */
    double value;
    uint64_t smooth; /* AUTOMATION_SMOOTH in frames */
};

struct automation {
    size_t count;
    struct automation_point *points; /* sorted by time, then in order of addition */
};

/* Least duration of a change of level, in seconds. Shorter changes would click. */
#define AUTOMATION_SMOOTH 0.01

static inline bool automation_is_word(const char *word)
{
    return word[0] == 'a' && word[1] == 't' && word[2] == '=';
}

/* Parse the times of "at=10s-12.5s:gain=-6". *change points to the rest, "gain=-6", within `word`.
 * Errors (usage): another form; a ramp that ends before it begins; "end" without a known length. */
MUST_CHECK enum status automation_parse(const char *word, struct automation_time time,
                                        struct automation_point *point, const char **change);

/* Errors: memory; the point overlaps a ramp of the same target (usage). */
MUST_CHECK enum status automation_add(struct automation *automation,
                                      const struct automation_point *point);
void automation_free(struct automation *automation);

/* A filter's position while processing. */
struct automation_cursor {
    const struct automation *automation;
    uint64_t before;   /* frames processed before the sound's first frame */
    uint64_t position; /* frames processed */
    size_t next;       /* index of the next point */
};

/* Real-time. automation_due returns the next point that is due, or NULL. automation_advance moves
 * on by at most `most` frames, but not beyond the next point, and returns the number of frames. */
const struct automation_point *automation_due(struct automation_cursor *cursor);
size_t automation_advance(struct automation_cursor *cursor, size_t most);

#endif
