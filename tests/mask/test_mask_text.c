/* Texts with taps as programs, spreadsheets and editors save them. */
#include "base/decimal.h"
#include "command.h"
#include "mask_load.h"
#include "suite.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double left[] = {0.5, -0.1, 0}, right[] = {0.25, 0.2, 1};
enum { TAPS = 3 };

static void expect_both(struct mask *mask)
{
    ck_assert_uint_eq(mask->columns, 2);
    ck_assert_uint_eq(mask->taps, TAPS);
    mask_expect_taps(mask, 0, TAPS, left);
    mask_expect_taps(mask, 1, TAPS, right);
}

START_TEST(any_separator)
{
    static const char *const texts[] = {
        "0.5 0.25\n-0.1 0.2\n0 1\n",
        "0.5,0.25\n-0.1,0.2\n0,1\n",
        "0.5, 0.25\r\n-0.1, 0.2\r\n0, 1\r\n",
        "\"left\",\"right\"\n0.5,0.25\n-0.1,0.2\n0,1\n",
        "5e-1,2.5e-1\n-1e-1,2e-1\n0,1\n",
        "0.5;0.25\n-0.1;0.2\n0;1\n",
        "left;right\n0,5;0,25\n-0,1;0,2\n0;1\n",
        "Left ear\tRight ear\n0,5\t0,25\n-0,1\t0,2\n0\t1\n",
        "\"0.5\",\"0.25\"\n\"-0.1\",\"0.2\"\n\"0\",\"1\"\n",
        "\"0,5\",\"0,25\"\n\"-0,1\",\"0,2\"\n\"0\",\"1\"\n",
        "\"0,5\";0,25\n\"-0,1\";0,2\n\"0\";1\n",
        "0.5 0.25\n\xE2\x88\x92"
        "0.1\xC2\xA0"
        "0.2\n0 1\n\x1A",
        "0.5 0.25\r\n-0.1 0.2\r\n0 1\r\n\x1A\x1A\x1A\r\n",
        "% fir1(2, 0.5)\n0.5 0.25\n  // 2\n-0.1 0.2\n; end of 3\n0 1\n",
        ";0.5;0.25\n;-0.1;0.2\n;0;1\n",
        "sep=;\r\n0,5;0,25\r\n-0,1;0,2\r\n0;1\r\n",
        "SEP=,\nleft,right\n0.5,0.25\n-0.1,0.2\n0,1\n",
        ",left,right\n0,0.5,0.25\n1,-0.1,0.2\n2,0,1\n",
        "\"\",\"left\",\"right\"\n\"1\",0.5,0.25\n\"2\",-0.1,0.2\n\"3\",0,1\n",
        "0.5;0.25;\n-0.1;0.2\n0;1;;\n",
        "0,5;;0,25\n-0,1;;0,2\n0;;1\n",
        "0.5,,0.25,\n-0.1,,0.2,\n0,,1,\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        mask_save_text("a.txt", texts[i]);
        expect_both(mask_loaded("a.txt", NULL));
    }
}

/* The first lines may be read in two ways, the later not. */
START_TEST(commas_are_known_by_all_lines)
{
    mask_save_text("a.csv", "0,0\n1,0\n0.5,0.25\n");
    struct mask *mask = mask_loaded("a.csv", NULL);
    mask_expect_taps(mask, 0, 3, (double[]){0, 1, 0.5});
    mask_expect_taps(mask, 1, 3, (double[]){0, 0, 0.25});
    mask_refused("a.csv", "1,2 3,4\n0.5,0.1\n", "separate columns in one line and decimals in");
    mask_refused("a.csv", "a,b,c\n1,2\n", "line 2: 2 columns where 3 are named");
    mask_refused("a.csv", "left\nright\n1\n", "line 2: 'right' is not a number");
    mask_refused("a.csv", "1,0,0\n", "'1,0,0' is not a number (separate columns by");
    mask_refused("a.csv", "\nno mask\n", "line 2: 'no mask' is not a number");
    mask_refused("a.csv", "nan\n1\n", "line 1: 'nan' is not a number");
    mask_refused("a.csv", "1\nleft\n", "line 2: 'left' is not a number");
    mask_refused("a.csv", "Sample Rate\n48000 Hz\n1\n", "line 2: 'Hz' is not a number");
    mask_refused("a.csv", "50% of it\n", "line 1: '50%' is not a number");
    mask_refused("a.csv", "fs=48000\n1\n", "'fs=48000' is not a number (remarks begin with #)");
}

