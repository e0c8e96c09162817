/* halo spectrogram: its gnuplot input, files, text on and off terminals, sounds of all kinds,
 * and errors; exit 77 without gnuplot. */
#include "command.h"
#include "sound.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RATE = 48000 };

static void add_sine(struct sound *sound, size_t channel, double hz, double amplitude)
{
    for (size_t i = 0; i < sound->block.frames; i++)
        sound->block.data[channel][i] +=
            (float)(amplitude * sin(2 * M_PI * hz * (double)i / sound->rate));
}

static void save_sine(const char *name, double seconds, double hz, double amplitude)
{
    struct sound sound =
        sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, 1, (size_t)(seconds * RATE));
    add_sine(&sound, 0, hz, amplitude);
    sound_save(&sound, name);
}

/* One frame of full scale in silence. */
static void save_click(const char *name, size_t frames, size_t at)
{
    struct sound sound = sound_create(SF_FORMAT_WAV | SF_FORMAT_PCM_16, RATE, 1, frames);
    sound.block.data[0][at] = 1;
    sound_save(&sound, name);
}

static const json_t *sound_of(const json_t *root, size_t index)
{
    return json_array_get(json_object_get(root, "sounds"), index);
}

START_TEST(the_report_is_complete)
{
    save_sine("tone.wav", 1.5, 1000, 0.1);
    save_click("click.wav", RATE, 30000);
    struct command_result result =
        command_done("\"$HALO\" spectrogram tone.wav click.wav --json --range 80 --hop 256");
    json_t *root = command_json(result.out);
    ck_assert_str_eq(json_string_value(json_object_get(root, "frequency")), "log");
    ck_assert_double_eq(command_json_number(root, "to_seconds"), 1.5);
    ck_assert_double_eq(
        command_json_number(root, "top_db") - command_json_number(root, "bottom_db"), 80);
    ck_assert_double_eq(command_json_number(root, "high_hz"), 24000);
    const json_t *tone = sound_of(root, 0), *click = sound_of(root, 1);
    const json_t *loudest = json_object_get(tone, "loudest");
    ck_assert_double_eq_tol(command_json_number(loudest, "db"), -20, 0.15);
    ck_assert_double_eq_tol(command_json_number(loudest, "hz"), 1000, 20);
    ck_assert_double_eq(command_json_number(tone, "frames"), 1.5 * RATE);
    ck_assert_double_eq(command_json_number(click, "size"), 2048);
    ck_assert_double_eq(command_json_number(click, "hop"), 256);
    double step = command_json_number(click, "column_seconds");
    ck_assert_double_eq_tol(command_json_number(json_object_get(click, "loudest"), "seconds"),
                            30000.0 / RATE, step);
    ck_assert_str_eq(command_files(), "click.wav tone.wav");
}

/* ---- gnuplot's input ---- */

struct seen {
    size_t columns, rows;
    double x, y, dx, dy; /* the middle of the first point, and on */
    double left, right, bottom, top;
    float *db;
};

/* In place of gnuplot: saves its input, and draws something. */
static void make_false_gnuplot(void)
{
    command_done("mkdir -p bin && printf '#!/bin/sh\\ncat >script; echo drawn\\n' >bin/gnuplot && "
                 "chmod +x bin/gnuplot");
}

static const char *last_before(const char *from, const char *end, const char *expected)
{
    const char *found = NULL, *at = from;
    while ((at = memmem(at, (size_t)(end - at), expected, strlen(expected))))
        found = at++;
    ck_assert_msg(found != NULL, "no %s", expected);
    return found;
}

/* The `index`th picture in gnuplot's input. */
static struct seen read_picture(size_t index)
{
    static char reported[1 << 23];
    struct seen seen;
    char path[256];
    snprintf(path, sizeof path, "%s/script", command_folder());
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    size_t length = fread(reported, 1, sizeof reported - 1, file);
    fclose(file);
    const char *at = reported, *end = reported + length;
    for (size_t i = 0;; i++) {
        const char *plot = memmem(at, (size_t)(end - at), "plot '-' binary", 15);
        ck_assert_msg(plot != NULL, "no picture %zu", index);
        ck_assert_int_eq(sscanf(plot,
                                "plot '-' binary array=(%zu,%zu) format='%%float' "
                                "origin=(%lf,%lf) dx=%lf dy=%lf with image",
                                &seen.columns, &seen.rows, &seen.x, &seen.y, &seen.dx, &seen.dy),
                         6);
        const char *line = memchr(plot, '\n', (size_t)(end - plot)), *data = line + 1;
        size_t bytes = seen.columns * seen.rows * sizeof *seen.db;
        ck_assert_uint_le(bytes, (size_t)(end - data));
        if (i < index) {
            at = data + bytes;
            continue;
        }
        sscanf(last_before(at, plot, "set xrange ["), "set xrange [%lf:%lf]", &seen.left,
               &seen.right);
        sscanf(last_before(at, plot, "set cbrange ["), "set cbrange [%lf:%lf]", &seen.bottom,
               &seen.top);
        seen.db = malloc(bytes);
        memcpy(seen.db, data, bytes);
        return seen;
    }
}

