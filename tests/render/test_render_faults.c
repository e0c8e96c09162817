/* halo render where the outside world fails: full disks, damaged disks, closed streams. The result
 * is the right file, or the old one and exit code 1; nothing is left beside it. HALO_TEST_FULL:
 * each call fails, in every container; otherwise some. */
#include "command.h"
#include "sound.h"
#include "suite.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { WAV16 = SF_FORMAT_WAV | SF_FORMAT_PCM_16, CALLS_MOST = 3000 };

static const char *const endings[] = {"wav",  "flac", "ogg", "opus", "mp3",
                                      "aiff", "caf",  "w64", "rf64", "au"};
enum { ENDINGS = sizeof endings / sizeof *endings };

static bool full(void)
{
    return getenv("HALO_TEST_FULL") != NULL;
}

/* The address sanitizer would be loaded first, and finds what libvorbis leaks after errors. */
static void begin(void)
{
    setenv("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0", true);
    command_clean();
}

static void make_sound(size_t frames)
{
    begin();
    sound_noise_file("in.wav", 1, WAV16, 48000, 2, frames);
}

/* Whether the library writes this container. */
static bool writes(const char *ending)
{
    struct command_result result = command_run(
        "\"$HALO\" render in.wav probe.%s -q; code=$?; rm -f probe.*; exit $code", ending);
    ck_assert_msg(result.code == 0 || strcmp(ending, "mp3") == 0, "%s: %s", ending, result.err);
    return result.code == 0;
}

static void expect_refused(const struct command_result *result, const char *what,
                           const char *expected)
{
    ck_assert_msg(result->code == 1, "%s: exit code %d\n%s", what, result->code, result->err);
    ck_assert_msg(command_lines(result->err) == 1 && strstr(result->err, expected), "%s prints: %s",
                  what, result->err);
}

/* ---- a full disk ---- */

/* In a name space that is removed afterwards. */
#define ON_SMALL_DISK                                                                              \
    "unshare -rm sh -c 'mount -t tmpfs -o size=84k tmpfs disk && echo precious >disk/old.%s && "   \
    "{ %s; code=$?; ls -A disk >left; cat disk/old.* >>left; exit $code; }'"

START_TEST(full_disks_keep_the_old_file)
{
    make_sound(900000);
    command_done("mkdir disk");
    if (command_run(ON_SMALL_DISK, "x", ":").code != 0) {
        puts("not run: full_disks_keep_the_old_file, for want of the right to mount");
        return; /* the limit below stands in for it */
    }
    for (size_t i = 0; i < ENDINGS; i++) {
        char line[128], left[64];
        if (!writes(endings[i]))
            continue;
        snprintf(left, sizeof left, "old.%s\nprecious\n", endings[i]);
        for (int old = 0; old < 2; old++) {
            snprintf(line, sizeof line, "\"$HALO\" render in.wav disk/%s.%s -f",
                     old ? "old" : "new", endings[i]);
            struct command_result result = command_run(ON_SMALL_DISK, endings[i], line);
            expect_refused(&result, line, "No space left on device");
            struct command_result rest = command_run("cat left");
            ck_assert_msg(strcmp(rest.out, left) == 0, "%s left %s", line, rest.out);
        }
    }
}

START_TEST(file_size_limits_keep_the_old_file)
{
    make_sound(900000);
    for (size_t i = 0; i < ENDINGS; i++) {
        if (!writes(endings[i]))
            continue;
        command_done("echo precious >old.%s", endings[i]);
        command_refused(1, "File too large",
                        "ulimit -f 100; trap '' XFSZ; \"$HALO\" render in.wav old.%s -f",
                        endings[i]);
        command_done("[ \"$(cat old.%s)\" = precious ] && rm old.%s", endings[i], endings[i]);
    }
}

START_TEST(full_devices_are_errors)
{
    make_sound(100000);
    for (size_t i = 0; i < ENDINGS; i++)
        if (writes(endings[i]))
            command_refused(1, "No space left", "\"$HALO\" render in.wav /dev/full --container %s",
                            endings[i]);
    command_refused(1, "No space left", "\"$HALO\" render in.wav - >/dev/full");
}

/* ---- one failed call ---- */

#define FAULTY "LD_PRELOAD='" FAULTS "' FAULT_MARK=mark FAULT='%s %s %d %d' "

/* Run `line` with the call failing at its first, second, ... time, until it is not called so
 * often. Each time the old file stays, or the new one is whole. Returns the number of calls. */
