/* Values of spectrograms: levels of tones, positions of clicks and tones, gathered columns; and
 * axes and colours. */
#include "base/colour_map.h"
#include "sound/port.h"
#include "spectrogram/spectrogram.h"
#include "spectrogram/spectrogram_figure.h"
#include "stream.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 400, COLUMNS = 500, SIZE = 2048, HOP = 512, RATE = 48000 };

static struct sound_spectrogram_settings settings_for(uint32_t rate, bool is_log)
{
    return (struct sound_spectrogram_settings){
        .window = WINDOW_HANN,
        .size = SIZE,
        .hop = HOP,
        .columns_most = COLUMNS,
        .axis = {.is_log = is_log, .rows = ROWS, .low = is_log ? 20 : 0, .high = rate / 2.0},
    };
}

/* Adds a sine to a channel. */
static void add_sine(const struct block *block, size_t channel, double rate, double hz,
                     double amplitude)
{
    for (size_t i = 0; i < block->frames; i++)
        block->data[channel][i] += (float)(amplitude * sin(2 * M_PI * hz * (double)i / rate));
}

static struct block silence(size_t channels, size_t frames)
{
    struct block block = stream_block(channels, frames);
    return block;
}

static struct spectrogram draw(const struct block *block, uint32_t rate,
                               const struct sound_spectrogram_settings *settings)
{
    struct source *source;
    struct spectrogram picture;
    uint64_t frames;
    ck_assert_int_eq(source_open_memory(block, rate, &source), STATUS_OK);
    ck_assert_int_eq(sound_spectrogram_init(source, settings, &picture, &frames), STATUS_OK);
    ck_assert_uint_le(frames, block->frames);
    source_close(source);
    return picture;
}

static double db_at(const struct spectrogram *picture, size_t column, size_t row)
{
    return 10 * log10((double)picture->power[column * picture->axis.rows + row]);
}

static size_t row_of(const struct spectrogram *picture, double hz)
{
    return (size_t)spectrogram_axis_row(&picture->axis, hz);
}

static size_t loudest_row(const struct spectrogram *picture, size_t column)
{
    size_t best = 0;
    for (size_t r = 1; r < picture->axis.rows; r++)
        if (db_at(picture, column, r) > db_at(picture, column, best))
            best = r;
    return best;
}

/* A sine's level appears in its own row for whole columns, wherever it lies between bins. */
static void check_sine(uint32_t rate, double hz, double db, bool is_log, enum window window)
{
    struct block block = silence(1, rate);
    struct sound_spectrogram_settings settings = settings_for(rate, is_log);
    settings.window = window;
    add_sine(&block, 0, rate, hz, pow(10, db / 20));
    struct spectrogram picture = draw(&block, rate, &settings);
    for (size_t c = SIZE / HOP; c + SIZE / HOP < picture.columns; c++) {
        double seen = db_at(&picture, c, row_of(&picture, hz));
        ck_assert_msg(fabs(seen - db) < 0.15, "%g Hz of %u, window %d: %g dB, not %g", hz, rate,
                      (int)window, seen, db);
        double row = (double)loudest_row(&picture, c);
        double low = spectrogram_axis_hz(&picture.axis, row) - rate / 4.0 / SIZE / 2;
        double high = spectrogram_axis_hz(&picture.axis, row + 1) + rate / 4.0 / SIZE / 2;
        ck_assert_msg(hz >= low && hz <= high, "%g Hz of %u is visible between %g and %g", hz, rate,
                      low, high);
    }
    spectrogram_free(&picture);
}

START_TEST(a_sine_has_its_level_and_place)
{
    check_sine(48000, 1000, -20, true, WINDOW_HANN);
    check_sine(48000, 1000, -20, false, WINDOW_HANN);
    /* Bins are 5.86 Hz apart, those of the window alone 23.4: on, near and between them. */
    for (double hz = 3000; hz < 3025; hz += 2.1)
        for (enum window window = WINDOW_KAISER; window <= WINDOW_BLACKMAN; window++)
            check_sine(48000, hz, -6, true, window);
    check_sine(48000, 100, -10, true, WINDOW_HANN);
    check_sine(8000, 440, 0, true, WINDOW_HANN);
    check_sine(44100, 15000, -60, true, WINDOW_HANN);
    check_sine(192000, 30000, -3, false, WINDOW_HANN);
    check_sine(11025, 5000, -40, false, WINDOW_BLACKMAN);
}

