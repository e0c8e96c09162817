/* Frequency responses against formulas, as values and as drawn. */
#include "acoustics/response.h"
#include "plot/response_plot.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RATE = 48000, COMB = 24, WIDTH = 100, HEIGHT = 40, LINES_MOST = 64 };

static const double pi = 3.14159265358979323846;

static struct mask *make(size_t taps, size_t channels)
{
    struct mask *mask;
    ck_assert_int_eq(mask_create("test", 1, taps, &mask), STATUS_OK);
    ck_assert_int_eq(mask_route(mask, channels, MASK_ORDER_LL_LR_RL_RR, MASK_MAP_AUTO), STATUS_OK);
    return mask;
}

/* One pole: y[i] = a y[i-1] + (1 - a) x[i]. */
static const double pole = 0.97;

static struct mask *low_pass(void)
{
    struct mask *mask = make(2000, 2);
    for (size_t k = 0; k < mask->taps; k++)
        mask->coefficients[k] = (float)((1 - pole) * pow(pole, (double)k));
    return mask;
}

static double low_pass_power(double hertz)
{
    return pow(1 - pole, 2) / (1 - 2 * pole * cos(2 * pi * hertz / RATE) + pole * pole);
}

/* Notches at 1 kHz, 3 kHz and so on; peaks of 0 dB between. */
static struct mask *comb(void)
{
    struct mask *mask = make(COMB + 1, 2);
    mask->coefficients[0] = mask->coefficients[COMB] = 0.5F;
    return mask;
}

static double comb_power(double hertz)
{
    return pow(cos(pi * hertz * COMB / RATE), 2);
}

/* The mean over a twelfth of an octave, or over a fraction of the axis where that is wider. */
static double smoothed(double (*power)(double), const struct response_axis *axis, size_t point)
{
    enum { STEPS = 400 };
    double share = fmax(1.0 / 12, log2(axis->high / axis->low) / (double)axis->points);
    double middle = response_frequency(axis, (double)point), sum = 0;
    double from = middle * exp2(-share / 2), to = fmin(middle * exp2(share / 2), RATE / 2.0);
    for (size_t i = 0; i < STEPS; i++)
        sum += power(from + (to - from) * ((double)i + 0.5) / STEPS);
    return 10 * log10(sum / STEPS);
}

static void expect_figures(struct mask *mask, double (*power)(double))
{
    static const size_t points[] = {7, 60, 300};
    double db[300];
    for (size_t n = 0; n < 3; n++) {
        const struct response_axis axis = {.low = 20, .high = RATE / 2.0, .points = points[n]};
        ck_assert_int_eq(response_measure(mask, RATE, &axis, db), STATUS_OK);
        for (size_t p = 0; p < points[n]; p++)
            ck_assert_msg(fabs(db[p] - smoothed(power, &axis, p)) < 0.1, "point %zu: %g not %g", p,
                          db[p], smoothed(power, &axis, p));
    }
    mask_destroy(mask);
}

START_TEST(values_equal_the_formula)
{
    expect_figures(low_pass(), low_pass_power);
    expect_figures(comb(), comb_power);
}

/* Its first notch at 25 Hz, among the widest bins. */
static double deep_comb_power(double hertz)
{
    return pow(cos(pi * hertz / 50), 2);
}

START_TEST(low_frequencies_are_placed_right)
{
    const struct response_axis axis = {.low = 20, .high = 60, .points = 40};
    double db[40];
    struct mask *mask = make(RATE / 50 + 1, 1);
    mask->coefficients[0] = mask->coefficients[RATE / 50] = 0.5F;
    ck_assert_int_eq(response_measure(mask, RATE, &axis, db), STATUS_OK);
    for (size_t p = 0; p < axis.points; p++) {
        double right = smoothed(deep_comb_power, &axis, p);
        double most = right > -20 ? 0.2 : 1; /* a notch spans few bins */
        ck_assert_msg(fabs(db[p] - right) < most, "point %zu: %g not %g", p, db[p], right);
    }
    mask_destroy(mask);
}

