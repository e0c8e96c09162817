/* SOFA files as masks, against what tests/sofa_files.py put into them. */
#include "command.h"
#include "mask_load.h"
#include "suite.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAPS = 8, SKIPPED = 77 };
static const char kemar[] = "/usr/share/libmysofa/MIT_KEMAR_normal_pinna.sofa";

static bool make_files(void)
{
    return command_run("for p in /usr/bin/python3 python3; do"
                       " $p -c 'import netCDF4' 2>/dev/null && echo $p >python && break; done;"
                       " test -s python && $(cat python) %s make .",
                       SOFA_FILES)
               .code == 0;
}

static struct mask *loaded(const char *name, const struct mask_directions *directions)
{
    struct mask_load_options options = {.directions = *directions};
    note_verbosity(VERBOSITY_QUIET);
    return mask_loaded(name, &options);
}

static struct mask_directions towards(double azimuth, double elevation)
{
    return (struct mask_directions){
        .has_direction = true, .azimuth = azimuth, .elevation = elevation};
}

/* The taps that counted() of sofa_files.py gives a measurement and an ear, from 0, after a delay.
 */
static void expect_counted(const struct mask *mask, size_t input, size_t output, size_t measurement,
                           size_t ear, size_t delay)
{
    double taps[64] = {0};
    for (size_t k = 0; k < TAPS; k++)
        taps[delay + k] =
            (double)(((measurement + 1) * 100 + ear + 1) * 100 + k + 1) / (double)(1 << 24);
    mask_expect_path(mask, input, output, delay + TAPS, taps);
}

