/* The display of a stream for people and scripts, and its keys. */
#include "base/status.h"
#include "command.h"
#include "suite.h"
#include "tmux.h"

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static bool contains(const char *text, const char *expected)
{
    return strstr(text, expected) != NULL;
}

static size_t count_of(const char *text, const char *expected)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, expected)) != NULL; at += strlen(expected))
        count++;
    return count;
}

static void open_demo(int columns, int rows)
{
    tmux_open(columns, rows, "%s screen", VIEW_DEMO);
    tmux_wait("q leave");
}

/* ---- the screen ---- */

START_TEST(a_screen_shows_everything)
{
    open_demo(100, 30);
    const char *screen = tmux_screen();
    ck_assert(contains(screen, "halo live  JACK: system -> system"));
    ck_assert(contains(screen, "48000 Hz  64 frames (1.33 ms)"));
    /* -60 dBFS is the bar's left end and 0 its right: -12 dBFS fills four fifths of it. */
    const char *row = tmux_row(screen, " in    1");
    size_t full = count_of(row, "█"),
           cells = full + count_of(row, "▒") + count_of(row, "·") + count_of(row, "┃");
    ck_assert_uint_gt(cells, 40);
    ck_assert_int_le(labs((long)full - (long)(cells * 4 / 5)), 1);
    ck_assert(contains(row, "-6.0  -12.0   -3.0      0"));
    ck_assert(contains(tmux_row(screen, " out   2"), "-inf   -inf   -inf      0"));
    ck_assert(contains(screen, "▶ 1  hall.wav"));
    ck_assert(contains(screen, "  2  plate été.wav"));
    ck_assert(contains(screen, "gain    +0.0 dB   limiter -1.5 dB (ceiling -1.0)"));
    ck_assert(contains(screen, "now  12 %  p99  31 %  worst  74 %"));
    ck_assert(contains(screen, "4.00 ms, 192 frames: input 64  mask 0  plugins 32  output 96"));
    ck_assert(contains(screen, "late 0  lost 0   on cpu"));
    ck_assert(contains(screen, "1-9 choose  space dry  [ ] gain  m mute  r reload"));
    ck_assert(!contains(screen, "MUTED") && !contains(screen, "REC"));
}

