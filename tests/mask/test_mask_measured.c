/* Masks that were measured: what files keep, what halo mask show and plot make of it. */
#include "base/noise.h"
#include "command.h"
#include "import/mask_write.h"
#include "mask_load.h"
#include "suite.h"
#include "sweep/measurement.h"

#include <math.h>
#include <sndfile.h>
#include <string.h>

enum { RATE = 48000, DIRECT = 480 };

/* A room: a direct sound of 1 and an even decay, 60 dB in `seconds`, whose taps are `level`. */
static struct mask *make_room(size_t columns, double seconds, double level)
{
    struct mask *mask;
    ck_assert_int_eq(mask_create("room", columns, RATE, &mask), STATUS_OK);
    mask->rate = RATE;
    for (size_t c = 0; c < columns; c++) {
        uint64_t noise = c + 1;
        double *taps = mask_column(mask, c);
        taps[DIRECT] = 1;
        for (size_t k = DIRECT + 1; k < mask->taps; k++)
            taps[k] =
                level * noise_next(&noise) * pow(10, -3 * (double)(k - DIRECT) / RATE / seconds);
    }
    return suite_mask(mask);
}

/* Harmonics: -40 dB, none, -60 dB, none; in the first path 10 dB less from 1 kHz on. */
static void set_measured(struct mask *mask, size_t paths, double full_scale)
{
    struct measurement *made;
    ck_assert_int_eq(measurement_create(paths, &made), STATUS_OK);
    *made = (struct measurement){.from = 50,
                                 .to = 18000,
                                 .seconds = 8.031,
                                 .level = -12,
                                 .repeats = 2,
                                 .rate = RATE,
                                 .drift = 12.5,
                                 .full_scale = full_scale,
                                 .path_count = paths,
                                 .paths = made->paths};
    strcpy(made->date, "2026-11-29T14:00:00Z");
    strcpy(made->timing, "loopback");
    strcpy(made->calibration, "mic.txt");
    for (size_t p = 0; p < paths; p++) {
        struct measured_path *path = &made->paths[p];
        path->output = p + 1;
        path->input = 1;
        path->delay = 0.01;
        path->snr_all = 61.4 + (double)p;
        for (size_t t = 4; t < 30; t++) {
            double less = p == 0 && t >= 17 ? 10 : 0;
            path->level[t] = -20;
            path->snr[t] = 40 + (double)t;
            path->distortion[0][t] = -40 - less;
            path->distortion[2][t] = -60 - less;
        }
    }
    mask->measured = measurement_text(made);
    ck_assert_ptr_nonnull(mask->measured);
    measurement_destroy(made);
}

/* Writes the mask to a file. A file of that name may have been read. */
static void save(struct mask *mask, const char *name)
{
    const struct mask_write_settings settings = {.force = true};
    ck_assert_int_eq(mask_write_wav(mask, command_path("made.wav"), &settings), STATUS_OK);
    command_done("mv made.wav %s", name);
}

static void save_measured(const char *name, size_t columns)
{
    struct mask *mask = make_room(columns, 0.5, 0.05);
    set_measured(mask, columns, 94);
    save(mask, name);
}

START_TEST(files_keep_the_measurement)
{
    static const char *const kept[] = {"convert room.wav a.wav",
                                       "convert a.wav b.wav --format double"};
    static const char *const dropped[] = {"room.wav,gain=-6", "room.wav,channel=1",
                                          "room.wav,trim=1ms", "room.wav,phase=minimum",
                                          "room.wav,map=L:R"};
    save_measured("room.wav", 2);
    struct mask *room = mask_loaded("room.wav", NULL);
    command_expect(room->measured, "halo measure 2026-11-29T14:00:00Z: sweep 50-18000 Hz");
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        command_done("$HALO mask %s", kept[i]);
        struct mask *copy = mask_loaded(i ? "b.wav" : "a.wav", NULL);
        ck_assert_msg(copy->measured && strcmp(copy->measured, room->measured) == 0, "%s", kept[i]);
    }
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++) {
        command_done("$HALO mask convert %s d.wav -f", dropped[i]);
        struct mask *copy = mask_loaded("d.wav", NULL);
        ck_assert_msg(!copy->measured, "%s", dropped[i]);
    }
}

