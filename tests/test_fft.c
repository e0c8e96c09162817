/* Transforms: correct at every kind of length; plans are saved and found again, and a damaged or
 * missing cache does no harm. */
#include "base/noise.h"
#include "base/workers.h"
#include "command.h"
#include "signal/audio.h"
#include "signal/fft.h"
#include "signal/fft_double.h"
#include "signal/fft_odd.h"
#include "signal/fft_wisdom.h"
#include "sound.h"
#include "suite.h"

#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ODD_BINS_MOST = 1 << 10 }; /* the longest transform whose bins are all compared */

static const double ERROR_MOST = 1e-6; /* relative to the root of n, for noise within -1..1 */

static void check_bin(const float *samples, const float *spectrum, size_t n, size_t bin)
{
    double re = 0, im = 0, most = ERROR_MOST * sqrt((double)n) * log2((double)n);
    for (size_t i = 0; i < n; i++) {
        double turn = 2 * M_PI * (double)(bin * i % n) / (double)n;
        re += (double)samples[i] * cos(turn);
        im -= (double)samples[i] * sin(turn);
    }
    ck_assert_double_le(fabs(re - (double)spectrum[2 * bin]), most);
    ck_assert_double_le(fabs(im - (double)spectrum[2 * bin + 1]), most);
}

static void check_length(size_t n)
{
    struct fft *fft;
    uint64_t random = n;
    float *samples = audio_alloc(n), *before = audio_alloc(n), *back = audio_alloc(n);
    float *spectrum = audio_alloc(fft_spectrum_floats(n));
    ck_assert_int_eq(fft_create(n, &fft), STATUS_OK);
    ck_assert_uint_eq(fft_length(fft), n);
    for (size_t i = 0; i < n; i++)
        before[i] = samples[i] = noise_next(&random);
    fft_forward(fft, samples, spectrum);
    ck_assert_mem_eq(samples, before, n * sizeof *samples);
    for (size_t bin = 0; bin <= n / 2; bin += n / 16 + 1)
        check_bin(samples, spectrum, n, bin);
    check_bin(samples, spectrum, n, n / 2);
    fft_inverse(fft, spectrum, back);
    for (size_t i = 0; i < n; i++)
        ck_assert_double_le(fabs((double)back[i] / (double)n - (double)samples[i]), 1e-5);
    fft_destroy(fft);
    free(samples);
    free(before);
    free(back);
    free(spectrum);
}

START_TEST(transforms_are_right)
{
    const size_t lengths[] = {2, 16, 48, 100, 101, 128, 1536, 8192, 49152};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        check_length(lengths[i]);
}
END_TEST

static size_t odd_place(size_t bin)
{
    return bin / ODD_FFT_PARTS * 2 * ODD_FFT_PARTS + bin % ODD_FFT_PARTS;
}

/* The bin of the frequency 2k + 1/2. */
static double complex odd_bin(const float *samples, size_t count, size_t n, size_t k)
{
    double complex sum = 0;
    for (size_t i = 0; i < count; i++)
        sum +=
            (double)samples[i] * cexp(I * M_PI * (double)((4 * k + 1) * i % (2 * n)) / (double)n);
    return sum;
}

/* Each bin of the sum is at some place of the spectrum, no two at one. */
static void check_odd_bins(const float *samples, size_t count, const float *spectrum, size_t n)
{
    double most = ERROR_MOST * sqrt((double)n) * log2((double)n);
    bool *taken = calloc(n / 2, sizeof *taken);
    for (size_t k = 0; k < n / 2; k++) {
        double complex bin = odd_bin(samples, count, n, k);
        size_t nearest = n;
        double least = INFINITY;
        for (size_t at = 0; at < n / 2; at++) {
            const float *place = spectrum + odd_place(at);
            double distance = cabs((double)place[0] + I * (double)place[ODD_FFT_PARTS] - bin);
            if (distance < least && !taken[at]) {
                least = distance;
                nearest = at;
            }
        }
        ck_assert_double_le(least, most);
        taken[nearest] = true;
    }
    free(taken);
}

