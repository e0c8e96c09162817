/* Two-dimensional masks: read, written, made and tested for separability; and halo mask for
 * them. */
#include "chain/stages.h"
#include "command.h"
#include "design/mask2d.h"
#include "suite.h"
#include "truth.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- text ---- */

static enum status read_bytes(const char *text, size_t size, struct mask2d **mask)
{
    FILE *stream = fmemopen((void *)text, size, "rb");
    ck_assert_ptr_nonnull(stream);
    enum status status = mask2d_read("some.mask2d", stream, mask);
    fclose(stream);
    return status;
}

static struct mask2d *read_text(const char *text)
{
    struct mask2d *mask;
    ck_assert_int_eq(read_bytes(text, strlen(text), &mask), STATUS_OK);
    return mask;
}

static void expect_taps(const char *text, size_t rows, size_t columns, const float *taps)
{
    struct mask2d *mask = read_text(text);
    ck_assert_uint_eq(mask->rows, rows);
    ck_assert_uint_eq(mask->columns, columns);
    ck_assert_mem_eq(mask->taps, taps, rows * columns * sizeof *taps);
    mask2d_destroy(mask);
}

START_TEST(text_is_read)
{
    static const float taps[] = {1, -2.5f, 0.125f, 1e3f, 0, 6};
    expect_taps("1 -2.5 0.125\n1e3 0 6\n", 2, 3, taps);
    expect_taps("1,-2.5,0.125\n1e3,0,6", 2, 3, taps);
    expect_taps("1;-2.5;0.125\r\n1e3;0;6\r\n", 2, 3, taps);
    expect_taps("# a comment\n\n 1 ,\t-2.5 ; +.125 # and one more\n\n1000 0 6\n", 2, 3, taps);
    expect_taps("\xEF\xBB\xBF"
                "1\n-2.5\n0.125\n1e3\n-0e0\n6\n",
                6, 1, (const float[]){1, -2.5f, 0.125f, 1e3f, -0.0f, 6});
}

static void expect_refused(const char *text, size_t size, const char *spec)
{
    char message[1024] = "";
    struct mask2d *mask = NULL;
    log_capture(message, sizeof message);
    enum status status = read_bytes(text, size, &mask);
    log_capture(NULL, 0);
    ck_assert_int_eq(status, STATUS_FAILED);
    ck_assert_ptr_null(mask);
    ck_assert_msg(strstr(message, "some.mask2d") && strstr(message, spec), "%s", message);
}

START_TEST(invalid_masks_are_refused)
{
    static const struct {
        const char *text, *spec;
    } rows[] = {
        {"# nothing\n\n", "holds no coefficient"},
        {"1 2\n3\n", "line 2: 1 columns where the rows before have 2"},
        {"1 2\n\n# three\n1 2 3\n", "line 4: 3 columns where the rows before have 2"},
        {"1 2\n3 nan\n", "line 2: 'nan' is not a number"},
        {"inf\n", "line 1: 'inf' is not a number"},
        {"1e39\n", "line 1: '1e39' is not a finite coefficient"},
        {"1 two 3\n", "line 1: 'two' is not a number"},
        {"1 2x 3\n", "line 1: '2x' is not a number"},
        {"1,,2\n", "line 1: a number is missing after a separator"},
        {"1,2,\n", "line 1: a number is missing after a separator"},
        {",1\n", "line 1: '' is not a number"},
        {"rate: 48000\n1\n", "line 1: 'rate:' is not a number"},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        expect_refused(rows[r].text, strlen(rows[r].text), rows[r].spec);
    expect_refused("\x01\x02\x03", 3, "it is not text");
    expect_refused("1 2\n3 \0 4\n", 10, "text");
}

/* As many as fit are accepted, one more is not. */
START_TEST(size_is_bounded)
{
    enum { ROWS = 128 };
    char *text = malloc((size_t)ROWS * ROWS * 2 + 3), *to = text;
    for (size_t r = 0; r < ROWS; r++)
        for (size_t c = 0; c < ROWS; c++) {
            *to++ = '1';
            *to++ = c + 1 < ROWS ? ' ' : '\n';
        }
    *to = '\0';
    struct mask2d *mask = read_text(text);
    ck_assert_uint_eq(mask->rows * mask->columns, MASK2D_TAPS_MOST);
    mask2d_destroy(mask);
    strcpy(to, "1\n");
    expect_refused(text, strlen(text), "line 129: more than 16384 coefficients (64 KB)");
    free(text);
    char message[512] = "";
    log_capture(message, sizeof message);
    ck_assert_int_eq(mask2d_check_size("a", 4, SIZE_MAX / 2), STATUS_FAILED);
    ck_assert_int_eq(mask2d_check_size("a", 0, 1), STATUS_FAILED);
    log_capture(NULL, 0);
}

static void expect_written_back(const struct mask2d *mask)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    mask2d_write(mask, stream);
    fclose(stream);
    expect_taps(text, mask->rows, mask->columns, mask->taps);
    free(text);
}