START_TEST(the_title_names_what_plays)
{
    static const struct {
        int columns;
        bool rate, ms;
    } rows[] = {{90, true, true}, {72, true, false}, {60, false, false}, {48, false, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        open_demo(rows[i].columns, 30);
        const char *title = tmux_row(tmux_screen(), " halo live");
        ck_assert_msg(contains(title, "JACK: system -> system ") && contains(title, " 00:"), "%s",
                      title);
        ck_assert_msg(contains(title, "48000 Hz  64 frames ") == rows[i].rate &&
                          contains(title, " ms)") == rows[i].ms,
                      "%d: %s", rows[i].columns, title);
        tmux_close();
    }
}

START_TEST(keys_change_what_is_shown)
{
    open_demo(100, 30);
    tmux_type("3");
    ck_assert(!contains(tmux_wait("▶ 3  room.wav"), "▶ 1"));
    tmux_type("Space");
    tmux_wait("▶ 0  dry");
    tmux_type("2 s");
    tmux_wait("▷ 2  plate été.wav …");
    tmux_type("m");
    tmux_wait("MUTED");
    tmux_type("o");
    tmux_wait("FEEDBACK: MUTED");
    tmux_type("c");
    ck_assert(contains(tmux_row(tmux_wait("-0.4      3"), "-0.4"), " out   1"));
    tmux_type("]");
    tmux_wait("gain    +1.5 dB");
    ck_assert(!contains(tmux_screen(), " control "));
    tmux_type("k");
    tmux_wait(" control 2 eg-amp gain -6 dB");
    tmux_type("l");
    tmux_wait("late 1");
    tmux_type("w");
    tmux_wait("REC 00:0");
    ck_assert(contains(tmux_screen(), "take 1.wav"));
    tmux_type("t");
    tmux_wait("trial 3 of 16: is X A or B?");
}

START_TEST(special_keys_arrive)
{
    open_demo(100, 30);
    tmux_type("Left PageUp Enter");
    tmux_wait("left");
    tmux_wait("page up");
    tmux_wait("enter");
    tmux_type("Escape");
    tmux_wait("escape");
    tmux_type("é");
    tmux_wait("e acute");
    tmux_type("C-s m"); /* stops nothing */
    tmux_wait("MUTED");
}

START_TEST(blind_hides_the_playing_mask)
{
    open_demo(100, 30);
    tmux_type("2 b");
    const char *screen = tmux_wait("? 2  plate");
    ck_assert(contains(screen, "? 0  dry") && contains(screen, "? 4  spring.wav"));
    ck_assert(!contains(screen, "▶"));
    ck_assert(contains(tmux_row(screen, " load"), "hidden") && !contains(screen, "74 %"));
    ck_assert(contains(tmux_row(screen, "limiter"), "limiter hidden"));
    ck_assert(contains(tmux_row(screen, " out"), "hidden") && !contains(screen, "-20.0"));
    /* In a blind test a switch and its loudness change nothing but the clock. */
    char before[8192];
    snprintf(before, sizeof before, "%s", strchr(screen, '\n'));
    tmux_type("3 s");
    tmux_type("e");
    const char *after = strchr(tmux_wait("a message for the view"), '\n');
    size_t same = strspn(before, "\n");
    while (before[same] && before[same] == after[same])
        same++;
    ck_assert_msg(contains(tmux_row(after, "a message"), "a message") &&
                      strstr(after, "a message") - after <= (long)same + 16,
                  "%s", after);
}

START_TEST(messages_reach_the_screen)
{
    open_demo(100, 30);
    tmux_type("e f p");
    const char *screen = tmux_wait("a library talks");
    ck_assert(contains(screen, "a message for the view"));
    const char *row = tmux_row(screen, "cannot load hall.wav: it is no sound");
    ck_assert_msg(!contains(screen, "halo: ") && row[3] == ':' && row[6] == ':', "%s", row);
    tmux_type("L");
    ck_assert(contains(tmux_wait("which is here"), "a long message that goes on at length"));
}

/* The title spans the width except for a blank, and the keys are in the last row. */
static bool fills(const char *screen, int columns, int rows)
{
    const char *keys = strstr(screen, "q leave");
    size_t before = 0;
    for (const char *at = screen; keys && at < keys; at++)
        before += *at == '\n';
    size_t width = columns < 100 ? (size_t)columns : 100;
    return keys && before + 1 == (size_t)rows && strcspn(screen, "\n") + 1 == width;
}

static const char *resize(int columns, int rows)
{
    const struct timespec pause = {.tv_nsec = 50000000};
    tmux_resize(columns, rows);
    for (int i = 0; i < 400 && !fills(tmux_screen(), columns, rows); i++)
        nanosleep(&pause, NULL);
    const char *screen = tmux_screen();
    ck_assert_msg(fills(screen, columns, rows), "%d x %d:\n%s", columns, rows, screen);
    return screen;
}

START_TEST(screens_follow_the_terminal)
{
    static const int sizes[][2] = {{60, 16}, {100, 30}, {80, 24}, {140, 50}, {60, 16}};
    open_demo(100, 30);
    tmux_type("t e");
    tmux_wait("a message");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const char *screen = resize(sizes[i][0], sizes[i][1]);
        ck_assert(contains(screen, "halo live") && contains(screen, "▶ 1  hall.wav"));
        ck_assert(contains(screen, "4  spring.wav") && contains(screen, " out   2"));
        ck_assert(contains(screen, "gain ") && contains(screen, " load ") &&
                  contains(screen, "4.00 ms") && contains(screen, "late 0"));
        ck_assert(contains(screen, "trial 3 of 16") && contains(screen, "a message"));
    }
    /* A tiny screen does no harm. */
    tmux_resize(20, 4);
    tmux_wait_gone("hall.wav");
    tmux_resize(2, 1);
    tmux_resize(100, 30);
    tmux_wait("▶ 1  hall.wav");
}

/* Terminals without colours or Unicode. */
START_TEST(plain_terminals_work)
{
    tmux_open(80, 24, "LC_ALL=C TERM=vt100 %s screen", VIEW_DEMO);
    const char *screen = tmux_wait("q leave");
    ck_assert(contains(screen, "> 1  hall.wav") && contains(screen, "#####"));
    for (const char *byte = screen; *byte; byte++)
        ck_assert_int_eq(*byte & 0x80, 0);
}

/* ---- restoring the terminal ---- */

static void leaves_tidily(const char *kind, const char *expected, const char *keys)
{
    tmux_open(80, 24,
              "ulimit -c 0; stty -a >before; %s %s; stty -a >after; "
              "cmp before after && echo the same again",
              VIEW_DEMO, kind);
    tmux_wait(expected);
    tmux_type(keys);
    if (keys[0] == 'h') {
        tmux_wait("deaf");
        tmux_type("C-c");
        tmux_wait("a message on the screen");
        tmux_type("C-c");
    }
    const char *screen = tmux_wait("the same again");
    ck_assert_msg(!contains(screen, "▶"), "%s %s: left behind:\n%s", kind, keys, screen);
}