static double value_at(const struct seen *seen, double x, double y)
{
    size_t column = (size_t)lrint((x - seen->x) / seen->dx);
    size_t row = (size_t)lrint((y - seen->y) / seen->dy);
    ck_assert(column < seen->columns && row < seen->rows);
    return (double)seen->db[row * seen->columns + column];
}

START_TEST(gnuplot_gets_the_right_picture)
{
    make_false_gnuplot();
    save_sine("tone.wav", 2, 1000, 0.1);
    save_click("click.wav", RATE, 24000);
    command_done("PATH=$PWD/bin:$PATH \"$HALO\" spectrogram tone.wav click.wav -f "
                 "-o a.png");
    struct seen tone = read_picture(0), click = read_picture(1);
    ck_assert_double_eq_tol(value_at(&tone, 1, log10(1000)), -20, 0.15);
    ck_assert_double_eq(value_at(&tone, 1, log10(4000)), tone.bottom);
    ck_assert_double_eq(value_at(&click, 0.25, log10(4000)), click.bottom);
    ck_assert_double_gt(value_at(&click, 0.5, log10(4000)), -65);
    ck_assert_double_gt(value_at(&click, 0.5, log10(100)), -65);
    ck_assert(tone.top == click.top && tone.bottom == click.bottom);
    ck_assert(tone.left == 0 && click.left == 0 && tone.right == 2 && click.right == 2);
    free(tone.db);
    free(click.db);
    command_done("PATH=$PWD/bin:$PATH \"$HALO\" spectrogram tone.wav click.wav "
                 "--frequency linear --from 0.4 --to 0.6 -f -o a.png");
    tone = read_picture(0), click = read_picture(1);
    ck_assert_double_eq_tol(value_at(&tone, 0.5, 1000), -20, 0.15);
    ck_assert_double_gt(value_at(&click, 0.5, 20000), -65);
    ck_assert_double_eq_tol(tone.left, 0.4, 1e-9);
    ck_assert_double_eq_tol(tone.right, 0.6, 1e-9);
    free(tone.db);
    free(click.db);
}

/* ---- files ---- */

static size_t count_in(const char *name, const char *expected)
{
    struct command_result result = command_run("grep -o -- '%s' %s | wc -l", expected, name);
    return (size_t)strtoul(result.out, NULL, 10);
}

START_TEST(files_hold_what_they_should)
{
    struct command_result result =
        command_done("\"$HALO\" spectrogram \"$WAV/voice.wav\" \"$WAV/drums.wav\" -o a.svg && "
                     "\"$HALO\" spectrogram \"$WAV/click.wav\" -o b.png && "
                     "\"$HALO\" spectrogram \"$WAV/click.wav\" --frequency linear -o c.pdf");
    ck_assert_str_eq(result.out, "");
    ck_assert_str_eq(result.err, "");
    ck_assert_str_eq(command_files(), "a.svg b.png c.pdf");
    ck_assert_uint_eq(count_in("a.svg", "data:image/png"), 2);
    ck_assert_uint_eq(count_in("a.svg", "voice.wav<"), 1);
    ck_assert_uint_eq(count_in("a.svg", "drums.wav<"), 1);
    ck_assert_uint_eq(count_in("a.svg", "time in s<"), 2);
    ck_assert_uint_eq(count_in("a.svg", "frequency in Hz<"), 1); /* for both */
    ck_assert_uint_eq(count_in("a.svg", "dBFS<"), 1);
    ck_assert_uint_eq(count_in("a.svg", ">10k<"), 1);
    /* IHDR's width and height. */
    result = command_done("\"$HALO\" spectrogram \"$WAV/click.wav\" -f -o b.png --width 640 "
                          "--height 320 && od -An -tu1 -j16 -N8 b.png");
    ck_assert_msg(strstr(result.out, "0   0   2 128   0   0   1  64"), "%s", result.out);
}

