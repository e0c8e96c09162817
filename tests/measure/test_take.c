/* What a take plays and records, and its file. */
#include "command.h"
#include "measure/take.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { RATE = 8000, BLOCK = 96 };

static struct take_plan plan_of(size_t outputs, size_t inputs)
{
    struct take_plan plan = {.level = -20,
                             .repeats = 2,
                             .pause = RATE / 10,
                             .outputs = outputs,
                             .inputs = inputs,
                             .output_of = {3, 5, outputs == 3 ? 6 : 0},
                             .input_of = {2, 4},
                             .mark = TAKE_NONE,
                             .reference = TAKE_NONE,
                             .reference_output = TAKE_NONE,
                             .latency = 17,
                             .rate_in = RATE,
                             .date = "2026-11-29T12:00:00Z",
                             .device = "a device"};
    ck_assert_int_eq(sweep_init(&plan.sweep, 0.3, 50, 3500, RATE), STATUS_OK);
    return plan;
}

/* Runs the step until the take is complete. Input c hears output 0, times 0.5 + c. The caller frees
 * the frames that were played, output after output. */
static float *run_step(struct take *take, float extra)
{
    size_t outputs = take->plan.outputs, length = take->recorded.frames + BLOCK;
    float *played = calloc(outputs * length, sizeof *played), in[2][BLOCK], *out[3];
    ck_assert_ptr_nonnull(played);
    const float *inputs[2] = {in[0], in[1]};
    for (size_t at = 0; !take_is_complete(take); at += BLOCK) {
        for (size_t f = 0; f < BLOCK; f++)
            for (size_t c = 0; c < 2; c++)
                in[c][f] = at == 0 ? 0 : extra + (0.5F + (float)c) * played[at - BLOCK + f];
        for (size_t o = 0; o < outputs; o++)
            out[o] = played + o * length + at;
        take_step(take, inputs, out, BLOCK, false);
    }
    return played;
}

static struct take *take_of(const struct take_plan *plan)
{
    struct take *take;
    ck_assert_int_eq(take_create(plan, NULL, &take), STATUS_OK);
    atomic_store(&take->phase, TAKE_SWEEPS);
    return take;
}

static double rms_of(const float *samples, size_t from, size_t count)
{
    double sum = 0;
    for (size_t i = from; i < from + count; i++)
        sum += (double)samples[i] * samples[i];
    return sqrt(sum / (double)count);
}

/* Each output plays its sweeps at their places and nothing else; what is heard is recorded. */
START_TEST(sweeps_are_played_in_turn)
{
    struct take_plan plan = plan_of(3, 2);
    plan.checked = true;
    plan.reference_output = 1;
    plan.mark = 2;
    struct take *take = take_of(&plan);
    size_t length = take->recorded.frames + BLOCK, list[DEVICE_CHANNELS_MOST];
    double *sweep = calloc(plan.sweep.frames, sizeof *sweep);
    float *played = run_step(take, 0);
    sweep_fill(&plan.sweep, 1, sweep);
    ck_assert_uint_eq(take_measured_outputs(&plan, list), 2);
    ck_assert_uint_eq(list[1], 2);
    for (size_t r = 0; r < 4; r++) {
        size_t at = take_sweep_at(&plan, r / 2, r % 2);
        for (size_t f = 0; f < plan.sweep.frames; f++) {
            float wanted = (float)(0.1 * (double)(float)sweep[f]);
            ck_assert_float_eq_tol(played[list[r / 2] * length + at + f], wanted, 1e-7F);
            ck_assert_float_eq_tol(played[length + at + f], wanted, 1e-7F);
            ck_assert_float_eq(played[list[1 - r / 2] * length + at + f], 0);
            played[list[r / 2] * length + at + f] = played[length + at + f] = 0;
        }
    }
    size_t rest = take_sweep_at(&plan, 0, 0) - plan.pause, mark = take_mark_at(&plan);
    ck_assert_double_gt(rms_of(played + 2 * length, mark, RATE / 2), 0.05);
    ck_assert_double_eq(rms_of(played, 0, length), 0);
    ck_assert_double_eq(rms_of(played + length, 0, length), 0);
    ck_assert_double_eq(rms_of(played + 2 * length, rest, length - rest), 0);
    for (size_t f = 0; f < plan.sweep.frames; f++)
        ck_assert_float_eq_tol(take->recorded.data[1][take_sweep_at(&plan, 0, 1) + BLOCK + f],
                               (float)(0.15 * sweep[f]), 1e-6F);
    ck_assert(!atomic_load(&take->clipped) && !atomic_load(&take->lost));
    free(sweep);
    free(played);
    take_destroy(take);
}