START_TEST(terminals_are_restored)
{
    static const char *const keys[] = {
        "q", "C-c", "x", "a", "h", "C-\\\\", "f q",
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        leaves_tidily("screen", "q leave", keys[i]);
        leaves_tidily("plain", "1 hall.wav", keys[i]);
    }
}

START_TEST(late_messages_are_printed)
{
    tmux_open(80, 24, "%s screen", VIEW_DEMO);
    tmux_wait("q leave");
    tmux_type("f p q");
    const char *screen = tmux_wait("view_demo is done");
    ck_assert(contains(screen, "halo: cannot load hall.wav: it is no sound"));
    ck_assert(contains(screen, "a library talks"));
    ck_assert(!contains(screen, "q leave"));
}

START_TEST(a_screen_needs_a_terminal)
{
    struct command_result result = command_run("%s screen", VIEW_DEMO);
    ck_assert_int_eq(result.code, 1);
    ck_assert_uint_eq(command_lines(result.err), 1);
    ck_assert(contains(result.err, "halo: cannot show a screen"));
    tmux_open(80, 24, "TERM=dumb %s auto; TERM=none %s auto 0 0.1; TERM=dumb %s screen", VIEW_DEMO,
              VIEW_DEMO, VIEW_DEMO);
    tmux_wait("1 hall.wav");
    tmux_type("q");
    const char *screen = tmux_wait("cannot show a screen");
    ck_assert_uint_eq(count_of(screen, "view_demo is done"), 2);
    tmux_open(80, 24, "%s auto", VIEW_DEMO);
    tmux_wait("q leave");
}

/* ---- line output ---- */

START_TEST(plain_keys_are_not_echoed)
{
    tmux_open(120, 24, "%s plain 0.05", VIEW_DEMO);
    tmux_wait("1 hall.wav");
    tmux_type("2 Left");
    const char *screen = tmux_wait("halo: left");
    ck_assert(contains(tmux_wait("2 plate"), "halo: left"));
    for (const char *row = screen; (row = strchr(row, '\n')) != NULL && row[1]; row++)
        ck_assert_msg(contains(tmux_row(row + 1, ""), "dBFS") ||
                          contains(tmux_row(row + 1, ""), "halo: left") || row[1] == '\n',
                      "%s", screen);
}

START_TEST(plain_prints_changes)
{
    struct command_result result = command_done(
        "(sleep 0.5; printf m; sleep 0.5; printf 2; sleep 1) | %s plain 0 2.2", VIEW_DEMO);
    ck_assert_uint_eq(count_of(result.out, "device JACK: system -> system, 48000 Hz"), 1);
    ck_assert_uint_eq(count_of(result.out, "s  latency 4.0 ms, 192 frames\n"), 1);
    ck_assert_uint_eq(count_of(result.out, "s  mask 1 hall.wav\n"), 1);
    ck_assert_uint_eq(count_of(result.out, "s  muted\n"), 1);
    ck_assert_uint_eq(count_of(result.out, "s  mask 2 "), 1);
    ck_assert_uint_eq(count_of(result.out, "gain"), 0);
    /* One that goes on and on has a line a second, the last one too. */
    result = command_done("(for i in 1 2 3 4 5 6 7 8 9 a b c d e f; do printf ]; sleep 0.1; done; "
                          "sleep 2) | %s plain 0 4",
                          VIEW_DEMO);
    ck_assert_uint_ge(count_of(result.out, "gain"), 2);
    ck_assert_uint_le(count_of(result.out, "gain"), 4);
    ck_assert_uint_eq(count_of(result.out, "gain +22.5 dB"), 1);
    result = command_done("%s plain 0.2 0.5", VIEW_DEMO);
    ck_assert(contains(result.out, "in -3.0  out -0.4 dBFS  1 hall.wav"));
    ck_assert(contains(result.out, "load 12 %, worst 74 %"));
    result = command_done("printf 'b3tef' | %s plain 0.02 0.5", VIEW_DEMO);
    ck_assert(contains(result.out, "dBFS  ?") && !contains(result.out, "room"));
    ck_assert_uint_eq(count_of(result.out, "trial 3 of 16"), 1);
    ck_assert(contains(result.err, "halo: a message for the view\n"));
    ck_assert(contains(result.err, "halo: cannot load hall.wav"));
}