/* The measurement is read from each container that halo puts comments into. */
START_TEST(containers_carry_the_measurement)
{
    static const struct {
        const char *file;
        int format;
    } kinds[] = {
        {"r.wav", SF_FORMAT_WAV | SF_FORMAT_DOUBLE},  {"r.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_24},
        {"r.aiff", SF_FORMAT_AIFF | SF_FORMAT_FLOAT}, {"r.caf", SF_FORMAT_CAF | SF_FORMAT_FLOAT},
        {"r.w64", SF_FORMAT_W64 | SF_FORMAT_FLOAT},   {"r.rf64", SF_FORMAT_RF64 | SF_FORMAT_FLOAT}};
    struct mask *room = make_room(1, 0.5, 0.05);
    set_measured(room, 1, 94);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct sink_settings settings = {.path = command_path(kinds[i].file),
                                         .format = {.rate = RATE, .channels = 1},
                                         .sound_format = kinds[i].format,
                                         .frames = RATE};
        ck_assert_int_eq(mask_write_sound(room, &settings), STATUS_OK);
        struct mask *copy = mask_loaded(kinds[i].file, NULL);
        ck_assert_msg(copy->measured && strcmp(copy->measured, room->measured) == 0, "%s",
                      kinds[i].file);
    }
    command_done("$HALO render r.wav louder.wav --gain -10");
    struct mask *louder = mask_loaded("louder.wav", NULL);
    ck_assert_ptr_null(louder->measured);
}

