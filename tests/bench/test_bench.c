/* halo bench kernels as a command, without a GPU; test_kernels tests the kernels themselves. */
#include "command.h"
#include "gpu/kernel.h"
#include "suite.h"

#include <string.h>

static void expect_one_line(const char *arguments, int code, const char *expected)
{
    struct command_result result = command_run("\"$HALO\" bench %s", arguments);
    ck_assert_msg(result.code == code, "bench %s: exit code %d, not %d", arguments, result.code,
                  code);
    ck_assert_msg(command_lines(result.err) == 1 && strncmp(result.err, "halo: ", 6) == 0,
                  "bench %s: not one line: %s", arguments, result.err);
    ck_assert_msg(strstr(result.err, expected) != NULL, "bench %s: no \"%s\" in %s", arguments,
                  expected, result.err);
    ck_assert_str_eq(result.out, "");
}

START_TEST(wrong_arguments_are_refused)
{
    static const char *const wrong[][2] = {
        {"", "kernels"},
        {"nonsense", "kernels"},
        {"kernels --kernel fastest", "fastest"},
        {"kernels --taps 0", "--taps"},
        {"kernels --taps 5,99999999", "--taps"},
        {"kernels --fft 1000", "1000"},
        {"kernels --taps 5,,6", "--taps"},
        {"kernels --samples 2^99", "--samples"},
        {"kernels --samples 3^2", "--samples"},
        {"kernels --threads 33", "33"},
        {"kernels --repeats 0", "--repeats"},
        {"kernels --boundary wrap", "wrap"},
        {"kernels more", "more"},
        {"kernels --dim 3", "--dim"},
        {"kernels --dim 2 --kernel fft", "tiled-out"},
        {"kernels --dim 2 --taps 5", "--taps"},
        {"kernels --dim 2 --masks 0x3", "--masks"},
        {"kernels --dim 2 --masks 129", "16384"},
        {"kernels --dim=2 --masks 3x3x3", "--masks"},
        {"kernels --dim 2 --masks 3x3,,5", "--masks"},
        {"kernels --dim 2 --sizes 2^18x2^18", "2^33"},
        {"kernels --dim 2 --blocks 0x8", "0x8"},
        {"kernels --dim 2 --blocks 2048", "--blocks"},
        {"kernels --dim 2 --rows padded", "padded"},
        {"kernels --dim 2 --edge wrap", "wrap"},
        {"kernels --dim 2 --channels 0", "--channels"},
        {"kernels --nonsense", "--nonsense"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_one_line(wrong[i][0], 2, wrong[i][1]);
}

START_TEST(missing_gpu_is_reported)
{
    /* An empty list hides the GPUs of this machine. */
    struct command_result result =
        command_run("CUDA_VISIBLE_DEVICES= \"$HALO\" bench kernels --samples 1000");
    ck_assert_int_eq(result.code, 1);
    ck_assert_uint_eq(command_lines(result.err), 1);
    ck_assert_ptr_nonnull(strstr(result.err, "NVIDIA"));
}

START_TEST(missing_gpu_is_reported_for_pictures)
{
    struct command_result result =
        command_run("CUDA_VISIBLE_DEVICES= \"$HALO\" bench kernels --dim 2 --sizes 100");
    ck_assert_int_eq(result.code, 1);
    ck_assert_uint_eq(command_lines(result.err), 1);
    ck_assert_ptr_nonnull(strstr(result.err, "NVIDIA"));
}

START_TEST(help_lists_both_kinds)
{
    struct command_result result = command_run("\"$HALO\" bench kernels --help");
    ck_assert_int_eq(result.code, 0);
    ck_assert_ptr_nonnull(strstr(result.out, "--taps"));
    ck_assert_ptr_nonnull(strstr(result.out, "--dim"));
    result = command_run("\"$HALO\" bench kernels --dim 2 --help");
    ck_assert_int_eq(result.code, 0);
    ck_assert_ptr_nonnull(strstr(result.out, "--masks"));
    ck_assert_ptr_null(strstr(result.out, "--taps"));
}

/* halo render accepts the name of every kernel and no other. */
START_TEST(kernels_can_be_named)
{
    for (size_t k = 0; kernel_at(k); k++) {
        struct command_result result =
            command_run("\"$HALO\" render none.wav out.wav --kernel %s", kernel_at(k)->name);
        ck_assert_msg(result.code == 1 && strstr(result.err, "none.wav"), "--kernel %s: %s",
                      kernel_at(k)->name, result.err);
    }
}
