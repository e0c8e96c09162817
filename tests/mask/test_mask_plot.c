/* halo mask plot: its plots and its errors; exit 77 without gnuplot. */
#include "command.h"
#include "sound.h"
#include "suite.h"

#include <errno.h>
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
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char head[HEAD] = "", path[512];
        struct command_result result =
            command_done("\"$HALO\" mask plot \"$FILTERS/comb.txt\" -o %s", rows[r].name);
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

/* Curves, axes with units, and legends of both. */
START_TEST(svg_holds_what_it_should)
{
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

START_TEST(rooms_are_drawn)
{
    command_done("\"$HALO\" mask plot \"$FILTERS/hall.wav\" -o a.svg");
    static const char *const expected[] = {"energy over time", "decay (Schroeder)",
                                           "waterfall (dB) of hall.wav channel 2",
                                           "dB below the largest", "energy to come in dB"};
    for (size_t w = 0; w < sizeof expected / sizeof *expected; w++)
        ck_assert_msg(count_in("a.svg", expected[w]) == 1, "%s", expected[w]);
    command_done("\"$HALO\" mask plot lowpass:1000 -o b.svg");
    ck_assert_uint_eq(count_in("b.svg", "Schroeder"), 0);
    /* A long mask has time on a logarithmic axis, unless asked otherwise. */
    ck_assert_uint_ge(count_in("a.svg", ">1000<"), 1);
    command_done("\"$HALO\" mask plot \"$FILTERS/hall.wav\" --what impulse --time linear -o c.svg");
    ck_assert_uint_eq(count_in("c.svg", ">1000<"), 0);
    ck_assert_uint_ge(count_in("c.svg", ">2.5<"), 1);
}

START_TEST(limits_are_kept)
{
    command_done(
        "\"$HALO\" mask plot \"$FILTERS/hall.wav\" --what magnitude,decay --low 100 "
        "--high 1000 --from 100ms --to 200ms --range 30 --smooth 3 --width 900 --height 400 "
        "-o a.svg");
    ck_assert_uint_ge(count_in("a.svg", "width=\"900\" height=\"400\""), 1);
    ck_assert_uint_eq(count_in("a.svg", ">500<\\|>1k<"), 2);      /* Hz */
    ck_assert_uint_eq(count_in("a.svg", "> *120<\\|> *180<"), 2); /* ms */
    ck_assert_uint_eq(count_in("a.svg", ">50<\\|>2k<\\|>250<\\|>-40<"), 0);
    struct command_result result =
        command_done("LC_ALL=C \"$HALO\" mask plot \"$FILTERS/hall.wav\" --low 100 --high 1000 "
                     "--range 10 --smooth 1 --width 60 --height 12");
    ck_assert_uint_le(command_lines(result.out), 12);
    ck_assert_msg(!strstr(result.out, "2k") && strstr(result.out, "500"), "%s", result.out);
}

/* Once, in as many colours and dashes, and in text a letter for each channel. */
START_TEST(each_channel_has_a_curve)
{
    command_done("for i in $(seq 8); do printf '1 1 0.5 0.2 0.1 1 1 0.5 0.2 0.1\\n'; done >m.txt");
    command_done("\"$HALO\" mask plot m.txt -o a.svg --what impulse,step,magnitude");
    for (int c = 1; c <= 10; c++) {
        char name[32];
        snprintf(name, sizeof name, "<text>m.txt channel %d<", c);
        ck_assert_msg(count_in("a.svg", name) == 1, "%s", name);
    }
    ck_assert_uint_ge(count_in("a.svg", "stroke-dasharray"), 2);
    ck_assert_uint_eq(count_in("a.svg", "<title>m.txt</title>"), 1);
    struct command_result result = command_done("LC_ALL=C \"$HALO\" mask plot m.txt");
    ck_assert_msg(strstr(result.out, "J  m.txt channel 10"), "%s", result.out);
    ck_assert_uint_le(command_lines(result.out), 24);
    result = command_done("LC_ALL=C \"$HALO\" mask plot m.txt --what step");
    ck_assert_msg(strstr(result.out, "J###m.txt channel 10"), "%s", result.out);
}

/* Those below each other begin and end at the same place. */
START_TEST(subplots_are_aligned)
{
    command_done(
        "printf '1000\\n0\\n' >large.txt && \"$HALO\" mask plot large.txt \"$FILTERS/comb.txt\" "
        "--what impulse,step,magnitude,delay,spectrogram -o a.svg");
    /* A border is a closed path: its left and its right edge, but not those of a scale. */
    struct command_result result =
        command_done("grep -o \"d='M[0-9.]*,[0-9.]* L[0-9.]*,[0-9.]* L[0-9.]*,.*Z\" a.svg | "
                     "sed \"s/d='M\\([0-9.]*\\),[^L]*L[^L]*L\\([0-9.]*\\),.*/\\1 \\2/\" | "
                     "awk '$2 - $1 > 50' | sort -u");
    ck_assert_msg(command_lines(result.out) == 2, "%s", result.out);
}

START_TEST(subplots_are_chosen)
{
    command_done("\"$HALO\" mask plot \"$FILTERS/comb.txt\" --what step,delay -o a.svg");
    ck_assert_uint_eq(count_in("a.svg", "step response"), 1);
    ck_assert_uint_eq(count_in("a.svg", "group delay"), 1);
    ck_assert_uint_eq(count_in("a.svg", "impulse response"), 0);
    ck_assert_uint_eq(count_in("a.svg", "magnitude"), 0);
}

START_TEST(masks_of_any_kind_are_drawn)
{
    sound_text("zero.txt", "0\n0\n0\n");
    sound_text("one.txt", "1\n");
    sound_text("it's_a {mask}.txt", "1\n2\n");
    struct command_result result = command_done(
        "\"$HALO\" mask plot zero.txt one.txt \"it's_a {mask}.txt\" \"$FILTERS/quadrature.txt\" "
        "-o a.svg "
        "--what impulse,step,energy,decay,magnitude,phase,delay,spectrogram,waterfall");
    ck_assert_str_eq(result.err, "");
    ck_assert_uint_ge(count_in("a.svg", ">it.*s_a {mask}.txt<"), 1);
    result = command_done("\"$HALO\" mask plot zero.txt -o b.png");
    ck_assert_str_eq(result.err, "");
}

START_TEST(text_goes_to_the_terminal)
{
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

START_TEST(what_cannot_be_drawn_is_refused)
{
    sound_text("m.txt", "1\n");
    command_done("\"$HALO\" mask plot m.txt -o a.svg");
    command_refused(1, "a.svg", "\"$HALO\" mask plot m.txt -o a.svg");
    command_done("\"$HALO\" mask plot m.txt -f -o a.svg");
    command_refused(2, "needs MASK", "\"$HALO\" mask plot");
    command_refused(2, ".svg, .png or .pdf", "\"$HALO\" mask plot m.txt -o a.gif");
    command_refused(2, "impulse, step", "\"$HALO\" mask plot m.txt --what colour");
    command_refused(2, "32 curves",
                    "\"$HALO\" mask plot $(for i in $(seq 33); do echo m.txt; done) -o b.svg");
    command_refused(2, "-o FILE", "\"$HALO\" mask plot m.txt --what spectrogram");
    command_refused(2, "-o FILE", "\"$HALO\" mask plot m.txt --what waterfall");
    command_refused(2, "--low", "\"$HALO\" mask plot m.txt --low 300 --high 200");
    command_refused(2, "--low", "\"$HALO\" mask plot m.txt --low 30000 -o b.svg");
    command_refused(2, "--from", "\"$HALO\" mask plot m.txt --from 2 --to 1 -o b.svg");
    command_refused(2, "--height 232",
                    "\"$HALO\" mask plot m.txt --what step --height 30 -o b.svg");
    command_refused(2, "--range", "\"$HALO\" mask plot m.txt --range 5");
    command_refused(1, "nosuch", "\"$HALO\" mask plot nosuch -o b.svg");
    command_refused(1, "no/b.svg", "\"$HALO\" mask plot m.txt -o no/b.svg");
    command_refused(1, "install it", "PATH=/nowhere \"$HALO\" mask plot m.txt -o b.svg");
    /* A failing gnuplot leaves nothing behind. */
    command_done(
        "mkdir bin && printf '#!/bin/sh\\nexit 3\\n' >bin/gnuplot && chmod +x bin/gnuplot");
    command_refused(1, "gnuplot could not draw b.svg",
                    "PATH=$PWD/bin:$PATH \"$HALO\" mask plot m.txt -o b.svg");
}

/* The old file stays, and nothing else. */
static void expect_kept(const char *expected, const char *command)
{
    command_done("echo precious >old.png && echo precious >old.svg && echo precious >old.pdf");
    struct command_result result = command_run("%s", command);
    ck_assert_msg(result.code == 1 && command_lines(result.err) == 1 &&
                      strstr(result.err, expected),
                  "%s: exit code %d, %s", command, result.code, result.err);
    ck_assert_str_eq(command_files(), "bin disk old.pdf old.png old.svg");
    command_done("for file in old.*; do [ \"$(cat $file)\" = precious ] || exit 1; done");
}

static const char *const old_files[] = {"old.png", "old.svg", "old.pdf"};

START_TEST(full_disk_keeps_the_old_file)
{
    command_done("mkdir bin disk");
    if (command_run("unshare -rm mount -t tmpfs -o size=16k tmpfs disk").code != 0) {
        puts("not run: full_disk_keeps_the_old_file, for want of the right to mount");
        return; /* the limit below stands in for it */
    }
    for (size_t i = 0; i < sizeof old_files / sizeof *old_files; i++) {
        char command[512];
        snprintf(command, sizeof command,
                 "unshare -rm sh -c 'mount -t tmpfs -o size=16k tmpfs disk && cp old.* disk && "
                 "\"$HALO\" mask plot \"$FILTERS/comb.txt\" -f -o disk/%s; code=$?; "
                 "cp disk/* .; [ $(ls -A disk | wc -l) = 3 ] && exit $code'",
                 old_files[i]);
        expect_kept("No space left", command);
    }
}

START_TEST(file_size_limit_keeps_the_old_file)
{
    command_done("mkdir bin disk");
    for (size_t i = 0; i < sizeof old_files / sizeof *old_files; i++) {
        char command[512];
        static const char limited[] = "ulimit -f 2; %s(\"$HALO\" mask plot \"$FILTERS/comb.txt\" "
                                      "-f -o %s)";
        snprintf(command, sizeof command, limited, "", old_files[i]);
        expect_kept("File too large", command);
        snprintf(command, sizeof command, limited, "trap \"\" XFSZ; ", old_files[i]);
        expect_kept("File too large", command);
    }
    command_refused(1, "standard output: No space left",
                    "\"$HALO\" mask plot \"$FILTERS/comb.txt\" --what impulse >/dev/full");
}

/* A gnuplot that says all is well, and draws nothing or dies half-way. */
START_TEST(gnuplot_is_not_believed)
{
    command_done("mkdir bin disk");
    static const char *const scripts[] = {"cat >/dev/null", "cat >/dev/null; echo half; kill -9 $$",
                                          "exit 0"};
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        command_done("printf '#!/bin/sh\\n%s\\n' >bin/gnuplot && chmod +x bin/gnuplot", scripts[i]);
        expect_kept("gnuplot could not draw old.png",
                    "PATH=$PWD/bin:$PATH \"$HALO\" mask plot \"$FILTERS/comb.txt\" -f -o old.png");
    }
}

/* As a shell writes it, and as it appears in a plot. */
static const struct {
    const char *name, *seen;
} hostile_names[] = {
    {"\"'tis.txt\"", ">'tis.txt<"},
    {"\"'\"", ">'<"},
    {"\"''\"", ">''<"},
    {"\"it''s.txt\"", ">it''s.txt<"},
    {"'\"quoted\".txt'", ">\"quoted\".txt<"},
    {"'\"; system(\"touch executed\"); #'", ">\"; system(\"touch executed\"); #<"},
    {"'`touch executed`.txt'", ">`touch executed`.txt<"},
    {"'\"`touch executed`\".txt'", ">\"`touch executed`\".txt<"},
    {"'$(touch executed).txt'", ">$(touch executed).txt<"},
    {"'!touch executed.txt'", ">!touch executed.txt<"},
    {"'@HOME.txt'", ">@HOME.txt<"},
    {"'a_1^2 {Symbol b} &c <d> %s %d ~e.txt'", ">a_1^2 {Symbol b} &c <d> %s %d ~e.txt<"},
    {"'a\\nb\\101\\.txt'", ">a\\nb\\101\\.txt<"},
    {"\"$(printf 'a\\nset output\\033[1mb.txt')\"", ">a\\x0aset output\\x1b[1mb.txt<"},
    {"\"$(printf 'a\\377b.txt')\"", ">a\\xffb.txt<"},
    {"'a=1[2](3)*4.txt'", ">a=1[2](3)*4.txt<"},
    {"'gr\u00fcn.txt'", ">gr\u00fcn.txt<"},
};

START_TEST(start_up_files_change_nothing)
{
    command_done("\"$HALO\" mask plot lowpass:1000 -o one.svg");
    command_done("mkdir home; echo 'set terminal pdfcairo; exit' >home/.gnuplot; "
                 "HOME=$PWD/home \"$HALO\" mask plot lowpass:1000 -o two.svg; cmp one.svg two.svg");
}

/* A signal may interrupt each read from gnuplot, of which some are of a part of the drawing. */
START_TEST(interrupted_reads_lose_nothing)
{
    setenv("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0", true);
    command_done("\"$HALO\" mask plot lowpass:1000 -o whole.svg");
    for (int read = 1; read <= 301; read += 100)
        command_done("FAULT='read pipe: %d %d' FAULT_MARK=interrupted LD_PRELOAD=%s \"$HALO\" mask "
                     "plot lowpass:1000 -f -o a.svg && cmp a.svg whole.svg",
                     read, EINTR, FAULTS);
    command_done("test -s interrupted");
}

/* In legends, all at once, and in titles, where there is one name a plot: every third. */
START_TEST(names_are_only_text)
{
    enum { NAMES = sizeof hostile_names / sizeof *hostile_names };
    for (size_t i = 0; i < NAMES; i++)
        command_done("printf '1\n2\n' >%s", hostile_names[i].name);
    struct command_result result = command_done("\"$HALO\" mask plot * -o .a.svg --what impulse");
    ck_assert_msg(result.err[0] == '\0', "%s", result.err);
    for (size_t i = 0; i < NAMES; i++) {
        if (i % 3 == 0) {
            result = command_done("\"$HALO\" mask plot %s -f -o .b.svg --what impulse,step",
                                  hostile_names[i].name);
            ck_assert_msg(result.err[0] == '\0', "%s", result.err);
        }
        command_done("cat >.expected <<'END'\n%s\nEND\n"
                     "for file in .a.svg%s; do sed -e 's/&lt;/</g; s/&gt;/>/g' "
                     "-e 's/&quot;/\"/g' -e \"s/&apos;/'/g\" -e 's/&amp;/\\&/g' $file | "
                     "grep -qF -f .expected || exit 1; done",
                     hostile_names[i].seen, i % 3 == 0 ? " .b.svg" : "");
    }
    command_done("set -- *; [ $# = %d ]", (int)NAMES); /* nothing was executed */
}

int main(void)
{
    if (system("command -v gnuplot >/dev/null 2>&1") != 0) {
        puts("skipped: gnuplot is not installed");
        return 77;
    }
    return suite_run();
}
