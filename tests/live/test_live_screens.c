/* The pictures in docs/screens.md are what halo live shows: each is taken again and compared, but
 * for the time, the load and what a busy machine makes late.
 *
 * With HALO_SCREENS=FILE the pictures are written there, to be the new docs/screens.md.
 */
#include "live_rig.h"
#include "suite.h"
#include "tmux.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RATE = LIVE_RIG_RATE, PICTURE_MOST = 16384, DOCUMENT_MOST = 1 << 16 };

#define DEVICE "--device null:in=in.wav --block 256 --no-feedback-guard "
#define EVENING DEVICE "--mask kitchen.txt --or --mask hall.txt -f --save-preset evening"

/* The meters of a square wave stand still. */
static void begin(void)
{
    command_clean();
    setenv("XDG_CONFIG_HOME", command_path("config"), 1);
    setenv("XDG_STATE_HOME", command_path("state"), 1);
    live_rig_save_square(120 * RATE, "in.wav");
    sound_text("kitchen.txt", "0.5\n");
    sound_text("hall.txt", "0.25\n");
}

/* ---- what does not count ---- */

static bool is_time(const char *at)
{
    static const char form[] = "00:00:00";
    for (size_t i = 0; form[i]; i++)
        if (form[i] == ':' ? at[i] != ':' : !isdigit((unsigned char)at[i]))
            return false;
    return true;
}

/* A row without the time, and without what the machine decides. */
static void take_row(const char *row, size_t length, char *to)
{
    char copy[1024];
    snprintf(copy, sizeof copy, "%.*s", (int)length, row);
    for (char *at = copy; *at; at++)
        if (is_time(at))
            memcpy(at, "00:00:00", 8);
    if (strncmp(copy, " load ", 6) == 0 || strncmp(copy, " blocks ", 8) == 0)
        copy[6] = '\0';
    if (strncmp(copy, " out ", 5) == 0 && strstr(copy, "-inf")) /* its meter falls */
        copy[8] = '\0';
    if (strstr(copy, " s  blocks late ") || strstr(copy, " s  the limiter"))
        return;
    char *seconds = strstr(copy, " s  ");
    if (seconds && isdigit((unsigned char)copy[0]))
        memmove(copy, seconds, strlen(seconds) + 1);
    size_t end = strlen(copy);
    while (end > 0 && copy[end - 1] == ' ')
        copy[--end] = '\0';
    strcat(to, copy);
    strcat(to, "\n");
}

/* Trailing empty rows do not count either. */
static void take_rows(const char *text, char to[PICTURE_MOST])
{
    to[0] = '\0';
    for (const char *end; *text; text = end + 1) {
        end = strchrnul(text, '\n');
        take_row(text, (size_t)(end - text), to);
        if (!*end)
            break;
    }
    size_t length = strlen(to);
    while (length > 1 && to[length - 1] == '\n' && to[length - 2] == '\n')
        to[--length] = '\0';
}

/* ---- the document ---- */

static FILE *written; /* with HALO_SCREENS */

static void write_picture(const char *title, const char *text)
{
    if (!written) {
        written = fopen(getenv("HALO_SCREENS"), "w");
        ck_assert_ptr_nonnull(written);
        fputs(
            "# What halo live shows\n\nTaken by `HALO_SCREENS=docs/screens.md test_live_screens`; "
            "the test compares them with the program.\n",
            written);
    }
    fprintf(written, "\n## %s\n\n", title);
    for (const char *end; *text; text = end + (*end == '\n')) {
        end = strchrnul(text, '\n');
        fprintf(written, "%s%.*s\n", end > text ? "    " : "", (int)(end - text), text);
    }
    fflush(written);
}

