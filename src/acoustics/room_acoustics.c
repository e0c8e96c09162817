#include "acoustics/room_acoustics.h"

#include "signal/audio.h"
#include "signal/fft_double.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 6, POINTS_LEAST = 4, SHARES = 40 };

static const double noise_share = 0.1;  /* part of the record, at its end, first taken as noise */
static const double clear_of_noise = 7; /* dB; Lundeby has 5 to 10 */
static const double late_range = 20;    /* dB of the last line; Lundeby has 10 to 20 */
static const double points_a_decibel = .4; /* Lundeby has 3 to 10 in 10 dB */
static const double shortest = 1e-3;       /* seconds of a point */
static const double first_point = 0.01;    /* seconds */
static const double deepest = 80;          /* dB; lower levels count as noise */
static const double room_to_spare = 10;    /* dB from the noise to the levels that are evaluated */

/* A level in dB that falls linearly with the frames. */
struct line {
    double at_start, slope;
};

/* Mean powers of points of `frames` frames. Silence and other low ones are raised to `floor`
 * (dB). */
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

/* Sums for fitting a straight line to points. */
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

/* Fits a straight line to the levels of points [from, end). Returns whether it falls. */
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

/* Fits a line from the loudest point to the last one that is clear of the noise. */
static bool fit_all(const struct points *points, double noise, struct line *line)
{
    size_t end = points->count;
    while (end > 0 && level_at(points, end - 1) < noise + clear_of_noise)
        end--;
    return fit(points, find_loudest(points), end, line);
}

/* Fits a line between two frames, or over a larger range if there are too few points. */
static bool fit_between(const struct points *points, double from, double to, struct line *line)
{
    double frames = (double)points->frames, last = (double)points->count;
    size_t end = (size_t)fmin(fmax(ceil(to / frames), POINTS_LEAST), last);
    size_t first = (size_t)fmin(fmax(from / frames, 0), last);
    if (first + POINTS_LEAST > end)
        first = end > POINTS_LEAST ? end - POINTS_LEAST : 0;
    return fit(points, first, end, line);
}

/* Runs Lundeby's steps, which end with a line and the noise (dB). False: nothing decays. */
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

/* Integrates the remaining energy, backwards from the knee. */
static void integrate(struct room_decay *decay, const struct line *line, double before)
{
    double fall = -line->slope * log(10) / 10; /* nepers of energy per frame */
    double at_knee = pow(10, (line->at_start + line->slope * (double)decay->knee) / 10);
    double tail = (decay->noise > 0 ? decay->noise : at_knee) / fall;
    for (size_t k = decay->knee; k <= decay->count; k++)
        decay->energy[k] = tail * exp(-fall * (double)(k - decay->knee));
    for (size_t k = decay->knee; k-- > 0;)
        decay->energy[k] = decay->energy[k + 1] + decay->in[k] - decay->noise;
    decay->total = decay->energy[0] + before;
}

/* power[k]: squared response of a band of `bandwidth` Hz, from the direct sound on. It must stay
 * valid as long as the decay. before: energy that the band's filter moved to earlier times. */
