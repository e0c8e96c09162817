/* What an isolated plugin can do: tests/plugins/intruder.c tries, and what comes of it is compared.
 */
#include "base/hidden_name.h"
#include "command.h"
#include "plugin/isolation/plugin_reads.h"
#include "plugin/isolation/plugin_sandbox.h"
#include "plugin_rig.h"
#include "sound.h"
#include "suite.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The process id of halo is that of the shell that becomes it. */
#define INTRUDE "INTRUDER_TARGET=$$ exec $HALO render in.wav out.wav --force --verbose --tail none "

static void pause_ms(long milliseconds)
{
    const struct timespec time = {.tv_sec = milliseconds / 1000,
                                  .tv_nsec = milliseconds % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

/* A home with something in it, and a sound. */
static void prepare(void)
{
    command_done("mkdir -p home/.keys && echo secret >home/.keys/id && chmod 600 home/.keys/id");
    setenv("INTRUDER_HOME", command_path("home"), 1);
    setenv("INTRUDER_SECRET", command_path("home/.keys/id"), 1);
    sound_noise_file("in.wav", 1, SF_FORMAT_WAV | SF_FORMAT_PCM_24, PLUGIN_RIG_RATE, 1, 4800);
}

/* Somebody to connect to. */
static int open_listener(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    char port[16];
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listener, (const struct sockaddr *)&address, size), 0);
    ck_assert_int_eq(listen(listener, 4), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    snprintf(port, sizeof port, "%d", ntohs(address.sin_port));
    setenv("INTRUDER_PORT", port, 1);
    return listener;
}

static void check_outcome(const char *label, const char *options, const char *outcome)
{
    char expected[128];
    struct command_result result = command_run(INTRUDE "--ladspa intruder:%s %s", label, options);
    snprintf(expected, sizeof expected, "intruder:%s says: %s: %s\n", label, label, outcome);
    ck_assert_msg(result.code == 0, "intruder:%s %s: code %d, %s", label, options, result.code,
                  result.err);
    command_expect(result.err, expected);
}

START_TEST(attempts_fail_and_the_sound_goes_on)
{
    static const char *const outcomes[][2] = {
        {"write-home", "EACCES"},  {"write-outside", "EACCES"}, {"write-own", "done"},
        {"change-mode", "EPERM"},  {"read-secret", "EACCES"},   {"listen", "EPERM"},
        {"connect", "EPERM"},      {"connect-unix", "EPERM"},   {"shell", "EPERM"},
        {"trace", "EPERM"},        {"kill-halo", "EPERM"},      {"kill-all", "EPERM"},
        {"read-memory", "EACCES"}, {"fork-bomb", "EPERM"},      {"escape", "EPERM"},
        {"huge-file", "EFBIG"},    {"open-many", "EMFILE"},     {"descriptors", "ENOENT"},
        {"signals", "ENOENT"},     {"watch", "EPERM"},          {"priority", "EPERM"},
    };
    prepare();
    int listener = open_listener();
    for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++)
        check_outcome(outcomes[i][0], "", outcomes[i][1]);
    close(listener);
    command_done("test \"$(ls -A home)\" = .keys && test $(stat -c %%a home/.keys/id) = 600");
    ck_assert_str_eq(command_files(), "home in.wav out.wav");
}

/* Those of a bundle, of a folder in it, and of a folder of plugins, to a folder and to a file. */
START_TEST(links_in_folders_of_plugins_open_nothing)
{
    static const char *const places[] = {"home/.lv2/nice.lv2/extra", "home/.ladspa/extra",
                                         "home/.clap/a/b/c", "paths/x.lv2", "home/.fonts/x"};
    prepare();
    setenv("HOME", command_path("home"), 1);
    setenv("LV2_PATH", command_path("paths"), 1);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const char *target = i % 2 ? "/id" : "";
        command_done("mkdir -p $(dirname %s) && ln -s $PWD/home/.keys%s %s", places[i], target,
                     places[i]);
        check_outcome("read-secret", "", "EACCES");
    }
    unsetenv("LV2_PATH");
}

