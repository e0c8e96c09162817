/* libhalo: its masks, and what it refuses. */
#include "allocations.h"
#include "command.h"
#include "library_rig.h"
#include "sound.h"
#include "suite.h"

#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* By counts: one column for all, one each, and the four of true stereo. */
START_TEST(columns_are_routed_by_their_counts)
{
    static const float samples[] = {1, 0, 2, 0, 4, 0, 8, 0};
    static const struct {
        size_t columns, channels;
        float left, right; /* outputs of 1 at the left and 16 at the right */
    } cases[] = {{1, 2, 1, 16}, {2, 2, 1, 32}, {4, 2, 1 + 4 * 16, 2 + 8 * 16}, {2, 1, 1, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct halo_mask *mask;
        struct halo_error error;
        struct halo_taps taps = {.size = sizeof taps,
                                 .samples = samples,
                                 .stride = 2,
                                 .columns = cases[i].columns,
                                 .taps = 2};
        enum halo_status status =
            halo_mask_from_taps(&taps, LIBRARY_RATE, cases[i].channels, &mask, &error);
        ck_assert_msg(status == HALO_OK, "%s", error.text);
        struct halo_convolver *convolver = library_convolver(mask, NULL);
        const float in[] = {1, 16};
        float out[2];
        ck_assert_int_eq(halo_convolver_process(convolver, in, 1, out, 1, 1), HALO_OK);
        ck_assert_float_eq(out[0], cases[i].left);
        ck_assert_float_eq(out[1], cases[i].right);
        halo_convolver_destroy(convolver);
        halo_mask_destroy(mask);
    }
}

START_TEST(masks_come_from_files_and_specs)
{
    struct halo_mask *mask;
    struct halo_error error;
    struct halo_mask_info info = {.size = sizeof info};
    const float in[] = {1};
    float out[4];
    sound_text("a,b.txt", "0.5\n-0.25\n");
    char spec[512];
    snprintf(spec, sizeof spec, "%s,gain=20,invert", command_path("a\\,b.txt"));
    ck_assert_int_eq(halo_mask_load(spec, LIBRARY_RATE, 1, &mask, &error), HALO_OK);
    ck_assert_int_eq(halo_convolve(mask, in, 0, 1, out, 0, 4, NULL), HALO_OK);
    ck_assert_float_eq_tol(out[0], -5, 1e-5f);
    ck_assert_float_eq_tol(out[1], 2.5f, 1e-5f);
    ck_assert_float_eq(out[2], 0);
    halo_mask_destroy(mask);
    ck_assert_int_eq(halo_mask_load_file(command_path("a,b.txt"), LIBRARY_RATE, 1, &mask, &error),
                     HALO_OK);
    ck_assert_int_eq(halo_convolve(mask, in, 0, 1, out, 0, 4, NULL), HALO_OK);
    ck_assert_float_eq(out[1], -0.25f);
    ck_assert_str_eq(halo_mask_notes(mask), "");
    halo_mask_destroy(mask);
    sound_noise_file("m\n\033[2J.wav", 1, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 44100, 1, 441);
    ck_assert_int_eq(
        halo_mask_load_file(command_path("m\n\033[2J.wav"), LIBRARY_RATE, 1, &mask, &error),
        HALO_OK);
    command_expect(halo_mask_notes(mask), "is resampled from 44100 to 48000 Hz");
    ck_assert_ptr_null(strchr(halo_mask_notes(mask), '\n'));
    halo_mask_describe(mask, &info);
    ck_assert_uint_ge(info.taps, 480);
    halo_mask_destroy(mask);
}

/* A mask that is read, in the form that a file gives it. */
static void read_as(const char *spec, const struct halo_mask_info *expected, float first)
{
    struct halo_mask *mask = NULL;
    struct halo_error error;
    struct halo_mask_info info = {.size = sizeof info};
    float taps[4096];
    ck_assert_msg(halo_mask_read(spec, &mask, &error) == HALO_OK, "%s", error.text);
    halo_mask_describe(mask, &info);
    ck_assert_uint_eq(info.rate, expected->rate);
    ck_assert_uint_eq(info.columns, expected->columns);
    ck_assert_uint_eq(info.taps, expected->taps);
    ck_assert_uint_eq(info.paths, expected->paths);
    halo_mask_taps(mask, expected->columns - 1, taps);
    ck_assert_float_eq_tol(taps[0], first, 1e-6f);
    halo_mask_destroy(mask);
}

/* At its own rate, with the last column's taps. */
START_TEST(masks_are_read_as_they_are)
{
    char spec[512];
    struct halo_mask *none = NULL;
    struct halo_error error;
    struct sound sound = sound_noise("m.wav", 1, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 44100, 4, 441);
    const float *last = sound.block.data[3];
    read_as(command_path("m.wav"), &(struct halo_mask_info){0, 2, 2, 4, 4, 441, 0, 44100}, last[0]);
    snprintf(spec, sizeof spec, "%s,gain=20,trim=440,channel=4", command_path("m.wav"));
    read_as(spec, &(struct halo_mask_info){.columns = 1, .paths = 1, .taps = 1, .rate = 44100},
            10 * last[440]);
    sound_text("m.txt", "0.5\n-0.25\n");
    read_as(command_path("m.txt"), &(struct halo_mask_info){.columns = 1, .paths = 1, .taps = 2},
            0.5f);
    sound_text("m.conf", "/cd .\n/convolver/new 2 3 256 3000\n"
                         "/impulse/read 1 1 1 0 0 0 4 m.wav\n/impulse/read 2 3 1 0 0 0 4 m.wav\n");
    read_as(command_path("m.conf"),
            &(struct halo_mask_info){.columns = 1, .paths = 2, .taps = 441, .rate = 44100},
            last[0]);
    read_as("delay:0", &(struct halo_mask_info){.columns = 1, .paths = 1, .taps = 1, .rate = 48000},
            1);
    library_refused(halo_mask_read("/no/such.wav", &none, &error), &error, HALO_FAILED,
                    "cannot open mask /no/such.wav: ", none);
    library_refused(halo_mask_read(NULL, &none, &error), &error, HALO_USAGE, "none is named", none);
}

/* A decimal point stays one where the program has set a locale with a comma. */
START_TEST(numbers_do_not_depend_on_the_locale)
{
    struct halo_mask *mask;
    const float in[] = {1};
    float out[1];
    (void)command_run("localedef -i de_DE -f UTF-8 ./de_DE.UTF-8");
    setenv("LOCPATH", command_folder(), 1);
    if (!setlocale(LC_ALL, "de_DE.UTF-8"))
        printf("skipped: localedef (locales) cannot make a locale\n");
    sound_text("m.txt", "0.5\n");
    char spec[512];
    snprintf(spec, sizeof spec, "%s,gain=6.0206", command_path("m.txt"));
    ck_assert_int_eq(halo_mask_load(spec, LIBRARY_RATE, 1, &mask, NULL), HALO_OK);
    ck_assert_int_eq(halo_convolve(mask, in, 0, 1, out, 0, 1, NULL), HALO_OK);
    ck_assert_float_eq_tol(out[0], 1, 1e-5f);
    halo_mask_destroy(mask);
    (void)setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
}

/* ---- errors ---- */

static void check_spec(const char *spec, uint32_t rate, size_t channels, enum halo_status expected,
                       const char *text)
{
    struct halo_mask *mask = NULL;
    struct halo_error error;
    enum halo_status status = halo_mask_load(spec, rate, channels, &mask, &error);
    library_refused(status, &error, expected, text, mask);
    ck_assert_int_eq(halo_mask_load(spec, rate, channels, &mask, NULL), expected);
}

START_TEST(specs_that_cannot_be_are_refused)
{
    char long_name[9000];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    check_spec("/no/such.wav", LIBRARY_RATE, 2, HALO_FAILED, "cannot open mask /no/such.wav: ");
    check_spec("", LIBRARY_RATE, 2, HALO_USAGE, "begins with a file");
    check_spec(NULL, LIBRARY_RATE, 2, HALO_USAGE, "none is named");
    check_spec("/", LIBRARY_RATE, 2, HALO_FAILED, "/");
    check_spec("/dev/null", LIBRARY_RATE, 2, HALO_FAILED, "/dev/null");
    check_spec(long_name, LIBRARY_RATE, 2, HALO_FAILED, "xxx");
    check_spec("no\nsuch\033[31m.wav", LIBRARY_RATE, 2, HALO_FAILED, "no");
    check_spec("lowpass:3000,gain=nan", LIBRARY_RATE, 2, HALO_USAGE, "gain=");
    check_spec("lowpass:1e99", LIBRARY_RATE, 2, HALO_USAGE, "lowpass");
    check_spec("lowpass:3000,taps=99999999999999999999", LIBRARY_RATE, 2, HALO_USAGE, "taps");
    check_spec("lowpass:3000,gaim=3", LIBRARY_RATE, 2, HALO_USAGE, "did you mean gain=");
    check_spec("lowpass:3000,channel=3", LIBRARY_RATE, 2, HALO_USAGE, "channel");
    check_spec("lowpass:3000", LIBRARY_RATE, 0, HALO_USAGE, "0 channels");
    check_spec("lowpass:3000", LIBRARY_RATE, 257, HALO_USAGE, "257 channels");
    check_spec("lowpass:3000", 0, 2, HALO_USAGE, "0 Hz");
    check_spec("lowpass:3000", UINT32_MAX, 2, HALO_USAGE, "4294967295 Hz");
}

static void check_taps(const struct halo_taps *taps, size_t channels, enum halo_status expected,
                       const char *text)
{
    struct halo_mask *mask = NULL;
    struct halo_error error;
    library_refused(halo_mask_from_taps(taps, LIBRARY_RATE, channels, &mask, &error), &error,
                    expected, text, mask);
}

START_TEST(taps_that_cannot_be_are_refused)
{
    static float samples[8] = {1, 2, 3, 4, 5, 6, NAN, 8};
    static const struct halo_path paths[] = {{0, 0, 0}, {1, 1, 2}}, far[] = {{0, 256, 0}};
    const struct halo_taps good = {
        .size = sizeof good, .samples = samples, .stride = 2, .columns = 2, .taps = 2};
    struct halo_taps bad = good;
    check_taps(NULL, 2, HALO_USAGE, "none is named");
    bad.size = 0;
    check_taps(&bad, 2, HALO_USAGE, "size");
    bad = good, bad.samples = NULL;
    check_taps(&bad, 2, HALO_USAGE, "columns");
    bad = good, bad.taps = 0;
    check_taps(&bad, 2, HALO_USAGE, "0 taps");
    bad = good, bad.columns = 257;
    check_taps(&bad, 2, HALO_USAGE, "257 columns");
    bad = good, bad.stride = 1;
    check_taps(&bad, 2, HALO_USAGE, "stride 1");
    bad = good, bad.columns = 4;
    check_taps(&bad, 2, HALO_USAGE, "tap 0 of column 3 is not finite");
    bad = good, bad.paths = paths, bad.path_count = 2;
    check_taps(&bad, 2, HALO_USAGE, "path 1");
    bad.path_count = 0;
    check_taps(&bad, 2, HALO_USAGE, "no paths");
    bad.paths = far, bad.path_count = 1;
    check_taps(&bad, 2, HALO_USAGE, "output 256");
    bad = good, bad.columns = 3, bad.samples = samples;
    check_taps(&bad, 2, HALO_USAGE, "in memory has 3 channels");
}

/* A struct of a newer version whose new member is set. */
struct newer_options {
    struct halo_convolver_options known;
    size_t unknown;
};

START_TEST(options_that_cannot_be_are_refused)
{
    struct halo_mask *mask;
    struct halo_error error;
    struct halo_convolver *convolver = NULL;
    ck_assert_int_eq(halo_mask_load("lowpass:3000", LIBRARY_RATE, 1, &mask, &error), HALO_OK);
    struct newer_options newer = {.known.size = sizeof newer};
    ck_assert_int_eq(halo_convolver_create(mask, &newer.known, &convolver, &error), HALO_OK);
    halo_convolver_destroy(convolver);
    convolver = NULL;
    newer.unknown = 1;
    library_refused(halo_convolver_create(mask, &newer.known, &convolver, &error), &error,
                    HALO_USAGE, "does not know", convolver);
    struct halo_convolver_options options = {.size = sizeof options, .backend = "gpuu"};
    library_refused(halo_convolver_create(mask, &options, &convolver, &error), &error, HALO_USAGE,
                    "unknown backend 'gpuu'", convolver);
    options = (struct halo_convolver_options){.size = sizeof options, .block = SIZE_MAX};
    library_refused(halo_convolver_create(mask, &options, &convolver, &error), &error, HALO_USAGE,
                    "blocks", convolver);
    options = (struct halo_convolver_options){.size = sizeof options, .taps = SIZE_MAX / 2};
    library_refused(halo_convolver_create(mask, &options, &convolver, &error), &error, HALO_USAGE,
                    "taps", convolver);
    options = (struct halo_convolver_options){.size = sizeof options, .threads = SIZE_MAX};
    library_refused(halo_convolver_create(mask, &options, &convolver, &error), &error, HALO_USAGE,
                    "threads", convolver);
    library_refused(halo_convolver_create(NULL, NULL, &convolver, &error), &error, HALO_USAGE,
                    "without a mask", convolver);
    float x[4] = {0};
    const struct halo_convolve_options no_size = {.size = 0};
    const struct halo_job job = {x, 0, 2, NULL, 0, 2};
    ck_assert_int_eq(halo_convolve_many(mask, NULL, 0, &no_size, &error), HALO_USAGE);
    ck_assert_int_eq(halo_convolve_many(mask, &job, 1, NULL, &error), HALO_USAGE);
    command_expect(error.text, "no buffer");
    const struct halo_convolve_options crowd = {.size = sizeof crowd, .threads = SIZE_MAX};
    ck_assert_int_eq(halo_convolve_many(mask, NULL, 0, &crowd, &error), HALO_USAGE);
    ck_assert_int_eq(halo_convolve_many(NULL, NULL, 0, NULL, &error), HALO_USAGE);
    ck_assert_int_eq(halo_convolve_many(mask, NULL, 0, NULL, &error), HALO_OK);
    halo_mask_destroy(mask);
    halo_mask_destroy(NULL);
    halo_convolver_destroy(NULL);
}

/* What needs a GPU says so where there is none, or no CUDA in the library. */
START_TEST(without_a_gpu_that_is_said)
{
    struct halo_mask *mask, *brief;
    struct halo_error error;
    struct halo_convolver *convolver = NULL;
    struct halo_device_convolver *device = NULL;
    const struct halo_convolver_options options = {.size = sizeof options, .backend = "cuda"};
    const struct halo_convolve_options whole = {.size = sizeof whole, .backend = "cuda"};
    float x[1] = {1}, y[1];
    const struct halo_job job = {x, 0, 1, y, 0, 1};
    ck_assert_int_eq(halo_mask_load("lowpass:3000", LIBRARY_RATE, 1, &mask, &error), HALO_OK);
    ck_assert_int_eq(halo_mask_load("lowpass:3000,taps=9", LIBRARY_RATE, 1, &brief, &error),
                     HALO_OK);
    library_refused(halo_device_convolver_create(mask, 0, &device, &error), &error, HALO_USAGE,
                    "no frames", device);
    library_refused(halo_device_convolver_create(NULL, 1, &device, &error), &error, HALO_USAGE,
                    "without a mask", device);
    halo_device_convolver_destroy(NULL);
    enum halo_status status = halo_device_convolver_create(mask, 1, &device, &error);
    if (status != HALO_OK) {
        library_refused(status, &error, HALO_NO_GPU, "", device);
        ck_assert_str_ne(error.text, "");
        status = halo_convolver_create(mask, &options, &convolver, &error);
        library_refused(status, &error, HALO_NO_GPU, "", convolver);
        status = halo_convolver_create(brief, &options, &convolver, &error);
        library_refused(status, &error, HALO_NO_GPU, "", convolver);
        status = halo_convolve_many(mask, &job, 1, &whole, &error);
        library_refused(status, &error, HALO_NO_GPU, "", NULL);
        ck_assert_str_ne(error.text, "");
    }
    halo_device_convolver_destroy(device);
    halo_mask_destroy(brief);
    halo_mask_destroy(mask);
}

/* Of any machine: 17 and 8 TB. */
START_TEST(what_no_memory_holds_is_said_to_be_that)
{
    static float samples[100000] = {1, 1};
    struct halo_mask *mask, *none = NULL;
    struct halo_error error;
    struct halo_convolver *convolver = NULL;
    const struct halo_convolver_options options = {.size = sizeof options, .taps = 1ULL << 32};
    const struct halo_taps taps = {.size = sizeof taps,
                                   .samples = samples,
                                   .columns = 1,
                                   .taps = sizeof samples / sizeof *samples,
                                   .rate = 1};
    ck_assert_int_eq(
        halo_mask_load("lowpass:3000", LIBRARY_RATE, HALO_CHANNELS_MOST, &mask, &error), HALO_OK);
    library_refused(halo_convolver_create(mask, &options, &convolver, &error), &error,
                    HALO_NO_MEMORY, "not enough memory", convolver);
    library_refused(halo_mask_from_taps(&taps, HALO_RATE_MOST, 1, &none, &error), &error,
                    HALO_NO_MEMORY, "not enough memory", none);
    halo_mask_destroy(mask);
}

/* What is made and used once in the life of a program, with its n-th allocation failing; returns
 * whether that came. */
static bool lives_without(size_t number, const char *spec)
{
    struct halo_mask *mask = NULL, *other = NULL;
    struct halo_convolver *convolver = NULL;
    struct halo_error error = {HALO_OK, ""};
    float x[2000] = {1}, y[2000];
    const struct halo_convolver_options options = {
        .size = sizeof options, .taps = 3000, .threads = 2};
    allocations_fail("libhalo.so", number);
    enum halo_status status = halo_mask_load(spec, LIBRARY_RATE, 1, &mask, &error);
    if (status == HALO_OK)
        status = halo_mask_load("lowpass:900,taps=99", LIBRARY_RATE, 1, &other, &error);
    if (status == HALO_OK)
        status = halo_convolve(mask, x, 0, 2000, y, 0, 2000, &error);
    if (status == HALO_OK)
        status = halo_convolver_create(mask, &options, &convolver, &error);
    if (status == HALO_OK)
        status = halo_convolver_switch(convolver, other, 0, 10, &error);
    if (status == HALO_OK)
        status = halo_convolver_process(convolver, x, 0, y, 0, 2000);
    bool failed = allocations_failed();
    /* Some have another way: plans without the cache, sizes of messages. */
    ck_assert_msg(status == HALO_OK || (failed && *error.text), "allocation %zu: %d %s", number,
                  (int)status, error.text);
    ck_assert_msg(status == HALO_OK || status == HALO_NO_MEMORY, "%s, allocation %zu: %d %s", spec,
                  number, (int)status, error.text);
    halo_convolver_destroy(convolver);
    halo_mask_destroy(mask);
    halo_mask_destroy(other);
    return failed;
}

START_TEST(each_allocation_may_fail)
{
    if (!allocations_are_counted())
        return;
    command_clean();
    sound_noise_file("m.wav", 1, SF_FORMAT_WAV | SF_FORMAT_FLOAT, LIBRARY_RATE, 1, 3000);
    sound_noise_file("other.wav", 2, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 44100, 1, 2000);
    sound_text("m.txt", "0.5\n0.25\n0.125\n");
    sound_text("m.conf", "/cd .\n/convolver/new 1 1 256 3000\n/impulse/read 1 1 1 0 0 0 1 m.wav\n");
    static const char *const specs[] = {"m.wav,gain=-3", "other.wav", "m.txt", "m.conf"};
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        char spec[512];
        snprintf(spec, sizeof spec, "%s", command_path(specs[s]));
        (void)lives_without(0, spec);
        size_t number = 1;
        while (lives_without(number, spec))
            number++;
        ck_assert_uint_gt(number, 50);
    }
}