/* All bins, those between the transform's too, against the sum of the definition. */
START_TEST(bins_are_those_of_the_definition)
{
    enum { N = 256, BINS = 2 * N };
    static float x[N], power[BINS];
    const struct spectrogram_frame_settings settings = {
        .window = WINDOW_HANN,
        .size = N,
        .padding = 4,
        .rate = 2 * BINS,
        .mean = true,
        .axis = {.rows = BINS, .low = 0, .high = BINS}, /* a row is a bin */
    };
    struct spectrogram_frame *frame;
    struct block noise = stream_noise(5, 1, N);
    memcpy(x, noise.data[0], sizeof x);
    ck_assert_int_eq(spectrogram_frame_create(&settings, &frame), STATUS_OK);
    spectrogram_frame_measure(frame, x, power);
    double worst = 0, peak = 0;
    for (size_t b = 0; b < BINS; b++) {
        double re = 0, im = 0;
        for (size_t i = 0; i < N; i++) {
            double turn = M_PI * (double)(b * i) / BINS;
            double value = (double)x[i] * (1 - cos(2 * M_PI * (double)i / N)) / 2;
            re += value * cos(turn);
            im -= value * sin(turn);
        }
        double level = hypot(re, im) * 2 / (N / 2.0);
        worst = fmax(worst, fabs(level - sqrt((double)power[b])));
        peak = fmax(peak, level);
    }
    ck_assert_msg(worst < 3e-5 * peak, "%g dB", 20 * log10(worst / peak));
    spectrogram_frame_destroy(frame);
}

/* Hann's side lobes: beyond a few main lobes a tone is not visible. */
START_TEST(a_sine_is_narrow)
{
    struct block block = silence(1, RATE);
    struct sound_spectrogram_settings settings = settings_for(RATE, false);
    add_sine(&block, 0, RATE, 5000, 1);
    struct spectrogram picture = draw(&block, RATE, &settings);
    for (size_t r = 0; r < ROWS; r++) {
        double hz = spectrogram_axis_hz(&picture.axis, (double)r + 0.5);
        if (fabs(hz - 5000) > 1000)
            ck_assert_double_lt(db_at(&picture, picture.columns / 2, r), -100);
    }
    spectrogram_free(&picture);
}

/* In the middle of a hop's window, where it is 1: a/(N/2 * 1/2) in every row, and nothing
 * outside the window. */
START_TEST(a_click_is_a_line_at_its_time)
{
    struct block block = silence(1, RATE);
    struct sound_spectrogram_settings settings = settings_for(RATE, false);
    size_t hop = 37, at = hop * HOP + HOP / 2;
    block.data[0][at] = 0.5F;
    struct spectrogram picture = draw(&block, RATE, &settings);
    double level = 20 * log10(0.5 * 2 / (SIZE / 2.0));
    for (size_t r = 0; r < ROWS; r++)
        ck_assert_double_eq_tol(db_at(&picture, hop, r), level, 1e-3);
    for (size_t c = 0; c < picture.columns; c++)
        for (size_t r = 0; r < ROWS; r += 7) {
            if (c != hop)
                ck_assert_double_lt(db_at(&picture, c, r), level - 1);
            if (c < hop - SIZE / HOP / 2 || c > hop + SIZE / HOP / 2)
                ck_assert(picture.power[c * ROWS + r] == 0);
        }
    struct spectrogram_peak peak = spectrogram_find_peak(&picture);
    ck_assert_double_eq_tol(peak.seconds, (double)at / RATE, 1e-9);
    spectrogram_free(&picture);
}

START_TEST(columns_show_the_loudest_of_their_span)
{
    struct block block = stream_noise(7, 1, 65 * HOP + 100);
    struct sound_spectrogram_settings settings = settings_for(RATE, true);
    struct spectrogram fine = draw(&block, RATE, &settings);
    ck_assert_uint_eq(fine.columns, 65);
    static const size_t most[] = {64, 33, 32, 20, 5, 3, 2};
    for (size_t m = 0; m < sizeof most / sizeof *most; m++) {
        settings.columns_most = most[m];
        struct spectrogram coarse = draw(&block, RATE, &settings);
        size_t share = (size_t)lrint(coarse.step / fine.step);
        ck_assert_uint_le(coarse.columns, most[m]);
        ck_assert_uint_ge(coarse.columns, most[m] / 2);
        ck_assert_uint_eq(coarse.columns, (65 + share - 1) / share);
        for (size_t c = 0; c < coarse.columns; c++)
            for (size_t r = 0; r < ROWS; r++) {
                float largest = 0;
                for (size_t k = c * share; k < (c + 1) * share && k < 65; k++)
                    largest = fmaxf(largest, fine.power[k * ROWS + r]);
                ck_assert_msg(coarse.power[c * ROWS + r] == largest, "%zu columns: %zu, %zu",
                              most[m], c, r);
            }
        spectrogram_free(&coarse);
    }
    spectrogram_free(&fine);
}

