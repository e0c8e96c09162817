/* --precision double: errors of at most -270 dB of max|x| sum|h| against sums in long double, for
 * the signals and masks whose rounding errors add up: constant and low ones, masks of one sign.
 * With HALO_TEST_BACKEND=cuda on a GPU; exit 77 (skipped) where there is none. */
#include "command.h"
#include "convolve/convolver_backend.h"
#include "render_call.h"
#include "suite.h"
#include "truth.h"

#include <math.h>
#include <sndfile.h>
#include <stdio.h>
#include <string.h>

static const double BOUND_DB = -270, RATE = 48000;

enum { CHECKED = 96 /* frames of each output */, RUN = 512, CHANNELS_MOST = 3, COLUMNS_MOST = 6 };

enum kind { NOISE, CONSTANT, BASS, IMPULSE, ONE_SIGN, DECAY, KINDS };
static const char *const kind_names[] = {"noise",   "constant", "bass",
                                         "impulse", "one sign", "decay"};

/* NULL: that of the case. */
static const char *backend_wanted(void)
{
    return getenv("HALO_TEST_BACKEND");
}

/* The same for a command. */
static const char *backend_option(void)
{
    return backend_wanted() ? "--backend cuda" : "";
}

/* More digits than single precision holds. */
static void fill(enum kind kind, uint64_t seed, double *samples, size_t count)
{
    float *noise = audio_alloc(2 * count);
    ck_assert_ptr_nonnull(noise);
    truth_noise(seed, noise, 2 * count);
    for (size_t i = 0; i < count; i++) {
        double random = 0.9 * (double)noise[i] + 1e-8 * (double)noise[count + i];
        double bass = 0.9 * sin(2 * acos(-1) * 50 * (double)i / RATE);
        samples[i] = kind == NOISE      ? random
                     : kind == CONSTANT ? 0.1 + 1e-3 / (double)seed
                     : kind == BASS     ? bass
                     : kind == IMPULSE  ? (i == count / 3 ? 1 / 3.0 : 0)
                     : kind == ONE_SIGN ? fabs(random)
                                        : random * pow(10, -3 * (double)i / (double)count);
    }
    free(noise);
}

static struct block_in_double sound_of(enum kind kind, size_t channels, size_t frames)
{
    struct block_in_double x;
    ck_assert_int_eq(block_init_in_double(&x, channels, frames, "a sound"), STATUS_OK);
    for (size_t c = 0; c < channels; c++)
        fill(kind, c + 1, x.data[c], frames);
    return x;
}

/* Every channel to itself and to the next. */
static struct mask *mask_of(enum kind kind, uint64_t seed, size_t channels, size_t taps)
{
    struct mask *mask;
    size_t columns = 2 * channels;
    ck_assert_int_eq(mask_create(kind_names[kind], columns, taps, &mask), STATUS_OK);
    for (size_t c = 0; c < columns; c++)
        fill(kind, seed + c, mask_column(mask, c), taps);
    mask->inputs = mask->outputs = channels;
    mask->paths = calloc(columns, sizeof *mask->paths);
    ck_assert_ptr_nonnull(mask->paths);
    for (size_t p = 0; p < columns; p++)
        mask->paths[mask->path_count++] =
            (struct mask_path){p % channels, (p + p / channels) % channels, p};
    return suite_mask(mask);
}

/* ---- the truth ---- */

/* In runs, whose rounding does not add up as that of one long sum does. */
static long double true_output(const struct mask *mask, const struct block_in_double *x,
                               size_t output, size_t frame)
{
    long double sum = 0, run = 0;
    for (size_t p = 0; p < mask->path_count; p++) {
        const double *taps = mask_column(mask, mask->paths[p].column);
        const double *in = x->data[mask->paths[p].input];
        size_t first = frame < x->frames ? 0 : frame - x->frames + 1;
        for (size_t k = first; mask->paths[p].output == output && k < mask->taps && k <= frame;
             k++) {
            run += (long double)in[frame - k] * (long double)taps[k];
            if (k % RUN == 0) {
                sum += run;
                run = 0;
            }
        }
    }
    return sum + run;
}