/* An empty cell shifts no other: a value would come into another channel. */
START_TEST(empty_cells)
{
    static const char *const texts[] = {
        "0.5,\n,0.25\n",       "0.5;\n;0.25\n",         "\"0.5\";\n\"\";\"0.25\"\n",
        "0,5; ;1\n0,25;1; \n", "0.5,0.1,\n-0.5,,0.2\n", "0.5,0.1\n ,0.2,0.3\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        mask_refused("a.csv", texts[i], "other cells are empty than in the lines before");
}

/* ---- encodings ---- */

static void save_utf16(const char *name, const char *text, bool is_big_endian)
{
    unsigned char bytes[2048];
    size_t size = 0, low = is_big_endian;
    const char *marked = text;
    for (bool mark = true; mark || *marked; mark = false) {
        unsigned unit = mark ? 0xFEFF : *marked == '~' ? 0x2212 : (unsigned char)*marked;
        bytes[size + low] = unit & 0xFF;
        bytes[size + 1 - low] = (unsigned char)(unit >> 8);
        size += 2;
        marked += !mark;
    }
    mask_save(name, bytes, size);
}

START_TEST(utf16)
{
    for (int big = 0; big < 2; big++) {
        save_utf16("a.txt", "0.5 0.25\r\n~0.1 0.2\r\n0 1\r\n", big);
        expect_both(mask_loaded("a.txt", NULL));
        save_utf16("a.txt", "20 -1\r\n1000 0\r\n", big);
        struct mask *mask = mask_of_spec("response:a.txt", NULL);
        ck_assert_uint_eq(mask->taps, 16384);
        save_utf16("b.txt", "Preamp: -6 dB\r\n", big);
        save_utf16("a.txt", "Include: b.txt\r\n", big);
        mask = mask_loaded("a.txt", NULL);
        mask_expect_taps(mask, 0, 1, (double[]){pow(10, -6 / 20.0)});
    }
}

/* Such a text is copied to a temporary file. */
START_TEST(utf16_needs_no_tmpdir)
{
    static const char *const folders[] = {"$PWD/nowhere", "", "$PWD"};
    save_utf16("a.txt", "1\r\n0.5\r\n", false);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        struct command_result result = command_done("TMPDIR=%s $HALO mask show a.txt", folders[i]);
        command_expect(result.out, "2 taps");
    }
}

/* A pair of surrogates, half of one, half a unit, a control character; and samples that begin so.
 */
START_TEST(what_only_begins_like_utf16)
{
    static const struct {
        const char *bytes;
        size_t size;
    } files[] = {{"\xFF\xFE"
                  "1\0\n\0x",
                  7},
                 {"\xFF\xFE"
                  "1\0\x00\xD8"
                  "1\0",
                  8},
                 {"\xFF\xFE"
                  "1\0\x00\xDC"
                  "1\0",
                  8},
                 {"\xFF\xFE"
                  "1\0\x01\0",
                  6},
                 {"1\n\x1A"
                  "2\n\x1A",
                  6}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        mask_save("a.txt", files[i].bytes, files[i].size);
        mask_spec_refused(1, "cannot read mask", "a.txt", NULL);
    }
    mask_save("a.txt",
              "\xFF\xFE"
              "#\0\x3D\xD8\x00\xDE\n\0"
              "2\0",
              12);
    struct mask *mask = mask_loaded("a.txt", NULL);
    mask_expect_taps(mask, 0, 1, (double[]){2});
    mask_save("a.raw",
              "\xFF\xFE"
              "1\0",
              4); /* as text: 1 */
    mask = mask_of_spec("a.raw,raw=S16LE,rate=48000", NULL);
    ck_assert_uint_eq(mask->taps, 2);
}

/* ---- columns that are no taps ---- */

static struct mask *ramp(const char *name, const char *header, size_t rows, double from,
                         double step, int decimals)
{
    static char text[1 << 18];
    size_t size = (size_t)snprintf(text, sizeof text, "%s", header);
    for (size_t i = 0; i < rows; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%.*f %.6f\n", decimals,
                                 from + (double)i * step, exp(-(double)i / 20));
    mask_save_text(name, text);
    return mask_loaded(name, NULL);
}