/* What is behind `count` is not read; any part of the inverse. */
static void check_odd_length(size_t n, size_t count)
{
    struct odd_fft *fft;
    uint64_t random = n;
    size_t floats = fft_spectrum_floats(n);
    float *samples = audio_alloc(n), *back = audio_alloc(n), *scratch = audio_alloc(n);
    float *spectrum = audio_alloc(floats), *used = audio_alloc(n);
    ck_assert_int_eq(odd_fft_create(n, &fft), STATUS_OK);
    for (size_t i = 0; i < n; i++)
        samples[i] = i < count ? noise_next(&random) : NAN;
    memset(spectrum, 0xff, floats * sizeof *spectrum);
    odd_fft_forward(fft, samples, count, scratch, spectrum);
    if (n <= ODD_BINS_MOST)
        check_odd_bins(samples, count, spectrum, n);
    for (size_t i = n; i < floats; i++)
        ck_assert(spectrum[i] == 0);
    for (size_t from = 0; from < n; from += n / 5 + 1)
        for (size_t frames = 1; from + frames <= n; frames += n / 3) {
            memcpy(used, spectrum, n * sizeof *used);
            odd_fft_inverse(fft, used, scratch, from, frames, back);
            for (size_t i = 0; i < frames; i++) {
                double was = from + i < count ? (double)samples[from + i] : 0;
                ck_assert_double_le(fabs((double)back[i] / (double)n - was), 1e-5);
            }
        }
    odd_fft_destroy(fft);
    free(samples);
    free(back);
    free(scratch);
    free(spectrum);
    free(used);
}

START_TEST(odd_transforms_are_right)
{
    const size_t lengths[] = {128, 256, 384, 512, 768, 1024, 1536, 16384, 24576, 65536};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (size_t part = 0; part <= 8; part++)
            check_odd_length(lengths[i], lengths[i] * part / 8 + (part > 0 && part < 8));
}
END_TEST

/* In double precision by both ways to them: against the sum that a product stands for, where what
 * wraps around changes its sign. */
START_TEST(odd_products_convolve)
{
    enum { N = 384 };
    uint64_t random = 5;
    struct fft_double *a, *b;
    struct odd_fft_in_double *fft;
    double sum[N], *back = audio_alloc_in_double(N), *scratch = audio_alloc_in_double(N);
    double *product = audio_alloc_in_double(fft_spectrum_floats(N));
    ck_assert_int_eq(fft_double_create_odd(N, &a), STATUS_OK);
    ck_assert_int_eq(fft_double_create_odd(N, &b), STATUS_OK);
    ck_assert_int_eq(odd_fft_create_in_double(N, &fft), STATUS_OK);
    double *x = fft_double_samples(a), *h = fft_double_samples(b);
    for (size_t i = 0; i < N; i++) {
        x[i] = (double)noise_next(&random);
        h[i] = (double)noise_next(&random);
    }
    for (size_t i = 0; i < N; i++) {
        sum[i] = 0;
        for (size_t k = 0; k < N; k++)
            sum[i] += i >= k ? x[i - k] * h[k] : -x[N + i - k] * h[k];
    }
    fft_double_forward(a);
    fft_double_forward(b);
    const double *bins[] = {(const double *)fft_double_bins(a)};
    odd_fft_multiply_add_in_double(product, bins,
                                   (const double *const[]){(double *)fft_double_bins(b)}, 1, N);
    memcpy(fft_double_bins(a), product, N * sizeof *product);
    fft_double_inverse(a);
    odd_fft_inverse_in_double(fft, product, scratch, 0, N, back);
    for (size_t i = 0; i < N; i++) {
        ck_assert_double_eq_tol(back[i] / N, sum[i], 1e-12);
        ck_assert_double_eq_tol(x[i] / N, sum[i], 1e-12);
    }
    fft_double_destroy(a);
    fft_double_destroy(b);
    odd_fft_destroy_in_double(fft);
    free(back);
    free(scratch);
    free(product);
}
END_TEST

/* Seven: four in one pass, and the remainder. */
START_TEST(odd_products_add_up)
{
    enum { FLOATS = 96, COUNT = 7 };
    uint64_t random = 9;
    float *sum = audio_alloc(FLOATS), *a = audio_alloc(COUNT * FLOATS),
          *b = audio_alloc(COUNT * FLOATS);
    const float *as[COUNT], *bs[COUNT];
    for (size_t i = 0; i < COUNT * FLOATS; i++) {
        a[i] = noise_next(&random);
        b[i] = noise_next(&random);
    }
    for (size_t k = 0; k < COUNT; k++) {
        as[k] = a + k * FLOATS;
        bs[k] = b + k * FLOATS;
    }
    odd_fft_multiply_add(sum, as, bs, COUNT, FLOATS);
    odd_fft_multiply_add(sum, as, bs, 0, FLOATS);
    for (size_t bin = 0; bin < FLOATS / 2; bin++) {
        size_t i = odd_place(bin), j = i + ODD_FFT_PARTS;
        double re = 0, im = 0;
        for (size_t k = 0; k < COUNT; k++) {
            re += (double)as[k][i] * (double)bs[k][i] - (double)as[k][j] * (double)bs[k][j];
            im += (double)as[k][i] * (double)bs[k][j] + (double)as[k][j] * (double)bs[k][i];
        }
        ck_assert_double_eq_tol((double)sum[i], re, 1e-5);
        ck_assert_double_eq_tol((double)sum[j], im, 1e-5);
    }
    free(sum);
    free(a);
    free(b);
}
END_TEST

