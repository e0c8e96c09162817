/* What is known of a machine's speed, and the file that keeps it. */
#include "base/cache_file.h"
#include "convolve/machine_speed.h"
#include "suite.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

START_TEST(a_figure_is_a_mean_that_stays)
{
    struct machine_speed speed = machine_speed_default;
    ck_assert(machine_speed_add(&speed, SPEED_CONTEXT, 1));
    ck_assert_double_eq(speed.value[SPEED_CONTEXT], 1); /* the default counts for nothing */
    ck_assert(machine_speed_add(&speed, SPEED_CONTEXT, 3));
    ck_assert_double_eq(speed.value[SPEED_CONTEXT], 2);
    const double absurd[] = {NAN, INFINITY, -INFINITY, -1, 0, 1e300, 1e-300};
    for (size_t i = 0; i < sizeof absurd / sizeof *absurd; i++)
        for (size_t f = 0; f < SPEED_FIGURES; f++)
            ck_assert(!machine_speed_add(&speed, (enum machine_figure)f, absurd[i]));
    ck_assert_double_eq(speed.value[SPEED_CONTEXT], 2);
    for (size_t i = 0; i < 100; i++)
        (void)machine_speed_add(&speed, SPEED_CONTEXT, 2);
    ck_assert(!machine_speed_add(&speed, SPEED_CONTEXT, 9));
    ck_assert_double_eq(speed.value[SPEED_CONTEXT], 2);
}
END_TEST

/* ---- the file ---- */

static const char key[] = "halo 1, 4 of processor A, gpu B";

static struct machine_speed made_up(double times)
{
    struct machine_speed speed = machine_speed_default;
    for (size_t f = 0; f < SPEED_FIGURES; f++) {
        speed.value[f] *= times;
        speed.measured[f] = (unsigned)f;
    }
    return speed;
}

static bool are_equal(const struct machine_speed *a, const struct machine_speed *b)
{
    bool equal = memcmp(a->measured, b->measured, sizeof a->measured) == 0;
    for (size_t f = 0; f < SPEED_FIGURES; f++)
        equal = equal && fabs(a->value[f] - b->value[f]) <= 1e-3 * b->value[f];
    return equal;
}

struct folder {
    char name[40], path[64];
};

static struct folder make_folder(void)
{
    struct folder folder = {.name = "/tmp/halo-speed-XXXXXX"};
    ck_assert_ptr_nonnull(mkdtemp(folder.name));
    snprintf(folder.path, sizeof folder.path, "%s/speed", folder.name);
    return folder;
}

static void remove_folder(const struct folder *folder)
{
    unlink(folder->path);
    ck_assert_int_eq(rmdir(folder->name), 0); /* nothing temporary is left */
}

START_TEST(figures_are_kept)
{
    struct folder folder = make_folder();
    struct machine_speed written = made_up(1.7), read = {0};
    ck_assert(!machine_speed_read(folder.path, key, &read));
    ck_assert(machine_speed_write(folder.path, key, &written));
    ck_assert(machine_speed_read(folder.path, key, &read));
    ck_assert(are_equal(&read, &written));
    remove_folder(&folder);
    ck_assert(!machine_speed_write("/dev/null/halo/speed", key, &written));
}
END_TEST

START_TEST(machines_do_not_share_figures)
{
    char one[32], other[32], own[MACHINE_KEY];
    struct folder folder = make_folder();
    struct machine_speed written = made_up(2), read = machine_speed_default;
    const char more[] = "halo 1, 4 of processor A, gpu B, another";
    machine_speed_key(own);
    ck_assert_ptr_nonnull(strstr(own, "processor"));
    machine_speed_name(key, one);
    machine_speed_name("halo 1, 2 of processor A, gpu B", other);
    ck_assert_str_ne(one, other);
    ck_assert(machine_speed_write(folder.path, key, &written));
    ck_assert(!machine_speed_read(folder.path, more, &read));
    ck_assert(!machine_speed_read(folder.path, "halo 1, 4 of processor A, gpu", &read));
    ck_assert(are_equal(&read, &machine_speed_default));
    remove_folder(&folder);
}
END_TEST

static void save(const char *path, const char *text, size_t size)
{
    FILE *file = fopen(path, "wb");
    ck_assert(file && fwrite(text, 1, size, file) == size && fclose(file) == 0);
}

START_TEST(damaged_files_are_ignored)
{
    struct folder folder = make_folder();
    struct machine_speed written = made_up(1), read = machine_speed_default;
    size_t size;
    ck_assert(machine_speed_write(folder.path, key, &written));
    char *text = cache_file_read(folder.path, 1 << 16, &size);
    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < size; i++)
        for (int bit = 0; bit < 8; bit++) {
            text[i] = (char)(text[i] ^ (1 << bit));
            ck_assert(!machine_speed_parse(text, size, key, &read));
            text[i] = (char)(text[i] ^ (1 << bit));
        }
    for (size_t length = 0; length < size; length++) {
        save(folder.path, text, length);
        ck_assert(!machine_speed_read(folder.path, key, &read));
    }
    free(text);
    ck_assert_int_eq(truncate(folder.path, INT64_C(1) << 40), 0);
    ck_assert(!machine_speed_read(folder.path, key, &read));
    unlink(folder.path);
    ck_assert_int_eq(mkfifo(folder.path, 0600), 0);
    ck_assert(!machine_speed_read(folder.path, key, &read)); /* without waiting */
    ck_assert(are_equal(&read, &machine_speed_default));
    ck_assert(machine_speed_write(folder.path, key, &written));
    ck_assert(machine_speed_read(folder.path, key, &read));
    remove_folder(&folder);
}
END_TEST

/* With a right sum: written by somebody who knows how. */
START_TEST(absurd_figures_are_refused)
{
    struct machine_speed absurd = made_up(1), read = machine_speed_default;
    struct folder folder = make_folder();
    const double values[] = {0, 1e-18, 1e4, NAN, -1};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        absurd.value[SPEED_CARRY] = values[i];
        ck_assert(machine_speed_write(folder.path, key, &absurd));
        ck_assert(!machine_speed_read(folder.path, key, &read));
    }
    ck_assert(are_equal(&read, &machine_speed_default));
    remove_folder(&folder);
}
END_TEST

static void write_many(const char *path, double times)
{
    const struct machine_speed speed = made_up(times);
    for (size_t i = 0; i < 200; i++)
        if (!machine_speed_write(path, key, &speed))
            _exit(1);
    _exit(0);
}

START_TEST(two_programs_write_at_once)
{
    struct folder folder = make_folder();
    const struct machine_speed one = made_up(1), two = made_up(2);
    ck_assert(machine_speed_write(folder.path, key, &one));
    pid_t writers[2];
    for (size_t w = 0; w < 2; w++) {
        writers[w] = fork();
        ck_assert_int_ge(writers[w], 0);
        if (writers[w] == 0)
            write_many(folder.path, (double)(w + 1));
    }
    for (size_t i = 0; i < 200; i++) {
        struct machine_speed read;
        ck_assert(machine_speed_read(folder.path, key, &read));
        ck_assert(are_equal(&read, &one) || are_equal(&read, &two));
    }
    for (size_t w = 0; w < 2; w++) {
        int status;
        ck_assert_int_eq(waitpid(writers[w], &status, 0), writers[w]);
        ck_assert_int_eq(status, 0);
    }
    remove_folder(&folder);
}
END_TEST

SUITE_MAIN("machine_speed", a_figure_is_a_mean_that_stays, figures_are_kept,
           machines_do_not_share_figures, damaged_files_are_ignored, absurd_figures_are_refused,
           two_programs_write_at_once)