START_TEST(odd_sounds_are_drawn)
{
    save_click("it's {one}.wav", 1, 0);
    sound_sparse("silent.wav", RATE, 2, RATE);
    struct sound fast = sound_create(SF_FORMAT_WAV | SF_FORMAT_PCM_16, 192000, 3, 5000);
    struct sound slow = sound_create(SF_FORMAT_WAV | SF_FORMAT_PCM_16, 100, 1, 50);
    sound_save(&fast, "fast.wav");
    sound_save(&slow, "slow.wav");
    struct command_result result =
        command_done("\"$HALO\" spectrogram \"it's {one}.wav\" silent.wav fast.wav slow.wav "
                     "-o a.svg 2>err; grep -v 'is silent' err; test -s a.svg");
    ck_assert_str_eq(result.out, "");
    ck_assert_uint_eq(count_in("a.svg", "s {one}.wav"), 1);
    result = command_done("\"$HALO\" spectrogram silent.wav --json");
    ck_assert_str_eq(result.err, "halo: silent.wav is silent\n");
    json_t *root = command_json(result.out);
    ck_assert(json_is_null(json_object_get(sound_of(root, 0), "loudest")));
    ck_assert_double_eq(command_json_number(root, "top_db"), 0);
    for (int i = 0; i < 2; i++)
        command_done("\"$HALO\" spectrogram %s -o %d.png", i ? "slow.wav" : "silent.wav", i);
}

/* A stream's length is unknown, and it does not seek. */
START_TEST(streams_are_drawn_as_files)
{
    struct command_result file = command_done(
        "\"$HALO\" spectrogram \"$WAV/voice.wav\" --from 0.5 --to 2.5 --width 70 --height 20");
    struct command_result stream = command_done(
        "cat \"$WAV/voice.wav\" | \"$HALO\" spectrogram - --from 0.5 --to 2.5 --width 70 "
        "--height 20");
    ck_assert(strstr(file.out, "voice.wav") && strstr(stream.out, "standard input"));
    ck_assert_str_eq(strchr(file.out, '\n'), strchr(stream.out, '\n'));
}

START_TEST(long_sounds_use_little_memory)
{
    sound_sparse("short.wav", 8000, 1, 8000);
    sound_sparse("long.wav", 8000, 1, 8000 * 900);
    long little = command_memory("\"$HALO\" spectrogram short.wav -o a.png");
    long much = command_memory("\"$HALO\" spectrogram long.wav -o b.png");
    ck_assert_msg(much < little + 10240, /* the sound has 14,063 */
                  "%ld KiB after %ld", much, little);
}

/* ---- text ---- */

START_TEST(plain_text_where_there_is_no_terminal)
{
    save_sine("tone.wav", 2, 1000, 1);
    struct command_result result = command_done(
        "COLORTERM=truecolor TERM=xterm-256color \"$HALO\" spectrogram tone.wav --width 60 "
        "--height 24");
    ck_assert_msg(!strchr(result.out, '\033'), "%s", result.out);
    ck_assert_uint_eq(command_lines(result.out), 23);
    char *line = strstr(result.out, "   1k ");
    ck_assert_ptr_nonnull(line);
    ck_assert_uint_eq(strspn(line + 6, "@"), 54);
    ck_assert_ptr_nonnull(strstr(result.out, "-90 dBFS  .:-=+*#%@ 0 dBFS"));
    ck_assert_ptr_nonnull(strstr(result.out, "0 s "));
    /* Three in 60 characters do not fit side by side. */
    result = command_done("\"$HALO\" spectrogram tone.wav \"$WAV/click.wav\" \"$WAV/voice.wav\" "
                          "--width 60 --height 24");
    ck_assert(strstr(result.out, "      tone.wav ") && strstr(result.out, "\n      voice.wav "));
    ck_assert_uint_le(command_lines(result.out), 24);
}

static struct command_result in_terminal(const char *environment)
{
    return command_done("env -u COLORTERM -u NO_COLOR LC_ALL=C.UTF-8 %s script -qec "
                        "'stty cols 40 rows 10; \"$HALO\" spectrogram tone.wav' /dev/null",
                        environment);
}

START_TEST(colours_where_the_terminal_has_them)
{
    save_sine("tone.wav", 2, 1000, 1);
    struct command_result result = in_terminal("TERM=xterm COLORTERM=truecolor");
    ck_assert_ptr_nonnull(strstr(result.out, "\033[48;2;68;1;84m"));    /* silence */
    ck_assert_ptr_nonnull(strstr(result.out, "\033[38;2;253;231;37m")); /* or below, 48 */
    ck_assert_ptr_nonnull(strstr(result.out, "\u2580"));
    result = in_terminal("TERM=xterm-256color");
    ck_assert(strstr(result.out, "\033[48;5;") && !strstr(result.out, "48;2;"));
    static const char *const plain[] = {"TERM=dumb COLORTERM=truecolor", "TERM=vt100",
                                        "TERM=xterm-256color NO_COLOR=1"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        result = in_terminal(plain[i]);
        ck_assert_msg(!strstr(result.out, "8;5;") && !strstr(result.out, "8;2;") &&
                          strstr(result.out, "@@@@@@"),
                      "%s: %s", plain[i], result.out);
    }
}