static int each_time(const char *call, const char *name, int error, const char *line)
{
    char what[256];
    for (int number = 1, all = full() ? 20 : 3;; number += number < all ? 1 : 1 + number / 4) {
        command_done("rm -f mark; echo precious >old");
        struct command_result result = command_run(FAULTY "%s", call, name, number, error, line);
        if (access(command_path("mark"), F_OK) != 0) {
            ck_assert_msg(result.code == 0, "%s: exit code %d\n%s", line, result.code, result.err);
            command_done("rm -f whole");
            return number - 1;
        }
        ck_assert_int_lt(number, CALLS_MOST);
        if (number == 1)
            command_done("mv old .old; %s; mv old whole; mv .old old", line);
        snprintf(what, sizeof what, "%s %d: %s", call, number, line);
        bool writing = strcmp(call, "read") != 0 && strcmp(call, "lseek") != 0;
        if (result.code == 0 && !writing) { /* not needed after all; Ogg has a serial number */
            command_done("cmp old whole || { [ $(head -c 4 old) = OggS ] && "
                         "[ $(stat -c %%s old) = $(stat -c %%s whole) ]; }");
        } else {
            expect_refused(&result, what, strerror(error));
            command_done("[ \"$(cat old)\" = precious ]");
        }
        command_done("rm mark");
        ck_assert_msg(strcmp(command_files(), "in in.wav old whole") == 0, "%s left %s", what,
                      command_files());
    }
}

START_TEST(read_errors_are_not_silence)
{
    make_sound(50000);
    for (size_t i = 0; i < ENDINGS; i++) {
        char line[128];
        if ((!full() && i % 4 != 0) || !writes(endings[i]))
            continue;
        command_done("\"$HALO\" render in.wav out.%s -q && mv out.%s in", endings[i], endings[i]);
        snprintf(line, sizeof line, "\"$HALO\" render in old -f -q --container wav");
        ck_assert_int_gt(each_time("read", "/in", EIO, line), 2);
        ck_assert_int_ge(each_time("lseek", "/in", EIO, line), 0);
    }
    command_done("cp in.wav in");
    ck_assert_int_gt(
        each_time("read", "/in", EIO, "\"$HALO\" render - old -f -q --container wav <in"), 2);
    ck_assert_int_gt(
        each_time("read", "/in", EIO,
                  "\"$HALO\" render in.wav old -f -q --container wav --mask in,gain=-60"),
        4);
}

START_TEST(write_errors_keep_the_old_file)
{
    static const struct {
        const char *call, *name;
        int error;
    } faults[] = {
        {"write", "(deleted)", EIO}, {"lseek", "(deleted)", EIO}, {"fsync", "(deleted)", EIO},
        {"link", "old", EDQUOT},     {"rename", "old", EROFS},
    };
    make_sound(50000);
    command_done("cp in.wav in");
    for (size_t i = 0; i < ENDINGS; i++) {
        char line[128];
        if ((!full() && i % 4 != 0) || !writes(endings[i]))
            continue;
        snprintf(line, sizeof line, "\"$HALO\" render in.wav old -f -q --container %s", endings[i]);
        for (size_t f = 0; f < sizeof faults / sizeof *faults; f++)
            each_time(faults[f].call, faults[f].name, faults[f].error, line);
    }
}

/* ---- what a replaced file passes on ---- */

static mode_t mode_of(const char *name)
{
    struct stat about;
    ck_assert_int_eq(stat(command_path(name), &about), 0);
    return about.st_mode & 07777;
}

START_TEST(replaced_files_keep_their_owner)
{
    make_sound(1000);
    command_done("echo old >out.wav; chmod 6751 out.wav");
    command_done("\"$HALO\" render in.wav out.wav -f");
    ck_assert_int_eq(mode_of("out.wav"), 0751);
    if (geteuid() != 0) {
        puts("not run: the rest of replaced_files_keep_their_owner, since it needs root");
        return;
    }
    command_done("chown 1234:4321 out.wav; chmod 640 out.wav; \"$HALO\" render in.wav out.wav -f; "
                 "[ $(stat -c %%u:%%g:%%a out.wav) = 1234:4321:640 ]");
    /* Without the right to pass on the group, it gets no more than others. */
    command_done(
        "chmod 777 .; chown 0:0 out.wav; chmod 666 out.wav; "
        "setpriv --reuid 1234 --regid 1234 --clear-groups \"$HALO\" render in.wav out.wav -f");
    command_done("[ $(stat -c %%u:%%g:%%a out.wav) = 1234:1234:666 ]");
    command_done(
        "chown 0:0 out.wav; chmod 672 out.wav; "
        "setpriv --reuid 1234 --regid 1234 --clear-groups \"$HALO\" render in.wav out.wav -f");
    command_done("[ $(stat -c %%u:%%g:%%a out.wav) = 1234:1234:622 ]");
}

