/* Names of others never reach a terminal as they are: printable.h, and the commands that print. */
#include "base/printable.h"
#include "command.h"
#include "sound.h"
#include "suite.h"
#include "tmux.h"

#include <stdio.h>
#include <string.h>

START_TEST(what_a_terminal_obeys_becomes_visible)
{
    static const char *const rows[][2] = {
        {"", ""},
        {"hall.wav", "hall.wav"},
        {"gr\u00fcn \u2192 \U0001f3b5 \u00a0.wav", "gr\u00fcn \u2192 \U0001f3b5 \u00a0.wav"},
        {"\033]0;title\007", "\\x1b]0;title\\x07"},
        {"\033[2Jx", "\\x1b[2Jx"},
        {"two\nlines\r\ttab", "two\\x0alines\\x0d\\x09tab"},
        {"\x7f", "\\x7f"},
        {"\xc2\x80\xc2\x9b"
         "2J\xc2\x9f",
         "\\xc2\\x80\\xc2\\x9b2J\\xc2\\x9f"},
        {"\x9b"
         "2J",
         "\\x9b2J"},
        {"a\u202egpj.b", "a\\xe2\\x80\\xaegpj.b"},
        {"\u202a\u2066\u2069", "\\xe2\\x80\\xaa\\xe2\\x81\\xa6\\xe2\\x81\\xa9"},
        {"\u2029 \u202f \u2065 \u206a \u05d0", "\u2029 \u202f \u2065 \u206a \u05d0"},
        {"caf\xe9", "caf\\xe9"},
        {"\xc3", "\\xc3"},
        {"\xc3\033", "\\xc3\\x1b"},
        {"\xe2\x82", "\\xe2\\x82"},
        {"\xc1\x9b \xc0\x80", "\\xc1\\x9b \\xc0\\x80"},
        {"\xe0\x82\x9b", "\\xe0\\x82\\x9b"},
        {"\xf0\x80\x82\x9b", "\\xf0\\x80\\x82\\x9b"},
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
        {"\xff\xfe", "\\xff\\xfe"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_str_eq(printable(rows[i][0]), rows[i][1]);
    ck_assert_ptr_eq(printable(rows[2][0]), rows[2][0]); /* no copy, and no limit */
}

START_TEST(copies_end_between_characters)
{
    char copy[16];
    static const char text[] = "a\u00fc\033b";
    static const char *const cut[] = {"",
                                      "a",
                                      "a",
                                      "a\u00fc",
                                      "a\u00fc",
                                      "a\u00fc",
                                      "a\u00fc",
                                      "a\u00fc\\x1b",
                                      "a\u00fc\\x1b"
                                      "b",
                                      "a\u00fc\\x1b"
                                      "b"};
    for (size_t size = 1; size <= sizeof cut / sizeof *cut; size++) {
        memset(copy, 'x', sizeof copy);
        printable_copy(copy, size, text);
        ck_assert_str_eq(copy, cut[size - 1]);
    }
    char longer[2 * PRINTABLE_MOST];
    memset(longer, '\033', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    ck_assert_uint_eq(strlen(printable(longer)), PRINTABLE_MOST - 4);
}

START_TEST(several_are_valid_at_once)
{
    const char *const four[] = {printable("\1"), printable("\2"), printable("\3"), printable("\4")};
    for (int i = 0; i < 4; i++) {
        char expected[8];
        snprintf(expected, sizeof expected, "\\x%02x", (unsigned)i + 1);
        ck_assert_str_eq(four[i], expected);
    }
}

/* ---- commands ---- */

/* Sets a title, clears the screen, adds a line: as a shell writes it. */
#define ATTACK                                                                                     \
    "\"$(printf 'h\\033]0;owned\\007\\033[2J\\nhalo: \\302\\2332J\\177\\342\\200\\256\\377x')\""
#define VISIBLE "h\\x1b]0;owned\\x07\\x1b[2J"

#define VALID "\"$(printf 'h\\033]0;owned\\007\\033[2J.txt')\"" /* in UTF-8, as YAML is */

static void expect_clean(const char *command, const char *text)
{
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        char copy[sizeof((struct command_result *)0)->out];
        snprintf(copy, sizeof copy, "%.*s", (int)strcspn(line, "\n"), line);
        ck_assert_msg(printable(copy) == copy, "%s prints %s", command, printable(copy));
    }
}

/* The name is seen, on one line, and nothing else of it. */
static void expect_visible(const char *command)
{
    struct command_result result = command_run("%s", command);
    expect_clean(command, result.out);
    expect_clean(command, result.err);
    ck_assert_msg(strstr(result.out, VISIBLE) || strstr(result.err, VISIBLE), "%s prints %s%s",
                  command, result.out, result.err);
}

START_TEST(names_of_files_are_visible)
{
    static const char *const commands[] = {
        "\"$HALO\" render " ATTACK " out.wav",
        "\"$HALO\" render in.wav " ATTACK ".wav -f",
        "\"$HALO\" render in.wav out.wav -f --mask " ATTACK,
        "\"$HALO\" render in.wav out.wav -f --mask " ATTACK ".txt,gain=" ATTACK,
        "\"$HALO\" render in.wav out.wav -f --format " ATTACK,
        "\"$HALO\" render in.wav out.wav -f --gain " ATTACK,
        "\"$HALO\" render in.wav out.wav -f --" ATTACK,
        "\"$HALO\" " ATTACK,
        "\"$HALO\" mask show " ATTACK ".txt",
        "\"$HALO\" mask show box2d:3x3 " ATTACK ".mask2d",
        "\"$HALO\" mask plot " ATTACK ".txt",
        "\"$HALO\" mask plot " ATTACK ".mask2d",
        "\"$HALO\" mask make -o m.txt " ATTACK,
        "\"$HALO\" spectrogram " ATTACK ".wav --width 150",
        "\"$HALO\" live --plain --seconds 0.1 --device null --mask " ATTACK ".txt",
        "\"$HALO\" listen in.wav --to-file " ATTACK ".wav --force --mask " ATTACK ".txt",
        "\"$HALO\" listen --verify " ATTACK,
        "\"$HALO\" chain check " ATTACK ".yml",
        "\"$HALO\" chain check key.yml",
        "\"$HALO\" chain check value.yml",
        "\"$HALO\" mask show word.conf",
        "\"$HALO\" plugins info " ATTACK,
        "\"$HALO\" render in.wav out.wav -f --mask " VALID " --save-chain saved.yml && "
        "\"$HALO\" chain check saved.yml",
    };
    sound_noise_file("in.wav", 1, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 48000, 2, 4800);
    command_done("cp in.wav " ATTACK ".wav; printf '1\\n0.5\\n' >" ATTACK ".txt; cp h*.txt " VALID);
    command_done("printf '1 2\\n3 4\\n' >" ATTACK ".mask2d");
    command_done("printf 'halo-chain: 1\\nstages:\\n- gain: 0\\n' >" ATTACK ".yml");
    command_done("key='\"h\\e]0;owned\\a\\e[2J\\nhalo: \\x9b2J\\x7fx\"'; "
                 "printf 'halo-chain: 1\\nstages:\\n- %%s: 0\\n' \"$key\" >key.yml; "
                 "printf 'halo-chain: 1\\nstages:\\n- gain: %%s\\n' \"$key\" >value.yml; "
                 "printf '/convolver/new 1 1 64 64\\n/%%s 1 2\\n' " ATTACK " >word.conf");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        expect_visible(commands[i]);
}

/* A terminal obeys nothing of JSON, a reader gets every character, and of bytes that are none the
 * rest. */
START_TEST(names_in_json_are_whole)
{
    command_done("printf '1\\n0.5\\n' >" ATTACK ".txt; cp h*.txt gr\u00fcn-\U0001f3b5.txt");
    struct command_result result =
        command_done("\"$HALO\" mask show --json " ATTACK ".txt,gain=-1 gr\u00fcn-\U0001f3b5.txt");
    expect_clean("halo mask show --json", result.out);
    command_expect(result.out, "\\u001B[2J\\nhalo: \\u009B2J\\u007F\\u202E\uFFFDx.txt");
    json_t *shown = command_json(result.out), *masks = json_object_get(shown, "masks");
    ck_assert_str_eq(command_json_string(json_array_get(masks, 0), "mask"),
                     "h\033]0;owned\007\033[2J\nhalo: \xc2\x9b"
                     "2J\x7f\u202e\uFFFDx.txt,gain=-1");
    ck_assert_str_eq(command_json_string(json_array_get(masks, 1), "mask"),
                     "gr\u00fcn-\U0001f3b5.txt");
}

/* The screen shows what it cannot print as question marks. */
START_TEST(names_do_not_disturb_the_screen)
{
    command_done("printf '1\\n0.5\\n' >" ATTACK ".txt");
    if (!tmux_there())
        return;
    tmux_open(100, 30, "\"$HALO\" live --device null --mask " ATTACK ".txt");
    tmux_wait("q leave");
    tmux_wait("h?]0;owned??[2J?halo: ");
    tmux_close();
}