START_TEST(written_masks_are_read_back)
{
    static const size_t sizes[][2] = {{1, 1}, {3, 5}, {128, 128}, {1, 16384}, {16384, 1}};
    float *taps = malloc(MASK2D_TAPS_MOST * sizeof *taps);
    truth_noise(1, taps, MASK2D_TAPS_MOST);
    for (size_t i = 0; i < 100; i++)
        taps[i] *= -1e-38f; /* the longest number */
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct mask2d *mask;
        ck_assert_int_eq(mask2d_create("noise", sizes[s][0], sizes[s][1], taps, &mask), STATUS_OK);
        expect_written_back(mask);
        mask2d_destroy(mask);
    }
    free(taps);
}

/* ---- separability ---- */

static bool is_separable(size_t rows, size_t columns, const float *taps)
{
    struct mask2d *mask;
    ck_assert_int_eq(mask2d_create("a", rows, columns, taps, &mask), STATUS_OK);
    bool separable = mask->is_separable;
    ck_assert_int_eq(separable, mask->down && mask->across);
    for (size_t i = 0; separable && i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            ck_assert_float_eq_tol(mask->down[i] * mask->across[j], taps[i * columns + j],
                                   1e-6f * fabsf(taps[i * columns + j]) + 1e-30f);
    mask2d_destroy(mask);
    return separable;
}

START_TEST(separable_masks_are_recognised)
{
    enum { ROWS = 9, COLUMNS = 14 };
    float down[ROWS], across[COLUMNS], taps[ROWS * COLUMNS];
    for (uint64_t seed = 1; seed < 50; seed++) {
        truth_noise(seed, down, ROWS);
        truth_noise(seed + 100, across, COLUMNS);
        across[3] = 0; /* a column of zeros */
        for (size_t i = 0; i < ROWS; i++)
            for (size_t j = 0; j < COLUMNS; j++)
                taps[i * COLUMNS + j] = down[i] * across[j];
        ck_assert(is_separable(ROWS, COLUMNS, taps));
        taps[seed % (ROWS * COLUMNS)] += 0.001f; /* one coefficient differs */
        ck_assert(!is_separable(ROWS, COLUMNS, taps));
    }
    ck_assert(is_separable(2, 2, (const float[]){0, 0, 0, 0}));
    ck_assert(is_separable(1, 3, (const float[]){3e38f, -1, 1e-38f}));
    ck_assert(is_separable(2, 2, (const float[]){1e38f, 2e38f, -1e38f, -2e38f}));
    ck_assert(!is_separable(2, 2, (const float[]){1, 0, 0, 1}));
    ck_assert(!is_separable(3, 3, (const float[]){0, -1, 0, -1, 5, -1, 0, -1, 0}));
    /* Seven digits are fewer than a float has. */
    ck_assert(!is_separable(2, 2, (const float[]){1, 0.3333333f, 0.3333333f, 0.1111f}));
}

/* ---- made masks ---- */

static enum status make(const char *text, struct mask2d **mask)
{
    char **spec = spec_split(text);
    enum status status = mask2d_from_spec(spec, mask);
    free(spec);
    return status;
}

static struct mask2d *made(const char *text)
{
    struct mask2d *mask;
    ck_assert_int_eq(make(text, &mask), STATUS_OK);
    return mask;
}

static double sum_of(const struct mask2d *mask)
{
    double sum = 0;
    for (size_t i = 0; i < mask->rows * mask->columns; i++)
        sum += (double)mask->taps[i];
    return sum;
}

START_TEST(made_masks_follow_their_formulas)
{
    static const struct {
        const char *text;
        size_t rows, columns;
        double sum;
        bool is_separable;
    } rows[] = {
        {"identity2d", 1, 1, 1, true},
        {"box2d:3x5", 3, 5, 1, true},
        {"box2d:4", 4, 4, 1, true},
        {"gaussian2d:7x7,sigma=1.5", 7, 7, 1, true},
        {"gaussian2d:8x3", 8, 3, 1, true},
        {"sharpen2d:3x3,amount=2", 3, 3, 1, false},
        {"onset2d:5x3", 5, 3, 0, true},
        {"harmonic2d:9x9", 9, 9, 0, true},
        {"gaussian2d:128x128", 128, 128, 1, true},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct mask2d *mask = made(rows[r].text);
        ck_assert_str_eq(mask->name, rows[r].text);
        ck_assert_uint_eq(mask->rows, rows[r].rows);
        ck_assert_uint_eq(mask->columns, rows[r].columns);
        ck_assert_int_eq(mask->is_separable, rows[r].is_separable);
        ck_assert_double_eq_tol(sum_of(mask), rows[r].sum, 1e-6);
        mask2d_destroy(mask);
    }
    struct mask2d *bell = made("gaussian2d:7x5,sigma=1.5");
    for (size_t i = 0; i < 7; i++) /* each is e^(-d^2 / 2 sigma^2) times the middle */
        for (size_t j = 0; j < 5; j++) {
            double x = (double)i - 3, y = (double)j - 2;
            ck_assert_double_eq_tol((double)bell->taps[i * 5 + j] / (double)bell->taps[3 * 5 + 2],
                                    exp(-(x * x + y * y) / 4.5), 1e-6);
        }
    mask2d_destroy(bell);
    struct mask2d *onset = made("onset2d:3x3"); /* Prewitt's: a mean on either side */
    for (size_t i = 0; i < 9; i++)
        ck_assert_float_eq_tol(onset->taps[i], (1 - (float)(i / 3)) / 3, 1e-7f);
    mask2d_destroy(onset);
}

START_TEST(impossible_made_masks_are_refused)
{
    static const struct {
        const char *text, *spec;
    } rows[] = {
        {"box2d", "box2d needs a value, such as box2d:3x3"},
        {"box2d:", "needs a value"},
        {"box2d:0x3", "the size is rows x columns"},
        {"box2d:3x", "the size is rows x columns"},
        {"box2d:-3x3", "the size is rows x columns"},
        {"box2d:3x3x3", "the size is rows x columns"},
        {"box2d:129x128", "129 x 128 coefficients are more than 16384 (64 KB)"},
        {"box2d:99999999999999999999x2", "more than"},
        {"gaussian2d:3x3,sigma=0", "sigma= must be from"},
        {"gaussian2d:3x3,sigma=x", "sigma= must be from"},
        {"sharpen2d:3x4", "must be odd, not 3 x 4"},
        {"onset2d:1x3", "3 rows at least"},
        {"harmonic2d:3x1", "3 columns at least"},
        {"identity2d:2", "takes no value '2'"},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char message[1024] = "";
        struct mask2d *mask = NULL;
        log_capture(message, sizeof message);
        enum status status = make(rows[r].text, &mask);
        log_capture(NULL, 0);
        ck_assert_int_ne(status, STATUS_OK);
        ck_assert_msg(strstr(message, rows[r].spec) != NULL, "%s: %s", rows[r].text, message);
    }
    ck_assert(mask2d_is_named("box2d:3x3"));
    ck_assert(mask2d_is_named("a/b.mask2d"));
    ck_assert(!mask2d_is_named("a.txt"));
    ck_assert(!mask2d_is_named("box2:3"));
    ck_assert(!mask2d_is_named(".mask2d")); /* no name before the suffix */
}

/* The recipe and the program use separate code. */
START_TEST(filters_equal_made_masks)
{
    static const char *const rows[][2] = {
        {"identity", "identity2d"},
        {"box-3x3", "box2d:3x3"},
        {"box-5x5", "box2d:5x5"},
        {"gaussian-7x7", "gaussian2d:7x7,sigma=1.5"},
        {"sharpen", "sharpen2d:3x3"},
        {"along-time", "box2d:17x1"},
        {"onset-edge", "onset2d:5x5"},
        {"along-frequency", "box2d:1x17"},
        {"harmonic-edge", "harmonic2d:9x9"},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s.mask2d", getenv("FILTERS"), rows[r][0]);
        struct mask2d *file, *spec = made(rows[r][1]);
        ck_assert_int_eq(mask2d_load(path, &file), STATUS_OK);
        ck_assert_uint_eq(file->rows, spec->rows);
        ck_assert_uint_eq(file->columns, spec->columns);
        for (size_t i = 0; i < file->rows * file->columns; i++)
            ck_assert_float_eq_tol(file->taps[i], spec->taps[i], 1e-7f);
        mask2d_destroy(file);
        mask2d_destroy(spec);
    }
}

/* ---- commands ---- */

START_TEST(mask_make_writes_them)
{
    struct command_result result =
        command_done("\"$HALO\" mask make gaussian2d:7x7,sigma=1.5 -o g.mask2d");
    command_expect(result.err, "g.mask2d: 7 rows of time x 7 columns of frequency, separable");
    command_done("grep -v '^#' g.mask2d >a; grep -v '^#' \"$FILTERS/gaussian-7x7.mask2d\" >b; "
                 "cmp a b; rm a b");
    command_done("grep -q 'origin at row 3, column 3' g.mask2d");
    result = command_run("\"$HALO\" mask make box2d:3x3 -o g.mask2d");
    ck_assert_int_eq(result.code, 1);
    command_done("\"$HALO\" mask make box2d:3x3 -o g.mask2d --force");
    command_clean();
    command_refused(2, "--format sets a sample format",
                    "\"$HALO\" mask make box2d:3x3 -o a.mask2d --format pcm16");
    command_refused(2, "y.wav must end with .mask2d or .txt",
                    "\"$HALO\" mask make box2d:3x3 -o y.wav");
    command_refused(2, "y must end with .mask2d or .txt", "\"$HALO\" mask make box2d:3x3 -o y");
    command_refused(2, "'x=1' is not an option", "\"$HALO\" mask make box2d:3x3,x=1 -o a.mask2d");
    command_refused(2, "is not a kind of mask", "\"$HALO\" mask make a.mask2d -o b.mask2d");
}

START_TEST(mask_show_describes_them)
{
    struct command_result result =
        command_done("\"$HALO\" mask show \"$FILTERS/onset-edge.mask2d\" sharpen2d:3x3");
    static const char *const spec[] = {
        "5 rows of time x 5 columns of frequency, origin at row 2, column 2",
        "2 ahead and 2 back in time",
        "0 (nothing)",
        "2 (6.0 dB)",
        "yes: 5 + 5 products for 25",
        "1 (0.0 dB)",
        "2.77778 (8.9 dB)",
        "separable          no",
    };
    for (size_t w = 0; w < sizeof spec / sizeof *spec; w++)
        command_expect(result.out, spec[w]);
    result = command_done("\"$HALO\" mask show \"$FILTERS/hall.wav\" box2d:3x5 --json");
    json_t *root = command_json(result.out);
    json_t *mask = json_array_get(json_object_get(root, "masks"), 1);
    ck_assert_int_eq(json_integer_value(json_object_get(mask, "rows")), 3);
    ck_assert_int_eq(json_integer_value(json_object_get(mask, "columns")), 5);
    ck_assert(json_is_true(json_object_get(mask, "separable")));
    ck_assert_double_eq_tol(json_real_value(json_object_get(mask, "sum")), 1, 1e-6);
    command_refused(1, "cannot open mask no.mask2d: No such file", "\"$HALO\" mask show no.mask2d");
    command_done("printf '1 2\\n3\\n' >r.mask2d");
    result = command_run("\"$HALO\" mask show r.mask2d");
    command_expect(result.err, "cannot read mask r.mask2d: line 2: 1 columns");
}

START_TEST(mask_plot_draws_them)
{
    struct command_result result = command_done("\"$HALO\" mask plot onset2d:3x3");
    command_expect(result.out, "onset2d:3x3\n @  -@\n @  -@\n @  -@\ntime to the right");
    result = command_done("\"$HALO\" mask plot gaussian2d:100x100");
    ck_assert_uint_lt(command_lines(result.out), 25);
    command_refused(2, "drawn separately", "\"$HALO\" mask plot box2d:3x3 lowpass:1000");
    command_refused(2, "without --what", "\"$HALO\" mask plot box2d:3x3 --what phase");
    if (system("command -v gnuplot >/dev/null 2>&1") != 0)
        return;
    command_done("\"$HALO\" mask plot onset2d:3x3 box2d:1x1 -o a.svg");
    static const char *const spec[] = {"<?xml", "onset2d:3x3", "box2d:1x1", "rows of time"};
    for (size_t w = 0; w < sizeof spec / sizeof *spec; w++)
        command_done("grep -qF -- '%s' a.svg", spec[w]);
}

START_TEST(they_are_refused_as_masks_of_one_dimension)
{
    command_refused(2, "is a two-dimensional mask: use --spectral",
                    "\"$HALO\" render \"$WAV/click.wav\" x.wav --mask box2d:3x3");
    command_refused(2, "is a two-dimensional mask: use --spectral",
                    "\"$HALO\" render \"$WAV/click.wav\" x.wav --mask "
                    "\"$FILTERS/identity.mask2d\"");
}
