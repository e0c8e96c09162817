/* What a mistyped command line is answered with, halo help, and failures as JSON. */
#include "command.h"
#include "suite.h"

#include <fcntl.h>
#include <signal.h>
#include <sndfile.h>
#include <string.h>
#include <unistd.h>

/* ---- similar names ---- */

/* A library that PortAudio opens and closes leaves memory behind. */
static void allow_leaks(void)
{
    setenv("ASAN_OPTIONS", "detect_leaks=0", true);
}

START_TEST(similar_names_are_offered)
{
    allow_leaks();
    static const struct {
        const char *meant, *line;
    } cells[] = {
        {"did you mean render?", "rendr a.wav b.wav"},
        {"did you mean show", "mask shwo a.wav"},
        {"did you mean --version?", "version"},
        {"did you mean mask plot?", "plot a.wav"},
        {"did you mean --mask?", "render a.wav b.wav --msak h.wav"},
        {"did you mean --no-feedback-guard?", "live --no-guard"},
        {"--re is ambiguous; did you mean --reproducible or --replay?", "render a.wav b.wav --re"},
        {"did you mean wrap?", "render $WAV/click.wav b.wav --edge wap"},
        {"did you mean pcm16", "render $WAV/click.wav b.wav --format pcm61"},
        {"did you mean wav or wave?", "render $WAV/click.wav b.wav --container wva"},
        {"did you mean wav", "render $WAV/click.wav b.wvv"},
        {"did you mean gain=?", "render $WAV/click.wav b.wav --mask lowpass:300,gian=3"},
        {"did you mean taps=?", "render $WAV/click.wav b.wav --mask lowpass:300,tasp=3"},
        {"did you mean @mix=", "render $WAV/click.wav b.wav --mask lowpass:300,@mx=1"},
        {"did you mean minimum?", "render $WAV/click.wav b.wav --mask lowpass:300,phase=minimun"},
        {"did you mean auto?", "render $WAV/click.wav b.wav --mask $WAV/click.wav,map=atuo"},
        {"did you mean lowpass?", "render $WAV/click.wav b.wav --mask lowpas:300"},
        {"did you mean lowpass?", "mask show lowpas"},
        {"did you mean gaussian2d?", "render $WAV/click.wav b.wav --spectral gausian2d:3x3"},
        {"did you mean size=?", "render $WAV/click.wav b.wav --spectral box2d:3x3,sise=512"},
        {"did you mean impulse?", "mask plot lowpass:300 --what impulze"},
        {"did you mean null?", "live --driver nulll"},
    };
    command_clean();
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        command_refused(0, cells[i].meant, "\"$HALO\" %s", cells[i].line);
}

START_TEST(files_near_by_are_offered)
{
    command_done("mkdir -p takes && cp \"$WAV/click.wav\" takes/hall.wav && cp takes/hall.wav .");
    command_done("printf 'stages: []\\n' >evening.yml");
    const char *const render = "\"$HALO\" render takes/hall.wav out.wav";
    command_refused(1, "did you mean hall.wav?", "\"$HALO\" render hal.wav out.wav");
    command_refused(1, "did you mean takes/hall.wav?", "\"$HALO\" render takes/hal.wav out.wav");
    command_refused(1, "did you mean hall.wav?", "\"$HALO\" render hall out.wav");
    command_refused(1, "did you mean hall.wav?", "%s --mask hal.wav", render);
    command_refused(1, "did you mean hall.wav?", "%s --mask hal", render);
    command_refused(1, "did you mean evening.yml?", "%s --chain evenign.yml", render);
    command_refused(1, "there is no folder taks/", "\"$HALO\" render taks/hall.wav out.wav");
    command_refused(1, "there is no folder ot/", "\"$HALO\" render hall.wav ot/out.wav");
    struct command_result far = command_run("\"$HALO\" render xyzzy.flac out.wav");
    ck_assert_ptr_null(strstr(far.err, "did you mean"));
}