/* Two inputs into one output: their powers add up. One more path to another output: the mean. */
START_TEST(paths_count_together)
{
    static struct mask_path paths[] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0}};
    const struct response_axis axis = {.low = 20, .high = RATE / 2.0, .points = 10};
    double db[10];
    struct mask *mask = make(1, 2);
    mask->coefficients[0] = 1;
    struct mask_path *own = mask->paths;
    mask->paths = paths;
    for (size_t count = 2; count <= 4; count++) {
        mask->path_count = count;
        ck_assert_int_eq(response_measure(mask, RATE, &axis, db), STATUS_OK);
        ck_assert_double_eq_tol(db[5], 10 * log10((double)count / 2), 1e-3);
    }
    mask->paths = own;
    mask->path_count = 2;
    mask->coefficients[0] = 0;
    ck_assert_int_eq(response_measure(mask, RATE, &axis, db), STATUS_OK);
    ck_assert(isinf(db[5]) && db[5] < 0);
    mask_destroy(mask);
}

/* ---- the picture ---- */

struct picture {
    char *text;
    char *lines[LINES_MOST];
    size_t count;
    double top, db_a_line; /* read from its levels */
};

static struct picture draw(const struct response_plot_settings *settings, struct mask *const *masks,
                           const char *letters, size_t count)
{
    struct picture picture = {0};
    ck_assert_int_eq(
        response_plot(settings, (const struct mask *const *)masks, letters, count, &picture.text),
        STATUS_OK);
    for (char *line = picture.text; *line && picture.count < LINES_MOST;) {
        char *end = strchr(line, '\n');
        ck_assert_ptr_nonnull(end);
        *end = '\0';
        picture.lines[picture.count++] = line;
        line = end + 1;
    }
    ck_assert_uint_eq(picture.count, settings->height);
    return picture;
}

static void read_levels(struct picture *picture)
{
    double first = 0, last = 0, level;
    size_t first_at = 0, last_at = 0, levels = 0;
    for (size_t i = 0; i < picture->count; i++)
        if (sscanf(picture->lines[i], "%lf dB", &level) == 1) {
            first = levels == 0 ? level : first;
            first_at = levels++ == 0 ? i : first_at;
            last = level;
            last_at = i;
        }
    ck_assert_uint_ge(levels, 2);
    picture->db_a_line = (first - last) / (double)(last_at - first_at);
    picture->top = first + (double)first_at * picture->db_a_line;
}

/* The character at a frequency, from the labels below. */
static size_t column_of(const struct picture *picture, const char *label)
{
    const char *below = picture->lines[picture->count - 1], *at = strstr(below, label);
    ck_assert_ptr_nonnull(at);
    return (size_t)(at - below) + strlen(label) / 2;
}

/* The first line from the top that has the letter there. */
static size_t line_of(const struct picture *picture, size_t column, char letter)
{
    size_t line = 0;
    while (line < picture->count - 2 && picture->lines[line][column] != letter)
        line++;
    return line;
}

static const struct response_plot_settings ascii = {.width = WIDTH, .height = HEIGHT, .rate = RATE};

START_TEST(curves_are_drawn_in_place)
{
    static const struct {
        const char *label;
        double hertz;
    } places[] = {{" 100 ", 100}, {" 500 ", 500}, {" 1k ", 1000},
                  {" 2k ", 2000}, {" 5k ", 5000}, {" 10k ", 10000}};
    struct mask *masks[] = {low_pass(), comb()};
    struct picture picture = draw(&ascii, masks, "LC", 2);
    read_levels(&picture);
    for (size_t i = 0; i < picture.count; i++)
        ck_assert_uint_le(strlen(picture.lines[i]), WIDTH);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        size_t column = column_of(&picture, places[i].label);
        size_t line = line_of(&picture, column, 'L');
        /* Half a character to each side, and half a line. */
        double half = pow(RATE / 2.0 / 20, 0.75 / (WIDTH - 8));
        double high = 10 * log10(low_pass_power(places[i].hertz / half)) + 0.75 * picture.db_a_line;
        double low = 10 * log10(low_pass_power(places[i].hertz * half)) - 0.75 * picture.db_a_line;
        double level = picture.top - (double)line * picture.db_a_line;
        if (line < picture.count - 2) /* or the other curve covers it */
            ck_assert_msg(low <= level && level <= high, "%s: %g dB, not %g to %g", places[i].label,
                          level, low, high);
        else
            ck_assert_double_lt(places[i].hertz, 200);
    }
    /* At 1 kHz there is a deep notch, at 2 kHz a peak of 0 dB. */
    size_t notch = line_of(&picture, column_of(&picture, " 1k "), 'C');
    size_t peak = line_of(&picture, column_of(&picture, " 2k "), 'C');
    ck_assert_double_lt(picture.top - (double)notch * picture.db_a_line, -12);
    ck_assert_double_gt(picture.top - (double)peak * picture.db_a_line, -1);
    free(picture.text);
    mask_destroy(masks[0]);
    mask_destroy(masks[1]);
}

