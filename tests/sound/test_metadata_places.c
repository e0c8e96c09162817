/* A marker stands at an impulse: wherever alignment, latency and length take the sound, it stands
 * at the impulse of the output, from each container that holds markers to each. */
#include "command.h"
#include "render_call.h"
#include "sound.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILES "python3 -S " METADATA_SCRIPTS "/metadata_files.py "
#define RENDER "\"$HALO\" render --no-sync -qf "

enum { FRAMES = 8000, LONG = 5001, FIRST = 0, MIDDLE = 3000, LAST = FRAMES - 1 };

static const char *const kinds[] = {"wav", "rf64", "w64", "aiff", "caf"};
enum { KINDS = sizeof kinds / sizeof *kinds };

static size_t frame_of_impulse(const char *name)
{
    struct sound sound = sound_load(name);
    const float *samples = sound.block.data[0];
    size_t most = 0;
    for (size_t i = 0; i < sound.block.frames; i++)
        if (fabsf(samples[i]) > fabsf(samples[most]))
            most = i;
    return most;
}

/* Taps of noise with one that stands out. */
static void save_mask(const char *name, size_t taps, size_t peak)
{
    FILE *file = fopen(command_path(name), "w");
    ck_assert_ptr_nonnull(file);
    srand(7);
    for (size_t i = 0; i < taps; i++)
        fprintf(file, "%g\n", i == peak ? 1 : 0.02 * rand() / RAND_MAX - 0.01);
    ck_assert_int_eq(fclose(file), 0);
}

static void make_inputs(size_t frame)
{
    command_done("rm -f out*; " FILES "impulse %zu in.wav", frame);
    static const char *const names[] = {"in.rf64", "in.w64", "in.aiff", "in.caf", "in.flac"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        render_done("in.wav", names[i], "--quiet");
}

/* Valid until the next call. */
static const char *in_of(size_t kind)
{
    static char name[16];
    snprintf(name, sizeof name, "in.%s", kinds[kind]);
    return name;
}

static const char *out_of(size_t number, const char *ending)
{
    static char name[32];
    snprintf(name, sizeof name, "out%zu.%s", number, ending);
    return name;
}

/* Python takes longer to start than to read all outputs: NAME.marks has what it says. */
static void read_outputs(void)
{
    command_done(FILES "marks out*");
}

/* The impulse of OUT is at `heard`, its marker at `frame`. */
static void expect_marks(const char *name, size_t frame, size_t heard)
{
    char wanted[256];
    size_t low = frame < 17 ? frame : 17, high = frame < 17 ? 17 : frame;
    snprintf(wanted, sizeof wanted, "marker %zu\nmarker %zu\n", low, high);
    ck_assert_uint_eq(frame_of_impulse(name), heard);
    const char *marks = command_done("cat %s.marks", name).out;
    if (strstr(marks, "time")) {
        ck_assert_msg(strncmp(marks, "time 4886718345\n", 16) == 0, "%s", marks);
        marks += 16;
    }
    ck_assert_msg(strcmp(marks, wanted) == 0, "%s has\n%sand should have\n%s", name, marks, wanted);
}

static const char *const ways[] = {
    "--gain -6",
    "--mask causal.txt",
    "--mask causal.txt --tail none",
    "--align centre --mask centred.txt",
    "--align centre --mask centred.txt --edge reflect",
    "--align centre --mask centred.txt --edge wrap --tail none",
    "--mask late.txt,align=peak",
    "--mask late.txt,align=peak --tail none --normalize -1",
    "--align centre --mask centred.txt --gain 3 --mask centred.txt",
};

/* Each way once with each pair of containers would take minutes: the ways take turns. */
START_TEST(marker_stands_at_the_impulse)
{
    make_inputs(MIDDLE);
    save_mask("causal.txt", LONG, 0);
    save_mask("centred.txt", LONG, LONG / 2);
    save_mask("late.txt", LONG, 4321);
    for (size_t turn = 0; turn < KINDS * KINDS; turn++)
        render_done(in_of(turn / KINDS), out_of(turn, kinds[turn % KINDS]), "%s",
                    ways[turn % (sizeof ways / sizeof *ways)]);
    read_outputs();
    for (size_t turn = 0; turn < KINDS * KINDS; turn++)
        expect_marks(out_of(turn, kinds[turn % KINDS]), MIDDLE, MIDDLE);
}

START_TEST(every_way_keeps_it)
{
    make_inputs(MIDDLE);
    save_mask("causal.txt", LONG, 0);
    save_mask("centred.txt", LONG, LONG / 2);
    save_mask("late.txt", LONG, 4321);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        render_done("in.flac", out_of(i, "wav"), "%s", ways[i]);
        if (!strstr(ways[i], "--edge")) /* which needs a file */
            command_done("cat in.wav | " RENDER "- - %s | cat >out%zu.pipe", ways[i], i);
    }
    read_outputs();
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        expect_marks(out_of(i, "wav"), MIDDLE, MIDDLE);
        if (!strstr(ways[i], "--edge"))
            expect_marks(out_of(i, "pipe"), MIDDLE, MIDDLE);
    }
}

START_TEST(marker_keeps_its_time_at_another_rate)
{
    static const double rates[] = {2, 0.5, 1.5};
    make_inputs(MIDDLE);
    struct sound in = sound_load("in.wav");
    for (size_t i = 0; i < KINDS; i++)
        render_done(in_of(i), out_of(i, "wav"), "--format float --rate %.0f",
                    rates[i % 3] * in.rate);
    read_outputs();
    for (size_t i = 0; i < KINDS; i++) {
        double by = rates[i % 3];
        char wanted[64];
        const char *name = out_of(i, "wav");
        snprintf(wanted, sizeof wanted, "marker %.0f\n", rint(MIDDLE * by));
        const char *marks = command_done("cat %s.marks", name).out;
        ck_assert_msg(strstr(marks, wanted), "%s has\n%sand should have\n%s", kinds[i], marks,
                      wanted);
        ck_assert_double_eq_tol((double)frame_of_impulse(name), MIDDLE * by, 1);
    }
}

START_TEST(ends_of_the_sound_are_no_exception)
{
    static const size_t frames[] = {FIRST, LAST};
    save_mask("centred.txt", LONG, LONG / 2);
    for (size_t i = 0; i < 2; i++) {
        make_inputs(frames[i]);
        for (size_t k = 0; k < KINDS; k++)
            render_done(in_of((k + 1) % KINDS), out_of(k, kinds[k]),
                        "--align centre --mask centred.txt");
        read_outputs();
        for (size_t k = 0; k < KINDS; k++)
            expect_marks(out_of(k, kinds[k]), frames[i], frames[i]);
    }
}

/* Of a mask that is itself a delay, the marker says when the sound went in. */
START_TEST(a_delay_moves_the_sound_alone)
{
    make_inputs(MIDDLE);
    save_mask("late.txt", 200, 100);
    command_done(RENDER "in.wav out.aiff --mask late.txt");
    read_outputs();
    expect_marks("out.aiff", MIDDLE, MIDDLE + 100);
}