START_TEST(channels_are_averaged_by_power)
{
    struct block block = silence(2, RATE);
    struct sound_spectrogram_settings settings = settings_for(RATE, true);
    add_sine(&block, 0, RATE, 1000, 0.1);
    add_sine(&block, 1, RATE, 1000, -0.1); /* a level that a sum would cancel */
    add_sine(&block, 0, RATE, 6000, 0.1);
    struct spectrogram both = draw(&block, RATE, &settings);
    settings.channel = 1;
    struct spectrogram left = draw(&block, RATE, &settings);
    settings.channel = 2;
    struct spectrogram right = draw(&block, RATE, &settings);
    size_t c = both.columns / 2, low = row_of(&both, 1000), high = row_of(&both, 6000);
    ck_assert_double_eq_tol(db_at(&both, c, low), -20, 0.1);
    ck_assert_double_eq_tol(db_at(&both, c, high), -23.01, 0.1);
    ck_assert_double_eq_tol(db_at(&left, c, high), -20, 0.1);
    ck_assert_double_lt(db_at(&right, c, high), -120);
    spectrogram_free(&both);
    spectrogram_free(&left);
    spectrogram_free(&right);
}

/* A region of the sound gives that region of the picture: the sound around it is included. */
START_TEST(a_part_equals_the_whole)
{
    struct block block = stream_noise(3, 1, 80 * HOP);
    struct sound_spectrogram_settings settings = settings_for(RATE, true);
    struct spectrogram whole = draw(&block, RATE, &settings);
    settings.from = 20.0 * HOP / RATE;
    settings.to = 50.0 * HOP / RATE;
    struct spectrogram part = draw(&block, RATE, &settings);
    ck_assert_uint_eq(part.columns, 30);
    ck_assert_double_eq_tol(part.from, settings.from, 1e-12);
    ck_assert_mem_eq(part.power, whole.power + 20 * ROWS, 30 * ROWS * sizeof *part.power);
    spectrogram_free(&whole);
    spectrogram_free(&part);
}

START_TEST(sounds_of_any_length)
{
    static const size_t lengths[] = {1, 2, HOP / 2, HOP - 1, HOP, HOP + 1, SIZE + 3, 1 << 15};
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        struct block block = silence(1, lengths[l]);
        struct sound_spectrogram_settings settings = settings_for(RATE, true);
        block.data[0][lengths[l] - 1] = 1;
        struct spectrogram picture = draw(&block, RATE, &settings);
        size_t hops = (lengths[l] + HOP / 2 - 1) / HOP; /* whose middle is in the sound */
        ck_assert_uint_eq(picture.columns, hops > 0 ? hops : 1);
        ck_assert_double_gt(spectrogram_find_peak(&picture).power, 0);
        spectrogram_free(&picture);
    }
}

/* ---- axes, scale, colours ---- */

START_TEST(axes_are_invertible)
{
    struct spectrogram_axis axes[] = {{true, 100, 20, 24000}, {false, 240, 0, 24000}};
    ck_assert_double_eq_tol(spectrogram_axis_hz(&axes[0], 0), 20, 1e-9);
    ck_assert_double_eq_tol(spectrogram_axis_hz(&axes[0], 50), sqrt(20 * 24000.), 1e-6);
    ck_assert_double_eq_tol(spectrogram_axis_hz(&axes[1], 10), 1000, 1e-9);
    for (size_t a = 0; a < 2; a++)
        for (double row = 0; row <= 100; row += 12.5)
            ck_assert_double_eq_tol(
                spectrogram_axis_row(&axes[a], spectrogram_axis_hz(&axes[a], row)), row, 1e-9);
}

static void expect_ticks(const struct spectrogram_ticks *ticks, const char *expected)
{
    char text[512] = "";
    for (size_t i = 0; i < ticks->count; i++) {
        char one[SPECTROGRAM_TICK_TEXT];
        spectrogram_tick_hz(ticks->at[i], one);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " " : "", one);
    }
    ck_assert_str_eq(text, expected);
}