START_TEST(times_and_counts_are_left_out)
{
    static const struct {
        size_t rows;
        double from, step;
        int decimals;
        uint32_t rate;
    } cases[] = {
        {3, 0, 1, 0, 0},
        {3, 1, 1, 0, 0},
        {4096, 0, 1, 0, 0},
        {4096, 0, 1 / 48000.0, 6, 48000},
        {64, 0, 1 / 44100.0, 9, 44100},
        {5, 0, 1 / 96000.0, 9, 96000},
        {4096, -0.01, 1 / 48000.0, 8, 48000},
        {4096, 0, 1 / 44.1, 5, 44100}, /* milliseconds */
        {3, 0, 1e-5, 6, 0},
        {100, 0, 0.01, 3, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mask *mask = ramp("a.txt", i % 2 ? "t h\n" : "", cases[i].rows, cases[i].from,
                                 cases[i].step, cases[i].decimals);
        ck_assert_uint_eq(mask->columns, 1);
        ck_assert_uint_eq(mask->taps, cases[i].rows);
        ck_assert_uint_eq(mask->rate, cases[i].rate);
        ck_assert_double_eq(mask->coefficients[0], 1);
        mask = ramp("a.mask", "", cases[i].rows, cases[i].from, cases[i].step, cases[i].decimals);
        ck_assert_uint_eq(mask->columns, 2);
        ck_assert_uint_eq(mask->rate, 0);
    }
    (void)ramp("a.txt", "rate: 48000\n", 64, 0, 1 / 48000.0, 9);
    mask_refused("a.txt", "rate: 44100\n0 1\n0.00002083333 1\n0.0000416667 1\n0.0000625 1\n",
                 "its rate is 44100 Hz, but its times are of 48000");
}

static struct mask *counted_integers(void)
{
    char text[1024];
    size_t size = 0;
    for (int i = 0; i < 25; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%d %d\n", i, 30000 - i * 1000);
    mask_save_text("a.txt", text);
    return mask_loaded("a.txt", NULL);
}

START_TEST(an_index_may_come_first)
{
    static const char *const texts[] = {
        "n,t,left,right\n0,0,.5,.25\n1,.00002083,-.1,.2\n2,.00004167,0,1\n3,.0000625,0,0\n",
        "0 .5 .25\n1 -.1 .2\n2 0 1\n3 0 0\n",
        "0 1 .5 .25\n1 2 -.1 .2\n2 3 0 1\n3 4 0 0\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        mask_save_text("a.csv", texts[i]);
        struct mask *mask = mask_loaded("a.csv", NULL);
        ck_assert_uint_eq(mask->columns, 2);
        ck_assert_uint_eq(mask->rate, i == 0 ? 48000 : 0);
        mask_expect_taps(mask, 0, TAPS, left);
        mask_expect_taps(mask, 1, TAPS, right);
    }
    mask_refused("a.csv", ",frequency,raw\n0,20,-3\n1,1000,0\n2,20000,-2\n",
                 "it holds a frequency response, not taps");
}

/* Few even steps are like those of taps. */
START_TEST(short_ramps_are_taps)
{
    struct mask *mask = ramp("a.txt", "", 8, 0.125, 0.125, 3);
    ck_assert_uint_eq(mask->columns, 2);
    mask = ramp("a.txt", "", 3, 0, 0.5, 1);
    ck_assert_uint_eq(mask->columns, 2);
    /* Counted hertz, with levels that no taps have. */
    mask_refused("a.txt",
                 "0 80\n1 81\n2 82\n3 80\n4 80\n5 79\n6 78\n7 78\n8 78\n9 78\n10 79\n11 78\n"
                 "12 80\n13 81\n14 82\n15 80\n16 80\n17 79\n18 78\n19 78\n20 78\n21 78\n",
                 "it holds a frequency response, not taps");
}

/* In order, or over two octaves, without negative or equal ones, as frequencies are. */
START_TEST(integer_taps_are_no_frequencies)
{
    static const char *const texts[] = {
        "32767 16384\n16384 8192\n8192 4096\n4096 2048\n2048 1024\n",
        "100 1000\n3000 30000\n200 2000\n",
        "120 120\n80 80\n40 40\n20 20\n",
        "1000 500\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        mask_save_text("a.txt", texts[i]);
        struct mask *mask = mask_loaded("a.txt", NULL);
        ck_assert_uint_eq(mask->columns, 2);
    }
    struct mask *mask = counted_integers();
    ck_assert_uint_eq(mask->columns, 1);
    ck_assert_double_eq(mask->coefficients[0], 30000);
    /* Levels, of which one says that there is none. */
    mask_refused("a.txt", "20 -999\n30 1\n40 2\n50 3\n60 2\n70 1\n80 1\n90 0\n100 0\n200 0\n",
                 "taps that look like one are read from a file named .mask");
    mask_refused("a.txt", "20 412.5\n80 577\n1000 318.3\n",
                 "it holds a frequency response"); /* ohms */
}

START_TEST(what_was_taken_is_said)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"0 1\n1 0.5\n2 0.25\n",
         "a.txt: its first column counts and is left out; in a file named "},
        {"0 1\n1e-5 1\n2e-5 1\n", "first column rises evenly, as times do, and is left out"},
        {"0 1\n.00002083333 1\n.0000416667 1\n.0000625 1\n",
         "its first column holds times of 48000 Hz and is left out"},
        {"left,right\n.5,1\n", "a line is taken as the names of its columns: left,right"},
        {"h\n.5\n", "a line is taken as the name of its column: h"},
        {"0,0\n0,1\n", "its commas are read as decimal marks"},
        {"0,000062\n0,014937\n", "its commas are read as decimal marks"},
        {"16384,16384\n32767,32767\n", "its commas are read as decimal marks"},
        {"100 400 600 400 100\n", "its only line is one tap of each of 5 channels; taps of one"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mask_save_text("a.txt", cases[i].text);
        command_expect(mask_said("a.txt", NULL), cases[i].expected);
    }
}

