/* halo batch on devices, in this process, with the one of gather_cpu.h: outputs, a bad job in a
 * batch, devices that are lost, what cannot be done there. */
#include "batch/batch_options.h"
#include "command.h"
#include "gather_cpu.h"
#include "sound.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    WAV16 = SF_FORMAT_WAV | SF_FORMAT_PCM_16,
    FLOAT = SF_FORMAT_WAV | SF_FORMAT_FLOAT,
    FILES = 16
};

static void begin(size_t devices)
{
    command_clean();
    ck_assert_int_eq(chdir(command_folder()), 0);
    gather_cpu_reset(devices);
    command_done("mkdir in");
    for (int i = 0; i < FILES; i++) {
        char name[32];
        snprintf(name, sizeof name, "in/s%02d.wav", i);
        sound_noise_file(name, (uint64_t)i + 1, WAV16, 16000, i % 3 ? 1 : 2,
                         (size_t)(2000 + 1501 * i));
    }
    sound_noise_file("a.wav", 20, FLOAT, 16000, 1, 300);
    sound_noise_file("b.wav", 21, FLOAT, 16000, 1, 551);
    command_done(
        "for i in 00 01 02 03 04 05 06 07 08 09 10 11 12 13 14 15; do case $i in *[02468]) "
        "m=a ;; *) m=b ;; esac; echo '{\"id\": \"j'$i'\", \"in\": \"in/s'$i'.wav\", "
        "\"out\": \"'$i'.wav\", \"mask\": \"'$m'.wav\", \"format\": \"float\"}'; done > "
        "jobs.jsonl");
}

static enum status run_on(const char *backend, const char *list, const char *folder,
                          const char *devices)
{
    struct batch_options options = *(const struct batch_options *)command_batch.defaults;
    options.list = list;
    options.render.out_dir = folder;
    options.report = "report.jsonl";
    options.render.verbosity = VERBOSITY_QUIET;
    options.render.chain.settings.convolver.backend = backend;
    struct gpu_devices *named = &options.render.chain.settings.convolver.gpu.devices;
    if (devices)
        ck_assert_int_eq(gpu_devices_parse("devices", devices, named), STATUS_OK);
    options.device_kind = &gather_cpu_kind;
    return batch_run(&options);
}

static enum status run(const char *list, const char *folder, const char *devices)
{
    return run_on("cuda", list, folder, devices);
}

static void expect_output(const char *folder, int i)
{
    char in[32], out[64];
    snprintf(in, sizeof in, "in/s%02d.wav", i);
    snprintf(out, sizeof out, "%s/%02d.wav", folder, i);
    sound_expect_filtered(out, in, i % 2 ? "b.wav" : "a.wav");
}

static json_t *summary(void)
{
    json_t *line = command_json(command_done("tail -n 1 report.jsonl").out);
    json_t *found = json_object_get(line, "summary");
    ck_assert_ptr_nonnull(found);
    return found;
}

static json_int_t of_device(const json_t *found, size_t device, const char *key)
{
    const json_t *row = json_array_get(json_object_get(found, "devices"), device);
    ck_assert_ptr_nonnull(row);
    return json_integer_value(json_object_get(row, key));
}

START_TEST(outputs_are_right_and_done_once)
{
    begin(2);
    ck_assert_int_eq(run("jobs.jsonl", "D", "0,1"), STATUS_OK);
    for (int i = 0; i < FILES; i++)
        expect_output("D", i);
    json_t *found = summary();
    ck_assert_int_eq(of_device(found, 0, "pieces") + of_device(found, 1, "pieces"), FILES);
    ck_assert_int_eq(run("jobs.jsonl", "D", "0,1"), STATUS_OK);
    found = summary();
    ck_assert_int_eq(of_device(found, 0, "pieces") + of_device(found, 1, "pieces"), 0);
    ck_assert_double_eq(command_json_number(found, "kept"), FILES);
    ck_assert(!gather_cpu.wrong);
    ck_assert_uint_eq(gather_cpu.forms, 0);
}