/* Threads that a plugin starts while it is opened inherit its priority. */
START_TEST(plugins_are_opened_without_priority)
{
    static const char *const runs[] = {
        "render in.wav out.wav -f --verbose",
        "live --plain --device null:in=in.wav,pace=0 --seconds 0.05 --block 64 --verbose"};
    prepare();
    if (command_run("chrt -f 20 true").code != 0) {
        puts("not run: plugins_are_opened_without_priority, since nobody may have one here");
        return;
    }
    for (size_t i = 0; i < 2; i++)
        command_expect(command_done("chrt -f 20 $HALO %s --ladspa intruder:urgent", runs[i]).err,
                       "says: urgent: ENOENT");
    check_outcome("awake", "", "ENOENT");
}

/* Its memory is halo's as well: what it counts there beyond what it was asked, and an answer of a
 * process that is dead, are failures, also in the last block. */
START_TEST(a_plugin_that_dies_leaves_no_file)
{
    static const char *const labels[] = {"filled-with-55", "filled-with-ff", "filled-with-00",
                                         "answers-and-dies"};
    prepare();
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        struct command_result result =
            command_run("rm -f out.wav; $HALO render in.wav out.wav --tail "
                        "none --ladspa usurper:%s",
                        labels[i]);
        ck_assert_msg(result.code == 1 && command_lines(result.err) == 1, "%s: code %d, %s",
                      labels[i], result.code, result.err);
        ck_assert_ptr_null(strstr(result.err, "e+"));
        ck_assert_str_eq(command_files(), "home in.wav");
    }
}

/* They work where nothing hinders them: so the test above tests the sandbox. */
START_TEST(attempts_succeed_without_a_sandbox)
{
    static const char *const labels[] = {"write-home",  "write-outside", "write-own",
                                         "change-mode", "read-secret",   "listen",
                                         "connect",     "shell",         "fork-bomb"};
    prepare();
    int listener = open_listener();
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        check_outcome(labels[i], "--no-sandbox", "done");
    close(listener);
    command_done("test -e home/written && test -e outside");
}

/* Each part does its own where another is missing, and one note says so. */
START_TEST(parts_hold_without_each_other)
{
    static const struct {
        const char *missing, *note, *label, *outcome;
    } rows[] = {
        {"landlock", "plugins run without Landlock", "listen", "EPERM"},
        {"landlock", "plugins run without Landlock", "trace", "EPERM"},
        {"seccomp", "plugins run without seccomp", "write-home", "EACCES"},
        {"seccomp", "plugins run without seccomp", "kill-halo", "ESRCH"},
        {"seccomp", "plugins run without seccomp", "connect", "EACCES"},
        {"namespaces", "plugins run without user namespaces", "write-home", "EACCES"},
        {"namespaces", "plugins run without user namespaces", "kill-halo", "EPERM"},
        {"namespaces", "plugins run without user namespaces", "escape", "EPERM"},
    };
    prepare();
    int listener = open_listener();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char expected[128];
        struct command_result result =
            command_done("INTRUDER_TARGET=$$ exec '%s' %s \"$HALO\" render in.wav out.wav -f "
                         "--verbose --ladspa mean:copy --ladspa intruder:%s",
                         WITHOUT, rows[i].missing, rows[i].label);
        snprintf(expected, sizeof expected, "says: %s: %s\n", rows[i].label, rows[i].outcome);
        command_expect(result.err, expected);
        const char *note = strstr(result.err, rows[i].note);
        ck_assert_msg(note && !strstr(note + 1, "plugins run without"), "%s", result.err);
    }
    close(listener);
}

/* Root has no limit on threads, and is watched. */
static void check_threads(void)
{
    struct command_result result = command_run(INTRUDE "--ladspa intruder:thread-bomb");
    command_expect(result.err, geteuid() == 0 ? "it started too many threads" : "EAGAIN");
    ck_assert_int_eq(result.code, geteuid() == 0);
}

static void check_ended(const char *label, const char *expected)
{
    struct command_result result =
        command_run(INTRUDE "--plugin-memory 256M --ladspa intruder:%s", label);
    ck_assert_int_eq(result.code, 1);
    command_expect(result.err, expected);
    ck_assert_str_eq(command_files(), "home in.wav");
}

