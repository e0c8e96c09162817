/* Random sounds through random masks against the truth: kinds of sound and mask, lengths, channels,
 * paths, blocks, backend and threads come from a seed, which is printed. HALO_TEST_SEED sets
 * another, HALO_TEST_FULL makes it ten times longer. HALO_TEST_BACKEND is one of cells.h instead of
 * the CPU's; exit 77 (skipped) where there is no GPU for it. */
#include "base/noise.h"
#include "cells.h"
#include "command.h"
#include "sound.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CASES = 50, CASES_FULL = 500, TAPS_MOST = 60000, FRAMES_MOST = 60000, CHANNELS_MOST = 4 };
static const double WORK_MOST = 4e5; /* taps of all paths */

static uint64_t state;

static double uniform(double least, double most)
{
    return least + (most - least) * ((double)noise_next(&state) + 1) / 2;
}

static size_t below(size_t count)
{
    size_t value = (size_t)uniform(0, (double)count);
    return value < count ? value : count - 1;
}

/* Short and long ones alike. */
static size_t length_up_to(size_t most)
{
    return (size_t)exp(uniform(0, log((double)most)));
}

/* ---- sounds and masks ---- */

enum kind { NOISE, SINE, LOW_SINE, DC, SQUARE, CLICKS, SPARSE, DECAY, RECORDING, KINDS };
static const char *const kind_names[] = {"noise",  "sine",   "low sine", "DC",       "square",
                                         "clicks", "sparse", "decay",    "recording"};

static void fill_recording(float *samples, size_t count)
{
    static const char *const names[] = {"voice", "guitar", "drums", "pink-noise"};
    char path[512];
    snprintf(path, sizeof path, "%s/%s.wav", getenv("WAV"), names[below(4)]);
    struct sound sound = sound_load(path);
    size_t from = below(sound.block.frames);
    for (size_t i = 0; i < count; i++)
        samples[i] = sound.block.data[0][(from + i) % sound.block.frames];
    sound_free(&sound);
}

static void fill(enum kind kind, float *samples, size_t count)
{
    double hz = kind == LOW_SINE ? uniform(1, 200) : uniform(200, 24000), phase = uniform(0, 6.28);
    double level = uniform(0, 1) < 0.5 ? 1 : pow(10, uniform(-5, 1));
    size_t every = 1 + length_up_to(count);
    if (kind == RECORDING)
        fill_recording(samples, count);
    for (size_t i = 0; i < count && kind != RECORDING; i++) {
        double noise = (double)noise_next(&state), turn = 2 * acos(-1) * hz * (double)i / 48000;
        double wave = sin(turn + phase);
        double value = kind == NOISE    ? noise
                       : kind == DC     ? 1
                       : kind == SQUARE ? copysign(1, wave)
                                        : wave;
        if (kind == CLICKS || kind == SPARSE)
            value = i % every == every / 2 ? 1 : kind == SPARSE ? 1e-6 * noise : 0;
        if (kind == DECAY)
            value = noise * pow(10, -3 * (double)i / (double)count);
        samples[i] = (float)(level * value);
    }
}

/* Any path, each once; half of all masks are of one sign. */
static struct mask *random_mask(char *what, size_t size)
{
    struct mask *mask;
    size_t inputs = 1 + below(CHANNELS_MOST), outputs = 1 + below(CHANNELS_MOST);
    size_t columns = inputs * outputs, most = (size_t)(WORK_MOST / (double)columns);
    size_t taps = length_up_to(most < TAPS_MOST ? most : TAPS_MOST);
    enum kind kind = (enum kind)below(KINDS);
    bool one_sign = below(2) == 0;
    float *samples = audio_alloc(columns * taps);
    ck_assert_ptr_nonnull(samples);
    ck_assert_int_eq(mask_create("random", columns, taps, &mask), STATUS_OK);
    fill(kind, samples, columns * taps);
    for (size_t i = 0; i < columns * taps; i++)
        mask->coefficients[i] = (double)(one_sign ? fabsf(samples[i]) : samples[i]);
    free(samples);
    mask->inputs = inputs;
    mask->outputs = outputs;
    mask->paths = calloc(columns, sizeof *mask->paths);
    ck_assert_ptr_nonnull(mask->paths);
    for (size_t c = 0; c < columns; c++)
        if (columns == 1 || below(4) > 0)
            mask->paths[mask->path_count++] =
                (struct mask_path){c % inputs, c / inputs, below(columns)};
    snprintf(what, size, "%zu paths of %zu inputs and %zu outputs, %zu taps of %s%s",
             mask->path_count, inputs, outputs, taps, kind_names[kind],
             one_sign ? ", one sign" : "");
    return mask;
}

static struct block random_sound(size_t channels, char *what, size_t size)
{
    struct block x = stream_noise(1, channels, 1 + below(FRAMES_MOST));
    snprintf(what, size, "%zu frames of", x.frames);
    for (size_t c = 0; c < channels; c++) {
        enum kind kind = (enum kind)below(KINDS);
        fill(kind, x.data[c], x.frames);
        snprintf(what + strlen(what), size - strlen(what), "%s %s", c ? "," : "", kind_names[kind]);
    }
    return x;
}

/* ---- a case ---- */

static void check_case(void)
{
    static const char *const backends[] = {"cpu", "cpu", "cpu/live", "direct"};
    char of_mask[128], of_sound[128], what[400];
    struct mask *mask = random_mask(of_mask, sizeof of_mask);
    struct block x = random_sound(mask->inputs, of_sound, sizeof of_sound);
    const char *wanted = getenv("HALO_TEST_BACKEND");
    const char *backend =
        backends[below((double)mask->taps * (double)mask->path_count < 3000 ? 4 : 3)];
    if (wanted)
        backend = wanted;
    size_t threads = 1 + below(2),
           block = length_up_to(strcmp(backend, "cpu") == 0 || strcmp(backend, "cuda") == 0 ? 131072
                                                                                            : 2048);
    if (block < 16 && (wanted || mask->taps > 2000))
        block = 16; /* single frames take long */
    snprintf(what, sizeof what, "%s, %zu threads, blocks of %zu; %s; %s", backend, threads, block,
             of_mask, of_sound);
    double **truth = truth_render(mask, x.data, x.frames);
    struct workers *workers = cells_crew(threads);
    struct filter *filter = cells_make(backend, mask, block, 0, workers);
    struct block out = stream_through(filter, x.data, x.frames, x.frames + mask->taps - 1);
    cells_expect_within(&out, truth, mask, &x, false, what);
    filter_destroy(filter);
    workers_destroy(workers);
    block_free(&out);
    block_free(&x);
    truth_free(truth, mask->outputs);
    mask_destroy(mask);
}

START_TEST(random_cells_equal_truth)
{
    const char *given = getenv("HALO_TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : 1;
    size_t cases = getenv("HALO_TEST_FULL") ? CASES_FULL : CASES;
    printf("HALO_TEST_SEED=%llu\n", (unsigned long long)seed);
    fflush(stdout);
    command_clean();
    for (size_t i = 0; i < cases; i++) {
        state = noise_hash(noise_hash(seed) + i);
        check_case();
    }
}
END_TEST

int main(void)
{
    if (getenv("HALO_TEST_BACKEND") && (!convolver_cuda.is_usable || !convolver_cuda.is_usable())) {
        puts("no GPU here: random cells on it are not tested");
        return 77;
    }
    const TTest *const tests[] = {random_cells_equal_truth};
    return suite_run("random_cells", tests, 1);
}