START_TEST(presets_near_by_are_offered)
{
    command_done(
        "mkdir -p config/halo/presets && printf 'stages: []\\n' >config/halo/presets/hall");
    for (size_t i = 0; i < 3; i++) {
        static const char *const uses[] = {"live --preset hal", "preset show hal",
                                           "preset remove hal"};
        command_refused(2, "did you mean hall?", "XDG_CONFIG_HOME=$PWD/config \"$HALO\" %s",
                        uses[i]);
    }
}

/* ---- values ---- */

START_TEST(a_missing_value_has_its_message)
{
    static const struct {
        const char *message, *line;
    } cells[] = {
        {"--gain needs a value: DB;", "render a.wav b.wav --gain"},
        {"--gain needs a value: DB;", "render a.wav b.wav --gain="},
        {"--gain needs a value: DB;", "render a.wav b.wav --gain ''"},
        {"--gain needs a value: DB, not the option --mask;", "render a.wav --gain --mask h.wav"},
        {"--gain needs a value: DB, not the option -f;", "render a.wav b.wav --gain -f"},
        {"--mask needs a value: MASK, not the option --gian", "render a.wav b.wav -m --gian 3"},
        {"-o needs a value: OUT;", "render a.wav -o"},
        {"--rate needs a value", "live --rate"},
        {"IN of halo render is empty", "render '' b.wav"},
        {"OUT of halo render is empty", "render a.wav ''"},
        {"gain= of a mask needs a value", "mask show lowpass:300,gain="},
        {"gain= of a mask needs a value", "mask show lowpass:300,gain"},
        {"taps= needs a value", "mask show lowpass:300,taps="},
        {"@mix= needs a value", "render $WAV/click.wav b.wav --gain 3,@mix="},
        {"gain= needs a value", "render $WAV/click.wav b.wav --gain 3,at=1s:gain="},
        {"size= needs a value", "render $WAV/click.wav b.wav --spectral box2d:3x3,size="},
        {"--force takes no value, not '--force=yes'", "render a.wav b.wav --force=yes"},
    };
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        command_refused(2, cells[i].message, "\"$HALO\" %s", cells[i].line);
    command_refused(1, "cannot open mask --gain", /* that is what = is for */
                    "\"$HALO\" render \"$WAV/click.wav\" b.wav --mask=--gain");
    command_done("\"$HALO\" render \"$WAV/click.wav\" b.wav -q --gain -6");
}

/* ---- other slips ---- */

START_TEST(slips_are_recognized)
{
    static const struct {
        const char *message, *line;
    } cells[] = {
        {"-mask is not an option; did you mean --mask?", "render in.wav b.wav -mask h.wav"},
        {"-force is not an option; did you mean --force?", "render in.wav b.wav -force"},
        {"-gain=3 is not an option; did you mean --gain=3?", "render in.wav b.wav -gain=3"},
        {"did you mean --mask?", "render in.wav b.wav \u2014mask h.wav"},
        {"did you mean --mask h.wav?", "render in.wav b.wav mask=h.wav"},
        {"did you mean --gain 3?", "render in.wav b.wav --mask lowpass:300 gain=3"},
        {"a decimal point is .", "render in.wav b.wav --gain 1,5"},
        {"there is no mask option after a comma", "render in.wav b.wav --mask lowpass:300,"},
        {"a mask begins with a file or a kind", "render in.wav b.wav --mask ,gain=3"},
        {"to filter a file: halo render IN OUT", "in.wav b.wav"},
        {"takes IN and OUT, not also '--gain'", "render -- in.wav b.wav --gain 3"},
        {"such as -6, not 'nan'", "render in.wav b.wav --gain nan"},
        {"such as -6, not '6dBFS'", "render in.wav b.wav --gain 6dBFS"},
        {"not '1k'", "render in.wav b.wav --block 1k"},
        {"-d.wav is taken for an option; for the file write ./-d.wav", "render -d.wav b.wav"},
        {"for the file write ./-fad", "render in.wav b.wav --mask lowpass:300 -fad"},
        {"for the file write ./--x", "render --x b.wav"},
        {"-e is not an option", "render in.wav b.wav -e"},
    };
    command_done("for to in in.wav ./-d.wav ./-fad ./--x; do cp \"$WAV/click.wav\" $to; done");
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        command_refused(2, cells[i].message, "\"$HALO\" %s", cells[i].line);
    command_done("\"$HALO\" render ./-d.wav b.wav -q && \"$HALO\" render -q -- -d.wav c.wav && "
                 "cmp b.wav c.wav");
    command_done("\"$HALO\" render --help all | grep -e '--help all' && "
                 "! \"$HALO\" devices --help | grep -e '--help all'");
}