/* Equal curves alternate in the cells, and every letter is visible: `least` times. */
static void expect_letters(const struct mask *const *masks, size_t count, bool braille,
                           size_t least)
{
    static const char letters[] = "123456789abcdefghijklmnopqrstuvw";
    struct response_plot_settings settings = ascii;
    settings.braille = braille;
    char *text;
    ck_assert_int_eq(response_plot(&settings, masks, letters, count, &text), STATUS_OK);
    *strstr(text, "Hz") = '\0';
    for (size_t i = 0; i < count; i++) {
        size_t seen = 0;
        for (char *at = text; (at = strchr(at, letters[i])) != NULL; at++)
            seen++;
        ck_assert_msg(seen >= least, "%c of %zu is there %zu times", letters[i], count, seen);
    }
    free(text);
}

START_TEST(equal_curves_are_all_visible)
{
    struct mask *masks[RESPONSE_PLOT_MASKS];
    for (size_t i = 0; i < RESPONSE_PLOT_MASKS; i++)
        masks[i] = comb();
    expect_letters((const struct mask *const *)masks, 9, false, 6);
    expect_letters((const struct mask *const *)masks, 9, true, 3);
    expect_letters((const struct mask *const *)masks, RESPONSE_PLOT_MASKS, false, 1);
    expect_letters((const struct mask *const *)masks, RESPONSE_PLOT_MASKS, true, 1);
    for (size_t i = 0; i < RESPONSE_PLOT_MASKS; i++)
        mask_destroy(masks[i]);
}

static size_t characters(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xC0) != 0x80;
    return count;
}

/* At any size and rate: levels below -100 dB are off the picture, and so is silence. */
START_TEST(pictures_keep_their_size)
{
    struct mask *masks[] = {make(1, 1), make(1, 1), make(1, 1)};
    masks[0]->coefficients[0] = 1;
    masks[1]->coefficients[0] = 1e-5F;
    for (size_t width = RESPONSE_PLOT_WIDTH_LEAST; width < 200; width += 33)
        for (size_t height = RESPONSE_PLOT_HEIGHT_LEAST; height < 60; height += 13)
            for (uint32_t rate = 8000; rate <= 192000; rate *= 2) {
                const struct response_plot_settings settings = {
                    .width = width, .height = height, .rate = rate, .braille = true};
                struct picture picture = draw(&settings, masks, "ABC", 3);
                for (size_t i = 0; i < height; i++)
                    ck_assert_uint_le(characters(picture.lines[i]), width);
                ck_assert(strchr(picture.lines[0], 'A') != NULL);
                for (size_t i = 0; i + 2 < height; i++)
                    ck_assert(strpbrk(picture.lines[i] + 7, "BC") == NULL);
                double top, bottom = 0, level;
                ck_assert_int_eq(sscanf(picture.lines[0], "%lf dB", &top), 1);
                for (size_t i = 0; i < height; i++)
                    if (sscanf(picture.lines[i], "%lf dB", &level) == 1)
                        bottom = level;
                ck_assert_double_eq(top, 0);
                ck_assert_double_ge(bottom, -80);
                free(picture.text);
            }
    for (size_t i = 0; i < 3; i++)
        mask_destroy(masks[i]);
}

START_TEST(too_small_is_refused)
{
    char *text, reported[256] = "";
    struct mask *mask = comb();
    const struct mask *const masks[] = {mask};
    struct response_plot_settings settings = ascii;
    settings.width = RESPONSE_PLOT_WIDTH_LEAST - 1;
    log_capture(reported, sizeof reported);
    ck_assert_int_eq(response_plot(&settings, masks, "A", 1, &text), STATUS_FAILED);
    log_capture(NULL, 0);
    ck_assert(strstr(reported, "30 by 8") != NULL);
    mask_destroy(mask);
}