/* In a check, noise rises on one output after the other, and never exceeds the level. */
START_TEST(noise_rises_from_silence)
{
    struct take_plan plan = plan_of(2, 2);
    struct take *take = take_of(&plan);
    size_t length = take->recorded.frames + BLOCK, each = take_check_frames(&plan);
    float *played = run_step(take, 0);
    for (size_t o = 0; o < 2; o++) {
        const float *own = played + o * length;
        ck_assert_double_eq(rms_of(own, (1 - o) * each, each), 0);
        ck_assert_double_lt(rms_of(own, o * each, RATE / 20), 0.1 * 0.003);
        ck_assert_double_gt(rms_of(own, (o + 1) * each - RATE / 2, RATE / 2), 0.1 * 0.1);
        ck_assert_float_le(audio_peak(own + o * each, each), 0.1F);
    }
    free(played);
    take_destroy(take);
}

/* An input at full scale ends the noise at once, and names the input. */
START_TEST(full_scale_ends_the_noise)
{
    struct take_plan plan = plan_of(2, 2);
    struct take *take = take_of(&plan);
    float in[2][BLOCK] = {{0}}, out[2][BLOCK], *outputs[2] = {out[0], out[1]};
    const float *inputs[2] = {in[0], in[1]};
    for (size_t block = 0; block < 100; block++)
        take_step(take, inputs, outputs, BLOCK, false);
    ck_assert_double_gt(rms_of(out[0], 0, BLOCK), 0);
    in[1][BLOCK - 1] = -1;
    take_step(take, inputs, outputs, BLOCK, false);
    ck_assert_double_eq(rms_of(out[0], 0, BLOCK), 0);
    ck_assert_uint_eq(atomic_load(&take->clipped), 2);
    take_step(take, inputs, outputs, BLOCK, true);
    ck_assert(!atomic_load(&take->lost)); /* nothing is measured yet */
    while (atomic_load(&take->frames) <= plan.outputs * take_check_frames(&plan))
        take_step(take, inputs, outputs, BLOCK, false);
    take_step(take, inputs, outputs, BLOCK, true);
    ck_assert(atomic_load(&take->lost));
    take_destroy(take);
}

/* Reads or writes `size` bytes of a file. */
static void pass_file(const char *path, const char *mode, char *bytes, size_t size)
{
    FILE *file = fopen(path, mode);
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(mode[0] == 'r' ? fread(bytes, 1, size, file) : fwrite(bytes, 1, size, file),
                      size);
    ck_assert_int_eq(fclose(file), 0);
}

static bool is_read(const char *path)
{
    struct take *take;
    char reason[400];
    log_capture(reason, sizeof reason);
    enum status status = take_read(path, &take);
    log_capture(NULL, 0);
    take_destroy(take);
    return status == STATUS_OK;
}

/* A file gives the same plan and samples. No damage of its description crashes or is taken. */
START_TEST(takes_are_kept_in_files)
{
    struct take_plan plan = plan_of(2, 2);
    plan.checked = true;
    plan.mark = 1;
    plan.reference = 0;
    struct take *take = take_of(&plan), *again;
    int folder = command_enter();
    free(run_step(take, 0.01F));
    ck_assert_int_eq(take_write(take, "take.wav", false), STATUS_OK);
    ck_assert_int_eq(take_read("take.wav", &again), STATUS_OK);
    ck_assert_mem_eq(&again->plan, &take->plan, sizeof plan);
    for (size_t c = 0; c < 2; c++)
        ck_assert_mem_eq(again->recorded.data[c], take->recorded.data[c],
                         take->recorded.frames * sizeof(float));
    take_destroy(again);
    take_destroy(take);

    struct stat about;
    ck_assert_int_eq(stat("take.wav", &about), 0);
    size_t size = (size_t)about.st_size;
    char *bytes = malloc(size);
    pass_file("take.wav", "r", bytes, size);
    char *text = memmem(bytes, size, "halo take ", 10);
    ck_assert_ptr_nonnull(text);
    for (char *at = text + 10; *at != '}'; at++) {
        static const char *const worse[] = {"-", "9", "]", "\"", "e"};
        char before = *at;
        if (at[-1] != ':' && at[-1] != '[')
            continue;
        for (size_t i = 0; i < sizeof worse / sizeof *worse; i++) {
            *at = worse[i][0];
            pass_file("damaged.wav", "w", bytes, size);
            (void)is_read("damaged.wav"); /* a 9 may be right by chance */
        }
        *at = before;
    }
    pass_file("damaged.wav", "w", bytes, size / 2);
    ck_assert(!is_read("damaged.wav"));
    ck_assert(!is_read("none.wav"));
    memcpy(text, "halo tale", 9);
    pass_file("damaged.wav", "w", bytes, size);
    ck_assert(!is_read("damaged.wav"));
    free(bytes);
    command_leave(folder);
}