/* However long the name is, the line ends with why. */
START_TEST(long_names_leave_the_reason)
{
    static const char *const lengths[] = {"300", "4096", "20000"};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        command_refused(1, ".wav: File name too long",
                        "\"$HALO\" render \"$(printf '%%0%sd' 0).wav\" out.wav", lengths[i]);
        command_refused(1, ".wav: File name too long",
                        "\"$HALO\" render \"$WAV/click.wav\" \"$(printf '%%0%sd' 0).wav\"",
                        lengths[i]);
    }
}

/* The chain would replace the sound. */
START_TEST(two_outputs_are_two_files)
{
    static const char *const chains[] = {"out.wav", "./out.wav", "link.wav", "$PWD/out.wav"};
    command_done("cp \"$WAV/click.wav\" in.wav && ln -s out.wav link.wav");
    for (size_t there = 0; there < 2; there++) {
        for (size_t i = 0; i < sizeof chains / sizeof *chains; i++)
            command_refused(2, "are the same file",
                            "\"$HALO\" render in.wav out.wav -f --save-chain \"%s\"", chains[i]);
        command_done("\"$HALO\" render in.wav out.wav -fq");
    }
    command_done("\"$HALO\" render in.wav out.wav -fq --save-chain out.yml");
}

/* What is no regular file is not replaced by one. */
START_TEST(pipes_are_not_replaced)
{
    static const char *const lines[] = {"render in.wav out.wav -f --save-chain pipe",
                                        "mask convert in.wav pipe.txt -f",
                                        "mask plot in.wav -f -o pipe.png"};
    command_done("cp \"$WAV/click.wav\" in.wav && mkfifo pipe pipe.txt pipe.png");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        command_refused(1, "it is not a regular file", "\"$HALO\" %s", lines[i]);
    command_done("test -p pipe && test -p pipe.txt && test -p pipe.png");
}

START_TEST(lost_output_is_a_failure)
{
    allow_leaks();
    static const char *const lines[] = {"--help >/dev/full",
                                        "--help >&-",
                                        "render --help >/dev/full",
                                        "help mask >/dev/full",
                                        "--version >/dev/full",
                                        "list-options >/dev/full",
                                        "mask show lowpass:300 >/dev/full",
                                        "mask show lowpass:300 --json >/dev/full",
                                        "devices --json >/dev/full",
                                        "render no.wav out.wav --json >/dev/full"};
    command_clean();
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        command_refused(1, "cannot", "\"$HALO\" %s", lines[i]);
    command_refused(1, "cannot write standard output: No space left on device",
                    "\"$HALO\" --version >/dev/full");
}

/* Whoever reads it has read enough; also where the command itself ignores SIGPIPE. */
START_TEST(a_closed_pipe_ends_it_silently)
{
    static const char *const lines[] = {"plugins list latency", "list-options", "render --help",
                                        "mask show lowpass:300 --json"};
    command_done("mkdir ladspa && cp " HALO_TEST_PLUGINS "/ladspa/mean.so ladspa");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        command_done(
            "{ sleep 0.2; LV2_PATH=/nowhere LADSPA_PATH=$PWD/ladspa \"$HALO\" %s 2>err; echo $? >code; } | true; "
            "! grep -v 'scanning plugins' err && grep -qx 141 code",
            lines[i]);
}

