/* Watched files that change: what is reported, and how often. */
#include "base/file_watch.h"
#include "base/monotonic.h"
#include "command.h"
#include "suite.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A report is due half a second after a change; none within QUIET_MS means that there is none. */
enum { NUMBERS = 4, COMES_MS = 10000, QUIET_MS = 750, LOOK_MS = 20 };

static struct file_watch *watch;
static size_t reports[NUMBERS]; /* since begin(), of each number */

static void begin(void)
{
    command_clean();
    ck_assert_int_eq(chdir(command_folder()), 0);
    ck_assert_int_eq(file_watch_open(&watch), STATUS_OK);
    for (size_t i = 0; i < NUMBERS; i++)
        reports[i] = 0;
}

static void end(void)
{
    file_watch_close(watch);
    watch = NULL;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static void add(const char *path, size_t number)
{
    ck_assert_int_eq(file_watch_add(watch, path, number), STATUS_OK);
}

/* Polls as a command does, and counts reports until none came for QUIET_MS, or until `number`
 * was reported (NUMBERS: never). */
static void listen_for(size_t number, int most_ms)
{
    const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};
    double until = monotonic_seconds() + 1e-3 * most_ms;
    while (monotonic_seconds() < until) {
        size_t got;
        nanosleep(&pause, NULL);
        while (file_watch_next(watch, &got)) {
            ck_assert_uint_lt(got, NUMBERS);
            reports[got]++;
            if (got == number)
                return;
        }
    }
    ck_assert_msg(number == NUMBERS, "no report of %zu", number);
}

static void expect(size_t number)
{
    size_t before = reports[number];
    listen_for(number, COMES_MS);
    ck_assert_uint_eq(reports[number], before + 1);
}

static void expect_silence(void)
{
    size_t before[NUMBERS];
    memcpy(before, reports, sizeof before);
    listen_for(NUMBERS, QUIET_MS);
    for (size_t i = 0; i < NUMBERS; i++)
        ck_assert_msg(reports[i] == before[i], "%zu was reported", i);
}

START_TEST(writes_are_reported)
{
    begin();
    write_file("a", "1");
    write_file("b", "1");
    add("a", 1);
    add("./b", 2);
    expect_silence();
    write_file("a", "2");
    expect(1);
    write_file("c", "another file of the folder");
    expect_silence();
    write_file("b", "2");
    expect(2);
    expect_silence();
    end();
}

START_TEST(replacements_are_reported)
{
    begin();
    write_file("a", "1");
    add("a", 1);
    write_file("new", "2");
    ck_assert_int_eq(rename("new", "a"), 0);
    expect(1);
    write_file("new", "3"); /* again: the watch is not bound to the old file */
    ck_assert_int_eq(rename("new", "a"), 0);
    expect(1);
    unlink("a");
    expect_silence();
    write_file("a", "4");
    expect(1);
    unlink("a");
    write_file("other", "5");
    ck_assert_int_eq(link("other", "a"), 0);
    expect(1);
    expect_silence();
    end();
}

/* As after `cp -p` of a file that was unpacked with it, and after `mv` away and back. */
START_TEST(the_same_size_and_time_may_hide_a_change)
{
    const struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    begin();
    write_file("a", "1");
    ck_assert_int_eq(utimensat(AT_FDCWD, "a", times, 0), 0);
    add("a", 1);
    expect_silence();
    write_file("a", "2");
    ck_assert_int_eq(utimensat(AT_FDCWD, "a", times, 0), 0);
    expect(1);
    expect_silence();
    end();
}

START_TEST(files_may_appear_later)
{
    begin();
    add("a", 3);
    write_file("a", "1");
    expect(3);
    end();
}

/* 100 writes are one change or two, not 100. */
START_TEST(bursts_are_merged)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    begin();
    add("a", 1);
    for (int i = 0; i < 100; i++) {
        write_file("a", "again");
        nanosleep(&pause, NULL);
        size_t number;
        while (file_watch_next(watch, &number))
            reports[number]++;
    }
    listen_for(NUMBERS, QUIET_MS);
    ck_assert_uint_ge(reports[1], 1);
    ck_assert_uint_le(reports[1], 3); /* on a slow machine */
    end();
}

/* A file that is written for a long time is reported when it is closed. */
START_TEST(half_written_files_wait)
{
    begin();
    write_file("a", "1");
    add("a", 1);
    write_file("a", "2");
    FILE *file = fopen("a", "w");
    for (int i = 0; i < 3; i++) {
        fputs("part", file);
        fflush(file);
        expect_silence();
    }
    fclose(file);
    expect(1);
    end();
}

/* A writer that stalls without closing the file is not waited for. */
START_TEST(still_files_are_reported)
{
    begin();
    write_file("a", "1");
    add("a", 1);
    FILE *file = fopen("a", "w");
    fputs("2", file);
    fflush(file);
    expect_silence();
    expect(1);
    fclose(file);
    expect_silence();
    end();
}

START_TEST(links_are_followed)
{
    begin();
    mkdir("one", 0777);
    mkdir("two", 0777);
    write_file("one/real", "1");
    write_file("two/real", "1");
    ck_assert_int_eq(symlink("../one/real", "two/link"), 0);
    ck_assert_int_eq(symlink("two/link", "a"), 0);
    add("a", 1);
    write_file("one/real", "2"); /* the final target */
    expect(1);
    unlink("two/link"); /* an intermediate link */
    ck_assert_int_eq(symlink("real", "two/link"), 0);
    expect(1);
    write_file("two/real", "2");
    expect(1);
    write_file("one/real", "3"); /* no longer leads there */
    expect_silence();
    write_file("new", "3");
    ck_assert_int_eq(rename("new", "a"), 0); /* no longer a link */
    expect(1);
    end();
}

START_TEST(folders_may_disappear_and_return)
{
    begin();
    mkdir("masks", 0777);
    write_file("masks/a", "1");
    write_file("masks/b", "1");
    add("masks/a", 1);
    add("masks/b", 2);
    ck_assert_int_eq(system("mv masks old"), 0);
    expect_silence();
    write_file("old/a", "2"); /* is another file now */
    expect_silence();
    ck_assert_int_eq(system("mkdir masks && echo 3 >masks/a"), 0);
    expect(1);
    expect_silence(); /* there is no b */
    write_file("masks/b", "3");
    expect(2);
    ck_assert_int_eq(system("rm -r masks"), 0);
    expect_silence();
    ck_assert_int_eq(system("mv old masks"), 0);
    listen_for(1, COMES_MS);
    if (reports[2] < 2)
        expect(2);
    end();
}

START_TEST(unwatchable_paths_are_refused)
{
    char message[256] = "", path[PATH_MAX + 8];
    begin();
    log_capture(message, sizeof message);
    ck_assert_int_eq(file_watch_add(watch, "nowhere/a", 1), STATUS_FAILED);
    ck_assert_msg(strstr(message, "nowhere") && strstr(message, "No such file"), "%s", message);
    memset(path, 'a', sizeof path);
    path[sizeof path - 1] = '\0';
    ck_assert_int_eq(file_watch_add(watch, path, 1), STATUS_FAILED);
    log_capture(NULL, 0);
    size_t number;
    ck_assert(!file_watch_next(watch, &number));
    end();
}