static double bound_of(const struct mask *mask, const struct block_in_double *x)
{
    double peak = 0, most = 0;
    for (size_t c = 0; c < x->channels; c++)
        peak = fmax(peak, audio_peak_in_double(x->data[c], x->frames));
    for (size_t o = 0; o < mask->outputs; o++) {
        double norm = 0;
        for (size_t p = 0; p < mask->path_count; p++)
            for (size_t k = 0; mask->paths[p].output == o && k < mask->taps; k++)
                norm += fabs(mask_column(mask, mask->paths[p].column)[k]);
        most = fmax(most, norm);
    }
    return peak * most;
}

static void expect_below(long double error, double bound, const char *what)
{
    double db = error > 0 ? 20 * log10((double)error / bound) : -INFINITY;
    if (getenv("HALO_TEST_SHOW"))
        printf("%7.1f dB  %s\n", db, what);
    ck_assert_msg(!(db > BOUND_DB), "%s: error %.1f dB of max|x| sum|h|", what, db);
}

/* ---- convolvers ---- */

/* The input, then silence, block by block. */
static struct block_in_double through(struct filter *filter, const struct block_in_double *x,
                                      size_t frames)
{
    struct block_in_double out, in;
    size_t blocks = (frames + filter->block - 1) / filter->block;
    ck_assert_int_eq(block_init_in_double(&out, filter->outputs, blocks * filter->block, "a sound"),
                     STATUS_OK);
    ck_assert_int_eq(block_init_in_double(&in, filter->inputs, filter->block, "a block"),
                     STATUS_OK);
    for (size_t at = 0; at < out.frames; at += filter->block) {
        double *to[CHANNELS_MOST];
        for (size_t c = 0; c < filter->outputs; c++)
            to[c] = out.data[c] + at;
        for (size_t c = 0; c < filter->inputs; c++)
            for (size_t i = 0; i < filter->block; i++)
                in.data[c][i] = at + i < x->frames ? x->data[c][at + i] : 0;
        filter_process_in_double(filter, (const double *const *)in.data, to);
    }
    block_free_in_double(&in);
    return out;
}

struct case_of_convolver {
    const char *backend;
    bool live;
    size_t taps, block, frames, channels, threads;
};

static void check_convolver(const struct case_of_convolver *one, enum kind sound, enum kind taps)
{
    char what[200];
    const char *backend = backend_wanted() ? backend_wanted() : one->backend;
    snprintf(what, sizeof what,
             "%s%s, %zu taps of %s, %zu frames of %s, blocks of %zu, %zu threads", backend,
             one->live ? " live" : "", one->taps, kind_names[taps], one->frames, kind_names[sound],
             one->block, one->threads);
    struct mask *mask = mask_of(taps, 7, one->channels, one->taps);
    struct block_in_double x = sound_of(sound, one->channels, one->frames);
    struct workers *workers = NULL;
    struct filter *filter;
    ck_assert_int_eq(workers_create(one->threads, &workers), STATUS_OK);
    const struct convolver_settings settings = {.backend = backend,
                                                .precision = PRECISION_DOUBLE,
                                                .block = one->block,
                                                .live = one->live,
                                                .workers = workers};
    ck_assert_int_eq(convolver_create(&settings, mask, &filter), STATUS_OK);
    if (backend_wanted())
        ck_assert_str_eq(convolver_backend(filter), backend);
    size_t frames = one->frames + one->taps - 1, step = frames / CHECKED + 1;
    struct block_in_double out = through(filter, &x, frames);
    long double worst = 0;
    for (size_t o = 0; o < one->channels; o++)
        for (size_t i = 0; i < frames; i += step)
            worst = fmaxl(worst, fabsl((long double)out.data[o][i] - true_output(mask, &x, o, i)));
    expect_below(worst, bound_of(mask, &x), what);
    block_free_in_double(&out);
    filter_destroy(filter);
    workers_destroy(workers);
    block_free_in_double(&x);
}