/* ---- numbers ---- */

static uint64_t below(uint64_t *seed, uint64_t most)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*seed >> 33) % most;
}

/* Digits with a point somewhere and an exponent at times, also too many of each. */
static void write_number(char text[64], uint64_t *seed)
{
    char *at = text;
    uint64_t digits = 1 + below(seed, below(seed, 8) ? 19 : 30), point = below(seed, 24);
    if (below(seed, 2))
        *at++ = below(seed, 2) ? '-' : '+';
    for (uint64_t i = 0; i < digits; i++) {
        if (i == point)
            *at++ = '.';
        *at++ = (char)('0' + (below(seed, 3) ? below(seed, 10) : 0));
    }
    if (below(seed, 3) == 0)
        at += sprintf(at, "%c%s%u", below(seed, 2) ? 'e' : 'E',
                      (const char *[]){"", "-", "+"}[below(seed, 3)],
                      (unsigned)below(seed, below(seed, 2) ? 30 : 400));
    *at = '\0';
}

START_TEST(numbers_are_those_of_strtod)
{
    static const char *const odd[] = {"1e",
                                      "1e+",
                                      "1.",
                                      ".5",
                                      "-.5e2",
                                      "0",
                                      "-0",
                                      "9007199254740993",
                                      "1e22",
                                      "1e23",
                                      "123e-22",
                                      "1e-23",
                                      "0e999",
                                      "1e99999",
                                      "9007199254740992e22",
                                      "00000000000000000000000012.5",
                                      "0.00000000000000000000000000001",
                                      "4.9e-324"};
    uint64_t seed = 11;
    char text[64];
    for (int i = 0; i < 300000; i++) {
        size_t which = (size_t)i;
        char *end, *true_end;
        double value, truth;
        if (which < sizeof odd / sizeof *odd)
            snprintf(text, sizeof text, "%s", odd[which]);
        else
            write_number(text, &seed);
        truth = strtod(text, &true_end);
        bool is_read = decimal_read(text, &end, &value);
        bool begins = isdigit((unsigned char)text[strspn(text, "+-.")]);
        ck_assert_msg(is_read == begins, "%s", text);
        ck_assert_msg(!is_read || (end == true_end && memcmp(&value, &truth, sizeof value) == 0),
                      "%s: %.17g, not %.17g", text, value, truth);
    }
}

/* Lines in another form among plain ones. */
START_TEST(lines_of_all_forms_stand_together)
{
    static const double expected[] = {0.5, 1, 0.25, 2, 0.125, 3, -0.0625, 4, 1e-3, 5};
    struct mask *mask = mask_loaded_text("# remark\n0.5 1\n  0.25\t2  \n0.125; 3.0\n\n-0.0625 4 "
                                         "# four\n1e-3\t5.\n",
                                         0, 0);
    ck_assert_uint_eq(mask->columns, 2);
    ck_assert_uint_eq(mask->taps, 5);
    for (size_t i = 0; i < 10; i++)
        ck_assert_double_eq(mask_column(mask, i % 2)[i / 2], expected[i]);
    mask_refused("w.txt", "0.5 1.5\n1.5 2\n3.5\n", "line 3: 1 columns where");
    mask_refused("w.txt", "0.5 1.5\n1.5 2\n3.5 1e50\n", "line 3");
}