START_TEST(the_nearest_direction)
{
    static const struct {
        double azimuth, elevation;
        size_t measurement;
    } cases[] = {{30, 0, 1},   {0, 0, 0},   {-95, 3, 9}, {265, 0, 9},
                 {10, 80, 13}, {0, 50, 12}, {-179, 0, 6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t is_cartesian = 0; is_cartesian < 2; is_cartesian++) {
            struct mask_directions wanted = towards(cases[i].azimuth, cases[i].elevation);
            struct mask *mask = loaded(is_cartesian ? "cartesian.sofa" : "plain.sofa", &wanted);
            ck_assert_uint_eq(mask->rate, 48000);
            ck_assert_uint_eq(mask->inputs, 1);
            ck_assert_uint_eq(mask->outputs, 2);
            expect_counted(mask, 0, 0, cases[i].measurement, 0, 0);
            expect_counted(mask, 0, 1, cases[i].measurement, 1, 0);
        }
}

START_TEST(delays_are_kept)
{
    struct mask_directions wanted = towards(90, 0);
    struct mask *mask = loaded("delays.sofa", &wanted);
    ck_assert_uint_eq(mask->origin, 0);
    expect_counted(mask, 0, 0, 3, 0, 3);
    expect_counted(mask, 0, 1, 3, 1, 6);
}

START_TEST(loudspeakers)
{
    static const struct {
        const char *speakers;
        size_t channels, count, measurements[12];
    } cases[] = {
        {"stereo", 0, 2, {1, 11}},
        {NULL, 2, 2, {1, 11}},
        {"5.1", 0, 6, {1, 11, 0, 0, 4, 8}},
        {"90:-90:0:180", 0, 4, {3, 9, 0, 6}},
        {"90:0/55:-30:180", 0, 4, {3, 12, 11, 6}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mask_load_options options = {.directions.speakers = cases[i].speakers,
                                            .sound.channels = cases[i].channels};
        struct mask *mask = mask_loaded("plain.sofa", &options);
        ck_assert_uint_eq(mask->inputs, cases[i].count);
        ck_assert_uint_eq(mask->path_count, 2 * cases[i].count);
        for (size_t c = 0; c < cases[i].count; c++)
            expect_counted(mask, c, 0, cases[i].measurements[c], 0, 0);
    }
}

START_TEST(which_ear_is_left)
{
    struct mask_directions wanted = towards(30, 0);
    struct mask *mask = loaded("exchanged.sofa", &wanted);
    expect_counted(mask, 0, 1, 1, 0, 0);
    expect_counted(mask, 0, 0, 1, 1, 0);
    mask = loaded("wrong-sign.sofa", &wanted);
    expect_counted(mask, 0, 0, 1, 0, 0);
}

static void expect_pulse(const struct mask *mask, size_t output, double at)
{
    const double *taps = mask_path_column(mask, (struct mask_path){0, output, 0});
    for (size_t k = 0; k < mask->taps; k++) {
        double place = ((double)k - (double)mask->origin - at) / 3, wanted = exp(-place * place);
        ck_assert_msg(fabs(taps[k] - wanted) < 2e-3, "tap %zu is %g, not %g", k, taps[k], wanted);
    }
}

START_TEST(between_directions)
{
    static const double azimuths[] = {15, 45, 30, 20};
    for (size_t i = 0; i < sizeof azimuths / sizeof *azimuths; i++) {
        struct mask_directions wanted = towards(azimuths[i], 0);
        wanted.interpolate = MASK_INTERPOLATE_LINEAR;
        struct mask *mask = loaded("pulses.sofa", &wanted);
        expect_pulse(mask, 0, 16 + azimuths[i] / 60);
        expect_pulse(mask, 1, 16 - azimuths[i] / 60);
    }
}

/* The lags of a millisecond are many at a high rate, and so are the taps. */
START_TEST(between_directions_at_a_high_rate)
{
    command_done("ulimit -t 60; $HALO mask convert fast.sofa,az=30,interpolate=linear fast.wav");
    struct mask_directions wanted = towards(30, 0);
    wanted.interpolate = MASK_INTERPOLATE_LINEAR;
    struct mask *mask = loaded("fast.sofa", &wanted);
    expect_pulse(mask, 0, 12000);
    expect_pulse(mask, 1, 6000);
}

START_TEST(a_fractional_delay)
{
    struct mask *mask = loaded("fraction.sofa", &(struct mask_directions){0});
    ck_assert_uint_eq(mask->outputs, 1);
    expect_pulse(mask, 0, 18.25);
}

START_TEST(several_loudspeakers_at_once)
{
    struct mask_directions wanted = towards(43, 0);
    struct mask *mask = loaded("room.sofa", &wanted);
    ck_assert_uint_eq(mask->inputs, 2);
    ck_assert_uint_eq(mask->outputs, 2);
    for (size_t ear = 0; ear < 2; ear++)
        for (size_t e = 0; e < 2; e++) {
            double taps[2 * TAPS] = {0};
            size_t delay = 2 * ear + e;
            for (size_t k = 0; k < TAPS; k++)
                taps[delay + k] =
                    (double)(((2 * 100 + ear + 1) * 100 + e + 1) * 100 + k + 1) / (double)(1 << 24);
            mask_expect_path(mask, e, ear, delay + TAPS, taps);
        }
}

START_TEST(a_head_that_turns)
{
    struct mask_directions wanted = towards(20, 0); /* of a source at 60, seen at 60 - 40 */
    struct mask *mask = loaded("turned.sofa", &wanted);
    expect_counted(mask, 0, 0, 1, 0, 0);
}

/* The samples of a measured head, read by another library. */
START_TEST(a_measured_head)
{
    static const int directions[][2] = {{30, 0}, {-80, 0}, {0, 90}, {110, -20}};
    struct mask *mask;
    if (access(kemar, R_OK) != 0)
        return;
    command_done("$(cat python) %s taps %s 30,0 -80,0 0,90 110,-20", SOFA_FILES, kemar);
    for (size_t i = 0; i < sizeof directions / sizeof *directions; i++) {
        const int *to = directions[i];
        char name[32];
        snprintf(name, sizeof name, "%d,%d.txt", to[0], to[1]);
        struct mask *truth = mask_loaded(name, NULL);
        struct mask_load_options options = {.directions = towards(to[0], to[1])};
        ck_assert_int_eq(mask_load_with(kemar, &options, &mask), STATUS_OK);
        ck_assert_uint_eq(mask->rate, 44100);
        ck_assert_uint_eq(mask->taps, truth->taps);
        mask_expect_path(mask, 0, 0, truth->taps, mask_column(truth, 0));
        mask_expect_path(mask, 0, 1, truth->taps, mask_column(truth, 1));
        mask_destroy(mask);
    }
}

/* ---- PipeWire's spatializer ---- */

static void (*get_filter)(void *, float, float, float, float *, float *, float *, float *);

/* The ears that libmysofa itself makes for a place, in a column each. */
static void expect_ears(void *easy, const struct mask *mask, const double angles[3], int taps)
{
    float *ears[2] = {calloc((size_t)taps, sizeof(float)), calloc((size_t)taps, sizeof(float))};
    float delays[2], peak = 0;
    double level = cos(angles[1] * M_PI / 180) * angles[2];
    get_filter(easy, (float)(level * cos(angles[0] * M_PI / 180)),
               (float)(level * sin(angles[0] * M_PI / 180)),
               (float)(sin(angles[1] * M_PI / 180) * angles[2]), ears[0], ears[1], &delays[0],
               &delays[1]);
    for (int k = 0; k < taps; k++)
        peak = fmaxf(peak, fmaxf(fabsf(ears[0][k]), fabsf(ears[1][k])));
    for (size_t ear = 0; ear < 2; ear++) {
        const double *column = mask_path_column(mask, (struct mask_path){0, ear, 0});
        ck_assert_ptr_nonnull(column);
        ck_assert_uint_le(mask->taps, (size_t)taps);
        for (size_t k = 0; k < (size_t)taps; k++) {
            double tap = k < mask->taps ? column[k] : 0;
            ck_assert_msg(fabs(tap - (double)ears[ear][k]) < 2e-6 * (double)peak,
                          "%g %g %g, ear %zu, tap %zu: %g, not %g", angles[0], angles[1], angles[2],
                          ear, k, tap, (double)ears[ear][k]);
        }
        free(ears[ear]);
    }
}

static const char spatializer[] =
    "filter.graph = { nodes = [ { type = sofa name = sp label = spatializer\n"
    " config = { filename = \"%s\" } control = { Azimuth = %g Elevation = %g Radius = %g } } ]\n"
    " inputs = [ \"sp:In\" ] outputs = [ \"sp:Out L\" \"sp:Out R\" ] }\n";

START_TEST(the_spatializer_of_pipewire)
{
    static const double places[][3] = {{30, 0, 1},      {47.3, 12, 2},    {0, 0, 0.1},
                                       {200, -33, 1.2}, {359, 5, 3},      {90, 60, 1.45},
                                       {12, 88, 50},    {280.5, 41, 1.5}, {163, 7.7, 2}};
    static const struct {
        const char *file;
        float rate;
    } files[] = {{kemar, 44100},
                 {"scattered.sofa", 48000},
                 {"scattered-xyz.sofa", 48000},
                 {"pulses.sofa", 48000}};
    void *library = dlopen("libmysofa.so.1", RTLD_NOW);
    void *(*open)(const char *, float, int *, int *) = NULL;
    void (*close_one)(void *) = NULL;
    if (!library)
        return;
    *(void **)&open = dlsym(library, "mysofa_open");
    *(void **)&close_one = dlsym(library, "mysofa_close");
    *(void **)&get_filter = dlsym(library, "mysofa_getfilter_float");
    note_verbosity(VERBOSITY_QUIET);
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        int taps, error;
        char path[4096];
        snprintf(path, sizeof path, "%s",
                 *files[f].file == '/' ? files[f].file : command_path(files[f].file));
        if (access(path, R_OK) != 0)
            continue;
        void *easy = open(path, files[f].rate, &taps, &error);
        ck_assert_ptr_nonnull(easy);
        for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
            char text[4600];
            snprintf(text, sizeof text, spatializer, path, places[p][0], places[p][1],
                     places[p][2]);
            mask_save_text("sp.conf", text);
            struct mask *mask = mask_loaded("sp.conf", NULL);
            ck_assert_uint_eq(mask->rate, (uint32_t)files[f].rate);
            expect_ears(easy, mask, places[p], taps);
        }
        close_one(easy);
    }
    mask_save_text("sp.conf",
                   "filter.graph = { nodes = [ { type = sofa label = spatializer } ] }\n");
    mask_spec_refused(1, "'filename' is missing", "sp.conf", NULL);
    mask_save_text("t.txt", "1\n");
    mask_save_text("sp.conf",
                   "filter.graph = { nodes = [ { type = sofa label = spatializer config = { "
                   "filename = t.txt } } ] }\n");
    mask_spec_refused(1, "is no SOFA file", "sp.conf", NULL);
}