START_TEST(show_tells_what_was_measured)
{
    save_measured("room.wav", 2);
    struct command_result result = command_done("$HALO mask show room.wav,map=matrix");
    static const char *const lines[] = {
        "  made by          halo measure 2026-11-29T14:00:00Z: sweep 50-18000 Hz, 8.03 s, -12 dB, 2 ",
        "repeats, SNR 61 dB\n",
        "  timing           loopback\n",
        "  clocks           the input's clock is 12.50 ppm faster\n",
        "  calibration      mic.txt\n",
        "  full scale       94.0 dB SPL\n",
        "all                    -        -    61 dB\n",
        "all                    -        -    62 dB\n",
        /* SPL: 94 - 12 - 20 dB; the worst third; THD of 1 % and 0.1 % by power */
        "    1000 Hz         -20.0 dB  62.0 dB    56 dB      1 % -40.0 dB        - -60.0 dB        -",
        "    4000 Hz         -20.0 dB  62.0 dB    62 dB   0.32 % -50.0 dB        - -70.0 dB        -",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        command_expect(result.out, lines[i]);
    result = command_done("$HALO mask show room.wav --json");
    json_t *root = command_json(result.out);
    const json_t *mask = json_array_get(json_object_get(root, "masks"), 0);
    const json_t *measurement = json_object_get(mask, "measurement");
    ck_assert_double_eq(command_json_number(measurement, "full_scale"), 94);
    ck_assert_double_eq(command_json_number(measurement, "drift"), 12.5);
    const json_t *path = json_array_get(json_object_get(measurement, "paths"), 1);
    ck_assert_double_eq(command_json_number(path, "snr_all"), 62.4);
    ck_assert_double_eq(json_real_value(json_array_get(json_object_get(path, "snr"), 10)), 50);
    result = command_done("$HALO mask show room.wav,gain=-1 --json");
    ck_assert_ptr_null(strstr(result.out, "measurement"));
}

static json_t *reflections_of(const char *name)
{
    json_t *root = command_json(command_done("$HALO mask show %s --json", name).out);
    const json_t *mask = json_array_get(json_object_get(root, "masks"), 0);
    return json_object_get(json_array_get(json_object_get(mask, "columns"), 0), "reflections");
}

static void expect_reflection(const json_t *found, size_t index, double seconds, double db)
{
    const json_t *own = json_array_get(found, index);
    ck_assert_double_eq_tol(command_json_number(own, "seconds"), seconds, 1.1 / RATE);
    ck_assert_double_eq_tol(command_json_number(own, "metres"), seconds * 343.2, 343.2 / RATE * 2);
    ck_assert_double_eq_tol(command_json_number(own, "db"), db, 0.2);
}

START_TEST(reflections_have_their_time_and_level)
{
    struct mask *mask = make_room(1, 0.5, 0.003);
    double *taps = mask_column(mask, 0);
    taps[DIRECT + 48 * 3] = -0.5; /* 3 ms, -6.02 dB */
    taps[DIRECT + 48 * 5] = 0.35; /* 5 ms, -9.12 dB, in two taps */
    taps[DIRECT + 48 * 5 + 1] = 0.02;
    taps[DIRECT + 600] = 0.25;     /* 12.5 ms, -12.04 dB */
    taps[DIRECT + 48 * 20] = 0.05; /* too weak */
    taps[DIRECT + 48 * 60] = 0.9;  /* too late */
    save(mask, "echoes.wav");
    json_t *found = reflections_of("echoes.wav");
    ck_assert_uint_eq(json_array_size(found), 3);
    expect_reflection(found, 0, 0.003, 20 * log10(0.5));
    expect_reflection(found, 1, 0.005, 10 * log10(0.35 * 0.35 + 0.02 * 0.02));
    expect_reflection(found, 2, 0.0125, 20 * log10(0.25));
    command_expect(command_done("$HALO mask show echoes.wav").out,
                   "    3.0 ms   1.03 m  -6.0 dB\n");
    /* Of eight the six strongest are left, by time. */
    mask = make_room(1, 0.5, 0.003);
    for (size_t i = 0; i < 8; i++)
        mask_column(mask, 0)[DIRECT + 240 * (i + 1)] = i == 2 || i == 5 ? 0.2 : 0.4;
    save(mask, "eight.wav");
    found = reflections_of("eight.wav");
    ck_assert_uint_eq(json_array_size(found), 6);
    expect_reflection(found, 2, 0.02, 20 * log10(0.4));
    expect_reflection(found, 5, 0.04, 20 * log10(0.4));
    /* Noise of -17 dB has peaks, but they do not stand out. */
    save(make_room(1, 0.5, 0.05), "noise.wav");
    found = reflections_of("noise.wav");
    ck_assert_uint_eq(json_array_size(found), 0);
}

/* The mean power in 125 Hz's octave, frequency by frequency. */
static double octave_power(const struct mask *mask)
{
    double sum = 0, count = 0;
    for (double hz = 125 * M_SQRT1_2; hz < 125 * M_SQRT2; hz += 0.5, count++) {
        double re = 0, im = 0;
        for (size_t k = 0; k < mask->taps; k++) {
            double turn = 2 * M_PI * hz * (double)k / RATE;
            re += mask_column(mask, 0)[k] * cos(turn);
            im += mask_column(mask, 0)[k] * sin(turn);
        }
        sum += re * re + im * im;
    }
    return sum / count;
}

START_TEST(rooms_have_a_mean_and_a_spread)
{
    static const double gains[] = {1, 2, 4};
    double step = 20 * log10(2), energy = 0, octave = 0;
    for (size_t i = 0; i < 3; i++) {
        struct mask *mask = make_room(1, 0.4, 0.05);
        if (i == 0)
            octave = octave_power(mask);
        for (size_t k = 0; k < mask->taps; k++) {
            energy += i == 0 ? pow(mask->coefficients[k], 2) : 0;
            mask->coefficients[k] *= gains[i];
        }
        save(mask, i == 0 ? "a.wav" : i == 1 ? "b.wav" : "c.wav");
    }
    json_t *root = command_json(command_done("$HALO mask show a.wav b.wav c.wav --json").out);
    const json_t *mean = json_object_get(root, "mean");
    ck_assert_double_eq(command_json_number(mean, "count"), 3);
    const json_t *bands = json_array_get(json_object_get(mean, "columns"), 0);
    ck_assert_uint_eq(json_array_size(bands), 8);
    const double levels[] = {energy, octave}; /* powers: (1 + 4 + 16) / 3 */
    for (size_t b = 0; b < 2; b++) {
        const json_t *band = json_array_get(bands, b);
        ck_assert_double_eq_tol(command_json_number(band, "level_db"), 10 * log10(7 * levels[b]),
                                b == 0 ? 1e-3 : 0.1);
        ck_assert_double_eq_tol(command_json_number(band, "level_spread_db"), step, 1e-4);
    }
    ck_assert_double_eq_tol(command_json_number(json_array_get(bands, 0), "t30"), 0.4, 0.02);
    ck_assert_double_eq_tol(command_json_number(json_array_get(bands, 0), "t30_spread"), 0, 1e-4);
    command_expect(command_done("$HALO mask show a.wav b.wav c.wav").out,
                   "\nmean and spread of 3\n");
    save_measured("two.wav", 2);
    const char *others[] = {"a.wav", "a.wav two.wav", "a.wav lowpass:1000"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_ptr_null(strstr(command_done("$HALO mask show %s", others[i]).out, "spread"));
}

/* Plots with a gnuplot that keeps its commands. Returns these. */
static const char *commands_of(const char *arguments)
{
    command_done(
        "mkdir -p bin; printf '#!/bin/sh\\ncat >commands\\necho \"<svg/>\"\\n' >bin/gnuplot; "
        "chmod +x bin/gnuplot; PATH=$PWD/bin:$PATH $HALO mask plot %s -f -o a.svg",
        arguments);
    return command_done("cat commands").out;
}

/* Number `column` after `hz` in a block of the commands, on the last line up to that frequency. */
static double value_in(const char *commands, const char *block, double hz, size_t column)
{
    double value = NAN;
    const char *at = strstr(commands, block);
    ck_assert_msg(at != NULL, "%s is not drawn", block);
    for (at = strchr(at, '\n') + 1; strncmp(at, "EOD", 3) != 0; at = strchr(at, '\n') + 1) {
        char *end;
        if (strtod(at, &end) > hz * 1.001)
            break;
        for (size_t c = 0; c < column; c++)
            value = strtod(end, &end);
    }
    return value;
}

START_TEST(plots_show_distortion_and_noise)
{
    save_measured("room.wav", 2);
    commands_of("room.wav"); /* draws both by default */
    command_expect(command_done("grep -a 'set title' commands").out, "signal to noise");
    command_expect(command_done("grep -a 'set title' commands").out,
                   "distortion of room.wav channel 2");
    const char *commands = commands_of("room.wav --what snr,distortion");
    ck_assert_double_eq_tol(value_in(commands, "$snr1 <<", 1000, 1), 57, 1e-6);
    /* The first channel's distortion; 1 kHz is the first third with 10 dB less. */
    ck_assert_double_eq_tol(value_in(commands, "$harmonic0 <<", 800, 1), -40, 1e-6);
    ck_assert_double_eq_tol(value_in(commands, "$harmonic2 <<", 1000, 1), -70, 1e-6);
    ck_assert_double_eq_tol(value_in(commands, "$thd0 <<", 1000, 1), -49.9568, 1e-3);
    save(make_room(1, 0.5, 0.05), "other.wav");
    commands_of("room.wav other.wav");
    command_done("! grep -aq -e distortion -e 'signal to noise' commands");
    command_refused(2, "halo measure", "$HALO mask plot other.wav --what snr -o b.svg");
    command_refused(2, "channel=", "$HALO mask plot room.wav,channel=1 --what distortion -o b.svg");
}

/* Two gains of 1 and 2: their mean power is 2.5, and a standard deviation 6.02 dB / sqrt(2). */
START_TEST(plots_show_mean_and_spread)
{
    double mean = 10 * log10(2.5), spread = 20 * log10(2) / M_SQRT2;
    command_done("printf 'rate: 48000\\n1\\n' >one.txt; printf 'rate: 48000\\n2\\n' >two.txt; "
                 "printf 'rate: 44100\\n2\\n' >slow.txt");
    const char *commands = commands_of("one.txt two.txt --mean");
    for (double hz = 20; hz < 24000; hz *= 2) {
        ck_assert_double_eq_tol(value_in(commands, "$mean <<", hz, 1), mean, 1e-4);
        ck_assert_double_eq_tol(value_in(commands, "$mean <<", hz, 2), mean - spread, 1e-4);
        ck_assert_double_eq_tol(value_in(commands, "$mean <<", hz, 3), mean + spread, 1e-4);
    }
    ck_assert_ptr_null(strstr(commands, "group delay"));
    command_expect(commands_of("one.txt two.txt --mean --what delay,magnitude"), "group delay");
    command_expect(command_done("$HALO mask plot one.txt two.txt --mean").out, "A  mean of 2\n");
    command_refused(2, "two channels", "$HALO mask plot one.txt --mean");
    command_refused(2, "one rate", "$HALO mask plot one.txt slow.txt --mean");
    command_refused(2, "magnitude", "$HALO mask plot one.txt two.txt --mean --what step");
}
