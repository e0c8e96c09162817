/* What is to change at a time of the sound: at=12.5s:gain=-6, at=10s-12.5s:gain=-6.
 *
 * A TIME is a count of frames (480) or a time (10ms, 12.5s), rounded to whole frames, from the
 * sound's first frame. One makes a step there, two a ramp: from the value that holds at the first
 * to the one given at the second.
 * Threads: any, one at a time; what is real-time says so.
 */
#ifndef HALO_AUTOMATION_H
#define HALO_AUTOMATION_H

#include "base/status.h"

#include <stdint.h>

struct automation_point {
    uint64_t at;   /* frame of the sound */
    uint64_t over; /* frames on the way; 0: a step */
    size_t target; /* of whoever has the points: a port, ... */
    float value;
};

struct automation {
    size_t count;
    struct automation_point *points; /* by time; those of one time as they were added */
};

/* Seconds that a change of level takes at least, so that it does not click. */
#define AUTOMATION_SMOOTH 0.01

static inline bool automation_is_word(const char *word)
{
    return word[0] == 'a' && word[1] == 't' && word[2] == '=';
}

/* The times of "at=10s-12.5s:gain=-6"; `change` is what follows, within `word`.
 * Errors (usage): it is not of that form, or goes backwards. */
MUST_CHECK enum status automation_parse(const char *word, uint32_t rate,
                                        struct automation_point *point, const char **change);

/* Errors: memory; usage: it begins within a ramp of the same target, or is one that another
 * begins within. */
MUST_CHECK enum status automation_add(struct automation *automation,
                                      const struct automation_point *point);
void automation_free(struct automation *automation);

/* How far a filter is, while blocks go by. */
struct automation_cursor {
    const struct automation *automation;
    uint64_t before;   /* frames that the sound comes late: times count from there */
    uint64_t position; /* frames that went by */
    size_t next;       /* point */
};

/* Real-time. The next point that is due, or NULL where there is none; and go on by at most `most`
 * frames, to where the next one is due. Returns how many. */
const struct automation_point *automation_due(struct automation_cursor *cursor);
size_t automation_advance(struct automation_cursor *cursor, size_t most);

#endif