/* Options that change where the frames of the output are; two masks; a sound of several blocks. */
START_TEST(every_kind_of_job_equals_the_cpu)
{
    begin(1);
    sound_noise_file("long.wav", 50, WAV16, 16000, 1, 4300000);
    sound_noise_file("peak.wav", 51, FLOAT, 16000, 2, 77);
    FILE *jobs = fopen("kinds.jsonl", "w");
    fputs(
        "{\"in\": \"long.wav\", \"out\": \"0.wav\", \"mask\": \"peak.wav,channel=1\"}\n"
        "{\"in\": \"in/s01.wav\", \"out\": \"1.wav\", \"mask\": \"a.wav,align=peak\", \"tail\": "
        "\"none\"}\n"
        "{\"in\": \"in/s02.wav\", \"out\": \"2.wav\", \"mask\": [\"a.wav\", \"peak.wav\"], "
        "\"gain\": -20}\n"
        "{\"in\": \"in/s03.wav\", \"out\": \"3.wav\", \"mask\": \"b.wav\", \"edge\": \"reflect\"}\n"
        "{\"in\": \"in/s04.wav\", \"out\": \"4.wav\", \"mask\": \"a.wav\", \"normalize\": -3}\n"
        "{\"in\": \"in/s05.wav\", \"out\": \"5.wav\", \"mask\": \"a.wav\", \"backend\": \"cpu\"}\n"
        "{\"in\": \"in/s06.wav\", \"out\": \"6.wav\", \"gain\": -3}\n"
        "{\"in\": \"in/s07.wav\", \"out\": \"7.wav\", \"mask\": \"a.wav\", \"precision\": "
        "\"double\"}\n",
        jobs);
    fclose(jobs);
    command_done("sed -i 's/}$/, \"format\": \"float\"}/' kinds.jsonl");
    ck_assert_int_eq(run("kinds.jsonl", "D", NULL), STATUS_OK);
    command_done("$HALO batch kinds.jsonl -O E --backend cpu -q");
    for (int i = 0; i < 8; i++) {
        char name[16];
        snprintf(name, sizeof name, "D/%d.wav", i);
        struct sound made = sound_load(name);
        *name = 'E';
        struct sound right = sound_load(name);
        sound_expect_format(&made, right.format, right.rate, right.block.channels,
                            right.block.frames);
        double worst = 0, loudest = 0;
        for (size_t c = 0; c < right.block.channels; c++)
            for (size_t f = 0; f < right.block.frames; f++) {
                double wanted = (double)right.block.data[c][f];
                worst = fmax(worst, fabs((double)made.block.data[c][f] - wanted));
                loudest = fmax(loudest, fabs(wanted));
            }
        ck_assert_msg(loudest > 0 && worst < 2e-6 * loudest, "%s: %g of %g", name, worst, loudest);
    }
    ck_assert_uint_ge(gather_cpu.batches[0], 3);
}

START_TEST(a_bad_job_in_a_batch_fails_alone)
{
    begin(1);
    struct sound bad = sound_create(FLOAT, 16000, 1, 5000);
    bad.block.data[0][2500] = NAN;
    sound_save(&bad, "in/s04.wav");
    bad.block.data[0][2500] = 3e38f;
    bad.block.data[0][2501] = 3e38f;
    sound_save(&bad, "in/s06.wav"); /* its output is infinite */
    command_done("head -c 3000 in/s05.wav > x && mv x in/s05.wav && rm in/s07.wav");
    sound_noise_file("a.wav", 22, FLOAT, 16000, 1, 320);
    command_done("sed -i 's/a.wav\\(.*\\)}/a.wav,gain=40\\1}/;/j06/!s/,gain=40//' jobs.jsonl");
    ck_assert_int_eq(run("jobs.jsonl", "D", NULL), STATUS_SOME_FAILED);
    json_t *found = summary();
    ck_assert_double_eq(command_json_number(found, "failed"), 4);
    ck_assert_double_eq(command_json_number(found, "made"), FILES - 4);
    for (int i = 0; i < FILES; i++)
        if (i < 4 || i > 7)
            expect_output("D", i);
}