/* ---- colours ---- */

START_TEST(variables_decide_on_colours)
{
    static const struct {
        const char *variables;
        bool coloured;
    } cells[] = {
        {"TERM=xterm", false},
        {"FORCE_COLOR=1", true},
        {"CLICOLOR_FORCE=1", true},
        {"FORCE_COLOR=0", false},
        {"FORCE_COLOR=", false},
        {"NO_COLOR=1 FORCE_COLOR=1", false},
        {"CLICOLOR=1", false},
        {"CLICOLOR=0 FORCE_COLOR=1", false},
        {"NO_COLOR= FORCE_COLOR=1", true},
    };
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        struct command_result result =
            command_done("env -u NO_COLOR -u CLICOLOR -u CLICOLOR_FORCE -u FORCE_COLOR %s "
                         "\"$HALO\" spectrogram \"$WAV/click.wav\"",
                         cells[i].variables);
        ck_assert_msg((strchr(result.out, 0x1B) != NULL) == cells[i].coloured, "%s",
                      cells[i].variables);
    }
}

/* ---- help ---- */

static void expect_same_help(const char *one, const char *other)
{
    static struct command_result expected;
    expected = command_done("\"$HALO\" %s", one);
    struct command_result help = command_done("\"$HALO\" %s", other);
    ck_assert_str_eq(help.out, expected.out);
    ck_assert_str_eq(help.err, "");
}

START_TEST(help_is_a_word_too)
{
    expect_same_help("--help", "help");
    expect_same_help("--help", "-h");
    expect_same_help("render --help", "help render");
    expect_same_help("render --help", "--help render");
    expect_same_help("mask --help", "mask help");
    expect_same_help("mask show --help", "help mask show");
    expect_same_help("mask show --help", "mask help show");
    expect_same_help("mask show --help", "--help mask show");
    command_refused(2, "did you mean render", "\"$HALO\" help rendr");
    command_refused(2, "did you mean show", "\"$HALO\" help mask shwo");
    command_refused(2, "no command 'plugin-scanner'", "\"$HALO\" help plugin-scanner");
}

/* All that halo list-options lists. */
START_TEST(help_fits_eighty_columns)
{
    struct command_result wide = command_run(
        "\"$HALO\" list-options | awk -F'\\t' '$2 == \"command\" { print $1 }' |"
        "while read -r _ words; do for all in '' all; do LC_ALL=C.UTF-8 \"$HALO\" $words --help $all |"
        "    awk -v command=\"$words\" 'length > 80 { print command \": \" $0 }'; done; done");
    ck_assert_str_eq(wide.out, "");
}

/* Where --help is not all, it fits a screen and names options that exist. */
START_TEST(brief_help_names_real_options)
{
    static const char *const commands[] = {"render", "live", "listen", "batch"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        struct command_result brief = command_done("\"$HALO\" %s --help", commands[i]);
        command_done("\"$HALO\" %s --help all >all.txt", commands[i]);
        size_t lines = 0;
        for (const char *at = brief.out; (at = strchr(at, '\n')); at++)
            lines++;
        ck_assert_msg(lines <= 41, "halo %s --help has %zu lines", commands[i], lines);
        struct command_result strange = command_run(
            "\"$HALO\" %s --help | grep -oE -- '--[a-z][a-z0-9-]+' | sort -u |"
            "while read -r option; do"
            "    grep -qE -- \"^ .*$option([ =,[]|$)\" all.txt || echo \"$option\"; done",
            commands[i]);
        ck_assert_str_eq(strange.out, "");
    }
    expect_same_help("render --help all", "help render all");
}

/* ---- short forms ---- */

