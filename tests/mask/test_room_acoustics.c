/* Room acoustics of decays whose figures are known, and as halo mask show gives them. */
#include "acoustics/room_acoustics.h"
#include "base/noise.h"
#include "command.h"
#include "plot/mask_curves.h"
#include "sound.h"
#include "suite.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RATE = 48000, DELAY = 1000 /* taps before the direct sound */, PARTS = 7, SEEDS = 4 };

/* The truth: a sum of exponential decays of energy. */
struct part {
    double power, seconds; /* at the start; to fall by 60 dB */
};

static double to_come(const struct part *parts, double seconds)
{
    double sum = 0;
    for (int i = 0; i < PARTS && parts[i].power > 0; i++)
        sum += parts[i].power * pow(10, -6 * seconds / parts[i].seconds) * parts[i].seconds /
               (6 * log(10));
    return sum;
}

/* By the line of least squares. */
static double time_of(const struct part *parts, double top, double bottom)
{
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (double at = 0; at < 5; at += 1e-4) {
        double level = 10 * log10(to_come(parts, at) / to_come(parts, 0));
        if (level > top || level < bottom)
            continue;
        n++;
        x += at;
        y += level;
        xx += at * at;
        xy += at * level;
    }
    return -60 * (n * xx - x * x) / (n * xy - x * y);
}

static double ratio_at(const struct part *parts, double seconds)
{
    double late = to_come(parts, seconds);
    return 10 * log10((to_come(parts, 0) - late) / late);
}

static void measure(const double *taps, size_t count, struct room_acoustics *room)
{
    ck_assert_int_eq(room_acoustics_measure(taps, count, RATE, room), STATUS_OK);
}

/* Noise that decays as the parts do, over steady noise (dB of power; 0: none). */
static double *decaying_noise(const struct part *parts, double floor, double seconds, uint64_t seed,
                              size_t *count)
{
    *count = (size_t)(seconds * RATE) + DELAY;
    double *taps = calloc(*count, sizeof *taps), steady = floor < 0 ? pow(10, floor / 20) : 0;
    for (size_t k = 0; k < *count; k++) {
        double at = ((double)k - DELAY) / RATE, power = 0;
        for (int i = 0; i < PARTS && parts[i].power > 0 && at >= 0; i++)
            power += parts[i].power * pow(10, -6 * at / parts[i].seconds);
        double random = sqrt(3) * (double)noise_next(&seed);
        taps[k] = sqrt(power) * random + steady * sqrt(3) * (double)noise_next(&seed);
    }
    taps[DELAY] = sqrt(parts[0].power); /* no seed begins later */
    return taps;
}

/* Sines in the middle of the octaves, which fall as parts[] do. */
static double *decaying_sines(const struct part *parts, double seconds, size_t *count)
{
    *count = (size_t)(seconds * RATE) + DELAY;
    double *taps = calloc(*count, sizeof *taps);
    for (size_t k = DELAY; k < *count; k++)
        for (int i = 0; i < PARTS; i++) {
            double at = ((double)k - DELAY) / RATE;
            taps[k] += sqrt(2 * parts[i].power) * pow(10, -3 * at / parts[i].seconds) *
                       cos(2 * M_PI * 125 * exp2(i) * at);
        }
    return taps;
}

#define expect_share(value, want, most, ...)                                                       \
    do {                                                                                           \
        double is_ = (value), want_ = (want);                                                      \
        char where_[80];                                                                           \
        snprintf(where_, sizeof where_, __VA_ARGS__);                                              \
        ck_assert_msg(fabs(is_ / want_ - 1) < (most), "%s of %s: %g, not %g", #value, where_, is_, \
                      want_);                                                                      \
    } while (0)

#define expect_db(value, want, most, ...)                                                          \
    do {                                                                                           \
        double is_ = (value), want_ = (want);                                                      \
        char where_[80];                                                                           \
        snprintf(where_, sizeof where_, __VA_ARGS__);                                              \
        ck_assert_msg(fabs(is_ - want_) < (most), "%s of %s: %g, not %g dB", #value, where_, is_,  \
                      want_);                                                                      \
    } while (0)

