#include "mask/room_decay.h"

#include <math.h>
#include <stdlib.h>

enum { ROUNDS = 6, POINTS_LEAST = 4, SHARES = 40 };

static const double noise_share = 0.1;     /* of the record, its end, is first taken as noise */
static const double clear_of_noise = 7;    /* dB: Lundeby's 5 to 10 */
static const double late_range = 20;       /* dB: of the last line, Lundeby's 10 to 20 */
static const double points_a_decibel = .4; /* Lundeby's 3 to 10 in 10 dB */
static const double shortest = 1e-3;       /* seconds of a point */
static const double first_point = 0.01;    /* seconds */
static const double deepest = 80;          /* dB: what lies lower is as good as noise */
static const double room_to_spare = 10;    /* dB from the noise to what is evaluated */

/* A level (dB) that falls with the frames. */
struct line {
    double at_start, slope;
};

/* Means of the power over points of `frames`, none below `floor` (dB): gaps of silence. */
struct points {
    const double *power;
    size_t frames, count;
    double floor;
};

static double mean(const double *power, size_t from, size_t end)
{
    double sum = 0;
    for (size_t k = from; k < end; k++)
        sum += power[k];
    return end > from ? sum / (double)(end - from) : 0;
}

static double level_at(const struct points *points, size_t point)
{
    size_t from = point * points->frames;
    double power = mean(points->power, from, from + points->frames);
    return fmax(10 * log10(fmax(power, 1e-300)), points->floor);
}

static struct points divide(const double *power, size_t count, double frames, double floor)
{
    size_t whole = (size_t)fmax(1, fmin(frames, (double)(count / SHARES)));
    return (struct points){power, whole, count / whole, floor};
}

/* Sums for a straight line through points. */
struct line_sums {
    double n, x, y, xx, xy;
};

static void add(struct line_sums *sums, double x, double y)
{
    sums->n++;
    sums->x += x;
    sums->y += y;
    sums->xx += x * x;
    sums->xy += x * y;
}

static double slope_of(const struct line_sums *sums)
{
    return (sums->n * sums->xy - sums->x * sums->y) / (sums->n * sums->xx - sums->x * sums->x);
}

/* The straight line through the levels of points [from, end). Returns whether it falls. */
static bool fit(const struct points *points, size_t from, size_t end, struct line *line)
{
    struct line_sums sums = {0};
    for (size_t p = from; p < end; p++)
        add(&sums, ((double)p + 0.5) * (double)points->frames, level_at(points, p));
    if (sums.n < POINTS_LEAST)
        return false;
    line->slope = slope_of(&sums);
    line->at_start = (sums.y - line->slope * sums.x) / sums.n;
    return line->slope < 0;
}

static double frame_of(const struct line *line, double level)
{
    return (level - line->at_start) / line->slope;
}

static size_t find_loudest(const struct points *points)
{
    size_t loudest = 0;
    for (size_t p = 0; p < points->count; p++)
        loudest = level_at(points, p) > level_at(points, loudest) ? p : loudest;
    return loudest;
}

/* From the loudest point to the last that is clear of the noise. */
static bool fit_all(const struct points *points, double noise, struct line *line)
{
    size_t end = points->count;
    while (end > 0 && level_at(points, end - 1) < noise + clear_of_noise)
        end--;
    return fit(points, find_loudest(points), end, line);
}

/* Between two frames, or more than these where they hold too few points. */
static bool fit_between(const struct points *points, double from, double to, struct line *line)
{
    double frames = (double)points->frames, last = (double)points->count;
    size_t end = (size_t)fmin(fmax(ceil(to / frames), POINTS_LEAST), last);
    size_t first = (size_t)fmin(fmax(from / frames, 0), last);
    if (first + POINTS_LEAST > end)
        first = end > POINTS_LEAST ? end - POINTS_LEAST : 0;
    return fit(points, first, end, line);
}

