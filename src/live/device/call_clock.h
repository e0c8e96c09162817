/* The clock of a device, found from the times of its calls.
 *
 * A call comes when its frames are there, or later, but never earlier. So lateness is not noise
 * around a mean. The clock is the highest straight line below all calls, in a graph of time over
 * frames (S. Moon, P. Skelly, D. Towsley, "Estimation and removal of clock skew from network delay
 * measurements", 1999). A late call does not move this line. Its error falls with the number of
 * calls; the error of a mean or of a delay-locked loop falls with the root of that number. Calls of
 * up to two minutes are used. They are grouped in stretches; only the earliest call of each stretch
 * is kept.
 *
 * If a clock becomes slower, its calls come ever later (a ramp). If a device has lost time, all
 * calls stay late (a step). Both are tested on the lateness of the recent calls: the area below all
 * of them must be much larger than chance would make it. With calls late by up to half a period,
 * evenly distributed, a clock that becomes 2,000 ppm slower is found when it has drifted by a fifth
 * of a period. If a call is earlier than the line's error allows, the clock has become faster.
 * After each change the line is found again, from the calls since. Units: frames of the device, ns.
 * Threads: one. Real-time. */
#ifndef HALO_CALL_CLOCK_H
#define HALO_CALL_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CALL_CLOCK_STRETCHES = 64,
    CALL_CLOCK_RECENT = 1024, /* calls kept for a new start; a power of two */
    CALL_CLOCK_LEVELS = 64,   /* levels of lateness */
};

struct call_clock_point {
    double frames, time;
};

/* Calls in a row. None of them, and no later call, was less late than `late`, in ns. */
struct call_clock_level {
    double late;
    double from, to; /* ns; `to`: when the call came whose lateness is `late` */
    size_t calls;
};

struct call_clock {
    double nominal;  /* ns per frame, of the nominal rate */
    double slope;    /* slope of the line: ns per frame */
    double prior;    /* slope that was known before the first call of the line */
    double offset;   /* time of frame 0 on the line */
    int64_t begun;   /* monotonic time that all other times count from */
    size_t calls;    /* calls since the start of the line */
    double lateness; /* mean lateness of a call, ns */
    struct call_clock_point lowest[CALL_CLOCK_STRETCHES]; /* the earliest call of each stretch */
    size_t stretches;
    size_t stretch; /* calls in a stretch */
    size_t filled;  /* calls in the last stretch so far */
    struct call_clock_point recent[CALL_CLOCK_RECENT];
    size_t seen;                                       /* calls in all */
    struct call_clock_level levels[CALL_CLOCK_LEVELS]; /* of recent calls, ascending by `late` */
    size_t level_count;
    size_t level_calls; /* calls of all levels */
};

/* `rate`: nominal, in Hz. `period`: frames of a call. */
void call_clock_init(struct call_clock *clock, double rate, size_t period);

/* Adds a call at `time`. `frames`: frames of the device so far, including this call's. */
void call_clock_add(struct call_clock *clock, uint64_t frames, int64_t time);

/* Call it when the device lost time. The slope stays, the offset is found again. */
void call_clock_restart(struct call_clock *clock);

/* Call it when the line seems wrong. The line is found again from the last calls. */
void call_clock_doubt(struct call_clock *clock);

/* Calls since the line was started. */
size_t call_clock_calls(const struct call_clock *clock);

double call_clock_slope(const struct call_clock *clock); /* ns per frame */

/* Time when `frames` frames have passed. Only after the first call. */
int64_t call_clock_time(const struct call_clock *clock, uint64_t frames);
/* Frames that have passed at `time`. Only after the first call. */
double call_clock_frames(const struct call_clock *clock, int64_t time);

#endif