/* An octave sees its own decay, and by the skirts of its filter (1/(1+x^6)) those of others. */
START_TEST(each_octave_has_its_own_decay)
{
    static const double times[PARTS] = {2.4, 2.0, 1.7, 1.4, 1.0, 0.7, 0.5};
    struct part parts[PARTS];
    struct room_acoustics room;
    size_t count;
    for (int i = 0; i < PARTS; i++)
        parts[i] = (struct part){1, times[i]};
    double *taps = decaying_sines(parts, 4, &count);
    measure(taps, count, &room);
    ck_assert_uint_eq(room.count, ROOM_BANDS);
    for (int b = 0; b < PARTS; b++) {
        const struct room_band *band = &room.band[b + 1];
        struct part seen[PARTS];
        for (int i = 0; i < PARTS; i++) {
            double away = (exp2(i - b) - exp2(b - i)) * M_SQRT2;
            seen[i] = (struct part){1 / (1 + pow(away, 6)), times[i]};
        }
        expect_share(band->hz, 125 * exp2(b), 1e-9, "band %d", b);
        expect_share(band->edt, time_of(seen, 0, -10), 0.02, "%g Hz", band->hz);
        expect_share(band->t20, time_of(seen, -5, -25), 0.01, "%g Hz", band->hz);
        expect_share(band->t30, time_of(seen, -5, -35), 0.01, "%g Hz", band->hz);
        expect_db(band->c50, ratio_at(seen, 0.05), 0.3, "%g Hz", band->hz);
        expect_db(band->c80, ratio_at(seen, 0.08), 0.3, "%g Hz", band->hz);
        double early = 1 - to_come(seen, 0.05) / to_come(seen, 0);
        expect_share(band->d50, early, 0.04, "%g Hz", band->hz);
    }
    free(taps);
}

/* What is left of chance after the mean of some seeds. */
static void mean_of(const struct part *parts, double floor, double seconds,
                    struct room_band mean[ROOM_BANDS])
{
    memset(mean, 0, ROOM_BANDS * sizeof *mean);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct room_acoustics room;
        size_t count;
        double *taps = decaying_noise(parts, floor, seconds, seed * 977, &count);
        measure(taps, count, &room);
        ck_assert_msg(room.onset == DELAY || floor > -20, "%zu", room.onset);
        for (size_t b = 0; b < ROOM_BANDS; b++) {
            mean[b].edt += room.band[b].edt / SEEDS;
            mean[b].t20 += room.band[b].t20 / SEEDS;
            mean[b].t30 += room.band[b].t30 / SEEDS;
            mean[b].c50 += room.band[b].c50 / SEEDS;
            mean[b].c80 += room.band[b].c80 / SEEDS;
        }
        free(taps);
    }
}

static const struct row {
    struct part parts[PARTS];
    double floor, seconds;
    bool has_edt, has_t20, has_t30;
} rows[] = {
    {{{1, 1.0}}, 0, 2, true, true, true},
    {{{1, 0.3}}, 0, 1, true, true, true},
    {{{1, 3.0}}, 0, 4, true, true, true},
    /* steady noise, met early or late, and hardly any of it in the record */
    {{{1, 1.0}}, -70, 2, true, true, true},
    {{{1, 1.0}}, -50, 2, true, true, true},
    {{{1, 1.0}}, -50, 1, true, true, true},
    {{{1, 0.6}}, -55, 4, true, true, true},
    {{{1, 1.0}}, -40, 2, true, true, false},
    {{{1, 2.0}}, -28, 3, true, false, false},
    {{{1, 1.0}}, -14, 2, false, false, false},
    /* cut while it decays: by 60, 50, 40, 24 dB */
    {{{1, 2.0}}, 0, 2, true, true, true},
    {{{1, 1.2}}, 0, 1, true, true, true},
    {{{1, 1.5}}, 0, 1, true, true, false},
    {{{1, 2.5}}, 0, 1, true, false, false},
    /* two slopes */
    {{{1, 0.5}, {0.01, 2.0}}, 0, 3, true, true, true},
    {{{1, 0.5}, {0.01, 2.0}}, -60, 4, true, true, true},
    {{{1, 0.4}, {0.003, 1.5}}, -70, 3, true, true, true},
};

