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
    return mask;
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

/* Writes the mask to a file, and frees it. */
static void save(struct mask *mask, const char *name)
{
    const struct mask_write_settings settings = {.force = true};
    ck_assert_int_eq(mask_write_wav(mask, command_path(name), &settings), STATUS_OK);
    mask_destroy(mask);
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
        mask_destroy(copy);
    }
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++) {
        command_done("$HALO mask convert %s d.wav -f", dropped[i]);
        struct mask *copy = mask_loaded("d.wav", NULL);
        ck_assert_msg(!copy->measured, "%s", dropped[i]);
        mask_destroy(copy);
    }
    mask_destroy(room);
}
END_TEST

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
        mask_destroy(copy);
    }
    mask_destroy(room);
    command_done("$HALO render r.wav louder.wav --gain -10");
    struct mask *louder = mask_loaded("louder.wav", NULL);
    ck_assert_ptr_null(louder->measured);
    mask_destroy(louder);
}
END_TEST

SUITE_MAIN("mask_measured", files_keep_the_measurement, containers_carry_the_measurement)