START_TEST(memory_and_threads_are_limited)
{
    prepare();
    check_outcome("fill-memory", "--plugin-memory 256M", "ENOMEM");
    command_done("rm out.wav");
    check_ended("fill-shared", "it used more memory than --plugin-memory allows");
    check_threads();
    command_refused(2, "is a size of at least 64M", "$HALO render in.wav o.wav --plugin-memory 1K");
    command_refused(2, "is a size of at least 64M", "$HALO render in.wav o.wav --plugin-memory 8X");
}

START_TEST(a_live_plugin_is_contained)
{
    prepare();
    struct command_result result =
        command_run("$HALO live --plain --verbose --device null:in=in.wav,pace=0 --seconds 0.05 "
                    "--ladspa intruder:write-home");
    ck_assert_int_eq(result.code, 0);
    command_expect(result.err, "intruder:write-home says: write-home: EACCES\n");
}

/* ---- the memory that halo shares with it ---- */

/* Whatever numbers stand there, halo reads and writes nothing beyond it, and ends as it should. */
static void check_lie(const char *label, const char *options, int code)
{
    struct command_result result = command_run("$HALO render in.wav out.wav --force --tail none "
                                               "--ladspa usurper:%s,at=0s-80ms:gain=1%s",
                                               label, options);
    ck_assert_msg(result.code == code, "usurper:%s%s: code %d, %s", label, options, result.code,
                  result.err);
}

START_TEST(false_numbers_in_shared_memory_are_not_believed)
{
    prepare();
    sound_noise_file("long.wav", 1, SF_FORMAT_WAV | SF_FORMAT_PCM_24, PLUGIN_RIG_RATE, 1,
                     9 * PLUGIN_RIG_RATE);
    check_lie("endless-runs", "", 0);
    check_lie("long-runs", "", 0);
    check_lie("all-ones", "", 1);
    check_lie("all-ones", ",@allow-loud", 0);
    check_lie("wrapping-latency", ",@allow-loud", 0);
    check_lie("all-ones-at-once", ",@allow-loud", 0);
    check_lie("wrapping-at-once", ",@allow-loud", 0);
    for (size_t i = 0; i < 6; i++) /* what changes in between is not always seen */
        check_lie("changing-counts", "", 0);
}

START_TEST(false_numbers_do_no_harm_live)
{
    static const char *const labels[] = {"endless-runs",     "long-runs",        "all-ones",
                                         "wrapping-latency", "all-ones-at-once", "wrapping-at-once",
                                         "changing-counts"};
    prepare();
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        struct command_result result = command_run(
            "$HALO live --plain --device null:in=in.wav,pace=0 --seconds 0.05 --block 64 "
            "--ladspa usurper:%s,@allow-loud",
            labels[i]);
        ck_assert_msg(result.code == 0, "usurper:%s: code %d, %s", labels[i], result.code,
                      result.err);
    }
}

/* ---- nothing is left ---- */

static pid_t escaped(void)
{
    int process = 0;
    for (int i = 0; i < 500 && process == 0; i++, pause_ms(20)) {
        FILE *file = fopen(command_path("home/escaped"), "r");
        if (file && fscanf(file, "%d", &process) != 1)
            process = 0;
        if (file)
            fclose(file);
    }
    ck_assert_int_gt(process, 1);
    return (pid_t)process;
}

static void check_gone(pid_t process)
{
    for (int i = 0; i < 500 && plugin_rig_runs(process); i++)
        pause_ms(20);
    ck_assert(!plugin_rig_runs(process));
}

static size_t folders_left(void)
{
    struct command_result result = command_done("ls -d tmp/halo-plugin-* 2>/dev/null | wc -l");
    return strtoul(result.out, NULL, 10);
}

/* It forks twice and has a session of its own, so that only its supervisor finds it. */
START_TEST(what_a_plugin_started_ends_with_it)
{
    prepare();
    command_done("mkdir tmp");
    command_done("TMPDIR=$PWD/tmp " INTRUDE "--no-sandbox --ladspa intruder:escape");
    check_gone(escaped());
    ck_assert_uint_eq(folders_left(), 0);
}

