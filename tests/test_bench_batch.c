/* The batch bench, on a device that convolves on the CPU: all rows, and results that are right. */
#include "bench/batch_bench.h"
#include "command.h"
#include "gather_cpu.h"
#include "suite.h"

#include <math.h>

static const struct batch_bench_settings small = {.kind = &gather_cpu_kind,
                                                  .sounds = 50,
                                                  .rooms = 5,
                                                  .rate = 1000,
                                                  .shortest = 0.05,
                                                  .longest = 0.3,
                                                  .room = 0.05,
                                                  .threads = 3,
                                                  .rounds = 2};

START_TEST(all_rows_and_right_results)
{
    for (size_t devices = 1; devices <= 2; devices++) {
        struct batch_bench *bench = NULL;
        gather_cpu_reset(2);
        ck_assert_int_eq(batch_bench_create(&small, devices, &bench), STATUS_OK);
        for (enum batch_bench_memory m = 0; m < BENCH_MEMORIES; m++) {
            struct batch_bench_row row;
            ck_assert_int_eq(batch_bench_measure(bench, m, &row), STATUS_OK);
            ck_assert_uint_eq(row.devices, devices);
            ck_assert(row.sounds > 0 && row.samples > 0 && row.of_copies > 0);
            ck_assert(row.least <= row.samples && row.samples <= row.most);
            ck_assert_double_eq_tol(row.seconds, row.samples / 1000, 1e-6 * row.seconds);
            if (m >= BENCH_PINNED)
                ck_assert_double_le(row.error_db, -130);
            else
                ck_assert(isnan(row.error_db));
        }
        batch_bench_destroy(bench);
        ck_assert(!gather_cpu.wrong);
        ck_assert_uint_eq(gather_cpu.forms, 0);
    }
}
END_TEST

START_TEST(what_fails_is_an_error)
{
    struct batch_bench *bench = NULL;
    struct batch_bench_row row;
    struct batch_bench_settings long_ones = small;
    gather_cpu_reset(1);
    ck_assert_int_eq(batch_bench_create(&small, 2, &bench), STATUS_FAILED);
    long_ones.longest = long_ones.shortest = 9000;
    ck_assert_int_eq(batch_bench_create(&long_ones, 1, &bench), STATUS_USAGE);
    gather_cpu_reset(1);
    ck_assert_int_eq(batch_bench_create(&small, 1, &bench), STATUS_OK);
    gather_cpu.fails[0].begin = gather_cpu.batches[0];
    ck_assert_int_eq(batch_bench_measure(bench, BENCH_PINNED, &row), STATUS_FAILED);
    batch_bench_destroy(bench);
}
END_TEST

START_TEST(options_are_checked)
{
    command_refused(2, "--shortest 9 s is longer", "$HALO bench batch --shortest 9 --longest 8");
    command_refused(2, "--sounds", "$HALO bench batch --sounds 0");
    command_refused(2, "--room", "$HALO bench batch --room nan");
    command_refused(2, "--gpus", "$HALO bench batch --gpus 0");
    command_refused(2, "--threads", "$HALO bench batch --threads 99999999999");
}
END_TEST

SUITE_MAIN("bench_batch", all_rows_and_right_results, what_fails_is_an_error, options_are_checked)