START_TEST(outputs_and_masks_have_short_forms)
{
    command_done("cp \"$WAV/click.wav\" in.wav && \"$HALO\" mask make lowpass:300 -o m.wav");
    command_done("\"$HALO\" render in.wav plain.wav -q --mask m.wav");
    command_done("\"$HALO\" render in.wav -o short.wav -q -m m.wav && cmp plain.wav short.wav");
    command_done("\"$HALO\" render -fqo short.wav -mm.wav in.wav && cmp plain.wav short.wav");
    command_done("\"$HALO\" mask convert m.wav -o m.txt && \"$HALO\" mask convert m.wav n.txt &&"
                 "cmp m.txt n.txt");
    command_done("rm -f plain.wav short.wav");
    command_refused(2, "OUT is given twice: 'a.wav' and 'b.wav'",
                    "\"$HALO\" render in.wav a.wav -o b.wav");
    command_refused(2, "OUT is given twice: 'b.wav' and 'a.wav'",
                    "\"$HALO\" render -o b.wav in.wav a.wav");
    command_refused(2, "OUT is given twice", "\"$HALO\" render -o b.wav -o a.wav in.wav");
    command_refused(2, "halo render needs IN and OUT", "\"$HALO\" render -o b.wav");
    command_refused(2, "halo render needs IN and OUT", "\"$HALO\" render in.wav");
}

/* ---- failures as JSON ---- */

static json_t *error_of(const char *text)
{
    json_t *error = json_object_get(command_json(text), "error");
    ck_assert_ptr_nonnull(error);
    return error;
}

START_TEST(a_failure_is_one_json_object)
{
    static const struct {
        int code;
        const char *line, *cause, *message;
    } cells[] = {
        {1, "render hal.wav out.wav", "missing",
         "cannot open hal.wav: No such file or directory; did you mean hall.wav?"},
        {1, "render hall.wav out.wav --mask 'A: b; c.wav'", "missing",
         "cannot open mask A: b; c.wav: No such file or directory"},
        {2, "render hall.wav out.wav --msak m.wav", "usage",
         "--msak is not an option; did you mean --mask? halo render --help all lists them"},
        {2, "rendr", "usage", "halo has no command 'rendr'; did you mean render? see halo --help"},
        {2, "devices x", "usage",
         "halo devices takes options only, not 'x'; see halo devices --help"},
        {1, "chain check none.yml", "missing",
         "cannot open chain none.yml: No such file or directory"},
        {1, "spectrogram hal.wav", "missing",
         "cannot open hal.wav: No such file or directory; did you mean hall.wav?"},
        {2, "live --check --mask hall.wav,gian=3", "usage",
         "unknown mask option 'gian=3'; did you mean gain=?"},
        {2, "bench stream --gain", "usage",
         "--gain is not an option; halo bench stream --help lists them"},
    };
    command_done("cp \"$WAV/click.wav\" hall.wav");
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        struct command_result result = command_run("\"$HALO\" %s --json", cells[i].line);
        ck_assert_int_eq(result.code, cells[i].code);
        json_t *error = error_of(result.out);
        ck_assert_int_eq((int)command_json_number(error, "code"), cells[i].code);
        ck_assert_str_eq(command_json_string(error, "cause"), cells[i].cause);
        ck_assert_str_eq(command_json_string(error, "message"), cells[i].message);
        command_expect(result.err, command_json_string(error, "message"));
        ck_assert_uint_eq(command_lines(result.err), 1);
    }
}

