/* libhalo as it is installed: its examples, built with pkg-config, and what a program needs of it.
 */
#include "command.h"
#include "sound.h"
#include "suite.h"

#include <math.h>
#include <string.h>

#ifdef HALO_WITH_JACK
#include "jack_rig.h"
#include "live_rig.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

/* A prefix in an empty folder, and how programs are built with what is there. */
static void install(void)
{
    for (const char *const *part = (const char *const[]){"libhalo0", "libhalo-dev", NULL}; *part;
         part++)
        command_done("cmake --install '%s' --prefix \"$PWD/prefix\" --component %s", HALO_BUILD,
                     *part);
    char folder[4096];
    snprintf(folder, sizeof folder, "%s/prefix/%s", command_folder(), HALO_LIBDIR);
    setenv("LD_LIBRARY_PATH", folder, 1);
    strncat(folder, "/pkgconfig", sizeof folder - strlen(folder) - 1);
    setenv("PKG_CONFIG_PATH", folder, 1);
}

static void build(const char *example, const char *libraries)
{
    command_done(
        "%s -std=c17 -Wall -Wextra -Wpedantic -Werror '%s/%s.c' $(pkg-config --cflags --libs %s) -o %s",
        HALO_CC, HALO_EXAMPLES, example, libraries, example);
}

static void expect_as_render(const char *mask)
{
    command_done("./convolve in.wav %s out.wav", mask);
    command_done("\"$HALO\" render in.wav truth.wav -f --format float --mask %s", mask);
    struct sound out = sound_load("out.wav"), truth = sound_load("truth.wav");
    ck_assert_uint_eq(out.block.frames, truth.block.frames);
    ck_assert_uint_eq(out.block.channels, truth.block.channels);
    ck_assert_uint_eq(out.rate, truth.rate);
    double largest = 0, peak = 0;
    for (size_t c = 0; c < truth.block.channels; c++)
        for (size_t i = 0; i < truth.block.frames; i++) {
            largest = fmax(largest, fabs(out.block.data[c][i] - truth.block.data[c][i]));
            peak = fmax(peak, fabs(truth.block.data[c][i]));
        }
    ck_assert_msg(largest < 1e-6 * peak, "%s: off by %g, with a peak of %g", mask, largest, peak);
}

static void build_with_cmake(const char *example)
{
    sound_text("CMakeLists.txt", "cmake_minimum_required(VERSION 3.16)\n"
                                 "project(example C)\n"
                                 "find_package(halo 0.1 REQUIRED)\n"
                                 "add_executable(example ${EXAMPLE})\n"
                                 "target_link_libraries(example halo::halo -lsndfile -lm)\n");
    command_done(
        "cmake -G Ninja -S . -B cmade -DCMAKE_PREFIX_PATH=\"$PWD/prefix\" -DCMAKE_C_COMPILER='%s' "
        "-DEXAMPLE='%s/%s.c' && cmake --build cmade && cp cmade/example %s",
        HALO_CC, HALO_EXAMPLES, example, example);
}

START_TEST(find_package_finds_it)
{
    install();
    build_with_cmake("convolve");
    sound_noise_file("in.wav", 3, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 2, 5001);
    expect_as_render("\"$FILTERS/hall.wav\"");
}

START_TEST(convolve_is_as_render)
{
    install();
    build("convolve", "halo sndfile");
    sound_noise_file("in.wav", 1, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 44100, 2, 50001);
    expect_as_render("\"$FILTERS/hall.wav\",gain=-3");
    expect_as_render("lowpass:3000");
    expect_as_render("delay:0.5");
    sound_noise_file("in.wav", 2, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 48000, 1, 1);
    expect_as_render("\"$FILTERS/hall.wav\"");
    struct command_result result = command_run("./convolve in.wav nothing.wav no.wav");
    ck_assert_int_eq(result.code, 1);
    command_expect(result.err, "cannot open mask nothing.wav");
    ck_assert_uint_eq(command_lines(result.err), 1);
    result = command_run("./convolve in.wav lowpass:x no.wav");
    ck_assert_int_eq(result.code, 1);
    command_expect(result.err, "lowpass");
    result = command_run("./convolve nothing.wav lowpass:300 no.wav");
    ck_assert_int_eq(result.code, 1);
    command_expect(result.err, "cannot open nothing.wav");
    result = command_run("./convolve in.wav lowpass:300 nowhere/out.wav");
    ck_assert_int_eq(result.code, 1);
    command_expect(result.err, "cannot make nowhere/out.wav: ");
    ck_assert_uint_eq(command_lines(result.err), 1);
}