START_TEST(what_a_plugin_started_ends_with_a_killed_halo)
{
    prepare();
    command_done("mkdir tmp");
    pid_t halo =
        command_start("TMPDIR=$PWD/tmp; export TMPDIR; exec $HALO live -q --plain --device "
                      "null:in=in.wav --seconds 60 --no-sandbox "
                      "--ladspa intruder:escape");
    pid_t process = escaped();
    ck_assert(plugin_rig_runs(process));
    kill(halo, SIGKILL);
    ck_assert_int_eq(command_wait(halo).code, 128 + SIGKILL);
    check_gone(process);
    for (int i = 0; i < 500 && folders_left() > 0; i++)
        pause_ms(20);
    ck_assert_uint_eq(folders_left(), 0);
}

/* The process of its plugin; one that only describes it ends soon. */
static pid_t lasting_child(pid_t halo)
{
    pid_t child = 0;
    for (int i = 0; i < 50 * COMMAND_PATIENCE; i++) {
        pause_ms(20);
        if (plugin_rig_children(halo, &child) == 0)
            continue;
        pause_ms(200);
        if (plugin_rig_runs(child))
            return child;
    }
    ck_abort_msg("no process of the plugin stays");
}

START_TEST(a_contained_plugin_ends_with_a_killed_halo)
{
    prepare();
    command_done("mkdir tmp");
    pid_t halo = command_start("TMPDIR=$PWD/tmp; export TMPDIR; exec $HALO live -q --plain "
                               "--device null:in=in.wav --seconds 60 "
                               "--ladspa mean:copy");
    pid_t child = lasting_child(halo), below = 0;
    plugin_rig_children(child, &below);
    kill(halo, SIGKILL);
    ck_assert_int_eq(command_wait(halo).code, 128 + SIGKILL);
    check_gone(child);
    if (below)
        check_gone(below);
    ck_assert_uint_eq(folders_left(), 0);
}

/* As a user who must obey permissions. */
static void make_folders(void)
{
    ck_assert_int_eq(mkdir("rest", 0700), 0);
    ck_assert_int_eq(mkdir("rest/none", 0), 0);
    ck_assert_int_eq(mkdir("rest/0", 0700), 0);
    ck_assert_int_eq(mkdir("rest/0/1", 0700), 0);
    ck_assert_int_eq(symlink("..", "rest/0/1/up"), 0);
    ck_assert_int_eq(mkdir("rest/0/1/inner", 0700), 0);
    fclose(fopen("rest/0/1/inner/file", "w"));
    ck_assert_int_eq(chmod("rest/0/1/inner", 0500), 0);
    ck_assert_int_eq(chmod("rest/0/1", 0400), 0);
    ck_assert_int_eq(chmod("rest/0", 0), 0);
    int deep = open("rest", O_RDONLY | O_DIRECTORY); /* deeper than any path */
    for (int i = 0; i < 3000; i++) {
        ck_assert_int_eq(mkdirat(deep, "d", 0700), 0);
        int below = openat(deep, "d", O_RDONLY | O_DIRECTORY);
        close(deep);
        deep = below;
    }
    close(deep);
    ck_assert_int_eq(chmod("rest", 0), 0);
}

START_TEST(folders_without_permissions_are_removed)
{
    enum { NOBODY = 65534 };
    command_done("mkdir mine && chmod 777 mine . && echo kept >mine/kept");
    pid_t process = fork();
    if (process == 0) {
        if (chdir(command_path("mine")) != 0 ||
            (geteuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY)))
            _exit(2);
        make_folders();
        _exit(hidden_remove_folder("rest") == 0 && access("rest", F_OK) != 0 ? 0 : 3);
    }
    int status;
    ck_assert_int_eq(waitpid(process, &status, 0), process);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %d", status);
    command_done("test \"$(ls -A mine)\" = kept");
}

/* ---- the state that it saves ---- */