/* `most`: of the error, a share; chance is larger in narrower bands. */
static void expect_band(const struct row *row, size_t r, const struct room_band *band, double most,
                        double most_db)
{
    ck_assert_msg(isnan(band->edt) == !row->has_edt && isnan(band->t20) == !row->has_t20 &&
                      isnan(band->t30) == !row->has_t30 && isnan(band->c50) == !row->has_edt,
                  "row %zu: EDT %g T20 %g T30 %g C50 %g", r, band->edt, band->t20, band->t30,
                  band->c50);
    if (row->has_edt) {
        expect_share(band->edt, time_of(row->parts, 0, -10), 2 * most, "row %zu", r);
        expect_db(band->c50, ratio_at(row->parts, 0.05), most_db, "row %zu", r);
        expect_db(band->c80, ratio_at(row->parts, 0.08), most_db, "row %zu", r);
    }
    if (row->has_t20)
        expect_share(band->t20, time_of(row->parts, -5, -25), most, "row %zu", r);
    if (row->has_t30)
        expect_share(band->t30, time_of(row->parts, -5, -35), most, "row %zu", r);
}

START_TEST(noise_and_cuts_do_not_matter)
{
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct room_band bands[ROOM_BANDS];
        mean_of(rows[r].parts, rows[r].floor, rows[r].seconds, bands);
        expect_band(&rows[r], r, &bands[0], 0.01, 0.1);
        expect_band(&rows[r], r, &bands[7], 0.03, 0.8);
        expect_band(&rows[r], r, &bands[4], 0.1, 1.2);
    }
}

/* The direct sound, and a reverberation 20 ms later of known energy. */
START_TEST(direct_sound_to_reverberation)
{
    static const double ratios[] = {-10, 0, 15};
    for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++) {
        struct room_acoustics room;
        size_t count, late = DELAY + RATE / 50;
        double *taps = decaying_noise((struct part[PARTS]){{1, 0.8}}, 0, 2, 5, &count), energy = 0;
        memmove(taps + late, taps + DELAY, (count - late) * sizeof *taps);
        memset(taps + DELAY, 0, (late - DELAY) * sizeof *taps);
        for (size_t k = late; k < count; k++)
            energy += taps[k] * taps[k];
        taps[DELAY] = sqrt(energy * pow(10, ratios[i] / 10));
        measure(taps, count, &room);
        expect_db(room.band[0].drr, ratios[i], 0.01, "all");
        expect_db(room.band[7].drr, ratios[i], 0.5, "8 kHz");
        expect_db(room.band[5].drr, ratios[i], 1, "2 kHz");
        free(taps);
    }
}

/* Rates and lengths of all kinds, and what is no room. */
START_TEST(anything_is_measured)
{
    static const size_t counts[] = {1, 2, 3, 50, 500, 5000};
    static const uint32_t rates[] = {1, 100, 8000, 44100, 192000, 1000000};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
            struct room_acoustics room;
            double *taps = calloc(counts[c], sizeof *taps);
            ck_assert_int_eq(room_acoustics_measure(taps, counts[c], rates[r], &room), STATUS_OK);
            ck_assert(!room_acoustics_is_room(&room));
            ck_assert_uint_eq(room.count, 0);
            taps[counts[c] - 1] = 1;
            ck_assert_int_eq(room_acoustics_measure(taps, counts[c], rates[r], &room), STATUS_OK);
            ck_assert(!room_acoustics_is_room(&room));
            ck_assert_uint_eq(room.onset, counts[c] - 1);
            free(taps);
        }
}

