/* halo listen on screens of several sizes: what a listener sees, and has to answer. */
#include "command.h"
#include "sound.h"
#include "suite.h"
#include "tmux.h"

#include <stdbool.h>
#include <string.h>

enum { RATE = 48000 };

static const char choices[] = "--mask bright.txt --or --mask dull.txt";

static void prepare(void)
{
    sound_noise_file("noise.wav", 7, SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, 1, RATE / 2);
    sound_text("bright.txt", "0.5\n-0.5\n");
    sound_text("dull.txt", "0.5\n0.5\n");
}

/* A trial whose first sound has begun: each key when the screen asks for it. */
static void judge(int trial, int trials, char said)
{
    static const char *const asked[] = {"hear B, X", "hear X", "is X A or B?"};
    const char *const keys[] = {"b", "x", said == 'A' ? "1" : "2"};
    char text[64];
    for (size_t i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "trial %d of %d: %s", trial, trials, asked[i]);
        tmux_wait(text);
        tmux_type(keys[i]);
    }
    snprintf(text, sizeof text, "trial %d of %d: X is %c", trial, trials, said);
    tmux_wait(text);
    tmux_type("Enter");
}

static void rate(const char *letter, const char *rating)
{
    char text[8];
    snprintf(text, sizeof text, ">%c:-", letter[0] - 'a' + 'A');
    tmux_type(letter);
    tmux_wait(text);
    tmux_type(rating);
    text[3] = rating[0];
    tmux_wait(text);
}

START_TEST(a_screen_shows_masks_and_their_picture)
{
    prepare();
    tmux_open(100, 40, "\"$HALO\" listen noise.wav %s --device null; echo left with $?", choices);
    ck_assert_ptr_nonnull(strstr(tmux_wait("noise.wav 0:00."), "2  dull.txt"));
    tmux_type("2 p");
    tmux_wait("20k");
    ck_assert_ptr_nonnull(strstr(tmux_screen(), "1k"));
    tmux_type("p");
    tmux_wait_gone("20k");
    tmux_type("Right Home m");
    tmux_wait("MUTED");
    tmux_type("q");
    tmux_wait("left with 0");

    tmux_open(100, 40, "\"$HALO\" listen noise.wav %s --device null --abx 4; echo left with $?",
              choices);
    const char *screen = tmux_wait("> A  bright.txt");
    ck_assert_ptr_nonnull(strstr(screen, "X  ?"));
    ck_assert_ptr_nonnull(strstr(screen, " head "));
    judge(1, 4, 'B');
    ck_assert_ptr_nonnull(strstr(tmux_screen(), "hidden"));
    tmux_type("q");
    tmux_wait("stop the test early?");
    tmux_type("y");
    tmux_wait("left with 0");
    ck_assert_ptr_nonnull(strstr(tmux_screen(), "the 1 answered of 4"));

    tmux_open(100, 40, "\"$HALO\" listen noise.wav %s --device null --blind 4; echo left with $?",
              choices);
    tmux_wait(">A:-  B:-");
    rate("b", "4");
    screen = tmux_screen();
    ck_assert_ptr_nonnull(strstr(screen, "mask 1: "));  /* its gain */
    ck_assert_ptr_null(strstr(screen, "bright.txt (")); /* except for the command line itself */
    tmux_type("q y");
    tmux_wait("left with 0");
    tmux_close();
}

static bool is_in(const char *screen, const char *expected)
{
    return strstr(screen, expected) != NULL;
}

/* Also where rows are scarce; it follows the size. */
START_TEST(a_plot_keeps_its_axes)
{
    static const char *const tests[] = {"--abx 4", "--blind 4", "--prefer 4", ""};
    prepare();
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        tmux_open(80, 24, "\"$HALO\" listen noise.wav %s --device null %s", choices, tests[i]);
        tmux_wait(i == 0 ? "hear B, X" : i == 1 ? ">A:-" : i == 2 ? "hear B" : "q leave");
        tmux_type("p");
        if (i == 1 || i == 2) {
            tmux_wait("no plot in this test");
            continue;
        }
        static const int rows[] = {24, 19, 40};
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
            tmux_resize(80, rows[r]);
            const char *screen = tmux_wait("Hz 20 ");
            ck_assert_msg(is_in(screen, "└┴─") && is_in(screen, "dB┤") && is_in(screen, "20k"),
                          "%s", screen);
        }
        tmux_resize(80, 14);
        tmux_wait("too small for a plot");
        tmux_wait_gone("Hz 20 ");
    }
    tmux_close();
}

/* Names that a narrow screen would cut where they are alike. */
static void make_alike_masks(void)
{
    command_done("mkdir -p measured-in-the-large-hall && cd measured-in-the-large-hall && "
                 "cp ../bright.txt microphone-and-loudspeaker-number-1-left.txt && "
                 "cp ../dull.txt microphone-and-loudspeaker-number-1-right.txt && "
                 "cp ../dull.txt b.txt");
}

#define ALIKE "measured-in-the-large-hall/microphone-and-loudspeaker-number-1-"

