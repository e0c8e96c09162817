/* halo bench stream as a command. No time is asserted, since a busy machine is slow. */
#include "command.h"
#include "suite.h"

#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

START_TEST(wrong_arguments_are_refused)
{
    static const char *const wrong[][2] = {
        {"--backend fastest", "fastest"},
        {"--backend auto", "cpu, cuda, direct"},
        {"--backend cpu,", "--backend"},
        {"--gpu-mode slow", "slow"},
        {"--devices ''", "--devices"},
        {"--devices 0,,1", "0,,1"},
        {"--devices 64", "64"},
        {"--devices every", "every"},
        {"--devices 0,1", "one GPU"},
        {"--devices all", "one GPU"},
        {"--pace fast", "back-to-back"},
        {"--pace paced,", "--pace"},
        {"--block 0", "--block"},
        {"--block 64,,128", "--block"},
        {"--channels 65537", "65537"},
        {"--paths each", "each"},
        {"--paths matrix --channels 257", "256"},
        {"--taps 99999999", "--taps"},
        {"--taps '5, 6'", "--taps"},
        {"--taps -1", "--taps"},
        {"--taps 3^2", "--taps"},
        {"--taps 2^99", "--taps"},
        {"--taps 2^", "--taps"},
        {"--rate 48k", "--rate"},
        {"--threads 0", "--threads"},
        {"--blocks 5,6", "--blocks"},
        {"--blocks 99999999999999999999", "--blocks"},
        {"--seconds 0", "--seconds"},
        {"--seconds nan", "--seconds"},
        {"--warm-up -1", "--warm-up"},
        {"more", "more"},
        {"--nonsense", "--nonsense"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        command_refused(2, wrong[i][1], "\"$HALO\" bench stream %s", wrong[i][0]);
    command_refused(2, "stream", "\"$HALO\" bench nonsense");
    command_refused(2, "auto estimates without", "\"$HALO\" bench calibrate");
    command_refused(2, "remove the call", "\"$HALO\" bench calibrate --folder .");
}

START_TEST(lists_are_not_endless)
{
    char list[256] = "5";
    for (size_t i = 1; i < 65; i++)
        strcat(list, ",5");
    command_refused(2, "64", "\"$HALO\" bench stream --taps %s", list);
    for (char *digit = strchr(list, '5'); digit; digit = strchr(digit, '5'))
        *digit = 'x';
    command_refused(2, "--pace", "\"$HALO\" bench stream --pace %s", list);
}

START_TEST(missing_gpu_is_reported)
{
    /* An empty list hides the GPUs of this machine. A build without CUDA reports that instead. */
    struct command_result result =
        command_run("CUDA_VISIBLE_DEVICES= \"$HALO\" bench stream --backend cuda --blocks 10");
    ck_assert_int_eq(result.code, 1);
    ck_assert_uint_eq(command_lines(result.err), 1);
    ck_assert_ptr_nonnull(strstr(result.err, "--backend cpu"));
    ck_assert_str_eq(result.out, "");
}

static void expect_plausible(const json_t *cell, double blocks)
{
    double p50 = command_json_number(cell, "p50_us"), p99 = command_json_number(cell, "p99_us");
    double p999 = command_json_number(cell, "p999_us"),
           p9999 = command_json_number(cell, "p9999_us");
    double most = command_json_number(cell, "max_us");
    double deadline = 1e6 * command_json_number(cell, "block") / command_json_number(cell, "rate");
    bool paced = strcmp(command_json_string(cell, "pace"), "paced") == 0;
    ck_assert_double_eq(command_json_number(cell, "blocks"), blocks);
    ck_assert(p50 > 0 && p50 <= p99 && p99 <= p999 && p999 <= p9999 && p9999 <= most);
    ck_assert_double_eq_tol(command_json_number(cell, "deadline_us"), deadline, 1e-3);
    ck_assert_double_eq_tol(command_json_number(cell, "share"), p50 / deadline, 1e-6 * p50);
    ck_assert_double_le(command_json_number(cell, "missed"), blocks);
    ck_assert((command_json_number(cell, "missed") > 0) == (most > deadline));
    ck_assert_double_le(command_json_number(cell, "worker_late"), blocks);
    ck_assert_double_le(command_json_number(cell, "error_db"), -130);
    if (paced) {
        ck_assert_double_ge(command_json_number(cell, "late"), command_json_number(cell, "missed"));
        ck_assert_double_le(command_json_number(cell, "late"), blocks);
        ck_assert(json_is_null(json_object_get(cell, "cpu_per_second")));
    } else {
        ck_assert(json_is_null(json_object_get(cell, "late")));
        ck_assert_double_ge(command_json_number(cell, "cpu_per_second"),
                            0); /* some systems count in ticks */
        double frames =
            command_json_number(cell, "blocks_per_second") * command_json_number(cell, "block");
        double speed = command_json_number(cell, "times_real_time");
        ck_assert_double_eq_tol(speed, frames / command_json_number(cell, "rate"), 1e-6 * speed);
    }
}

START_TEST(a_grid_is_measured)
{
    static const double taps[] = {64, 64, 5000, 5000};
    static const char *const paces[] = {"paced", "back-to-back", "paced", "back-to-back"};
    struct command_result result = command_done("\"$HALO\" bench stream --blocks 200 "
                                                "--taps 64,5000 --block 64 --seconds 60 --json");
    json_t *cells = command_cells(&result);
    ck_assert_uint_eq(json_array_size(cells), 4);
    for (size_t i = 0; i < 4; i++) {
        const json_t *cell = json_array_get(cells, i);
        ck_assert_str_eq(command_json_string(cell, "backend"), "cpu");
        ck_assert_str_eq(command_json_string(cell, "pace"), paces[i]);
        ck_assert_double_eq(command_json_number(cell, "taps"), taps[i]);
        ck_assert_double_eq(command_json_number(cell, "channels"), 2);
        ck_assert(json_is_null(json_object_get(cell, "gpu_mode")));
        expect_plausible(cell, 200);
    }
}

START_TEST(lists_multiply)
{
    struct command_result result = command_done(
        "\"$HALO\" bench stream --backend cpu,direct --gpu-mode resident,graph --taps 2^7,300 "
        "--channels 1,3 --block 16,17 --blocks 20 --warm-up 0 --pace back-to-back --threads 2 "
        "--rate 44100 --json");
    json_t *cells = command_cells(&result);
    ck_assert_uint_eq(json_array_size(cells), 16); /* only the GPU has modes */
    for (size_t i = 0; i < 16; i++) {
        const json_t *cell = json_array_get(cells, i);
        ck_assert_str_eq(command_json_string(cell, "backend"), i < 8 ? "cpu" : "direct");
        ck_assert_double_eq(command_json_number(cell, "taps"), i / 4 % 2 ? 300 : 128);
        ck_assert_double_eq(command_json_number(cell, "channels"), i / 2 % 2 ? 3 : 1);
        ck_assert_double_eq(command_json_number(cell, "block"), i % 2 ? 17 : 16);
        ck_assert_double_eq(command_json_number(cell, "threads"), 2);
        ck_assert_double_eq(command_json_number(cell, "rate"), 44100);
        expect_plausible(cell, 20);
    }
}

START_TEST(slow_cells_end)
{
    struct command_result result =
        command_done("\"$HALO\" bench stream --backend direct --taps 20000 --blocks 1000000 "
                     "--seconds 0.01 --warm-up 0 --json");
    json_t *cells = command_cells(&result);
    for (size_t i = 0; i < 2; i++) {
        const json_t *cell = json_array_get(cells, i);
        ck_assert_double_ge(command_json_number(cell, "blocks"), 1);
        ck_assert_double_lt(command_json_number(cell, "blocks"), 1000000);
        expect_plausible(cell, command_json_number(cell, "blocks"));
    }
}

/* Counts on the line, outside quotes. */
static size_t count_of(const char *text, char character)
{
    size_t count = 0;
    bool quoted = false;
    for (; *text && *text != '\n'; text++) {
        quoted ^= *text == '"';
        count += *text == character && !quoted;
    }
    return count;
}

START_TEST(tables_have_whole_rows)
{
    struct command_result csv =
        command_done("\"$HALO\" bench stream --blocks 20 --warm-up 0 --csv");
    static const char head[] = "backend,gpu_mode,algorithm,pace,block,channels,paths,taps,";
    ck_assert_int_eq(strncmp(csv.out, head, strlen(head)), 0);
    ck_assert_uint_eq(command_lines(csv.out), 3);
    ck_assert_ptr_nonnull(strstr(csv.out, ",p999_us,p9999_us,max_us,"));
    ck_assert_ptr_nonnull(strstr(csv.out, ",times_real_time,cpu_per_second,error_db,"));
    size_t commas = count_of(csv.out, ',');
    for (const char *line = csv.out; *line; line = strchr(line, '\n') + 1)
        ck_assert_uint_eq(count_of(line, ','), commas);

    struct command_result table = command_done("\"$HALO\" bench stream --blocks 20 --warm-up 0");
    const char *line = strchr(table.out, '|');
    ck_assert_ptr_nonnull(line);
    ck_assert_ptr_nonnull(strstr(line, "| p99.9 | p99.99 | max |"));
    ck_assert_ptr_nonnull(strstr(line, "| x real time | cpu s per s |"));
    size_t columns = count_of(line, '|'), rows = 0;
    for (; *line == '|'; line = strchr(line, '\n') + 1, rows++)
        ck_assert_uint_eq(count_of(line, '|'), columns);
    ck_assert_uint_eq(rows, 4); /* the header, its rule and two cells */
}

START_TEST(a_signal_ends_it)
{
    pid_t process = command_start("exec \"$HALO\" bench stream --blocks 10000000");
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    ck_assert_int_eq(kill(process, SIGINT), 0);
    struct command_result result = command_wait(process);
    ck_assert_int_eq(result.code, 128 + SIGINT);
    ck_assert_str_eq(result.out, "");
}

START_TEST(help_describes_both)
{
    struct command_result result = command_done("\"$HALO\" bench --help");
    ck_assert(strstr(result.out, "kernels") && strstr(result.out, "stream"));
    result = command_done("\"$HALO\" bench stream --help");
    ck_assert_ptr_nonnull(strstr(result.out, "--pace LIST"));
}