/* By SciPy: Butterworth filters of the third order, in reverse time. */
static const struct {
    const char *name;
    struct room_band bands[3]; /* of all, and some octaves */
} filters[] = {
    {"hall.wav",
     {{0, 1.37, 1.79, 1.91, 3.5, 4.9, 0.69, -0.2, 0},
      {500, 2.21, 2.13, 2.16, -2.5, -0.7, 0.36, -6.0, 0},
      {4000, 1.37, 1.61, 1.69, 1.5, 3.1, 0.59, -2.9, 0}}},
    {"small-room.wav",
     {{0, 0.24, 0.26, 0.28, 16.0, 22.8, 0.98, 2.2, 0},
      {1000, 0.29, 0.29, 0.30, 12.1, 18.3, 0.94, -2.7, 0},
      {8000, 0.16, 0.23, 0.24, 17.9, 25.1, 0.98, 1.7, 0}}},
    {"spring.wav",
     {{0, 0.87, 0.85, 0.92, 5.6, 7.8, 0.78, 1.9, 0},
      {1000, 0.74, 0.72, 0.73, 2.4, 4.8, 0.64, -5.7, 0},
      {2000, 0.77, 0.74, 0.75, 2.4, 4.8, 0.63, -5.7, 0}}},
};

static double number(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static void expect_object(const json_t *band, const struct room_band *want)
{
    expect_share(number(band, "edt"), want->edt, 0.03, "%g Hz", want->hz);
    expect_share(number(band, "t20"), want->t20, 0.03, "%g Hz", want->hz);
    expect_share(number(band, "t30"), want->t30, 0.03, "%g Hz", want->hz);
    expect_db(number(band, "c50_db"), want->c50, 0.2, "%g Hz", want->hz);
    expect_db(number(band, "c80_db"), want->c80, 0.2, "%g Hz", want->hz);
    expect_share(number(band, "d50"), want->d50, 0.02, "%g Hz", want->hz);
    expect_db(number(band, "drr_db"), want->drr, 0.2, "%g Hz", want->hz);
}

START_TEST(filters_are_what_scipy_says)
{
    for (size_t f = 0; f < sizeof filters / sizeof *filters; f++) {
        struct command_result result =
            command_done("\"$HALO\" mask show \"$FILTERS/%s\" --json", filters[f].name);
        json_t *root = command_json(result.out);
        json_t *mask = json_array_get(json_object_get(root, "masks"), 0);
        json_t *column = json_array_get(json_object_get(mask, "columns"), 0);
        const json_t *room = json_object_get(column, "room");
        ck_assert_uint_eq(json_array_size(room), ROOM_BANDS);
        ck_assert(json_is_null(json_object_get(json_array_get(room, 0), "hz")));
        for (size_t w = 0; w < 3; w++) {
            const struct room_band *want = &filters[f].bands[w];
            size_t index = want->hz > 0 ? (size_t)lrint(log2(want->hz / 125)) + 1 : 0;
            expect_object(json_array_get(room, index), want);
        }
    }
    struct command_result result = command_done("\"$HALO\" mask show lowpass:1000 --json");
    ck_assert_ptr_nonnull(strstr(result.out, "\"room\": null"));
}

START_TEST(rooms_are_shown)
{
    struct command_result result = command_done("\"$HALO\" mask show \"$FILTERS/hall.wav\"");
    ck_assert_ptr_nonnull(strstr(result.out, "  room, channel 2        EDT      T20"));
    ck_assert_ptr_nonnull(strstr(result.out, "    500 Hz            2.2"));
    result = command_done("\"$HALO\" mask show \"$FILTERS/next-room.wav\"");
    ck_assert_msg(strstr(result.out, "    8000 Hz                -        -        -"), "%s",
                  result.out); /* what the wall lets through is noise there */
    result = command_done("\"$HALO\" mask show \"$FILTERS/reverse.wav\" lowpass:1000 "
                          "\"$FILTERS/hum-notch-50.wav\"");
    ck_assert_ptr_null(strstr(result.out, "EDT"));
}

/* One column without paths, as curves take it. */
static struct mask *mask_of(const double *taps, size_t count)
{
    struct mask *mask;
    ck_assert_int_eq(mask_create("m", 1, count, &mask), STATUS_OK);
    memcpy(mask->coefficients, taps, count * sizeof *taps);
    return mask;
}

/* A straight line down to the knee, which is at -50 dB, and nothing beyond. */
START_TEST(decays_are_straight)
{
    size_t count;
    double *taps = decaying_noise((struct part[PARTS]){{1, 1.0}}, -50, 2, 7, &count), last = 0;
    struct mask *mask = mask_of(taps, count);
    const double onset = (double)DELAY / RATE;
    for (int is_log = 0; is_log < 2; is_log++) {
        const struct time_axis axis = {is_log, is_log, is_log ? 1e-3 : 0, 2, 0};
        struct curve curve;
        ck_assert_int_eq(curve_time(mask, 0, RATE, TIME_CURVE_DECAY, &axis, &curve), STATUS_OK);
        ck_assert_uint_gt(curve.count, 500);
        for (size_t i = 0; i < curve.count; i++) {
            double want = curve.x[i] > onset ? -60 * (curve.x[i] - onset) : 0;
            expect_db(curve.y[i], want, 1, "%g s", curve.x[i]);
            last = curve.x[i];
        }
        ck_assert_msg(fabs(last - onset - 50 / 60.0) < 0.03, "%g s", last);
        curve_free(&curve);
    }
    mask_destroy(mask);
    free(taps);
}

/* Of many taps the largest, also of those before a logarithmic axis. */
START_TEST(energies_keep_their_peaks)
{
    double *taps = calloc(50000, sizeof *taps);
    taps[1] = -1;
    taps[30000] = 0.01;
    taps[30001] = 0.001;
    struct mask *mask = mask_of(taps, 50000);
    for (int is_log = 0; is_log < 2; is_log++) {
        const struct time_axis axis = {is_log, is_log, is_log ? 1e-3 : 0, 50000.0 / RATE, 0};
        struct curve curve;
        size_t seen = 0;
        ck_assert_int_eq(curve_time(mask, 0, RATE, TIME_CURVE_ENERGY, &axis, &curve), STATUS_OK);
        expect_db(curve.y[0], 0, 1e-9, "the start");
        expect_share(curve.x[0], is_log ? 1e-3 : 1.0 / RATE, 1e-9, "the start");
        for (size_t i = 1; i < curve.count; i++)
            if (curve.y[i] > -400) {
                expect_db(curve.y[i], -40, 1e-9, "the echo");
                expect_share(curve.x[i], 30000.0 / RATE, 1e-9, "the echo");
                seen++;
            }
        ck_assert_uint_eq(seen, 1);
        curve_free(&curve);
    }
    mask_destroy(mask);
    free(taps);
}

/* A sine of 1 kHz falls by 60 dB a second, at 1 kHz and beside it. */
START_TEST(waterfalls_fall)
{
    size_t count = RATE;
    double *taps = calloc(count, sizeof *taps);
    for (size_t k = 0; k < count; k++)
        taps[k] = sin(2 * M_PI * 1000 * (double)k / RATE) * pow(10, -3.0 * (double)k / RATE);
    struct mask *mask = mask_of(taps, count);
    const struct response_axis axis = {.low = 500, .high = 2000, .points = 11};
    struct waterfall waterfall;
    ck_assert_int_eq(waterfall_init(&waterfall, mask, 0, RATE, 0.8, &axis), STATUS_OK);
    for (size_t s = 0; s < waterfall.slices; s++) {
        const double *slice = waterfall.db + s * axis.points;
        expect_db(slice[5], -60 * waterfall.step * (double)s, 0.5, "slice %zu", s);
        ck_assert_double_lt(slice[0], slice[5] - 15);
        ck_assert_double_lt(slice[10], slice[5] - 15);
    }
    waterfall_free(&waterfall);
    mask_destroy(mask);
    free(taps);
}