static enum status copy_state(void)
{
    char from[4096], to[4096], readable[4096], why[1024];
    snprintf(from, sizeof from, "%s", command_path("from"));
    snprintf(to, sizeof to, "%s", command_path("to"));
    snprintf(readable, sizeof readable, "%s", command_path("samples"));
    char *named[] = {readable, NULL};
    struct plugin_reads reads;
    ck_assert_int_eq(plugin_reads_init(&reads, named), STATUS_OK);
    log_capture(why, sizeof why);
    enum status status = plugin_state_copy(from, to, &reads, "a plugin");
    log_capture(NULL, 0);
    plugin_reads_free(&reads);
    return status;
}

START_TEST(a_state_is_copied_with_links_to_what_was_readable)
{
    command_done("mkdir -p from/sub samples && echo text >from/sub/file && echo la >samples/la");
    command_done("ln -s sub/file from/within && ln -s ../samples/la from/out");
    command_done("ln -s \"$PWD/samples/la\" from/sub/out");
    ck_assert_int_eq(copy_state(), STATUS_OK);
    command_done("test \"$(cat to/sub/file to/within to/out to/sub/out | tr '\\n' ' ')\" = "
                 "'text text la la '");
    command_done("test $(readlink to/within) = sub/file && test $(readlink to/out) = "
                 "../samples/la && test $(readlink to/sub/out) = ../../samples/la");
}

/* Through these a plugin could read more the next time, or have halo read it now. */
START_TEST(other_states_are_refused)
{
    static const char *const made[] = {
        "ln -s ../secret from/x",
        "ln -s \"$PWD/secret\" from/x",
        "ln -s .. from/x",
        "ln -s ../secret samples/s && ln -s ../samples/s from/x",
        "ln -s sub/../../secret from/x",
        "mkfifo from/x",
        "ln -s /etc from/x",
        "truncate -s 2G from/x",
        "cd from; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18; do mkdir d; cd d; done",
    };
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        command_clean();
        command_done("mkdir from samples && echo secret >secret && %s", made[i]);
        ck_assert_msg(copy_state() == STATUS_FAILED, "%s", made[i]);
    }
}

/* ---- its output ---- */

START_TEST(a_plugin_does_not_speak_for_halo)
{
    prepare();
    struct command_result result = command_done(INTRUDE "--ladspa intruder:lie");
    command_expect(result.err, "halo: intruder:lie says: halo: all is well\n");
    command_expect(result.err, "halo: intruder:lie says: halo:  [2Jreally\n");
    command_expect(result.err, "halo: intruder:lie: halo has won\n");
    ck_assert_ptr_null(strstr(result.err, "\nhalo: all is well"));
    result = command_done("$HALO render in.wav out.wav -f --ladspa intruder:lie");
    ck_assert_ptr_null(strstr(result.err, "all is well"));
}

/* Nor where it writes its answers to halo. */
START_TEST(a_plugin_does_not_fail_for_halo)
{
    prepare();
    command_refused(1, "halo: usurper:false-word: all is well\n",
                    "$HALO render in.wav out.wav --ladspa usurper:false-word");
}

START_TEST(a_plugin_may_print_twenty_lines)
{
    prepare();
    struct command_result result = command_done(INTRUDE "--ladspa intruder:chatter");
    command_expect(result.err, "says: line 20\n");
    ck_assert_ptr_null(strstr(result.err, "says: line 21\n"));
    command_expect(result.err, "says: 981 more lines\n");
}

START_TEST(the_last_line_is_reported)
{
    prepare();
    command_refused(1, "aborted; last line: the table has no legs)",
                    "$HALO render in.wav out.wav --ladspa intruder:last-line");
}

int main(void)
{
    plugin_rig_prepare();
    bool is_whole = plugin_sandbox_parts() == (SANDBOX_FILES | SANDBOX_CALLS | SANDBOX_PROCESSES);
    if (!is_whole)
        suite_leave_out("attempts_fail_and_the_sound_goes_on "
                        "links_in_folders_of_plugins_open_nothing "
                        "plugins_are_opened_without_priority parts_hold_without_each_other "
                        "memory_and_threads_are_limited a_live_plugin_is_contained");
    int code = suite_run();
    if (code || is_whole)
        return code;
    puts("skipped: this system does not offer all parts of the sandbox");
    return 77;
}