/* Each case has each sound and each mask, with one of each other; HALO_TEST_FULL: with half. */
START_TEST(convolvers_keep_the_bound)
{
    static const struct case_of_convolver cases[] = {
        {"cpu", false, 1, 4096, 5000, 1, 1},       {"cpu", false, 33, 1000, 9000, 2, 2},
        {"cpu", false, 300, 65536, 165963, 1, 2},  {"cpu", false, 5000, 16384, 50000, 3, 3},
        {"cpu", false, 60000, 65536, 99000, 2, 2}, {"cpu", false, 3000, 1, 4000, 1, 1},
        {"cpu", false, 20000, 64, 30000, 1, 1},    {"cpu", true, 300, 64, 20000, 2, 1},
        {"cpu", true, 20000, 64, 40000, 2, 1},     {"cpu", true, 20000, 37, 25000, 1, 2},
        {"cpu", true, 60000, 128, 70000, 1, 2},    {"direct", false, 3000, 500, 4000, 2, 2},
        {"auto", false, 12000, 8192, 40000, 1, 2},
    };
    bool full = getenv("HALO_TEST_FULL");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (enum kind sound = 0; sound < KINDS; sound++)
            for (enum kind taps = (sound + i) % (full ? 2 : KINDS); taps < KINDS;
                 taps += full ? 2 : KINDS)
                check_convolver(&cases[i], sound, taps);
}

