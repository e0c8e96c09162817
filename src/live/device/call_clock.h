/* The clock of a device, found from the times of its calls.
 *
 * A call comes when its frames are there, or later, never earlier: the lateness of a call is not
 * noise around a mean. So the clock is the line that lies below all calls, as near to them as
 * possible, frames across and time upwards (S. Moon, P. Skelly, D. Towsley, "Estimation and removal
 * of clock skew from network delay measurements", 1999): no late call moves it, and its error falls
 * with the number of calls, where that of a mean, and so of a delay-locked loop, falls with the
 * root. Calls of up to two minutes are used. The earliest of a stretch stands for it.
 *
 * When a clock becomes slower its calls look late at first; when a device has lost time they stay
 * so. Both are tested against the usual lateness: the area between the line and a ramp, or a step,
 * that lies below all calls since would be a product of chances. With calls late by up to half a
 * period, evenly, that takes a fifth of a period of drift at 2,000 ppm, where the whole
 * distribution would have to be known for a seventh. When a call is earlier than the line's error,
 * the clock has become faster. The line is then found again, from the calls since. Units: frames of
 * the device, ns. Threads: one. Real-time.
 */
#ifndef HALO_CALL_CLOCK_H
#define HALO_CALL_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CALL_CLOCK_STRETCHES = 64,
    CALL_CLOCK_RECENT = 1024, /* calls kept for a new start; a power of two */
    CALL_CLOCK_LEVELS = 64,   /* of lateness */
};

struct call_clock_point {
    double frames, time;
};

/* Calls in a row of which none came earlier. */
struct call_clock_level {
    double late;
    double from, to; /* times of the first and of the last, which is that late */
    size_t calls;
};

struct call_clock {
    double nominal;                                       /* ns of a frame */
    double slope;                                         /* of the line: ns of a frame */
    double prior;                                         /* slope, before the calls said more */
    double offset;                                        /* of the line: the time of frame 0 */
    int64_t begun;                                        /* times count from here */
    size_t calls;                                         /* since the start of the line */
    double lateness;                                      /* mean, of a call */
    struct call_clock_point lowest[CALL_CLOCK_STRETCHES]; /* the earliest call of each stretch */
    size_t stretches;
    size_t stretch; /* calls of one */
    size_t filled;  /* of the last one */
    struct call_clock_point recent[CALL_CLOCK_RECENT];
    size_t seen;                                       /* calls, in all */
    struct call_clock_level levels[CALL_CLOCK_LEVELS]; /* of the last calls, rising */
    size_t level_count;
    size_t level_calls; /* of all levels */
};

/* `period` is that of the calls, in frames; `rate` nominal, Hz. */
void call_clock_init(struct call_clock *clock, double rate, size_t period);

/* A call at `time` before which, or with which, `frames` have passed in all. */
void call_clock_add(struct call_clock *clock, uint64_t frames, int64_t time);

/* The device lost time: only its rate is still known. */
void call_clock_restart(struct call_clock *clock);

/* It seems wrong: the line is found again from the last calls. */
void call_clock_doubt(struct call_clock *clock);

/* Calls since the start, or the last restart. */
size_t call_clock_calls(const struct call_clock *clock);

double call_clock_slope(const struct call_clock *clock); /* ns of a frame */

/* When these frames have passed, and how many have at a time; after the first call. */
int64_t call_clock_time(const struct call_clock *clock, uint64_t frames);
double call_clock_frames(const struct call_clock *clock, int64_t time);

#endif