/* ---- errors ---- */

START_TEST(undrawable_sounds_are_refused)
{
    save_sine("tone.wav", 1, 1000, 1);
    command_refused(1, "nosuch", "\"$HALO\" spectrogram nosuch.wav");
    command_done("mkdir folder && : >empty.wav && echo text >text.wav");
    command_refused(1, "it is a directory", "\"$HALO\" spectrogram folder");
    command_refused(1, "it is empty", "\"$HALO\" spectrogram empty.wav");
    command_refused(1, "not a sound file", "\"$HALO\" spectrogram text.wav -o a.png");
    struct sound none = sound_create(SF_FORMAT_WAV | SF_FORMAT_PCM_16, RATE, 1, 0);
    sound_save(&none, "none.wav");
    command_refused(1, "it is empty", "\"$HALO\" spectrogram none.wav -o a.png");
    struct sound bad = sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, 2, RATE);
    bad.block.data[1][1234] = NAN;
    sound_save(&bad, "bad.wav");
    command_refused(1, "frame 1235 of channel 2 is not a number",
                    "\"$HALO\" spectrogram bad.wav -o a.png");
    command_done("head -c 100000 tone.wav >cut.wav");
    command_refused(1, "truncated", "\"$HALO\" spectrogram cut.wav");
    command_done("\"$HALO\" spectrogram cut.wav --allow-truncated");
}

START_TEST(impossible_options_are_refused)
{
    save_sine("tone.wav", 1, 1000, 1);
    command_refused(2, "needs SOUND", "\"$HALO\" spectrogram");
    command_refused(2, "has 1 channel, and no channel 2",
                    "\"$HALO\" spectrogram tone.wav --channel 2");
    command_refused(2, "it is 1 s long", "\"$HALO\" spectrogram tone.wav --from 2");
    command_refused(2, "it is 1 s long", "cat tone.wav | \"$HALO\" spectrogram - --from 2");
    command_refused(2, "the range is empty", "\"$HALO\" spectrogram tone.wav --from 0.5 --to 0.2");
    command_refused(2, "--hop 4000", "\"$HALO\" spectrogram tone.wav --hop 4000");
    command_refused(2, "--size", "\"$HALO\" spectrogram tone.wav --size 3");
    command_refused(2, "hann", "\"$HALO\" spectrogram tone.wav --window square");
    command_refused(2, "log, linear", "\"$HALO\" spectrogram tone.wav --frequency mel");
    command_refused(2, "--range", "\"$HALO\" spectrogram tone.wav --range 0");
    command_refused(2, "once, not twice", "\"$HALO\" spectrogram - -");
    command_refused(2, "more than 9",
                    "\"$HALO\" spectrogram tone.wav tone.wav tone.wav tone.wav tone.wav "
                    "tone.wav tone.wav tone.wav tone.wav tone.wav");
    command_refused(2, ".svg, .png or .pdf", "\"$HALO\" spectrogram tone.wav -o a.gif");
    command_refused(2, "too few", "\"$HALO\" spectrogram tone.wav -o a.png --width 200");
    command_refused(2, "24 by 8 characters", "\"$HALO\" spectrogram tone.wav --width 20");
}

START_TEST(unwritable_files_are_refused)
{
    save_sine("tone.wav", 1, 1000, 1);
    command_done("echo mine >mine.png && ln -s tone.wav link.png");
    command_refused(1, "mine.png exists", "\"$HALO\" spectrogram tone.wav -o mine.png");
    command_refused(1, "this command reads it", "\"$HALO\" spectrogram tone.wav -f -o link.png");
    command_refused(1, "no/a.png", "\"$HALO\" spectrogram tone.wav -o no/a.png");
    command_refused(1, "install it", "PATH=/nowhere \"$HALO\" spectrogram tone.wav -o a.png");
    command_done("mkdir bin && printf '#!/bin/sh\\nexit 3\\n' >bin/gnuplot && "
                 "chmod +x bin/gnuplot");
    command_refused(1, "gnuplot could not draw a.png",
                    "PATH=$PWD/bin:$PATH \"$HALO\" spectrogram tone.wav -o a.png");
    command_done("grep -q mine mine.png && \"$HALO\" spectrogram tone.wav -f -o mine.png && "
                 "! grep -q mine mine.png");
}

int main(void)
{
    if (system("command -v gnuplot >/dev/null 2>&1") != 0) {
        puts("skipped: gnuplot is not installed");
        return 77;
    }
    return suite_run();
}
