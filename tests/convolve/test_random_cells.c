/* Random sounds through random masks against the truth: kinds of sound and mask, lengths, channels,
 * paths, blocks, backend and threads, and for whole renders files, rates and options, come from a
 * seed, which is printed. HALO_TEST_SEED sets another, HALO_TEST_FULL makes it ten times longer.
 * HALO_TEST_BACKEND is one of cells.h instead of the CPU's; exit 77 (skipped) where there is no GPU
 * for it. */
#include "base/noise.h"
#include "cells.h"
#include "command.h"
#include "convolve/convolver_backend.h"
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
    mask_destroy(mask);
}

/* ---- the program: files, rates, layouts and options ---- */

enum { RENDERS = 25, RENDERS_FULL = 250, RENDER_TAPS_MOST = 20000, RENDER_FRAMES_MOST = 40000 };

struct file_kind {
    const char *suffix;
    int format;
};

static const struct file_kind file_kinds[] = {
    {"wav", SF_FORMAT_WAV | SF_FORMAT_FLOAT},    {"wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16},
    {"wav", SF_FORMAT_WAVEX | SF_FORMAT_PCM_24}, {"wav", SF_FORMAT_WAV | SF_FORMAT_PCM_U8},
    {"wav", SF_FORMAT_RF64 | SF_FORMAT_PCM_32},  {"w64", SF_FORMAT_W64 | SF_FORMAT_DOUBLE},
    {"flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_24}, {"aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_16},
    {"caf", SF_FORMAT_CAF | SF_FORMAT_FLOAT},    {"au", SF_FORMAT_AU | SF_FORMAT_PCM_24},
};
enum { FILE_KINDS = sizeof file_kinds / sizeof *file_kinds };

static const uint32_t rates[] = {8000, 11025, 22050, 44100, 48000, 96000, 192000};

/* As the file holds it: rounded, clipped. */
static struct sound random_file(const char *stem, uint32_t rate, size_t channels, size_t frames,
                                char *name, size_t size)
{
    const struct file_kind *file = &file_kinds[below(FILE_KINDS)];
    struct sound sound = sound_create(file->format, rate, channels, frames);
    for (size_t c = 0; c < channels; c++)
        fill((enum kind)below(KINDS), sound.block.data[c], frames);
    snprintf(name, size, "%s.%s", stem, file->suffix);
    sound_save(&sound, name);
    return sound_load(name);
}

/* Four columns are true stereo, also for a mono sound, which feeds both inputs; other counts send a
 * mono sound through every column, and each channel through the one column or through its own. */
static struct mask *routed(const struct sound *columns, size_t channels)
{
    struct mask_path paths[CHANNELS_MOST];
    size_t count = columns->block.channels;
    bool is_matrix = count == 4 && channels <= 2;
    for (size_t c = 0; c < count; c++)
        paths[c] = is_matrix ? (struct mask_path){c / 2 % channels, c % 2, c}
                             : (struct mask_path){0, c, c};
    return sound_mask(columns, paths, is_matrix || channels == 1 ? count : 0, channels);
}

static void random_options(char *text, size_t size, double work)
{
    static const char *const on_off[] = {"--reproducible", "--precision double", "--no-sync",
                                         "--prove", "--align causal"};
    snprintf(text, size, "--format %s --threads %zu", below(2) ? "float" : "double", 1 + below(4));
    for (size_t i = 0; i < sizeof on_off / sizeof *on_off; i++)
        if (below(4) == 0)
            snprintf(text + strlen(text), size - strlen(text), " %s", on_off[i]);
    if (below(2))
        snprintf(text + strlen(text), size - strlen(text), " --block %zu",
                 16 + length_up_to(100000));
    if (work < 2e7 && below(4) == 0)
        snprintf(text + strlen(text), size - strlen(text), " --backend direct");
}

/* Another rate: as the direct form in double precision renders it, with the same resampled mask. */
static void expect_same_as_direct(const struct sound *out, double bound, const char *what)
{
    struct sound direct = sound_load("direct.w64");
    double worst = 0;
    ck_assert_uint_eq(direct.block.channels, out->block.channels);
    ck_assert_uint_eq(direct.block.frames, out->block.frames);
    for (size_t c = 0; c < out->block.channels; c++)
        for (size_t i = 0; i < out->block.frames; i++)
            worst =
                fmax(worst, fabs((double)out->block.data[c][i] - (double)direct.block.data[c][i]));
    ck_assert_msg(worst <= bound * pow(10, -130 / 20.0), "%s: %.1f dB from the direct form", what,
                  20 * log10(worst / bound));
}

static void check_render(void)
{
    char in_name[16], mask_name[16], options[200], what[600];
    size_t channels = 1 + below(CHANNELS_MOST), kind = below(3);
    size_t columns = channels == 1                ? 1 + below(CHANNELS_MOST)
                     : kind == 0                  ? 1
                     : kind == 1 && channels == 2 ? 4
                                                  : channels;
    uint32_t rate = rates[below(sizeof rates / sizeof *rates)];
    uint32_t own = below(3) ? rate : rates[below(sizeof rates / sizeof *rates)];
    size_t taps = length_up_to(RENDER_TAPS_MOST);
    command_clean();
    struct sound in = random_file("in", rate, channels, length_up_to(RENDER_FRAMES_MOST), in_name,
                                  sizeof in_name);
    struct sound h = random_file("mask", own, columns, taps, mask_name, sizeof mask_name);
    struct mask *mask = routed(&h, channels);
    double gain = below(2) ? uniform(-20, 20) : 0, bound = 0;
    size_t tail = below(2);
    random_options(options, sizeof options,
                   (double)taps * (double)in.block.frames * (double)mask->path_count);
    snprintf(what, sizeof what,
             "%s of %u Hz, %zu channels, %zu frames; %s of %u Hz, %zu columns, "
             "%zu taps; %.3f dB, tail %s, %s",
             in_name, rate, channels, in.block.frames, mask_name, own, columns, taps, gain,
             tail ? "none" : "full", options);
    if (getenv("HALO_TEST_SHOW"))
        puts(what);
    command_done("$HALO render %s out.w64 --layout none --mask %s --gain %.3f --tail %s %s -q",
                 in_name, mask_name, gain, tail ? "none" : "full", options);
    gain = pow(10, round(gain * 1000) / 1000 / 20);
    struct sound out = sound_load("out.w64");
    mask_scale(mask, gain, NULL);
    for (size_t c = 0; c < channels; c++)
        bound = fmax(bound, (double)audio_peak(in.block.data[c], in.block.frames));
    bound *= mask_norm(mask);
    if (own != rate) {
        command_done(
            "$HALO render %s direct.w64 --layout none --mask %s --gain %.3f --tail %s --format double "
            "--precision double --backend direct -q",
            in_name, mask_name, 20 * log10(gain), tail ? "none" : "full");
        expect_same_as_direct(&out, bound, what);
    } else if (bound > 0) {
        ck_assert_msg(out.block.frames == in.block.frames + (tail ? 0 : taps - 1), "%s", what);
        double **truth = truth_render(mask, in.block.data, in.block.frames);
        cells_expect_within(&out.block, truth, mask, &in.block, false, what);
    }
}

static uint64_t seed_wanted(void)
{
    const char *given = getenv("HALO_TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : 1;
    printf("HALO_TEST_SEED=%llu\n", (unsigned long long)seed);
    fflush(stdout);
    return seed;
}

START_TEST(random_cells_equal_truth)
{
    uint64_t seed = seed_wanted();
    size_t cases = getenv("HALO_TEST_FULL") ? CASES_FULL : CASES;
    command_clean();
    for (size_t i = 0; i < cases; i++) {
        state = noise_hash(noise_hash(seed) + i);
        check_case();
    }
}

START_TEST(random_renders_equal_truth)
{
    uint64_t seed = seed_wanted();
    size_t cases = getenv("HALO_TEST_FULL") ? RENDERS_FULL : RENDERS;
    for (size_t i = 0; i < cases; i++) {
        state = noise_hash(noise_hash(seed + 1) + i);
        check_render();
    }
}

int main(void)
{
    bool is_gpu = getenv("HALO_TEST_BACKEND") != NULL;
    if (is_gpu && (!convolver_cuda.is_usable || !convolver_cuda.is_usable())) {
        puts("no GPU here: random cells on it are not tested");
        return 77;
    }
    if (is_gpu)
        suite_leave_out("random_renders_equal_truth");
    return suite_run();
}