static json_t *object_of(const char *line, size_t length)
{
    json_error_t error;
    json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(json_is_object(object), "%s in %.*s", error.text, (int)length, line);
    return object;
}

static void check_status(const json_t *object)
{
    const json_t *in = json_object_get(object, "in"), *out = json_object_get(object, "out");
    ck_assert_uint_eq(json_array_size(in), 2);
    /* 20 log10(0.5) = -6.0206 */
    ck_assert_double_eq_tol(command_json_number(json_array_get(in, 0), "peak_db"), -6.0206, 1e-4);
    ck_assert_double_eq_tol(command_json_number(json_array_get(in, 0), "rms_db"), -12, 1e-4);
    ck_assert(json_is_null(json_object_get(json_array_get(out, 1), "rms_db")));
    ck_assert_uint_eq(json_array_size(json_object_get(object, "choices")), 4);
    ck_assert_double_eq(command_json_number(object, "load_p99"), 0.31);
    ck_assert_double_eq(command_json_number(object, "latency"), 192);
    ck_assert_double_eq(command_json_number(object, "latency_output"), 96);
    ck_assert_double_eq(command_json_number(object, "ceiling_db"), -1);
    ck_assert(json_is_null(json_object_get(object, "recording")));
    ck_assert_str_eq(json_string_value(json_object_get(object, "device")),
                     "JACK: system -> system");
    ck_assert_str_eq(json_string_value(json_object_get(object, "backend")), "cpu");
}

/* Keys come from a pipe, whose end does not end the program. */
START_TEST(json_lines_are_objects)
{
    struct command_result result = command_done("printf '2e' | %s json 0.05 0.6", VIEW_DEMO);
    double chosen = 0;
    size_t messages = 0, statuses = 0;
    const char *line = result.out;
    for (const char *end; *line == '{' && (end = strchr(line, '\n')) != NULL; line = end + 1) {
        json_t *object = object_of(line, (size_t)(end - line));
        if (strcmp(json_string_value(json_object_get(object, "event")), "message") == 0) {
            ck_assert_str_eq(json_string_value(json_object_get(object, "text")),
                             "a message for the view");
            messages++;
        } else {
            check_status(object);
            chosen = command_json_number(object, "chosen");
            statuses++;
        }
        json_decref(object);
    }
    ck_assert_str_eq(line, "view_demo is done\n");
    ck_assert_uint_eq(messages, 1);
    ck_assert_uint_ge(statuses, 5);
    ck_assert_double_eq(chosen, 2);
    ck_assert_str_eq(result.err, "");
}

START_TEST(json_is_blind_too)
{
    struct command_result result = command_done("printf 'b3s' | %s json 0.02 0.4", VIEW_DEMO);
    const char *line = strstr(result.out, "\"hidden\":true");
    ck_assert_ptr_nonnull(line);
    while (line > result.out && line[-1] != '\n')
        line--;
    json_t *object = object_of(line, strcspn(line, "\n"));
    static const char *const unknown[] = {"chosen", "out", "load_now", "load_worst",
                                          "reduction_db"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        ck_assert_msg(json_is_null(json_object_get(object, unknown[i])), "%s", unknown[i]);
    ck_assert(json_is_false(json_object_get(object, "switching")));
    json_decref(object);
}

/* ---- lines from several threads ---- */

enum { TALKERS = 4, LINES_EACH = 2000 };

static int inside, most_inside, lines_shown;

static void show(void *context, const char *line)
{
    ck_assert_ptr_eq(context, &lines_shown);
    most_inside = ++inside > most_inside ? inside : most_inside;
    lines_shown += strcmp(line, "line of thread 7") == 0;
    inside--;
}

static void *talk(void *argument)
{
    for (int i = 0; i < LINES_EACH; i++)
        note("line of thread %d", *(const int *)argument);
    return NULL;
}

START_TEST(lines_are_not_interleaved)
{
    pthread_t threads[TALKERS];
    int seven = 7;
    messages_to(show, &lines_shown);
    for (int i = 0; i < TALKERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, talk, &seven), 0);
    for (int i = 0; i < TALKERS; i++)
        pthread_join(threads[i], NULL);
    messages_to(NULL, NULL);
    ck_assert_int_eq(lines_shown, TALKERS * LINES_EACH);
    ck_assert_int_eq(most_inside, 1);
}

int main(void)
{
    if (!tmux_there())
        return 77;
    return suite_run();
}