START_TEST(lost_devices_cost_no_job)
{
    for (size_t round = 0; round < 4; round++) {
        begin(2);
        gather_cpu.fails[0].end = round;
        if (round % 2) /* both: the CPU does the rest */
            gather_cpu.fails[1].begin = round / 2;
        ck_assert_int_eq(run("jobs.jsonl", "D", "all"), STATUS_OK);
        for (int i = 0; i < FILES; i++)
            expect_output("D", i);
        json_t *found = summary();
        const json_t *row = json_array_get(json_object_get(found, "devices"), 1);
        if (round % 2 && json_is_null(json_object_get(row, "lost")))
            puts("not seen: a second device that fails: the first one had done all before");
        else if (round % 2)
            ck_assert_str_eq(command_json_string(row, "lost"), "made to fail at the beginning");
        else
            ck_assert(json_is_null(json_object_get(row, "lost")));
    }
}

START_TEST(what_is_not_possible_is_refused)
{
    begin(1);
    command_refused(2, "--reproducible needs the CPU",
                    "$HALO batch jobs.jsonl -O D --backend cuda --reproducible");
    command_refused(2, "--kernel", "$HALO batch jobs.jsonl -O D --kernel fft");
    command_refused(2, "--gpu-mode", "$HALO batch jobs.jsonl -O D --gpu-mode graph");
    command_refused(0, "", "$HALO batch jobs.jsonl -O D --devices 63");
    command_refused(2, "'x'", "$HALO batch jobs.jsonl -O D --devices x");
    command_refused(2, "--backend needs a value", "$HALO batch jobs.jsonl -O D --backend ''");
    ck_assert_int_eq(run("jobs.jsonl", "D", "1"), STATUS_FAILED); /* there is only device 0 */
    ck_assert(access("D/00.wav", F_OK) != 0);
    command_done("sed 's/}$/, \"backend\": \"cuda\"}/;1q' jobs.jsonl > cuda.jsonl; "
                 "! $HALO batch cuda.jsonl -O D --report R 2>err && grep -q 'whole batch' R");
}

/* Steady sounds through masks of one sign. */
START_TEST(what_needs_double_precision_is_left_to_the_cpu)
{
    begin(1);
    struct sound steady = sound_create(FLOAT, 16000, 1, 20000);
    for (size_t i = 0; i < 20000; i++)
        steady.block.data[0][i] = i < 7000 ? 0 : 1;
    sound_save(&steady, "in/s00.wav");
    struct sound mask = sound_create(FLOAT, 16000, 1, 300);
    for (size_t i = 0; i < 300; i++)
        mask.block.data[0][i] = 0.01f;
    sound_save(&mask, "a.wav");
    ck_assert_int_eq(run("jobs.jsonl", "D", NULL), STATUS_OK);
    sound_expect_filtered("D/00.wav", "in/s00.wav", "a.wav");
    sound_expect_filtered("D/02.wav", "in/s02.wav", "a.wav");
    json_t *found = summary();
    ck_assert_int_eq(of_device(found, 0, "pieces"), FILES / 2); /* of the other mask */
}

/* With or without a GPU, and whichever of them is faster. */
START_TEST(reproducible_bytes_are_those_of_the_render)
{
    begin(1);
    command_done(
        "$HALO batch jobs.jsonl -O D --reproducible -v 2>err && grep -q 'stays on the CPU' "
        "err");
    command_done(
        "for i in 00 05 15; do case $i in *[02468]) m=a ;; *) m=b ;; esac; $HALO render -q "
        "--reproducible --format float in/s$i.wav $i.wav --mask $m.wav && cmp $i.wav "
        "D/$i.wav || exit 1; done");
}

/* CUDA takes longer to count GPUs than a small batch takes. */
START_TEST(devices_that_a_small_batch_would_not_use_are_not_asked_for)
{
    begin(1);
    ck_assert_int_eq(run_on("auto", "jobs.jsonl", "D", NULL), STATUS_OK);
    ck_assert_uint_eq(gather_cpu.asked, 0);
    expect_output("D", 0);
    ck_assert_int_eq(run_on("auto", "jobs.jsonl", "E", "0"), STATUS_OK); /* named */
    ck_assert_uint_eq(gather_cpu.asked, 1);
    expect_output("E", 0);
}
