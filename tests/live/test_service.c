/* halo service: the unit that it writes, as systemd reads it, and what it refuses. No user
 * manager is asked: its bus is in a folder that is empty. */
#include "command.h"
#include "command/commands.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

#define SETTING "export XDG_CONFIG_HOME=\"$PWD/config\" XDG_RUNTIME_DIR=\"$PWD\"; "
#define UNIT "config/systemd/user/halo.service"

static void start(void)
{
    command_done("cp \"$FILTERS/small-room.wav\" 'a room, 50%%.wav'; "
                 "cp \"$FILTERS/identity.txt\" plain.txt");
}

static void expect_unit(const char *expected)
{
    struct command_result unit = command_done("cat " UNIT);
    command_expect(unit.out, expected);
}

START_TEST(arguments_are_quoted_as_systemd_reads_them)
{
    const struct {
        const char *word, *quoted;
    } words[] = {
        {"", "\"\""},
        {"a b", "\"a b\""},
        {"50% of $HOME", "\"50%% of $$HOME\""},
        {"a\"b\\c'd", "\"a\\\"b\\\\c'd\""},
        {"two\nlines\t", "\"two\\x0alines\\x09\""},
        {"Z\xc3\xbcrich", "\"Z\xc3\xbcrich\""},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char *quoted = service_unit_quote(words[i].word, false);
        ck_assert_str_eq(quoted, words[i].quoted);
        free(quoted);
    }
    char *program = service_unit_quote("/a$b/halo", true); /* no variables there */
    ck_assert_str_eq(program, "\"/a$b/halo\"");
    free(program);
}

START_TEST(a_service_is_installed_shown_and_removed)
{
    start();
    struct command_result result =
        command_done(SETTING "\"$HALO\" service install -- --mask 'a room\\, 50%%.wav' --gain -3");
    command_expect(result.out, "systemctl --user enable --now halo.service");
    expect_unit(" live --quiet --plain --reconnect \"--mask\" \"a room\\\\, 50%%.wav\" \"--gain\" "
                "\"-3\"\n");
    expect_unit("Restart=on-failure\n");
    expect_unit("After=pipewire.service");
    expect_unit("Environment=HALO_SERVICE=halo\n");
    result = command_done("printf 'WorkingDirectory=%%s\\n' \"$PWD\"");
    expect_unit(result.out);
    result = command_done(SETTING "\"$HALO\" service status --json");
    json_t *status = command_json(result.out);
    ck_assert(json_is_true(json_object_get(status, "installed")));
    ck_assert(json_is_null(json_object_get(status, "active")));
    result = command_run("command -v systemd-analyze >/dev/null || exit 77; " SETTING
                         "systemd-analyze verify --user " UNIT);
    ck_assert_msg(result.code == 77 || (result.code == 0 && !result.err[0]), "%s", result.err);
    command_done(SETTING "\"$HALO\" service remove && test ! -e config/systemd");
    result = command_done(SETTING "\"$HALO\" service status");
    command_expect(result.out, "halo is not installed");
}

START_TEST(several_have_names)
{
    start();
    command_done(SETTING "\"$HALO\" service install -- --mask plain.txt && "
                         "\"$HALO\" service install --name car.2 -- --gain -6 && "
                         "\"$HALO\" service remove && "
                         "test -e config/systemd/user/car.2.service");
}

START_TEST(what_cannot_run_is_refused)
{
    start();
    command_refused(1, "cannot open mask no.wav",
                    SETTING "\"$HALO\" service install -- --mask no.wav");
    command_refused(2, "--colour is not an option",
                    SETTING "\"$HALO\" service install -- --colour red");
    command_refused(2, "letters, digits", SETTING "\"$HALO\" service install --name ../x");
    command_refused(1, "is not installed", SETTING "\"$HALO\" service remove");
    command_done(SETTING "\"$HALO\" service install");
    command_refused(1, "--force replaces it", SETTING "\"$HALO\" service install -- --gain -1");
    command_done(SETTING "\"$HALO\" service install -f -- --gain -1");
    expect_unit("\"--gain\" \"-1\"");
    command_done("echo other >" UNIT);
    command_refused(1, "is not halo's", SETTING "\"$HALO\" service install -f -- --gain -1");
    command_refused(1, "is not halo's", SETTING "\"$HALO\" service remove");
}

/* Wrong usage at a start is also a device that is named and not there yet. */
START_TEST(it_is_started_again_after_any_failure)
{
    start();
    command_done(SETTING "\"$HALO\" service install -- --output 'a device of another day'");
    expect_unit("Restart=on-failure\n");
    command_done("! grep RestartPrevent " UNIT);
    command_done(SETTING "\"$HALO\" service remove");
}

/* A systemctl of our own notes what it is asked for. */
START_TEST(the_service_of_another_is_not_stopped)
{
    start();
    command_done("mkdir bin; printf '#!/bin/sh\\necho \"$@\" >>asked\\n' >bin/systemctl; "
                 "chmod +x bin/systemctl; mkdir -p config/systemd/user; "
                 "printf '[Service]\\nExecStart=/bin/true\\n' >config/systemd/user/music.service");
    command_refused(1, "is not halo's",
                    SETTING "PATH=\"$PWD/bin:$PATH\" \"$HALO\" service remove --name music");
    command_done("test ! -e asked && test -e config/systemd/user/music.service");
    command_done(SETTING "PATH=\"$PWD/bin:$PATH\"; \"$HALO\" service install && "
                         "\"$HALO\" service remove && grep -q 'disable --now halo.service' asked");
}

START_TEST(a_folder_that_systemd_misreads_is_refused)
{
    start();
    command_done("mkdir config 'odd\\' \"$(printf 'tab\\t')\"");
    command_refused(1, "systemd cannot run in a folder of this name",
                    SETTING "cd 'odd\\' && \"$HALO\" service install");
    command_refused(1, "systemd cannot run in a folder of this name",
                    SETTING "cd tab* && \"$HALO\" service install");
}

START_TEST(what_is_not_known_is_not_claimed)
{
    start();
    command_done(SETTING "\"$HALO\" service install");
    struct command_result result = command_done(SETTING "\"$HALO\" service status");
    command_expect(result.out, "state unknown");
    ck_assert_ptr_null(strstr(result.out, "not running"));
}

START_TEST(live_is_checked_without_a_device)
{
    start();
    command_done("\"$HALO\" live --check --mask 'a room\\, 50%%.wav' --device there-is-none");
    json_t *checked = command_json(
        command_done("\"$HALO\" live --check --json --channels 1 --mask lowpass:1000,taps=101 "
                     "--gain -3")
            .out);
    ck_assert_int_eq(json_integer_value(json_object_get(checked, "inputs")), 1);
    ck_assert_int_eq(json_integer_value(json_object_get(checked, "latency")), 50);
    ck_assert_uint_eq(json_array_size(json_object_get(checked, "stages")), 2);
    command_refused(1, "cannot open mask no.wav", "\"$HALO\" live --check --mask no.wav");
    command_refused(2, "there is no preset 'no'", "\"$HALO\" live --check --preset no");
}