static enum status room_decay_init(struct room_decay *decay, const double *power, size_t count,
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

/* By how many dB the decay falls until the knee. 0: nothing decays. */
static double room_decay_range(const struct room_decay *decay)
{
    return decay->knee > 0 ? 10 * log10(decay->total / decay->energy[decay->knee]) : 0;
}

/* Time in seconds for a fall of 60 dB, by the straight line between two levels (dB, below 0). NaN,
 * unless the decay can be followed to 10 dB below the lower level (ISO 3382-1). */
static double room_decay_time(const struct room_decay *decay, double top, double bottom)
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

/* The energy from a frame on that was recorded, without the noise. */
static double room_decay_excess(const struct room_decay *decay, size_t frame)
{
    double recorded = 0;
    for (size_t k = frame; k < decay->count; k++)
        recorded += decay->in[k];
    return recorded - decay->energy[frame];
}

enum { SPLITS = 3 };

static const double octaves[ROOM_BANDS] = {0, 125, 250, 500, 1000, 2000, 4000, 8000};
static const double splits[SPLITS] = {2.5e-3, 50e-3, 80e-3}; /* seconds */
static const double fade = 1e-3, margin = 0.1;               /* seconds */
static const double onset_level = 0.1;                       /* part of the peak */
static const double reverberates = 0.1;                      /* seconds of decay */
static const double least_band = 1e-12; /* part of all energy; less is rounding of the samples */

static const double least_range =
    20; /* dB for any measurement: EDT's ten, and ten above the noise */

/* Product of bandwidth and time below which a decay is the filter's. The filter's own is 4.4. */
static const double filter_limit = 8;

struct room_work {
    const double *taps;
    size_t count, onset;
    double rate;
    size_t lead;            /* samples before tap 0, into which filters move energy */
    struct fft_double *fft; /* transform whose samples are the taps from `lead` on */
    double complex *whole;  /* spectrum of the taps */
    double *power;          /* power of a band, from the onset on */
    double early[SPLITS][ROOM_BANDS], late[SPLITS][ROOM_BANDS];
};

size_t room_acoustics_onset(const double *taps, size_t count)
{
    double peak = audio_peak_in_double(taps, count);
    size_t k = 0;
    while (k < count && (peak <= 0 || fabs(taps[k]) < onset_level * peak))
        k++;
    return k;
}

/* The end of the taps without final silence, which is no noise floor. */
static size_t find_end(const double *taps, size_t count)
{
    while (count > 0 && fabs(taps[count - 1]) <= 0)
        count--;
    return count;
}

static bool is_long(double edt, double t20)
{
    return (isnan(t20) ? edt : t20) >= reverberates;
}

bool room_acoustics_is_room(const struct room_acoustics *room)
{
    return is_long(room->band[0].edt, room->band[0].t20);
}

bool room_decay_is_long(const struct room_decay *decay)
{
    return is_long(room_decay_time(decay, 0, -10), room_decay_time(decay, -5, -25));
}

enum status room_decay_of_taps(struct room_decay *decay, const double *taps, size_t count,
                               uint32_t rate, size_t *onset)
{
    size_t end = find_end(taps, count);
    size_t start = room_acoustics_onset(taps, end);
    double *power = calloc(end - start + 1, sizeof *power);
    if (!power)
        return fail_memory("the decay of a room");
    for (size_t k = start; k < end; k++)
        power[k - start] = taps[k] * taps[k];
    enum status status = room_decay_init(decay, power, end - start, 0, rate / 2.0, rate);
    decay->in = NULL;
    *onset = start < end ? start : 0;
    free(power);
    return status;
}

static double bandwidth_of(double hz, double rate)
{
    return hz > 0 ? hz * M_SQRT1_2 : rate / 2;
}

/* The power gain of an octave's filter. */
static double gain_of(const struct room_work *work, double octave, size_t bin)
{
    double hz = (double)bin * work->rate / (double)fft_double_length(work->fft);
    if (octave <= 0)
        return 1;
    if (bin == 0)
        return 0;
    double away = (hz / octave - octave / hz) * M_SQRT2;
    return 1 / (1 + away * away * away * away * away * away);
}

/* Computes the spectrum of the taps, faded in around `seconds` after the onset; 0: all taps. */
static void transform(const struct room_work *work, double seconds)
{
    double *samples = fft_double_samples(work->fft);
    double middle = (double)work->onset + seconds * work->rate;
    memset(samples, 0, fft_double_length(work->fft) * sizeof *samples);
    for (size_t k = 0; k < work->count; k++) {
        double place = ((double)k - middle) / (fade * work->rate) + 0.5;
        double gain = seconds > 0 ? 0.5 - 0.5 * cos(M_PI * fmin(fmax(place, 0), 1)) : 1;
        samples[work->lead + k] = gain * work->taps[k];
    }
    fft_double_forward(work->fft);
}

/* Adds up the energies before and after a split, band by band, by Parseval's theorem. */
static void find_split(struct room_work *work, size_t split, const struct room_acoustics *room)
{
    const double complex *bins = fft_double_bins(work->fft);
    size_t length = fft_double_length(work->fft);
    transform(work, splits[split]);
    for (size_t b = 0; b <= length / 2; b++) {
        double scale = (b == 0 || b == length / 2 ? 1.0 : 2.0) / (double)length;
        double early = scale * pow(cabs(work->whole[b] - bins[b]), 2);
        double late = scale * pow(cabs(bins[b]), 2);
        for (size_t band = 0; band < room->count; band++) {
            double gain = gain_of(work, octaves[band], b);
            work->early[split][band] += gain * early;
            work->late[split][band] += gain * late;
        }
    }
}

/* Computes the squared response of a band from the onset on. Returns the energy before it. */
static double filter(const struct room_work *work, double octave)
{
    double complex *bins = fft_double_bins(work->fft);
    const double *samples = fft_double_samples(work->fft);
    size_t length = fft_double_length(work->fft), start = work->lead + work->onset;
    size_t ring = (size_t)fmin(margin * work->rate, (double)start);
    double before = 0;
    for (size_t b = 0; b <= length / 2; b++)
        bins[b] = work->whole[b] * sqrt(gain_of(work, octave, b)) / (double)length;
    fft_double_inverse(work->fft);
    for (size_t k = start - ring; k < start; k++)
        before += samples[k] * samples[k];
    for (size_t k = 0; k < work->count - work->onset; k++)
        work->power[k] = samples[start + k] * samples[start + k];
    return octave > 0 ? before : 0;
}

/* The late energy without the noise. NaN if it is lost in the noise. */
static double late_of(const struct room_work *work, const struct room_decay *decay, size_t band,
                      size_t split)
{
    size_t frame = (size_t)(splits[split] * work->rate);
    double late =
        frame < decay->knee ? work->late[split][band] - room_decay_excess(decay, frame) : NAN;
    return late > 0 ? late : NAN;
}

static double decay_time(const struct room_decay *decay, double bandwidth, double top,
                         double bottom)
{
    double seconds = room_decay_time(decay, top, bottom);
    return seconds * bandwidth < filter_limit ? NAN : seconds;
}

static enum status measure_band(const struct room_work *work, size_t index,
                                struct room_acoustics *room)
{
    struct room_band *band = &room->band[index];
    struct room_decay decay;
    double bandwidth = bandwidth_of(octaves[index], work->rate);
    double before = filter(work, octaves[index]), ratio[SPLITS];
    *band = (struct room_band){.hz = octaves[index]};
    TRY(room_decay_init(&decay, work->power, work->count - work->onset, before, bandwidth,
                        (uint32_t)work->rate));
    bool is_silent = decay.total < least_band * (work->early[0][0] + work->late[0][0]);
    band->range = is_silent || decay.knee == 0 ? NAN : room_decay_range(&decay);
    if (!(band->range >= least_range))
        decay.knee = 0;
    for (size_t s = 0; s < SPLITS; s++)
        ratio[s] = work->early[s][index] / late_of(work, &decay, index, s);
    band->edt = decay_time(&decay, bandwidth, 0, -10);
    band->t20 = decay_time(&decay, bandwidth, -5, -25);
    band->t30 = decay_time(&decay, bandwidth, -5, -35);
    band->drr = 10 * log10(ratio[0]);
    band->c50 = 10 * log10(ratio[1]);
    band->c80 = 10 * log10(ratio[2]);
    band->d50 = ratio[1] / (1 + ratio[1]);
    room_decay_free(&decay);
    return STATUS_OK;
}

static enum status measure(struct room_work *work, struct room_acoustics *room)
{
    size_t bins = fft_double_length(work->fft) / 2 + 1;
    work->whole = calloc(bins, sizeof *work->whole);
    work->power = calloc(work->count, sizeof *work->power);
    if (!work->whole || !work->power)
        return fail_memory("the acoustics of a room");
    transform(work, 0);
    memcpy(work->whole, fft_double_bins(work->fft), bins * sizeof *work->whole);
    for (size_t s = 0; s < SPLITS; s++)
        find_split(work, s, room);
    for (size_t b = 0; b < room->count; b++)
        TRY(measure_band(work, b, room));
    return STATUS_OK;
}

/* Finds out whether there is a decay that is worth measuring by octave. This check is cheap. */
static enum status find_whether_long(const struct room_work *work, bool *is_long)
{
    struct room_decay decay;
    size_t onset;
    TRY(room_decay_of_taps(&decay, work->taps, work->count, (uint32_t)work->rate, &onset));
    *is_long = room_decay_is_long(&decay);
    room_decay_free(&decay);
    return STATUS_OK;
}

/* Taps more than `margin` before the direct sound are ignored. */
enum status room_acoustics_measure(const double *taps, size_t count, uint32_t rate,
                                   struct room_acoustics *room)
{
    size_t lead = (size_t)ceil(margin * rate), end = find_end(taps, count);
    size_t onset = room_acoustics_onset(taps, end), first = onset > lead ? onset - lead : 0;
    struct room_work work = {.taps = taps + first,
                             .count = end - first,
                             .onset = onset - first,
                             .rate = rate,
                             .lead = lead};
    bool is_long = false;
    *room = (struct room_acoustics){.onset = onset};
    for (size_t b = 0; b < ROOM_BANDS; b++)
        room->band[b] = (struct room_band){octaves[b], NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    if (onset < end)
        TRY(find_whether_long(&work, &is_long));
    if (!is_long)
        return STATUS_OK;
    TRY(reflections_find(taps, count, rate, onset, &room->reflections));
    while (room->count < ROOM_BANDS && octaves[room->count] * M_SQRT2 < rate / 2.0)
        room->count++;
    enum status status = fft_double_create(fft_double_fitting(work.count + 2 * lead), &work.fft);
    if (status == STATUS_OK)
        status = measure(&work, room);
    fft_double_destroy(work.fft);
    free(work.whole);
    free(work.power);
    return status;
}