/* Threads take address space, which runs out here; afterwards it is there again. */
START_TEST(threads_that_find_no_memory_say_so)
{
    enum { CROWD = 1024, PAGES_MORE = 1 << 16 };
    if (!allocations_are_counted()) /* a sanitizer takes most of the address space */
        return;
    struct halo_mask *mask = NULL;
    struct halo_convolver *convolver = NULL;
    struct halo_error error;
    float x[1] = {1}, y[1];
    const struct halo_job job = {x, 0, 1, y, 0, 1};
    const struct halo_convolver_options options = {.size = sizeof options, .threads = CROWD};
    const struct halo_convolve_options whole = {.size = sizeof whole, .threads = CROWD};
    ck_assert_int_eq(halo_mask_load("lowpass:3000", LIBRARY_RATE, 1, &mask, &error), HALO_OK);
    size_t pages;
    FILE *sizes = fopen("/proc/self/statm", "r");
    ck_assert_ptr_nonnull(sizes);
    ck_assert_int_eq(fscanf(sizes, "%zu", &pages), 1);
    fclose(sizes);
    struct rlimit before, less;
    getrlimit(RLIMIT_AS, &before);
    less = before;
    less.rlim_cur = (pages + PAGES_MORE) * (size_t)sysconf(_SC_PAGESIZE);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &less), 0);
    enum halo_status made = halo_convolver_create(mask, &options, &convolver, &error);
    library_refused(made, &error, HALO_NO_MEMORY, "cannot start a thread", convolver);
    enum halo_status done = halo_convolve_many(mask, &job, 1, &whole, &error);
    library_refused(done, &error, HALO_NO_MEMORY, "cannot start a thread", NULL);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &before), 0);
    ck_assert_int_eq(halo_convolve_many(mask, &job, 1, NULL, &error), HALO_OK);
    halo_mask_destroy(mask);
}