START_TEST(ticks_are_round_numbers)
{
    struct spectrogram_axis axis = {true, 1, 20, 24000};
    struct spectrogram_ticks ticks = spectrogram_ticks_hz(&axis, 5);
    expect_ticks(&ticks, "20 50 100 200 500 1k 2k 5k 10k 20k");
    axis = (struct spectrogram_axis){false, 1, 0, 22050};
    ticks = spectrogram_ticks_hz(&axis, 12);
    expect_ticks(&ticks, "0 2k 4k 6k 8k 10k 12k 14k 16k 18k 20k 22k");
    axis.high = 4000;
    ticks = spectrogram_ticks_hz(&axis, 8);
    expect_ticks(&ticks, "0 500 1k 1.5k 2k 2.5k 3k 3.5k 4k");
    ticks = spectrogram_ticks_seconds(1.9, 3.1, 3);
    expect_ticks(&ticks, "2 2.5 3");
    ticks = spectrogram_ticks_seconds(0, 36000, 4);
    expect_ticks(&ticks, "0 10k 20k 30k");
}

START_TEST(colours_are_viridis)
{
    /* Entries 0, 64, 128, 191 and 255 of the published table. */
    static const struct {
        double share;
        int red, green, blue;
    } rows[] = {{0, 68, 1, 84},
                {64 / 255.0, 59, 82, 139},
                {128 / 255.0, 33, 145, 140},
                {191 / 255.0, 92, 200, 99},
                {1, 253, 231, 37}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct colour colour = colour_map_at(rows[i].share);
        ck_assert_int_le(abs(colour.red - rows[i].red), 3);
        ck_assert_int_le(abs(colour.green - rows[i].green), 3);
        ck_assert_int_le(abs(colour.blue - rows[i].blue), 3);
    }
    double before = -1; /* lightness increases, so that it is readable in grey */
    for (int i = 0; i <= 100; i++) {
        struct colour colour = colour_map_at(i / 100.0);
        double light = 0.2126 * pow(colour.red / 255.0, 2.2) +
                       0.7152 * pow(colour.green / 255.0, 2.2) +
                       0.0722 * pow(colour.blue / 255.0, 2.2);
        ck_assert_double_gt(light, before);
        before = light;
    }
}

/* xterm's 256 colours from 16 on, by exhaustive search. */
static int distance(int number, struct colour colour)
{
    static const int levels[] = {0, 95, 135, 175, 215, 255};
    int red = number < 232 ? levels[(number - 16) / 36] : 8 + 10 * (number - 232);
    int green = number < 232 ? levels[(number - 16) / 6 % 6] : red;
    int blue = number < 232 ? levels[(number - 16) % 6] : red;
    return (red - colour.red) * (red - colour.red) +
           (green - colour.green) * (green - colour.green) +
           (blue - colour.blue) * (blue - colour.blue);
}

START_TEST(the_nearest_of_256_colours)
{
    for (int red = 0; red < 256; red += 15)
        for (int green = 0; green < 256; green += 17)
            for (int blue = 0; blue < 256; blue += 15) {
                struct colour colour = {(unsigned char)red, (unsigned char)green,
                                        (unsigned char)blue};
                int least = distance(16, colour);
                for (int i = 17; i < 256; i++)
                    least = distance(i, colour) < least ? distance(i, colour) : least;
                int found = colour_map_terminal(colour);
                ck_assert_msg(found >= 16 && found < 256 && distance(found, colour) == least,
                              "%d, %d, %d: %d", red, green, blue, found);
            }
}

START_TEST(a_figure_has_one_scale)
{
    struct block loud = silence(1, RATE), soft = silence(1, RATE / 2);
    struct sound_spectrogram_settings settings = settings_for(RATE, true);
    add_sine(&loud, 0, RATE, 1000, 0.15);
    add_sine(&soft, 0, RATE, 300, 0.001);
    struct spectrogram_figure figure = {
        .count = 2,
        .pictures = {draw(&soft, RATE, &settings), draw(&loud, RATE, &settings)},
        .ends = {0.5, 1},
    };
    spectrogram_figure_scale(&figure, 60);
    ck_assert_double_eq(figure.top, -16); /* -16.48 */
    ck_assert_double_eq(figure.bottom, -76);
    ck_assert_double_eq(figure.to, 1);
    spectrogram_figure_free(&figure);
}