START_TEST(long_masks_keep_the_bound)
{
    static const struct case_of_convolver cases[] = {
        {"auto", false, 240000, 1 << 18, 300000, 1, 2},
        {"auto", false, 240000, 4096, 260000, 1, 2},
        {"auto", true, 240000, 256, 250000, 1, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_convolver(&cases[i], CONSTANT, CONSTANT);
        check_convolver(&cases[i], BASS, ONE_SIGN);
        check_convolver(&cases[i], NOISE, NOISE);
    }
}

/* A change of mask in mid-stream: the two whole outputs, crossfaded. */
static void check_switch(bool live, size_t taps)
{
    enum { AT = 3000, FADE = 1000, FRAMES = 8000, BLOCK = 64 };
    struct mask *old = mask_of(NOISE, 3, 1, taps), *new = mask_of(ONE_SIGN, 9, 1, taps);
    struct block_in_double x = sound_of(BASS, 1, FRAMES);
    struct filter *filter;
    struct convolver_mask *prepared;
    const struct convolver_settings settings = {.backend =
                                                    backend_wanted() ? backend_wanted() : "auto",
                                                .precision = PRECISION_DOUBLE,
                                                .block = BLOCK,
                                                .live = live};
    ck_assert_int_eq(convolver_create(&settings, old, &filter), STATUS_OK);
    ck_assert_int_eq(convolver_prepare(filter, new, &prepared), STATUS_OK);
    const struct convolver_switch change = {.to = prepared, .at = AT, .frames = FADE};
    ck_assert_int_eq(convolver_switch(filter, &change), STATUS_OK);
    struct block_in_double out = through(filter, &x, FRAMES);
    uint64_t at;
    ck_assert(convolver_switched(filter, &at));
    long double worst = 0;
    for (size_t i = 0; i < FRAMES; i += 7) {
        long double t = i < at ? 0 : i - at >= FADE ? 1 : (long double)(i - at) / FADE;
        long double truth = (1 - t) * true_output(old, &x, 0, i) + t * true_output(new, &x, 0, i);
        worst = fmaxl(worst, fabsl((long double)out.data[0][i] - truth));
    }
    expect_below(worst, fmax(bound_of(old, &x), bound_of(new, &x)), "a change of mask");
    block_free_in_double(&out);
    filter_destroy(filter);
    block_free_in_double(&x);
}

START_TEST(changes_of_masks_keep_the_bound)
{
    check_switch(false, 30);
    check_switch(false, 4000);
    check_switch(true, 4000);
}

/* ---- the program ---- */

static void save(const char *name, const struct block_in_double *block, int format)
{
    SF_INFO info = {.samplerate = (int)RATE, .channels = (int)block->channels, .format = format};
    SNDFILE *file = sf_open(command_path(name), SFM_WRITE, &info);
    double frame[COLUMNS_MOST];
    ck_assert_ptr_nonnull(file);
    for (size_t i = 0; i < block->frames; i++) {
        for (size_t c = 0; c < block->channels; c++)
            frame[c] = block->data[c][i];
        ck_assert_int_eq(sf_writef_double(file, frame, 1), 1);
    }
    ck_assert_int_eq(sf_close(file), 0);
}

static struct block_in_double load(const char *name)
{
    SF_INFO info = {0};
    struct block_in_double block;
    double frame[COLUMNS_MOST];
    SNDFILE *file = sf_open(command_path(name), SFM_READ, &info);
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(
        block_init_in_double(&block, (size_t)info.channels, (size_t)info.frames, "a sound"),
        STATUS_OK);
    for (size_t i = 0; i < block.frames; i++) {
        ck_assert_int_eq(sf_readf_double(file, frame, 1), 1);
        for (size_t c = 0; c < block.channels; c++)
            block.data[c][i] = frame[c];
    }
    sf_close(file);
    return block;
}

/* Taps as in the file name, a column each. */
static void save_mask(const char *name, const struct mask *mask)
{
    double *rows[COLUMNS_MOST];
    for (size_t c = 0; c < mask->columns; c++)
        rows[c] = mask_column(mask, c);
    save(name, &(struct block_in_double){mask->columns, mask->taps, rows},
         SF_FORMAT_WAV | SF_FORMAT_DOUBLE);
}

struct case_of_render {
    const char *stages;
    int format; /* of IN */
    double (*weight)(size_t frame);
    size_t masks; /* in series */
};

static double gained(size_t frame)
{
    (void)frame;
    return pow(10, -7.3 / 20);
}

/* --gain 0,at=3000-5000:gain=-6 */
static double ramped(size_t frame)
{
    double to = pow(10, -6.0 / 20), t = ((double)frame - 3000) / 2000;
    return t < 0 ? 1 : t > 1 ? to : 1 + (to - 1) * t;
}

/* In series: the outputs of the first, rounded to double, into the second, and so on. */
static struct block_in_double true_series(struct block_in_double x, struct mask *const *masks,
                                          size_t count, double *bound)
{
    *bound = 0;
    for (size_t m = 0; m < count; m++) {
        struct block_in_double y;
        *bound = fmax(m > 0 ? *bound : 0, bound_of(masks[m], &x));
        ck_assert_int_eq(
            block_init_in_double(&y, x.channels, x.frames + masks[m]->taps - 1, "a sound"),
            STATUS_OK);
        for (size_t c = 0; c < y.channels; c++)
            for (size_t i = 0; i < y.frames; i++)
                y.data[c][i] = (double)true_output(masks[m], &x, c, i);
        block_free_in_double(&x);
        x = y;
    }
    return x;
}

static void check_render(const struct case_of_render *one, const char *options)
{
    enum { FRAMES = 7000, CHANNELS = 2 };
    char what[300];
    struct mask *masks[] = {mask_of(ONE_SIGN, 5, CHANNELS, 700), mask_of(DECAY, 6, CHANNELS, 90)};
    struct block_in_double x = sound_of(BASS, CHANNELS, FRAMES);
    double bound;
    command_clean();
    save("in.wav", &x, SF_FORMAT_WAV | one->format);
    save_mask("a.wav", masks[0]);
    save_mask("b.wav", masks[1]);
    for (size_t m = 0; m < 2; m++) /* as the file has them: LL, LR, RL, RR */
        for (size_t p = 0; p < masks[m]->path_count; p++)
            masks[m]->paths[p] = (struct mask_path){p / CHANNELS, p % CHANNELS, p};
    snprintf(what, sizeof what, "%s %s", one->stages, options);
    render_done("in.wav", "out.wav", "%s --precision double --format double %s %s", one->stages,
                options, backend_option());
    block_free_in_double(&x);
    struct block_in_double out = load("out.wav"),
                           truth = true_series(load("in.wav"), masks, one->masks, &bound);
    ck_assert_uint_eq(out.frames, truth.frames);
    long double worst = 0;
    for (size_t c = 0; c < out.channels; c++)
        for (size_t i = 0; i < out.frames; i++) {
            double weight = one->weight ? one->weight(i) : 1;
            worst = fmaxl(worst, fabsl((long double)out.data[c][i] -
                                       (long double)weight * (long double)truth.data[c][i]));
        }
    expect_below(worst, bound > 0 ? bound : 0.9, what);
    block_free_in_double(&out);
    block_free_in_double(&truth);
}

START_TEST(renders_keep_the_bound)
{
    static const struct case_of_render cases[] = {
        {"--mask a.wav", SF_FORMAT_DOUBLE, NULL, 1},
        {"--mask a.wav", SF_FORMAT_FLOAT, NULL, 1},
        {"--mask a.wav", SF_FORMAT_PCM_24, NULL, 1},
        {"--mask a.wav", SF_FORMAT_PCM_32, NULL, 1},
        {"--mask a.wav --mask b.wav", SF_FORMAT_DOUBLE, NULL, 2},
        {"--mask a.wav --gain -7.3", SF_FORMAT_DOUBLE, gained, 1},
        {"--gain 0,at=3000-5000:gain=-6", SF_FORMAT_DOUBLE, ramped, 0},
        {"", SF_FORMAT_DOUBLE, NULL, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_render(&cases[i], "");
        check_render(&cases[i], "--block 64 --threads 1");
    }
    if (!backend_wanted())
        check_render(&cases[4], "--block 1000 --threads 3 --backend direct");
    check_render(&cases[4], "--container w64 --force");
}

/* ---- what limits the precision, and what cannot be had ---- */

START_TEST(mixes_keep_the_bound)
{
    enum { FRAMES = 7000 };
    struct mask *mask = mask_of(ONE_SIGN, 5, 1, 700);
    struct block_in_double x = sound_of(BASS, 1, FRAMES);
    save("in.wav", &x, SF_FORMAT_WAV | SF_FORMAT_DOUBLE);
    mask->columns = mask->path_count = 1;
    save_mask("a.wav", mask);
    render_done("in.wav", "out.wav", "--mask a.wav,@mix=0.3 --precision double --format double");
    struct block_in_double out = load("out.wav");
    long double worst = 0;
    for (size_t i = 0; i < FRAMES; i++)
        worst = fmaxl(worst, fabsl((long double)out.data[0][i] - 0.3 * true_output(mask, &x, 0, i) -
                                   0.7 * x.data[0][i]));
    expect_below(worst, bound_of(mask, &x), "a mix");
    block_free_in_double(&out);
    block_free_in_double(&x);
}

/* Boundaries and --normalize keep it, too: a mirrored sound, scaled to a peak of 1. */
START_TEST(boundaries_and_peaks_keep_the_bound)
{
    enum { FRAMES = 5000, TAPS = 300 };
    struct mask *mask = mask_of(ONE_SIGN, 5, 1, TAPS);
    struct block_in_double x = sound_of(NOISE, 1, FRAMES), longer;
    save("in.wav", &x, SF_FORMAT_WAV | SF_FORMAT_DOUBLE);
    mask->columns = mask->path_count = 1;
    save_mask("a.wav", mask);
    render_done("in.wav", "out.wav",
                "--mask a.wav --edge wrap --normalize 0 --precision double --format double");
    struct block_in_double out = load("out.wav");
    ck_assert_uint_eq(out.frames, FRAMES);
    ck_assert_int_eq(block_init_in_double(&longer, 1, 2 * FRAMES, "a sound"), STATUS_OK);
    double peak = 0;
    for (size_t i = 0; i < 2 * FRAMES; i++)
        longer.data[0][i] = x.data[0][i % FRAMES];
    for (size_t i = 0; i < FRAMES; i++)
        peak = fmax(peak, fabs((double)true_output(mask, &longer, 0, FRAMES + i)));
    long double worst = 0;
    for (size_t i = 0; i < FRAMES; i++)
        worst = fmaxl(worst, fabsl((long double)out.data[0][i] -
                                   true_output(mask, &longer, 0, FRAMES + i) / peak));
    expect_below(worst, bound_of(mask, &x) / peak, "a boundary, normalised");
    block_free_in_double(&out);
    block_free_in_double(&longer);
    block_free_in_double(&x);
}

/* Below about 1e-38 a float loses bits, and below 1e-45 all of them. */
START_TEST(what_single_precision_loses_is_said)
{
    static const struct {
        const char *tap, *options;
        bool is_said;
    } masks[] = {
        {"1e-37", "", false},
        {"1e-39", "", true},
        {"-1e-39\\n1e-320", "", true},
        {"1e-300", "", true},
        {"0", "", false},
        {"1e-39", ",normalize=peak", false},
        {"1e-30", ",gain=-200", true},
        {"1\\n1e-300", "", false},
    };
    static const struct {
        double peak;
        bool is_said;
    } sounds[] = {{1e-37, false}, {1e-39, true}, {-1e-300, true}, {0, false}};
    struct block_in_double x = sound_of(NOISE, 1, 2000);
    save("in.wav", &x, SF_FORMAT_WAV | SF_FORMAT_DOUBLE);
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        command_done("printf -- '%s\n' >m.txt", masks[i].tap);
        const char *single =
            render_done("in.wav", "out.wav", "--precision single --mask m.txt%s", masks[i].options)
                .err;
        ck_assert_msg(!!strstr(single, "mask m.txt: its largest tap is") == masks[i].is_said,
                      "%zu: %s", i, single);
        const char *wide =
            render_done("in.wav", "out.wav", "--precision double --mask m.txt%s", masks[i].options)
                .err;
        ck_assert_msg(!strstr(wide, "largest"), "%zu: %s", i, wide);
    }
    for (size_t i = 0; i < sizeof sounds / sizeof *sounds; i++) {
        for (size_t n = 0; n < x.frames; n++)
            x.data[0][n] = n == 1234 ? sounds[i].peak : sounds[i].peak / 2;
        save("small.wav", &x, SF_FORMAT_WAV | SF_FORMAT_DOUBLE);
        const char *single = render_done("small.wav", "out.wav", "--precision single").err;
        ck_assert_msg(!!strstr(single, "small.wav: its largest sample is") == sounds[i].is_said,
                      "%zu: %s", i, single);
        const char *wide = render_done("small.wav", "out.wav", "--precision double").err;
        ck_assert_msg(!strstr(wide, "largest"), "%zu: %s", i, wide);
    }
    block_free_in_double(&x);
}

START_TEST(single_precision_is_said)
{
    static const char render[] = "$HALO render in.wav out.wav -f --json --precision double ";
    struct block_in_double x = sound_of(NOISE, 1, 2000);
    save("in.wav", &x, SF_FORMAT_WAV | SF_FORMAT_DOUBLE);
    block_free_in_double(&x);
    struct command_result result = command_done("%s --gain -3", render);
    json_t *report = command_json(result.out);
    ck_assert_str_eq(command_json_string(report, "precision"), "double");
    ck_assert_ptr_null(strstr(result.err, "single"));
    result = command_done("%s --gain -3 --spectral identity2d,@mix=0.5 --quiet", render);
    command_expect(result.err, "stage 2, --spectral identity2d,@mix=0.5, computes in single");
    report = command_json(result.out);
    ck_assert_str_eq(command_json_string(report, "precision"), "single");
    const json_t *stages = json_object_get(report, "stages");
    ck_assert_str_eq(command_json_string(json_array_get(stages, 0), "precision"), "double");
    ck_assert_str_eq(command_json_string(json_array_get(stages, 1), "precision"), "single");
    command_done("%s --mask lowpass:1000 --prove=-250", render);
    command_refused(1, "the proof failed",
                    "$HALO render in.wav no.wav --mask lowpass:1000 --prove=-250 "
                    "--precision single");
}

/* ---- live ---- */

/* A device has float samples: the chain adds nothing to one rounding at its end. */
static void check_live(const char *options)
{
    enum { SILENCE = 48000, FRAMES = 80000, TAPS = 3000 }; /* the output fades in, in silence */
    struct mask *mask = mask_of(ONE_SIGN, 5, 1, TAPS);
    struct block_in_double x = sound_of(BASS, 1, FRAMES);
    mask_scale(mask, 0.5 / bound_of(mask, &x), NULL); /* below the limiter */
    memset(x.data[0], 0, SILENCE * sizeof(double));
    for (size_t i = SILENCE; i < FRAMES; i++)
        x.data[0][i] = (double)(float)x.data[0][i];
    command_clean();
    save("in.wav", &x, SF_FORMAT_WAV | SF_FORMAT_FLOAT);
    mask->columns = mask->path_count = 1;
    save_mask("a.wav", mask);
    command_done(
        "$HALO live --plain --no-feedback-guard --device null:in=in.wav,out=out.wav,pace=0 "
        "--mask a.wav --seconds 1.6 --output-map 1 %s %s",
        options, backend_option());
    struct block_in_double out = load("out.wav");
    ck_assert_uint_ge(out.frames, 76000);
    long double worst = 0;
    for (size_t i = SILENCE; i < 76000; i += 5) { /* prime to all blocks: each place of a block */
        long double truth = true_output(mask, &x, 0, i);
        long double error = fabsl((long double)out.data[0][i] - truth);
        worst = fmaxl(worst, error - fabsl(truth) * 0x1p-24L); /* that of rounding */
    }
    expect_below(fmaxl(worst, 0), bound_of(mask, &x), options);
    block_free_in_double(&out);
    block_free_in_double(&x);
}

START_TEST(live_keeps_the_bound)
{
    check_live("--precision double --block 64");
    check_live("--precision double --block 1024");
    check_live("--precision double --block 37 --threads 1");
}

/* A replay computes as the stream did: the same, but where a worker's share of the sums was another
 * and so the last bit of a float. */
START_TEST(replays_are_in_double_precision)
{
    struct block_in_double x = sound_of(NOISE, 1, 60000);
    struct mask *mask = mask_of(ONE_SIGN, 5, 1, 3000);
    mask_scale(mask, 0.5 / bound_of(mask, &x), NULL);
    command_clean();
    save("in.wav", &x, SF_FORMAT_WAV | SF_FORMAT_FLOAT);
    mask->columns = mask->path_count = 1;
    save_mask("a.wav", mask);
    struct command_result result = command_done(
        "$HALO live --json --no-feedback-guard --device null:in=in.wav,pace=4 --mask a.wav "
        "--seconds 1 --block 64 --record rec.wav --record-dry dry.wav "
        "--precision double");
    command_expect(result.out, "\"precision\":\"double\"");
    command_done("$HALO render dry.wav again.wav --replay rec.wav.log");
    struct block_in_double recorded = load("rec.wav"), again = load("again.wav");
    ck_assert_uint_eq(recorded.frames, again.frames);
    for (size_t i = 0; i < recorded.frames; i++)
        ck_assert_double_eq_tol(recorded.data[0][i], again.data[0][i],
                                fabs(again.data[0][i]) * 0x1p-23 + 1e-12);
    block_free_in_double(&recorded);
    block_free_in_double(&again);
    block_free_in_double(&x);
}

int main(void)
{
    bool is_gpu = backend_wanted() != NULL;
    if (is_gpu && (!convolver_cuda.is_usable || !convolver_cuda.is_usable())) {
        puts("no GPU here: double precision on it is not tested");
        return 77;
    }
    if (is_gpu) /* these are of the CPU, or of no convolver */
        suite_leave_out("mixes_keep_the_bound boundaries_and_peaks_keep_the_bound "
                        "single_precision_is_said what_single_precision_loses_is_said "
                        "replays_are_in_double_precision");
    return suite_run();
}