/* The whole of a test can be taken: what is asked, what plays, the answer's keys, what was said. */
START_TEST(tests_fit_on_a_small_screen)
{
    static const int sizes[][2] = {{80, 24}, {40, 10}, {30, 8}, {200, 60}};
    prepare();
    make_alike_masks();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        tmux_open(
            sizes[i][0], sizes[i][1],
            "\"$HALO\" listen noise.wav --mask " ALIKE "left.txt --or --mask " ALIKE
            "right.txt --device null --abx 2 --feedback 2>notes; echo left with $?; "
            "echo hashes: $(grep -c 'SHA-256 of key, choices and settings: [0-9a-f]*$' notes)");
        const char *screen = tmux_wait("trial 1 of 2: hear B, X");
        ck_assert_msg(is_in(tmux_row(screen, "> A  "), "left.txt") &&
                          is_in(tmux_row(screen, "  B  "), "right.txt"),
                      "%s", screen);
        ck_assert_msg(is_in(screen, "1 X is A") && is_in(screen, "2 X is B") &&
                          is_in(screen, "a b x listen") && is_in(screen, "q stop"),
                      "%s", screen);
        judge(1, 2, 'A');
        screen = tmux_wait("trial 2 of 2: hear ");
        ck_assert_msg(is_in(screen, "trial 1 was "), "%s", screen);
        tmux_type("q");
        tmux_wait("stop the test");
        tmux_type("n");
        judge(2, 2, 'B');
        tmux_wait("left with 0");
        tmux_wait("hashes: 1");

        tmux_open(sizes[i][0], sizes[i][1],
                  "\"$HALO\" listen noise.wav --mask " ALIKE "left.txt --or --mask " ALIKE
                  "right.txt --or --mask bright.txt --or --mask dull.txt --device null --blind 1; "
                  "echo left with $?");
        screen = tmux_wait(">A:-  B:-  C:-  D:-");
        ck_assert_msg(is_in(screen, "trial 1 of 1: rate all") && is_in(screen, "a-d listen") &&
                          is_in(screen, "1-5 rate") && is_in(screen, "Enter confirm"),
                      "%s", screen);
        tmux_type("5");
        tmux_wait(">A:5");
        tmux_type("Enter");
        tmux_wait("not all are");
        rate("b", "1");
        rate("c", "2");
        rate("d", "3");
        tmux_wait(" A:5  B:1  C:2 >D:3");
        tmux_type("Enter");
        tmux_wait("left with 0");
    }
    tmux_close();
}

/* The digits of the row with the head and of those below. */
static void read_head(const char *screen, char digits[80])
{
    size_t count = 0;
    const char *at = strstr(screen, "head ");
    ck_assert_msg(at != NULL, "%s", screen);
    for (at += 5; *at && count < 64 && strchr("0123456789abcdef .\n", *at); at++)
        if (strchr("0123456789abcdef", *at))
            digits[count++] = *at;
    digits[count] = '\0';
}

START_TEST(the_head_is_whole_on_a_narrow_screen)
{
    static const int widths[] = {60, 80, 71, 70, 40, 30};
    prepare();
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        char head[80], shown[80];
        int tries = 0;
        tmux_open(widths[i], 24,
                  "\"$HALO\" listen noise.wav --mask bright.txt --or --mask dull.txt "
                  "--device null --abx 2 --log log.json -f; echo left with $?");
        tmux_wait("trial 1 of 2: hear B, X");
        judge(1, 2, 'A');
        tmux_wait("trial 2 of 2: hear ");
        do { /* an event may come between log and screen */
            struct command_result logged = command_done(
                "grep -o '\"hash\": \"[0-9a-f]*\"' log.json | tail -n 1 | cut -d '\"' -f 4");
            snprintf(head, sizeof head, "%.64s", logged.out);
            read_head(tmux_wait("head "), shown);
        } while (strcmp(shown, head) != 0 && ++tries < 100);
        ck_assert_str_eq(shown, head);
        tmux_type("q");
        tmux_wait("stop the test");
        tmux_type("y");
        tmux_wait("left with 0");
    }
    tmux_close();
}

/* In the list of choices, too; and masks that differ in options alone. */
START_TEST(masks_are_named_by_what_differs)
{
    prepare();
    make_alike_masks();
    tmux_open(60, 20,
              "\"$HALO\" listen noise.wav --mask " ALIKE "left.txt --or --mask " ALIKE
              "right.txt --or --mask measured-in-the-large-hall/b.txt --device null");
    const char *screen = tmux_wait("q leave");
    ck_assert_msg(is_in(tmux_row(screen, "1  microphone"), "left.txt") &&
                      is_in(tmux_row(screen, "2  microphone"), "right.txt") &&
                      is_in(screen, "3  b.txt"),
                  "%s", screen);
    tmux_open(60, 20,
              "\"$HALO\" listen noise.wav --mask bright.txt --or --mask bright.txt,delay=100 "
              "--device null");
    ck_assert_ptr_nonnull(strstr(tmux_wait("1  bright.txt"), "2  bright.txt,delay=100"));
    tmux_close();
}

/* The bar of a long render keeps to its row, which the next one replaces. */
START_TEST(progress_fits_a_narrow_terminal)
{
    sound_noise_file("long.wav", 7, SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, 4, 30 * RATE);
    sound_noise_mask("room.txt", 3, 1, 2 * RATE);
    tmux_open(40, 10,
              "clear; \"$HALO\" render long.wav out.wav --mask room.txt --precision double "
              "--threads 1; echo ended with $?");
    ck_assert_ptr_null(strstr(tmux_wait("ended with 0"), "["));
    tmux_close();
}

int main(void)
{
    if (!tmux_there())
        return 77;
    return suite_run();
}