/* ---- the disk, and killed runs ---- */

static struct command_result render_faulty(const char *call, const char *name, int error,
                                           const char *options)
{
    return command_run(FAULTY "\"$HALO\" render in.wav out.wav -f %s", call, name, 0, error,
                       options);
}

START_TEST(files_are_on_the_disk_unless_asked)
{
    make_sound(1000);
    command_done("echo precious >out.wav");
    struct command_result result = render_faulty("fsync", "*", EIO, "");
    expect_refused(&result, "fsync of the file", "Input/output error; nothing was changed");
    command_done("[ \"$(cat out.wav)\" = precious ]");
    result = render_faulty("fsync", command_folder(), EIO, "");
    expect_refused(&result, "fsync of the folder", "Input/output error");
    ck_assert_int_eq(render_faulty("fsync", "*", EIO, "--no-sync").code, 0);
    ck_assert_int_eq(render_faulty("fsync", "*", EINVAL, "").code, 0); /* nothing to sync */
}

/* A file system without nameless files. */
START_TEST(hidden_files_serve_where_there_are_no_nameless)
{
    make_sound(1000);
    command_done("\"$HALO\" render in.wav whole.wav");
    ck_assert_int_eq(render_faulty("tmpfile", "*", EOPNOTSUPP, "").code, 0);
    command_done("cmp out.wav whole.wav && rm whole.wav mark && echo precious >out.wav");
    command_done("mkdir other; mv out.wav other; ln -s other/out.wav");
    ck_assert_int_eq(render_faulty("tmpfile", "*", EOPNOTSUPP, "").code, 0);
    command_done("[ $(stat -c %%s other/out.wav) -gt 4000 ] && [ -L out.wav ]");
    command_done("rm -r other out.wav mark");
    ck_assert_str_eq(command_files(), "in.wav");
}

static const struct timespec pause_ms = {.tv_nsec = 1000000};

static bool named_file_grows(void)
{
    return strstr(command_files(), ".halo-") != NULL;
}

static void kill_while(bool (*when)(void), const char *options)
{
    pid_t process = command_start("exec env " FAULTY "\"$HALO\" render in.wav out.wav -f %s",
                                  "tmpfile", "*", 0, EOPNOTSUPP, options);
    for (int i = 0; !when(); i++) {
        ck_assert_int_lt(i, 15000);
        nanosleep(&pause_ms, NULL);
    }
    ck_assert_int_eq(kill(process, SIGKILL), 0);
    ck_assert_int_eq(command_wait(process).code, 128 + SIGKILL);
}

START_TEST(leftovers_of_killed_runs_are_removed)
{
    begin();
    sound_sparse("in.wav", 48000, 1, UINT64_C(2000000000));
    kill_while(named_file_grows, "");
    command_expect(command_files(), ".out.wav.halo-");
    /* Those of others stay: a living process, other names, what is neither file nor folder. */
    command_done(
        "touch .out.wav.halo-1-0 .out.wav.halo-99999999-x .halo-99999999 a.halo-99999998-0; "
        "mkdir .o.halo-99999998-1; ln -s in.wav .l.halo-99999998-0");
    sound_noise_file("in.wav", 1, WAV16, 48000, 1, 1000);
    ck_assert_int_eq(render_faulty("tmpfile", "*", EOPNOTSUPP, "").code, 0);
    ck_assert_str_eq(
        command_files(),
        ".halo-99999999 .l.halo-99999998-0 .out.wav.halo-1-0 .out.wav.halo-99999999-x a.halo-99999998-0 in.wav mark out.wav");
    /* And what is locked, whatever its process is called here. */
    command_done("touch .out.wav.halo-99999998-2; flock .out.wav.halo-99999998-2 env " FAULTY
                 "\"$HALO\" render in.wav out.wav -f && rm .out.wav.halo-99999998-2",
                 "tmpfile", "*", 0, EOPNOTSUPP);
}