/* The sound is on standard output. */
/* Where one thread fails and another reports it, whatever the names are. */
START_TEST(a_failure_of_another_thread_keeps_its_cause)
{
    static const struct {
        int code;
        const char *line, *cause, *message;
    } cells[] = {
        {1, "--precision single 'x: y; z.wav' out.wav", "unsupported",
         "cannot read x: y; z.wav: frame 150001 of channel 1 is 1e+200, beyond single precision; use --precision double"},
        {1, "--precision single -O out 'x: y; z.wav'", "unsupported",
         "cannot read x: y; z.wav: frame 150001 of channel 1 is 1e+200, beyond single precision; use --precision double"},
        {1, "-O out --layout 7.1 'x: y; z.wav'", "usage",
         "--layout 7.1 is for 8 channels, but x: y; z.wav has 1"},
    };
    SF_INFO info = {.samplerate = 48000, .channels = 1, .format = SF_FORMAT_WAV | SF_FORMAT_DOUBLE};
    static double samples[200000] = {0.5};
    samples[150000] = 1e200;
    SNDFILE *file = sf_open(command_path("x: y; z.wav"), SFM_WRITE, &info);
    ck_assert_int_eq(sf_write_double(file, samples, 200000), 200000);
    sf_close(file);
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        struct command_result result = command_run("\"$HALO\" render %s --json", cells[i].line);
        ck_assert_int_eq(result.code, cells[i].code);
        if (i > 0) /* a line for the file, then one for all */
            result.out[strcspn(result.out, "\n")] = '\0';
        json_t *error = error_of(result.out);
        ck_assert_str_eq(command_json_string(error, "cause"), cells[i].cause);
        ck_assert_str_eq(command_json_string(error, "message"), cells[i].message);
    }
}

START_TEST(a_failure_beside_sound_is_on_standard_error)
{
    static const char *const lines[] = {
        "render hal.wav - --json", "render hall.wav - --json --mask hal.wav",
        "render hall.wav -o- --json --mask hal.wav", "render hall.wav - --json --msak hal.wav",
        "render hall.wav /dev/stdout --json --mask hal.wav"};
    command_done("cp \"$WAV/click.wav\" hall.wav");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct command_result result = command_run("\"$HALO\" %s | cat", lines[i]);
        ck_assert_str_eq(result.out, "");
        (void)error_of(result.err);
    }
}

/* The masks that can be shown are. */
START_TEST(a_mask_that_fails_has_its_error_among_the_masks)
{
    struct command_result result = command_run("\"$HALO\" mask show lowpass:300 no.wav --json");
    ck_assert_int_eq(result.code, 1);
    json_t *root = command_json(result.out), *masks = json_object_get(root, "masks");
    ck_assert_uint_eq(json_array_size(masks), 2);
    ck_assert_ptr_null(json_object_get(json_array_get(masks, 0), "error"));
    const json_t *error = json_object_get(json_array_get(masks, 1), "error");
    ck_assert_str_eq(command_json_string(error, "cause"), "missing");
    ck_assert_str_eq(command_json_string(json_array_get(masks, 1), "mask"), "no.wav");
}

/* Names are bytes. */
START_TEST(names_that_are_not_utf8_make_json)
{
    struct command_result result =
        command_run("\"$HALO\" render \"$(printf 'a\\377\\033[2J\\tb.wav')\" out.wav --json");
    json_t *error = error_of(result.out);
    command_expect(command_json_string(error, "message"),
                   "cannot open a\xEF\xBF\xBD\x1B[2J\tb.wav");
    ck_assert_ptr_null(strchr(result.out, 0x1B));
    ck_assert_ptr_null(strchr(result.err, 0x1B));
}

/* The input is a pipe that nothing comes from: halo waits, and is stopped. */
START_TEST(a_signal_is_a_failure_too)
{
    command_done("mkfifo pipe");
    pid_t halo = command_start("exec \"$HALO\" render pipe out.wav --json");
    int end = open(command_path("pipe"), O_WRONLY); /* once halo reads */
    ck_assert_int_ge(end, 0);
    kill(halo, SIGTERM);
    close(end); /* it may not have waited yet when the signal came */
    struct command_result result = command_wait(halo);
    ck_assert_int_eq(result.code, 128 + SIGTERM);
    json_t *error = error_of(result.out);
    ck_assert_int_eq((int)command_json_number(error, "code"), 128 + SIGTERM);
    ck_assert_str_eq(command_json_string(error, "message"), "stopped");
    ck_assert_int_ne(access(command_path("out.wav"), F_OK), 0);
}