static bool exists(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && about.st_size > 0;
}

START_TEST(plans_are_kept)
{
    enum { LENGTH = 1430 };
    char folder[] = "/tmp/halo-fft-XXXXXX", path[64], before[4096] = "";
    bool known = true;
    const char *cache = getenv("XDG_CACHE_HOME");
    snprintf(before, sizeof before, "%s", cache ? cache : "");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/halo/fft-wisdom", folder);
    setenv("XDG_CACHE_HOME", folder, 1);
    ck_assert_str_eq(fft_wisdom_file(), path);
    /* A length that no mask or block asks for, whose plan the tests' common cache may hold. */
    ck_assert_int_eq(fft_tune(LENGTH, false, &known), STATUS_OK);
    ck_assert(!known);
    ck_assert(exists(path));
    ck_assert_int_eq(fft_tune(LENGTH, false, &known), STATUS_OK);
    ck_assert(known);

    FILE *file = fopen(path, "wb"); /* garbage counts as no cache */
    fputs("(fftw-3.3 rubbish", file);
    fclose(file);
    check_length(360);
    ck_assert_int_eq(fft_tune(180, false, &known), STATUS_OK);
    ck_assert(exists(path));

    struct fft *estimated;
    unlink(path);
    ck_assert_int_eq(fft_create(20020, &estimated), STATUS_OK); /* too long to be tried */
    fft_destroy(estimated);
    ck_assert(exists(path));

    setenv("XDG_CACHE_HOME", "/dev/null", 1); /* no folder can be created there */
    check_length(420);
    ck_assert_int_eq(fft_tune(210, false, &known), STATUS_FAILED);
    setenv("XDG_CACHE_HOME", before, 1);
    unlink(path);
    path[strlen(path) - strlen("/fft-wisdom")] = '\0';
    rmdir(path);
    rmdir(folder);
}
END_TEST

static char *load_text(const char *path, size_t *size)
{
    struct stat about;
    FILE *file = fopen(path, "rb");
    ck_assert(file && fstat(fileno(file), &about) == 0);
    *size = (size_t)about.st_size;
    char *text = calloc(*size + 1, 1);
    ck_assert_uint_eq(fread(text, 1, *size, file), *size);
    fclose(file);
    return text;
}

static void save_text(const char *path, const char *text, size_t size)
{
    FILE *file = fopen(path, "wb");
    ck_assert(file && fwrite(text, 1, size, file) == size && fclose(file) == 0);
}

/* Of a file of saved plans, in place: a file that is written anew each time is flushed each time.
 */
static void put_byte(FILE *file, size_t at, char byte)
{
    ck_assert(fseek(file, (long)at, SEEK_SET) == 0 && fputc(byte, file) != EOF &&
              fflush(file) == 0);
}

/* Every bit of the first line and of some bytes after it; lengths. FFTW would end this program at
 * some of them. HALO_TEST_FULL: more of them, which HALO_TEST_SEED chooses. */
START_TEST(damaged_plans_are_ignored)
{
    char folder[] = "/tmp/halo-fft-XXXXXX", path[64];
    const char *seed = getenv("HALO_TEST_SEED");
    size_t size, far = getenv("HALO_TEST_FULL") ? 49 : 211;
    size_t first = seed ? strtoul(seed, NULL, 10) % far : 0;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/wisdom", folder);
    check_length(90);
    ck_assert(!fft_wisdom_read(path));
    ck_assert(fft_wisdom_write(path) && fft_wisdom_read(path));
    char *text = load_text(path, &size);
    FILE *file = fopen(path, "r+b");
    ck_assert_ptr_nonnull(file);
    size_t header = strcspn(text, "\n") + 1;
    for (size_t i = 0; i < size; i += i < header ? 1 : i == header ? 1 + first : far)
        for (int bit = 0; bit < 8; bit++) {
            text[i] = (char)(text[i] ^ (1 << bit));
            ck_assert_ptr_null(fft_wisdom_check(text, size));
            if (bit == (int)(i % 8)) { /* the same check behind, at a tenth of the pace */
                put_byte(file, i, text[i]);
                ck_assert(!fft_wisdom_read(path));
            }
            text[i] = (char)(text[i] ^ (1 << bit));
            put_byte(file, i, text[i]);
        }
    ck_assert(fft_wisdom_read(path));
    fclose(file);
    for (size_t length = size - 1 - first / 7; length < size; length -= far / 7) {
        ck_assert_int_eq(truncate(path, (off_t)length), 0);
        ck_assert(!fft_wisdom_read(path));
    }
    save_text(path, text + header, size - header); /* as written by earlier versions */
    ck_assert(!fft_wisdom_read(path));
    ck_assert(fft_wisdom_write(path) && fft_wisdom_read(path));
    free(text);
    unlink(path);
    rmdir(folder);
}
END_TEST

