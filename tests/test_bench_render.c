/* halo bench render as a command. No time is asserted, since a busy machine is slow. */
#include "command.h"
#include "suite.h"

#include <jansson.h>
#include <signal.h>
#include <string.h>
#include <time.h>

START_TEST(wrong_arguments_are_refused)
{
    static const char *const wrong[][2] = {
        {"--backend fastest", "fastest"}, {"--taps 0", "--taps"},
        {"--taps 5,", "--taps"},          {"--taps 99999999", "--taps"},
        {"--channels 1025", "1025"},      {"--seconds 0", "--seconds"},
        {"--seconds nan", "--seconds"},   {"--seconds 1e9", "--seconds"},
        {"--seconds 1x", "1x"},           {"--rate 48k", "--rate"},
        {"--threads 0", "--threads"},     {"--rounds 0", "--rounds"},
        {"--rounds 1001", "1001"},        {"more", "more"},
        {"--nonsense", "--nonsense"},     {"--folder", "--folder"},
    };
    command_clean();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        command_refused(2, wrong[i][1], "\"$HALO\" bench render %s", wrong[i][0]);
}
END_TEST

START_TEST(invalid_folders_are_refused)
{
    command_clean();
    command_refused(1, "nowhere/halo-bench-", "\"$HALO\" bench render --folder nowhere");
    command_refused(1, "nowhere/halo-bench-", "TMPDIR=nowhere \"$HALO\" bench render");
}
END_TEST

START_TEST(missing_gpu_is_reported)
{
    command_clean();
    command_refused(1, "--backend cpu",
                    "CUDA_VISIBLE_DEVICES= \"$HALO\" bench render --backend cuda --seconds 0.1 "
                    "--folder .");
}
END_TEST

static void expect_plausible(const json_t *cell)
{
    double wall = command_json_number(cell, "wall_s");
    ck_assert(command_json_number(cell, "wall_least_s") > 0 &&
              command_json_number(cell, "wall_least_s") <= wall);
    ck_assert_double_ge(command_json_number(cell, "wall_most_s"), wall);
    ck_assert_double_ge(command_json_number(cell, "user_s"), 0);
    ck_assert_double_ge(command_json_number(cell, "system_s"), 0);
    ck_assert_double_gt(command_json_number(cell, "copy_s"), 0);
    ck_assert_double_eq_tol(command_json_number(cell, "times_real_time"),
                            command_json_number(cell, "seconds") / wall,
                            1e-3 * command_json_number(cell, "times_real_time"));
    /* The block alone takes this much. */
    ck_assert_double_ge(command_json_number(cell, "peak_bytes"),
                        4 * command_json_number(cell, "block"));
}

START_TEST(a_grid_is_measured)
{
    static const double taps[] = {8, 3000, 8, 3000}, channels[] = {1, 1, 3, 3};
    command_clean();
    struct command_result result =
        command_done("\"$HALO\" bench render --seconds 1 --rate 44100 --taps 2^3,3000 --channels "
                     "1,3 --threads 2 --rounds 3 --backend cpu --folder . --json");
    ck_assert_str_eq(command_files(), "");
    json_t *cells = command_cells(&result);
    ck_assert_uint_eq(json_array_size(cells), 4);
    for (size_t i = 0; i < 4; i++) {
        const json_t *cell = json_array_get(cells, i);
        ck_assert_double_eq(command_json_number(cell, "taps"), taps[i]);
        ck_assert_double_eq(command_json_number(cell, "channels"), channels[i]);
        ck_assert_double_eq(command_json_number(cell, "rate"), 44100);
        ck_assert_double_eq(command_json_number(cell, "threads"), 2);
        ck_assert_double_eq(command_json_number(cell, "rounds"), 3);
        ck_assert_str_eq(json_string_value(json_object_get(cell, "backend")), "cpu");
        expect_plausible(cell);
        double floor_s =
            command_json_number(cell, "copy_s") + command_json_number(cell, "transforms_s");
        double distance = command_json_number(cell, "distance");
        ck_assert_double_eq_tol(distance, command_json_number(cell, "wall_s") / floor_s,
                                1e-6 * distance);
        /* Eight taps are convolved directly, three thousand by transforms. */
        ck_assert((command_json_number(cell, "transform_pairs") > 0) == (taps[i] > 8));
        ck_assert((command_json_number(cell, "transforms_s") > 0) == (taps[i] > 8));
    }
    json_decref(cells);
}
END_TEST