/* The picture below a title of docs/screens.md, without its margin. */
static void read_picture(const char *title, char to[PICTURE_MOST])
{
    static char document[DOCUMENT_MOST];
    char head[128];
    FILE *file = fopen(HALO_DOCS "/screens.md", "r");
    ck_assert_ptr_nonnull(file);
    document[fread(document, 1, sizeof document - 1, file)] = '\0';
    fclose(file);
    snprintf(head, sizeof head, "\n## %s\n\n", title);
    const char *at = strstr(document, head);
    ck_assert_msg(at != NULL, "docs/screens.md has no '%s'", title);
    to[0] = '\0';
    for (at += strlen(head); *at && strncmp(at, "## ", 3) != 0;) {
        const char *end = strchrnul(at, '\n');
        const char *text = strncmp(at, "    ", 4) == 0 ? at + 4 : at;
        strncat(to, text, (size_t)(end - text));
        strcat(to, "\n");
        at = end + (*end == '\n');
    }
}

static void expect_picture(const char *title, const char *text)
{
    static char picture[PICTURE_MOST], expected[PICTURE_MOST], shown[PICTURE_MOST];
    if (getenv("HALO_SCREENS")) {
        write_picture(title, text);
        return;
    }
    read_picture(title, picture);
    take_rows(picture, expected);
    take_rows(text, shown);
    ck_assert_msg(strcmp(shown, expected) == 0,
                  "'%s' of docs/screens.md is not current; it is\n%s\nnot\n%s", title, shown,
                  expected);
}

/* ---- pictures ---- */

/* Of a size, at rest, after these keys. */
static void expect_screen(const char *title, int columns, int rows, const char *options,
                          const char *keys, const char *sign)
{
    tmux_open(columns, rows, "XDG_CONFIG_HOME=$PWD/config XDG_STATE_HOME=$PWD/state %s", options);
    tmux_wait("q leave");
    if (*keys)
        tmux_type(keys);
    tmux_wait(sign);
    live_rig_rest(2500); /* the meters fell, and held peaks went */
    expect_picture(title, tmux_screen());
    tmux_close();
}

START_TEST(screens_are_as_documented)
{
    if (!tmux_there())
        return;
    begin();
    expect_screen("80 x 24", 80, 24, "\"$HALO\" live " EVENING, "2", "-18.1");
    expect_screen("40 x 10", 40, 10, "\"$HALO\" live " EVENING, "2", "-18.1");
    expect_screen("Muted, with a name to type", 80, 24,
                  "\"$HALO\" live " DEVICE "--mask kitchen.txt,@mix=1", "m s n i g h t",
                  "save as preset night_");
}

/* The same rows, and no colour: SGR 30 to 49 and 90 to 107. */
START_TEST(without_colours_it_is_the_same)
{
    if (!tmux_there() || getenv("HALO_SCREENS"))
        return;
    begin();
    expect_screen("80 x 24", 80, 24, "NO_COLOR=1 \"$HALO\" live " EVENING, "2", "-18.1");
    for (int coloured = 0; coloured < 2; coloured++) {
        command_done(/* ncurses never frees its terminal */
                     "env %s ASAN_OPTIONS=detect_leaks=0 TERM=xterm-256color LC_ALL=C.UTF-8 script -qec '\"$HALO\" live " EVENING
                     " --seconds 0.5' /dev/null >typed </dev/null",
                     coloured ? "-u NO_COLOR" : "NO_COLOR=1");
        command_done("%s grep -aqE '\\[([0-9]*;)*(3|4|9|10)[0-9](;[0-9]+)*m' typed",
                     coloured ? "" : "!");
    }
}

START_TEST(plain_lines_are_as_documented)
{
    begin();
    pid_t process = live_rig_launch("live", "--plain " EVENING);
    static const char *const steps[][2] = {
        {"", "mask 1"},    {"2", "mask 2"},    {"]", "gain +1.0 dB"},
        {"m", "s  muted"}, {"m", "not muted"}, {"0", "signal 0 dry"},
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        live_rig_keys(steps[i][0]);
        live_rig_wait(steps[i][1]);
    }
    live_rig_keys("q");
    struct command_result result = live_rig_end(process);
    ck_assert_int_eq(result.code, 0);
    expect_picture("--plain", result.out);
}