/* Lundeby's steps, to the last line and the noise (dB). Returns false where nothing decays. */
static bool find_line(const struct room_decay *decay, double bandwidth, struct line *line,
                      double *noise)
{
    const double *power = decay->in;
    size_t count = decay->count;
    double finest = fmax(shortest, 1 / bandwidth) * decay->rate;
    double usual = (1 - noise_share) * (double)count;
    struct points points = divide(power, count, fmax(finest, first_point * decay->rate), -INFINITY);
    double floor = points.floor = level_at(&points, find_loudest(&points)) - deepest;
    *noise = fmax(floor, 10 * log10(mean(power, (size_t)usual, count)));
    if (!fit_all(&points, *noise, line))
        return false;
    for (int round = 0; round < ROUNDS; round++) {
        double quiet = fmin(frame_of(line, *noise - clear_of_noise), usual);
        *noise = fmax(floor, 10 * log10(mean(power, (size_t)fmax(quiet, 0), count)));
        points = divide(power, count, fmax(finest, 1 / (points_a_decibel * -line->slope)), floor);
        double end = fmin(frame_of(line, *noise + clear_of_noise), (double)count);
        struct line late;
        if (!fit_between(&points, end + late_range / line->slope, end, &late))
            break;
        *line = late;
    }
    return true;
}

/* What is to come, from the knee backwards. */
static void integrate(struct room_decay *decay, const struct line *line, double before)
{
    double fall = -line->slope * log(10) / 10; /* nepers of energy a frame */
    double at_knee = pow(10, (line->at_start + line->slope * (double)decay->knee) / 10);
    double tail = (decay->noise > 0 ? decay->noise : at_knee) / fall;
    for (size_t k = decay->knee; k <= decay->count; k++)
        decay->energy[k] = tail * exp(-fall * (double)(k - decay->knee));
    for (size_t k = decay->knee; k-- > 0;)
        decay->energy[k] = decay->energy[k + 1] + decay->in[k] - decay->noise;
    decay->total = decay->energy[0] + before;
}

enum status room_decay_init(struct room_decay *decay, const double *power, size_t count,
                            double before, double bandwidth, uint32_t rate)
{
    struct line line;
    double noise;
    *decay = (struct room_decay){
        .rate = rate, .count = count, .in = power, .energy = calloc(count + 1, sizeof(double))};
    if (!decay->energy)
        return fail_memory("the decay of a room");
    if (!find_line(decay, bandwidth, &line, &noise))
        return STATUS_OK;
    double knee = frame_of(&line, noise);
    if (knee < 1)
        return STATUS_OK;
    bool has_floor = knee < (1 - noise_share) * (double)count;
    decay->knee = has_floor ? (size_t)knee : count;
    decay->noise = has_floor ? pow(10, noise / 10) : 0;
    integrate(decay, &line, before);
    return STATUS_OK;
}

void room_decay_free(struct room_decay *decay)
{
    free(decay->energy);
    *decay = (struct room_decay){0};
}

double room_decay_range(const struct room_decay *decay)
{
    return decay->knee > 0 ? 10 * log10(decay->total / decay->energy[decay->knee]) : 0;
}

double room_decay_time(const struct room_decay *decay, double top, double bottom)
{
    double from = decay->total * pow(10, top / 10), to = decay->total * pow(10, bottom / 10);
    struct line_sums sums = {0};
    if (room_decay_range(decay) < room_to_spare - bottom)
        return NAN;
    for (size_t k = 0; k < decay->knee && decay->energy[k] > to; k++) {
        if (decay->energy[k] > from)
            continue;
        add(&sums, (double)k / decay->rate, 10 * log10(decay->energy[k] / decay->total));
    }
    double slope = slope_of(&sums);
    return slope < 0 ? -60 / slope : NAN;
}

double room_decay_excess(const struct room_decay *decay, size_t frame)
{
    double recorded = 0;
    for (size_t k = frame; k < decay->count; k++)
        recorded += decay->in[k];
    return recorded - decay->energy[frame];
}
