/* halo render on a GPU as a command; exit 77 (skipped) where there is none. */
#include "command.h"
#include "sound.h"
#include "suite.h"

#include <cuda_runtime_api.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

static json_t *render(const char *before, const char *options)
{
    struct command_result result = command_done(
        "%s \"$HALO\" render -f in.wav out.wav --mask m.wav --json %s 2>err.txt", before, options);
    json_t *root = command_json(result.out);
    return root;
}

/* The whole sound was compared with the truth, whichever processor made it. */
static void expect_proven(json_t *root)
{
    json_t *proof = json_object_get(root, "proof");
    ck_assert_double_eq(command_json_number(proof, "share"), 1);
    ck_assert(command_json_number(proof, "error_db") < -125);
}

static const char *text_of(json_t *root, const char *key)
{
    return json_string_value(json_object_get(root, key));
}

/* Integers and floats, short masks and long, every GPU mode. */
START_TEST(every_way_equals_the_truth)
{
    static const char *const ways[] = {
        "--backend cuda",
        "--kernel basic",
        "--kernel constant",
        "--kernel tiled",
        "--kernel cached",
        "--kernel register",
        "--kernel fft",
        "--gpu-mode resident",
        "--gpu-mode graph --block 100",
        "--backend cuda --block 50000",
        "--devices 0",
        "--backend cuda --precision double",
        "--backend cuda --precision double --block 64",
    };
    const int formats[] = {SF_FORMAT_WAV | SF_FORMAT_PCM_16, SF_FORMAT_WAV | SF_FORMAT_PCM_24,
                           SF_FORMAT_WAV | SF_FORMAT_FLOAT};
    for (size_t f = 0; f < 3; f++) {
        command_clean();
        sound_noise_file("in.wav", 1, formats[f], 48000, 2, 60000);
        sound_noise_file("m.wav", 2, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 2, 3000);
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
            char options[80];
            snprintf(options, sizeof options, "%s --format float --prove", ways[w]);
            json_t *root = render("", options);
            ck_assert_str_eq(text_of(root, "backend"), "cuda");
            ck_assert_int_eq(json_integer_value(json_object_get(root, "gpu_failures")), 0);
            expect_proven(root);
            sound_expect_filtered("out.wav", "in.wav", "m.wav");
        }
    }
}

/* The last fault is a real one, after which the process has no GPU. */
START_TEST(failing_gpu_is_replaced_by_the_cpu)
{
    static const char *const faults[] = {"0", "1:memory", "2:lost", "3:trap"};
    static const char *const modes[] = {"--block 5000 --backend cuda --prove",
                                        "--gpu-mode resident --prove", "--gpu-mode graph --prove",
                                        "--block 5000 --backend cuda --precision double --prove"};
    sound_noise_file("in.wav", 1, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 2, 60000);
    sound_noise_file("m.wav", 2, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 2, 3000);
    for (size_t f = 0; f < 4; f++)
        for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
            char before[64];
            snprintf(before, sizeof before, "HALO_GPU_FAULT=%s", faults[f]);
            json_t *root = render(before, modes[m]);
            ck_assert_str_eq(text_of(root, "backend"), "cpu");
            ck_assert_int_eq(json_integer_value(json_object_get(root, "gpu_failures")), 1);
            expect_proven(root);
            command_done("test $(grep -c 'the GPU failed' err.txt) = 1");
            sound_expect_filtered("out.wav", "in.wav", "m.wav");
        }
}

/* Long masks on many channels, a matrix, blocks shorter and longer than the mask; and their GPU
 * failing. */
START_TEST(long_masks_equal_the_truth)
{
    static const char *const ways[] = {"--backend cuda", "--backend cuda --block 5000",
                                       "--backend cuda --precision double", "--kernel fft"};
    static const char *const faults[] = {"", "HALO_GPU_FAULT=1:memory", "HALO_GPU_FAULT=0:trap"};
    sound_noise_file("in.wav", 1, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 2, 40000);
    for (size_t columns = 2; columns <= 4; columns += 2) { /* one each; a matrix */
        sound_noise_file("m.wav", 2, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, columns, 9000);
        for (size_t w = 0; w < 4; w++)
            for (size_t f = 0; f < (w < 2 ? 3 : 1); f++) {
                char options[100];
                snprintf(options, sizeof options, "%s --format float --prove", ways[w]);
                json_t *root = render(faults[f], options);
                ck_assert_str_eq(text_of(root, "backend"), f > 0 ? "cpu" : "cuda");
                expect_proven(root);
            }
    }
    sound_noise_file("in.wav", 1, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 35, 30000);
    sound_noise_file("m.wav", 2, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 35, 10000);
    json_t *root = render("", "--backend cuda --block 7000 --format float --prove");
    ck_assert_str_eq(text_of(root, "backend"), "cuda");
    expect_proven(root);
}

/* Two masks in a row: their kernels share constant memory, and both may be resident. */
START_TEST(masks_in_a_row)
{
    sound_noise_file("in.wav", 1, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 2, 20000);
    sound_noise_file("m.wav", 2, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 2, 50);
    sound_noise_file("n.wav", 3, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 2, 700);
    command_done("\"$HALO\" render in.wav between.wav --mask m.wav --backend direct");
    static const char *const ways[] = {"--kernel tiled", "--backend cuda", "--gpu-mode resident",
                                       "--gpu-mode graph"};
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        struct command_result result = command_done(
            "\"$HALO\" render -f in.wav out.wav --mask m.wav --mask n.wav --json %s", ways[w]);
        ck_assert_double_eq(command_number(result.out, "gpu_failures"), 0);
        sound_expect_filtered("out.wav", "between.wav", "n.wav");
    }
}

/* Threads of one process share the start of CUDA, and a bank of constant memory a kernel. */
START_TEST(many_at_once_are_those_of_one)
{
    enum { SOUNDS = 24 };
    static const char *const ways[] = {"--kernel constant", "--kernel register", "--kernel fft",
                                       "--precision double --format double"};
    sound_noise_file("m.wav", 2, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 2, 60);
    command_done("mkdir in");
    for (unsigned i = 0; i < SOUNDS; i++) {
        char name[32];
        snprintf(name, sizeof name, "in/%u.wav", i);
        sound_noise_file(name, 10 + i, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 2, 60000);
    }
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        command_done("rm -rf out; timeout 300 \"$HALO\" render -q -O out --mask m.wav "
                     "--threads 16 --backend cuda %s in",
                     ways[w]);
        for (unsigned i = 0; i < SOUNDS; i++) {
            char in[32], out[32];
            snprintf(in, sizeof in, "in/%u.wav", i);
            snprintf(out, sizeof out, "out/%u.wav", i);
            sound_expect_filtered(out, in, "m.wav");
        }
    }
}

START_TEST(impossible_requests_are_refused)
{
    sound_noise_file("in.wav", 1, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 1, 1000);
    sound_noise_file("m.wav", 2, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 1, 16385);
    command_refused(1, "16384", "\"$HALO\" render in.wav out.wav --mask m.wav --kernel tiled");
    command_refused(2, "--precision single",
                    "\"$HALO\" render in.wav out.wav --mask m.wav --kernel fft --precision double");
    command_refused(1, "GPU 63", "\"$HALO\" render in.wav out.wav --mask m.wav --devices 63");
}

int main(void)
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        puts("no GPU here: rendering on it is not tested");
        return 77;
    }
    return suite_run();
}
