/* halo mask plot: its plots and its errors; exit 77 without gnuplot. */
#include "command.h"
#include "sound.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

enum { HEAD = 8 };

/* Number of lines of a file that contains `expected`. */
static size_t count_in(const char *name, const char *expected)
{
    struct command_result result = command_run("grep -c -- '%s' %s", expected, name);
    return (size_t)strtoul(result.out, NULL, 10);
}

START_TEST(files_of_each_kind)
{
    static const struct {
        const char *name, *head;
    } rows[] = {{"a.svg", "<?xml"}, {"a.png", "\x89PNG"}, {"a.pdf", "%PDF"}};
    command_clean();
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char head[HEAD] = "", path[512];
        struct command_result result =
            command_done("\"$HALO\" mask plot \"$FILTERS/small-room.wav\" -o %s", rows[r].name);
        ck_assert_str_eq(result.err, "");
        ck_assert_str_eq(result.out, "");
        snprintf(path, sizeof path, "%s/%s", command_folder(), rows[r].name);
        FILE *file = fopen(path, "rb");
        ck_assert_ptr_nonnull(file);
        ck_assert_uint_gt(fread(head, 1, HEAD - 1, file), 4);
        fclose(file);
        ck_assert_msg(strncmp(head, rows[r].head, strlen(rows[r].head)) == 0, "%s", head);
        result = command_done("test $(stat -c %%s %s) -gt 5000", rows[r].name);
    }
    ck_assert_str_eq(command_files(), "a.pdf a.png a.svg");
}
END_TEST

/* Curves, axes with units, and legends of both. */
START_TEST(svg_holds_what_it_should)
{
    command_clean();
    command_done("\"$HALO\" mask plot \"$FILTERS/lowpass-1k.wav\" \"$FILTERS/comb.txt\" -o a.svg");
    static const char *const expected[] = {"impulse response", "step response",   "magnitude",
                                           "group delay",      "phase",           "time in ms",
                                           "frequency in Hz",  "gain in dB",      "degrees",
                                           "amplitude",        "lowpass-1k.wav<", "comb.txt<"};
    for (size_t w = 0; w < sizeof expected / sizeof *expected; w++)
        ck_assert_msg(count_in("a.svg", expected[w]) > 0, "%s", expected[w]);
    /* Two curves in five subplots, of hundreds of points. */
    ck_assert_uint_ge(count_in("a.svg", "gnuplot_plot_"), 10);
    command_done("test $(grep -c \"^\\s*L\\|[0-9] L\\|<path\" a.svg) -gt 50");
    command_done("\"$HALO\" mask plot \"$FILTERS/small-room.wav\" --what spectrogram -o s.svg");
    ck_assert_uint_ge(count_in("s.svg", "data:image/png"), 2);
    ck_assert_uint_ge(count_in("s.svg", "spectrogram of small-room.wav channel 2"), 1);
    ck_assert_str_eq(command_files(), "a.svg s.svg");
}
END_TEST

START_TEST(subplots_are_chosen)
{
    command_clean();
    command_done("\"$HALO\" mask plot \"$FILTERS/comb.txt\" --what step,delay -o a.svg");
    ck_assert_uint_eq(count_in("a.svg", "step response"), 1);
    ck_assert_uint_eq(count_in("a.svg", "group delay"), 1);
    ck_assert_uint_eq(count_in("a.svg", "impulse response"), 0);
    ck_assert_uint_eq(count_in("a.svg", "magnitude"), 0);
}
END_TEST

START_TEST(masks_of_any_kind_are_drawn)
{
    command_clean();
    sound_text("zero.txt", "0\n0\n0\n");
    sound_text("one.txt", "1\n");
    sound_text("it's_a {mask}.txt", "1\n2\n");
    struct command_result result = command_done(
        "\"$HALO\" mask plot zero.txt one.txt \"it's_a {mask}.txt\" \"$FILTERS/quadrature.txt\" "
        "-o a.svg "
        "--what impulse,step,magnitude,phase,delay,spectrogram");
    ck_assert_str_eq(result.err, "");
    ck_assert_uint_ge(count_in("a.svg", "s_a {mask}.txt"), 5);
    result = command_done("\"$HALO\" mask plot zero.txt -o b.png");
    ck_assert_str_eq(result.err, "");
}
END_TEST

START_TEST(text_goes_to_the_terminal)
{
    command_clean();
    struct command_result result = command_done(
        "LC_ALL=C \"$HALO\" mask plot \"$FILTERS/comb.txt\" \"$FILTERS/lowpass-1k.wav\"");
    ck_assert_msg(strstr(result.out, " dB") && strstr(result.out, "A  comb.txt") &&
                      strstr(result.out, "B  lowpass-1k.wav"),
                  "%s", result.out);
    ck_assert_uint_le(command_lines(result.out), 24);
    result = command_done("\"$HALO\" mask plot \"$FILTERS/comb.txt\" --what impulse,delay");
    ck_assert_msg(strstr(result.out, "impulse response") && strstr(result.out, "group delay") &&
                      strstr(result.out, "ms"),
                  "%s", result.out);
    ck_assert_str_eq(command_files(), "");
}
END_TEST

START_TEST(what_cannot_be_drawn_is_refused)
{
    command_clean();
    sound_text("m.txt", "1\n");
    command_done("\"$HALO\" mask plot m.txt -o a.svg");
    command_refused(1, "a.svg", "\"$HALO\" mask plot m.txt -o a.svg");
    command_done("\"$HALO\" mask plot m.txt -f -o a.svg");
    command_refused(2, "needs MASK", "\"$HALO\" mask plot");
    command_refused(2, ".svg, .png or .pdf", "\"$HALO\" mask plot m.txt -o a.gif");
    command_refused(2, "impulse, step", "\"$HALO\" mask plot m.txt --what colour");
    command_refused(2, "12 curves",
                    "\"$HALO\" mask plot m.txt m.txt m.txt m.txt m.txt m.txt m.txt "
                    "m.txt m.txt m.txt m.txt m.txt m.txt -o b.svg");
    command_refused(2, "-o FILE", "\"$HALO\" mask plot m.txt --what spectrogram");
    command_refused(1, "nosuch", "\"$HALO\" mask plot nosuch -o b.svg");
    command_refused(1, "no/b.svg", "\"$HALO\" mask plot m.txt -o no/b.svg");
    command_refused(1, "install it", "PATH=/nowhere \"$HALO\" mask plot m.txt -o b.svg");
    /* A failing gnuplot leaves nothing behind. */
    command_done(
        "mkdir bin && printf '#!/bin/sh\\nexit 3\\n' >bin/gnuplot && chmod +x bin/gnuplot");
    command_refused(1, "gnuplot could not draw b.svg",
                    "PATH=$PWD/bin:$PATH \"$HALO\" mask plot m.txt -o b.svg");
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {files_of_each_kind,        svg_holds_what_it_should,
                                  subplots_are_chosen,       masks_of_any_kind_are_drawn,
                                  text_goes_to_the_terminal, what_cannot_be_drawn_is_refused};
    if (system("command -v gnuplot >/dev/null 2>&1") != 0) {
        puts("skipped: gnuplot is not installed");
        return 77;
    }
    return suite_run("mask_plot", tests, sizeof tests / sizeof *tests);
}