/* Names can say what they like. */
START_TEST(a_name_is_no_reason)
{
    static const char *const names[] = {"not enough memory", "a: not enough memory",
                                        "x: Cannot allocate memory", "Cannot allocate memory",
                                        "a: not enough memory; b"};
    struct halo_mask *mask = NULL;
    struct halo_error error;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ck_assert_int_eq(
            halo_mask_load_file(command_path(names[i]), LIBRARY_RATE, 1, &mask, &error),
            HALO_FAILED);
        ck_assert_int_eq(halo_mask_load_file(names[i], LIBRARY_RATE, 1, &mask, NULL), HALO_FAILED);
        sound_text(names[i], "nothing\n");
        ck_assert_int_eq(
            halo_mask_load_file(command_path(names[i]), LIBRARY_RATE, 1, &mask, &error),
            HALO_FAILED);
        ck_assert_int_ne(halo_mask_load(names[i], LIBRARY_RATE, 1, &mask, &error), HALO_NO_MEMORY);
    }
}

START_TEST(nothing_is_printed)
{
    struct halo_mask *mask;
    struct halo_error error;
    sound_noise_file("m.wav", 1, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 44100, 1, 441);
    sound_text("broken.txt", "1\n2\nthree\n");
    sound_text("headed.txt", "left\n1\n2\n");
    char printed[512], names[3][512];
    snprintf(printed, sizeof printed, "%s", command_path("printed"));
    snprintf(names[0], sizeof names[0], "%s", command_path("m.wav"));
    snprintf(names[1], sizeof names[1], "%s", command_path("broken.txt"));
    snprintf(names[2], sizeof names[2], "%s", command_path("headed.txt"));
    fflush(NULL);
    int file = open(printed, O_CREAT | O_WRONLY | O_APPEND, 0600), out = dup(1), err = dup(2);
    dup2(file, 1);
    dup2(file, 2);
    for (size_t i = 0; i < 3; i++)
        if (halo_mask_load(names[i], LIBRARY_RATE, 2, &mask, &error) == HALO_OK) {
            halo_convolver_destroy(library_convolver(mask, NULL));
            halo_mask_destroy(mask);
        }
    (void)halo_mask_load("/no/such.wav", LIBRARY_RATE, 2, &mask, NULL);
    (void)halo_mask_load("lowpass:x", LIBRARY_RATE, 2, &mask, NULL);
    fflush(NULL);
    dup2(out, 1);
    dup2(err, 2);
    off_t bytes = lseek(file, 0, SEEK_END);
    close(file);
    close(out);
    close(err);
    ck_assert_int_eq(bytes, 0);
}