START_TEST(other_backends_have_no_transforms_to_report)
{
    struct command_result result = command_done(
        "\"$HALO\" bench render --seconds 0.1 --taps 100 --backend direct --rounds 1 --json");
    json_t *cells = command_cells(&result);
    const json_t *cell = json_array_get(cells, 0);
    expect_plausible(cell);
    ck_assert_str_eq(json_string_value(json_object_get(cell, "backend")), "direct");
    ck_assert(json_is_null(json_object_get(cell, "transforms_s")));
    ck_assert(json_is_null(json_object_get(cell, "distance")));
    json_decref(cells);
}
END_TEST

START_TEST(the_shortest_sound_works)
{
    command_done("\"$HALO\" bench render --seconds 0.001 --rate 1000 --taps 1 --rounds 1");
}
END_TEST

static size_t count_of(const char *text, char character)
{
    size_t count = 0;
    for (; *text && *text != '\n'; text++)
        count += *text == character;
    return count;
}

START_TEST(tables_have_whole_rows)
{
    static const char options[] = "bench render --seconds 0.1 --taps 100,200 --rounds 2";
    struct command_result csv = command_done("\"$HALO\" %s --csv", options);
    static const char head[] = "channels,taps,rate,seconds,rounds,threads,backend,";
    ck_assert_int_eq(strncmp(csv.out, head, strlen(head)), 0);
    ck_assert_uint_eq(command_lines(csv.out), 3);
    size_t commas = count_of(csv.out, ',');
    for (const char *line = csv.out; *line; line = strchr(line, '\n') + 1)
        ck_assert_uint_eq(count_of(line, ','), commas);

    struct command_result table = command_done("\"$HALO\" %s", options);
    const char *line = strchr(table.out, '|');
    ck_assert_ptr_nonnull(line);
    size_t columns = count_of(line, '|'), rows = 0;
    for (; *line == '|'; line = strchr(line, '\n') + 1, rows++)
        ck_assert_uint_eq(count_of(line, '|'), columns);
    ck_assert_uint_eq(rows, 4); /* the header, its rule and two cells */
}
END_TEST

/* While the noise is written, and while it is rendered. */
START_TEST(a_signal_leaves_nothing)
{
    static const char *const options[] = {"--seconds 3000", "--seconds 1 --rounds 1000"};
    for (size_t w = 0; w < 2; w++) {
        command_clean();
        pid_t process =
            command_start("exec \"$HALO\" bench render --folder . --taps 1000 %s", options[w]);
        nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
        ck_assert_int_eq(kill(process, SIGINT), 0);
        struct command_result result = command_wait(process);
        ck_assert_int_eq(result.code, 128 + SIGINT);
        ck_assert_str_eq(result.out, "");
        ck_assert_str_eq(command_files(), "");
    }
}
END_TEST

START_TEST(help_describes_it)
{
    struct command_result result = command_done("\"$HALO\" bench --help");
    ck_assert_ptr_nonnull(strstr(result.out, "render"));
    result = command_done("\"$HALO\" bench render --help");
    ck_assert_ptr_nonnull(strstr(result.out, "--folder DIR"));
}
END_TEST

SUITE_MAIN("bench_render", wrong_arguments_are_refused, invalid_folders_are_refused,
           missing_gpu_is_reported, a_grid_is_measured, other_backends_have_no_transforms_to_report,
           the_shortest_sound_works, tables_have_whole_rows, a_signal_leaves_nothing,
           help_describes_it)