/* The archive makes the same program without the shared library. */
START_TEST(the_archive_is_enough)
{
    install();
    build("convolve", "halo sndfile");
    sound_noise_file("in.wav", 1, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 44100, 2, 5001);
    command_done("./convolve in.wav lowpass:3000 shared.wav");
    command_done("%s '%s/convolve.c' $(pkg-config --cflags --libs --static halo | sed "
                 "s/-lhalo/-l:libhalo.a/) -lsndfile -o convolve",
                 HALO_CC, HALO_EXAMPLES);
    unsetenv("LD_LIBRARY_PATH");
    command_done("rm -r prefix && ./convolve in.wav lowpass:3000 archive.wav");
    struct sound shared = sound_load("shared.wav"), archive = sound_load("archive.wav");
    sound_expect_same(&shared, &archive); /* the files have the time in them */
}

/* Older C, and C++. */
START_TEST(the_header_is_plain)
{
    static const char text[] =
        "#include <halo/halo.h>\n"
        "int main(void)\n{\n"
        "    struct halo_mask *mask;\n"
        "    struct halo_error error;\n"
        "    if (halo_mask_load(\"lowpass:3000\", 48000, 1, &mask, &error))\n"
        "        return 1;\n"
        "    halo_mask_destroy(mask);\n"
        "    return halo_version_number() != HALO_VERSION_NUMBER;\n}\n";
    static const char *const builds[][2] = {{"test.c", HALO_CC " -std=c99"},
                                            {"test.c", HALO_CC " -std=c2x"},
                                            {"test.cc", HALO_CXX " -std=c++11"},
                                            {"test.cc", HALO_CXX " -std=c++20"}};
    install();
    for (size_t i = 0; i < sizeof builds / sizeof *builds; i++) {
        if (builds[i][1][0] == ' ')
            continue; /* no compiler of C++ */
        sound_text(builds[i][0], text);
        command_done(
            "%s -Wall -Wextra -Wpedantic -Wconversion -Werror %s $(pkg-config --cflags --libs halo) "
            "-o test && ./test",
            builds[i][1], builds[i][0]);
    }
}

#ifdef HALO_WITH_JACK
START_TEST(jack_is_as_render)
{
    enum { FRAMES = 60000 };
    static const char *const wires[][2] = {{"feed:1", "halo-example:in_1"},
                                           {"feed:2", "halo-example:in_2"},
                                           {"halo-example:out_1", "rec:1"},
                                           {"halo-example:out_2", "rec:2"}};
    install();
    if (!jack_rig_is_there())
        return;
    build("jack", "halo jack");
    jack_rig_start(48000, 128);
    struct block signal = live_rig_noise(2, 0, FRAMES, 0.05f);
    struct jack_wire *wire = jack_wire_open(&signal, 2, FRAMES);
    ck_assert_int_eq(mkfifo(command_path("lines"), 0600), 0);
    int lines = open(command_path("lines"), O_RDWR | O_CLOEXEC);
    /* From one mask to the same again. */
    pid_t process = command_start("exec ./jack \"$FILTERS/hall.wav\" \"$FILTERS/hall.wav\" <lines");
    jack_rig_connect(wires, 4);
    ck_assert_int_eq(write(lines, "\n", 1), 1);
    jack_wire_run(wire);
    close(lines);
    struct command_result result = command_wait(process);
    ck_assert_msg(result.code == 0, "%s", result.err);
    ck_assert_str_eq(result.err, "");
    ck_assert_uint_eq(jack_wire_gaps(wire), 0);
    live_rig_save(&signal, "in.wav");
    command_done("\"$HALO\" render in.wav truth.wav --mask \"$FILTERS/hall.wav\"");
    struct sound truth = sound_load("truth.wav");
    live_rig_expect(jack_wire_recorded(wire), &truth.block, 0, FRAMES);
    jack_wire_close(wire);
    jack_rig_end(SIGTERM);
}
#else
START_TEST(jack_is_as_render)
{
    puts("skipped: libjack-jackd2-dev is not installed");
}
#endif