START_TEST(killed_runs_leave_nothing)
{
    const struct timespec pause = {.tv_nsec = 300000000};
    begin();
    sound_sparse("in.wav", 48000, 1, UINT64_C(2000000000));
    pid_t process = command_start("exec \"$HALO\" render in.wav out.wav");
    nanosleep(&pause, NULL); /* nothing is visible */
    ck_assert_int_eq(kill(process, SIGKILL), 0);
    ck_assert_int_eq(command_wait(process).code, 128 + SIGKILL);
    sound_noise_file("in.wav", 1, WAV16, 48000, 1, 1000);
    command_done("\"$HALO\" render in.wav out.wav");
    ck_assert_str_eq(command_files(), "in.wav out.wav");
}

/* ---- closed and full streams ---- */

START_TEST(closed_output_is_an_error)
{
    make_sound(1000);
    command_refused(1, "cannot write standard output: it is closed",
                    "\"$HALO\" render in.wav - >&-");
    command_refused(1, "cannot write standard output: it is closed",
                    "\"$HALO\" render in.wav - --container flac >&-");
    command_refused(1, "cannot write standard output", "\"$HALO\" mask show in.wav >&-");
}

START_TEST(unwritten_report_leaves_the_sound)
{
    make_sound(1000);
    struct command_result result =
        command_run("\"$HALO\" render in.wav out.wav --json -q >/dev/full");
    expect_refused(&result, "--json", "the sound is complete in out.wav");
    command_expect(result.err, "No space left on device");
    command_done("\"$HALO\" render in.wav whole.wav && cmp out.wav whole.wav");
}

/* A signal just before a call that waits for ever: for the other end of a FIFO. */
START_TEST(a_signal_before_a_wait_is_not_lost)
{
    static const char *const lines[] = {
        "render closed out.wav",
        "render in.wav closed",
        "render in.wav out.wav --replay closed",
        "spectrogram closed -o out.png",
        "live --plain --device null:in=closed",
    };
    make_sound(1000);
    command_done("mkfifo closed");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct command_result result =
            command_run("exec env " FAULTY "\"$HALO\" %s", "open", "closed", 1, -SIGINT, lines[i]);
        ck_assert_msg(access(command_path("mark"), F_OK) == 0, "%s opens no FIFO", lines[i]);
        ck_assert_msg(result.code == 128 + SIGINT, "%s: exit code %d\n%s", lines[i], result.code,
                      result.err);
        ck_assert_msg(strcmp(command_files(), "closed in.wav mark") == 0, "%s left %s", lines[i],
                      command_files());
        command_done("rm mark");
    }
}

static void expect_frames(const char *name, size_t frames)
{
    struct sound sound = sound_load(name);
    ck_assert_uint_eq(sound.block.frames, frames);
}

/* At any call, from the first on: it is a line and the signal, and a file is whole or not there. */
START_TEST(a_signal_ends_it_in_every_phase)
{
    static const char *const lines[] = {
        "render in.wav out.wav --mask mask.wav -q",
        "render in.wav out.wav --mask mask.wav --json",
        "batch --glob in.wav -O outs --mask mask.wav -q",
        "mask convert mask.wav out.txt",
        "mask show mask.wav",
        "spectrogram in.wav -o out.png",
    };
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    make_sound(1000);
    sound_noise_file("mask.wav", 2, WAV16, 48000, 1, 300);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        bool is_reached = true;
        for (int call = 1; is_reached; call += full() ? 1 : 1 + call / 4) {
            int number = signals[(size_t)call % (sizeof signals / sizeof *signals)];
            struct command_result result = command_run(
                "rm -rf out.wav out.txt out.png outs mark; exec env " FAULTY "\"$HALO\" %s", "any",
                "*", call, -number, lines[i]);
            is_reached = access(command_path("mark"), F_OK) == 0;
            ck_assert_msg(result.code == 0 || (is_reached && result.code == 128 + number),
                          "%s, call %d: exit code %d\n%s", lines[i], call, result.code, result.err);
            ck_assert_msg(result.code == 0 || strstr(result.err, "halo: stopped"),
                          "%s, call %d: ended without a line\n%s", lines[i], call, result.err);
            ck_assert_msg(!strstr(result.out, "\"what\":\"failed\""), "%s, call %d: %s", lines[i],
                          call, result.out);
            if (result.code == 0 && strncmp(lines[i], "render", strlen("render")) == 0)
                expect_frames("out.wav", 1299);
        }
    }
}