START_TEST(what_is_no_file_of_plans_is_ignored)
{
    char folder[] = "/tmp/halo-fft-XXXXXX", path[64];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/wisdom", folder);
    check_length(90);
    ck_assert_int_eq(mkfifo(path, 0600), 0); /* replaced without waiting for a writer */
    ck_assert(!fft_wisdom_read(path));
    ck_assert(fft_wisdom_write(path) && fft_wisdom_read(path));
    ck_assert_int_eq(truncate(path, INT64_C(1) << 40), 0);
    ck_assert(!fft_wisdom_read(path));
    ck_assert(fft_wisdom_write(path) && fft_wisdom_read(path));
    unlink(path);
    ck_assert_int_eq(symlink("/dev/zero", path), 0);
    ck_assert(!fft_wisdom_read(path));
    ck_assert(fft_wisdom_write(path) && fft_wisdom_read(path));
    if (chown(path, 12345, (gid_t)-1) == 0) /* as root */
        ck_assert(!fft_wisdom_read(path));
    unlink(path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert(!fft_wisdom_read(path));
    ck_assert(!fft_wisdom_write(path));
    rmdir(path);
    ck_assert_int_eq(rmdir(folder), 0); /* no temporary file is left */
}
END_TEST

/* What is written twice has one order; a file that has it all is left alone. */
START_TEST(plans_that_are_there_are_not_written_again)
{
    char folder[] = "/tmp/halo-fft-XXXXXX", path[64];
    struct stat before, after;
    size_t size;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/wisdom", folder);
    check_length(96);
    ck_assert(fft_wisdom_write(path) && stat(path, &before) == 0);
    ck_assert(fft_wisdom_write(path) && stat(path, &after) == 0);
    ck_assert(before.st_ino == after.st_ino && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
    char *text = load_text(path, &size);
    save_text(path, text, size - 1); /* one that is damaged is replaced */
    ck_assert(fft_wisdom_write(path) && fft_wisdom_read(path));
    char *again = load_text(path, &size);
    ck_assert_str_eq(text, again);
    free(text);
    free(again);
    unlink(path);
    rmdir(folder);
}
END_TEST

enum { KEPT_LENGTHS = 3, KEPT_PIECES = 48 };
static const size_t kept_lengths[KEPT_LENGTHS] = {128, 4096, 24576};

struct kept {
    struct odd_fft *single[KEPT_PIECES];
    struct odd_fft_in_double *twice[KEPT_PIECES];
    bool failed[KEPT_PIECES];
};

static void create_kept(void *context, size_t piece, size_t worker)
{
    struct kept *kept = context;
    size_t n = kept_lengths[piece % KEPT_LENGTHS];
    (void)worker;
    kept->failed[piece] = odd_fft_create(n, &kept->single[piece]) != STATUS_OK ||
                          odd_fft_create_in_double(n, &kept->twice[piece]) != STATUS_OK;
    if (!kept->failed[piece] && piece % 2) { /* whose user has ended: the others' stays */
        odd_fft_destroy(kept->single[piece]);
        odd_fft_destroy_in_double(kept->twice[piece]);
    }
}

START_TEST(kept_odd_transforms_have_one_plan_a_length)
{
    struct workers *workers;
    struct kept kept = {0};
    struct odd_fft *before;
    ck_assert_int_eq(odd_fft_create(kept_lengths[0], &before), STATUS_OK);
    fft_keep_plans();
    ck_assert_int_eq(workers_create(4, &workers), STATUS_OK);
    workers_run(workers, KEPT_PIECES, create_kept, &kept);
    workers_destroy(workers);
    for (size_t i = 0; i < KEPT_PIECES; i++) {
        ck_assert(!kept.failed[i]);
        for (size_t j = 0; j < i; j++) {
            bool same = i % KEPT_LENGTHS == j % KEPT_LENGTHS;
            ck_assert((kept.single[i] == kept.single[j]) == same);
            ck_assert((kept.twice[i] == kept.twice[j]) == same);
        }
    }
    ck_assert_ptr_ne(before, kept.single[0]); /* its user still destroys it */
    odd_fft_destroy(before);
    for (size_t i = 0; i < KEPT_LENGTHS; i++)
        check_odd_length(kept_lengths[i], kept_lengths[i] / 2);
}
END_TEST

/* What plans_are_kept measures would be kept in the common cache by a later test. */
SUITE_MAIN("fft", transforms_are_right, odd_transforms_are_right, odd_products_convolve,
           odd_products_add_up, damaged_plans_are_ignored, what_is_no_file_of_plans_is_ignored,
           plans_that_are_there_are_not_written_again, kept_odd_transforms_have_one_plan_a_length,
           plans_are_kept)