static const struct stream_format stereo = {.rate = 44100, .channels = 2};

START_TEST(what_it_says)
{
    struct command_result shown = command_done("$HALO mask show plain.sofa");
    command_expect(shown.out, "SimpleFreeFieldHRIR, FIR, made");
    command_expect(shown.out, "15 directions, azimuth -150 to 180, elevation 0 to 90");
    command_expect(shown.out, "2 ears, 1 emitter, 8 taps, 48000 Hz, no delays");
    command_expect(shown.err, "from the front; az= and el= choose another of its 15 directions");
    shown = command_done("$HALO mask show --json plain.sofa,az=33");
    command_expect(shown.out, "15 directions");
    command_expect(shown.err, "az 33 el 0 is taken from the measurement at az 30 el 0 at 2 m");
    command_expect(mask_said("plain.sofa,az=45,interpolate=linear", NULL),
                   "interpolated: 0.500 of az 30 el 0 at 2 m and 0.500 of az 60");
    command_expect(mask_said("plain.sofa", &stereo), "speakers=stereo, by the sound's 2 channels");
}

START_TEST(refused)
{
    static const char *const cases[][2] = {
        {"sos.sofa", "of the convention SimpleFreeFieldSOS with data of the type SOS"},
        {"rates.sofa", "a rate of 44100 Hz"},
        {"negative.sofa", "a delay of -1 frames"},
        {"room.sofa,speakers=stereo", "speakers= needs responses from several directions"},
        {"plain.sofa,speakers=stereo,az=3", "exclude each other"},
        {"plain.sofa,speakers=3.1", "speakers= is mono, stereo"},
        {"plain.sofa,az=nowhere", "az= takes degrees from -360 to 360"},
        {"plain.sofa,el=91", "el= takes degrees from -90 to 90"},
        {"truth.txt,az=30", "are for SOFA files"},
        {"lowpass:1000,speakers=stereo", "are for SOFA files"},
        {"head.sofa", "cannot read mask head.sofa: "},
        {"cut.sofa", "cannot read mask cut.sofa: "},
        {"other.sofa", "it is of the convention SimpleFreeFieldHRTF"},
    };
    command_done(
        "echo 1 >truth.txt; head -c 9000 plain.sofa >cut.sofa; head -c 8 plain.sofa >head.sofa;"
        "{ head -c 8 plain.sofa; echo SimpleFreeFieldHRTF; } >other.sofa");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        mask_spec_refused(0, cases[i][1], cases[i][0], NULL);
    mask_spec_refused(0,
                      "for a mono sound, but the sound has 2 channels; speakers= names a direction",
                      "plain.sofa,az=30", &stereo);
    mask_spec_refused(0, "has a single direction, for a mono sound, but the sound has 2 channels",
                      "fraction.sofa", &stereo);
}

/* Files with a byte changed: read, or refused in a line. */
START_TEST(damaged_files)
{
    static char bytes[1 << 16];
    FILE *file = fopen(command_path("plain.sofa"), "rb");
    ck_assert_ptr_nonnull(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    note_verbosity(VERBOSITY_QUIET);
    for (size_t at = 8; at < size; at += 97) {
        char kept = bytes[at], message[1024] = "";
        struct mask *mask = NULL;
        const struct mask_load_options options = {.sound.channels = 2};
        bytes[at] = (char)(kept ^ (1 << at % 8));
        mask_save("damaged.sofa", bytes, size);
        log_capture(message, sizeof message);
        enum status status = mask_load_with(command_path("damaged.sofa"), &options, &mask);
        log_capture(NULL, 0);
        ck_assert_msg((status == STATUS_OK) == !message[0], "byte %zu: %s", at, message);
        mask_destroy(status == STATUS_OK ? mask : NULL);
        bytes[at] = kept;
    }
}

int main(void)
{
#ifndef HALO_WITH_SOFA
    return SKIPPED;
#endif
    suite_keeps_files = true;
    return make_files() ? suite_run() : SKIPPED;
}
