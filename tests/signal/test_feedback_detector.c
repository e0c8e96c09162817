/* The feedback detector on loops that run away, and on sounds that do not stay at the ceiling.
 *
 * A loop is a microphone that picks up a source and, later, a loudspeaker through a room; its
 * signal goes through a gain, the detector and the limiter to the loudspeaker.
 */
#include "command.h"
#include "live/feedback_detector.h"
#include "signal/audio.h"
#include "signal/limiter.h"
#include "sound.h"
#include "suite.h"
#include "truth.h"

#include <complex.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RATE = 48000, BLOCK = 64, REFLECTIONS = 40, ROOM_FRAMES = 600 };

#define CEILING 0.891251f /* -1 dB */
#define NEVER SIZE_MAX

static struct feedback_detector *detector_of(size_t channels, uint32_t rate)
{
    struct feedback_detector *detector;
    ck_assert_int_eq(feedback_detector_create(channels, rate, CEILING, &detector), STATUS_OK);
    return detector;
}

/* The frame at the end of the block in which feedback was found, or NEVER. */
static size_t found_in(const float *samples, size_t frames, uint32_t rate, size_t block,
                       double *frequency)
{
    struct feedback_detector *detector = detector_of(1, rate);
    size_t found = NEVER;
    for (size_t at = 0; at < frames && found == NEVER; at += block) {
        const float *row = samples + at;
        size_t length = frames - at < block ? frames - at : block;
        if (feedback_detector_process(detector, &row, length))
            found = at + length;
    }
    if (frequency)
        *frequency = feedback_detector_frequency(detector);
    feedback_detector_destroy(detector);
    return found;
}

static struct sound recording(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", getenv("WAV"), name);
    return sound_load(path);
}

/* ---- loops ---- */

/* Sound arrives directly and by reflections, filtered by one pole at each end of the band. */
struct room {
    size_t delays[REFLECTIONS];
    double levels[REFLECTIONS];
    double low, high; /* filter states */
};

#define LOW_POLE 0.5
#define HIGH_POLE 0.04

static double response(const struct room *room, double frequency)
{
    double complex turn = cexp(-2 * M_PI * I * frequency / RATE), sum = 0;
    for (size_t r = 0; r < REFLECTIONS; r++)
        sum += room->levels[r] * cpow(turn, (double)room->delays[r]);
    double complex low = LOW_POLE / (1 - (1 - LOW_POLE) * turn);
    double complex high = 1 - HIGH_POLE / (1 - (1 - HIGH_POLE) * turn);
    return cabs(sum * low * high);
}

/* At the gain 1 the loudest frequency returns as loud as it was. */
static struct room room_of(uint64_t seed)
{
    struct room room = {.levels = {1}};
    float where[REFLECTIONS], level[REFLECTIONS];
    double most = 0;
    truth_noise(seed, where, REFLECTIONS);
    truth_noise(seed + 100, level, REFLECTIONS);
    for (size_t r = 1; r < REFLECTIONS; r++) {
        room.delays[r] = (size_t)(((double)where[r] + 1) / 2 * ROOM_FRAMES);
        room.levels[r] = 0.6 * (double)level[r] * exp(-(double)room.delays[r] / 300);
    }
    for (double frequency = 100; frequency < 12000; frequency += 5)
        most = fmax(most, response(&room, frequency));
    for (size_t r = 0; r < REFLECTIONS; r++)
        room.levels[r] /= most;
    return room;
}

static double input(struct room *room, const float *played, size_t at, size_t delay)
{
    double sum = 0;
    for (size_t r = 0; r < REFLECTIONS; r++)
        if (at >= delay + room->delays[r])
            sum += room->levels[r] * (double)played[at - delay - room->delays[r]];
    room->low += LOW_POLE * (sum - room->low);
    room->high += HIGH_POLE * (room->low - room->high);
    return room->low - room->high;
}

struct run {
    size_t over;  /* the first frame where the limiter acts, or NEVER */
    size_t found; /* or NEVER */
    double frequency;
};

/* At most `seconds`, ended by the detector. */
static struct run run_loop(uint64_t seed, double gain, size_t delay_ms, double seconds)
{
    static float played[20 * RATE];
    struct sound slot = recording("voice.wav");
    struct room room = room_of(seed);
    struct feedback_detector *detector = detector_of(1, RATE);
    struct limiter limiter;
    struct run run = {.over = NEVER, .found = NEVER};
    limiter_init(&limiter, 1, RATE, CEILING);
    size_t frames = (size_t)(seconds * RATE), delay = delay_ms * RATE / 1000;
    for (size_t at = 0; at + BLOCK <= frames && run.found == NEVER; at += BLOCK) {
        float *block = played + at;
        for (size_t i = 0; i < BLOCK; i++)
            block[i] = (float)(0.3 * (double)slot.block.data[0][(at + i) % slot.block.frames] +
                               gain * input(&room, played, at + i, delay));
        if (run.over == NEVER && audio_peak(block, BLOCK) > CEILING)
            run.over = at;
        if (feedback_detector_process(detector, (const float *const *)&block, BLOCK))
            run.found = at + BLOCK;
        limiter_process(&limiter, &block, BLOCK);
    }
    run.frequency = feedback_detector_frequency(detector);
    feedback_detector_destroy(detector);
    return run;
}

/* All are found within three seconds of reaching the ceiling, or before, and nearly all within
 * two: where two modes of a room are equally loud, it takes that long until one dominates. */
START_TEST(loops_that_run_away_are_found)
{
    const double gains[] = {1.1, 1.2, 1.5, 2};
    const size_t delays[] = {2, 10, 35};
    size_t loops = 0, soon = 0;
    for (uint64_t seed = 1; seed <= 3; seed++)
        for (size_t g = 0; g < 4; g++)
            for (size_t d = 0; d < 3; d++) {
                struct run run = run_loop(seed, gains[g], delays[d], 8);
                bool before = run.over == NEVER;
                ck_assert_msg(run.found != NEVER && (before || run.found < run.over + 3 * RATE),
                              "room %zu, gain %g, %zu ms: over at %zu, found at %zu", (size_t)seed,
                              gains[g], delays[d], run.over, run.found);
                ck_assert(run.frequency > 200 && run.frequency < 5000);
                soon += before || run.found < run.over + 2 * RATE;
                loops++;
            }
    ck_assert_uint_ge(soon, loops * 9 / 10);
}

START_TEST(loops_that_hold_are_left_alone)
{
    const size_t delays[] = {2, 10, 35};
    for (uint64_t seed = 1; seed <= 3; seed++)
        for (size_t d = 0; d < 3; d++) {
            struct run run = run_loop(seed, 0.95, delays[d], 6);
            ck_assert_msg(run.found == NEVER, "room %zu, %zu ms: found at %zu, %g Hz", (size_t)seed,
                          delays[d], run.found, run.frequency);
        }
}

/* ---- sounds ---- */

/* No sound at any of these gains is taken for feedback. */
static void expect_none(const char *name, const struct sound *sound)
{
    const double gains[] = {-12, 0, 12, 18, 24};
    float *louder = audio_alloc(sound->block.frames);
    for (size_t c = 0; c < sound->block.channels; c++)
        for (size_t g = 0; g < sizeof gains / sizeof *gains; g++) {
            double frequency;
            for (size_t i = 0; i < sound->block.frames; i++)
                louder[i] = sound->block.data[c][i] * (float)audio_from_db(gains[g]);
            size_t found = found_in(louder, sound->block.frames, sound->rate, BLOCK, &frequency);
            ck_assert_msg(found == NEVER, "%s at %+g dB: feedback of %g Hz at frame %zu", name,
                          gains[g], frequency, found);
        }
    free(louder);
}

START_TEST(recordings_are_not_feedback)
{
    DIR *folder = opendir(getenv("WAV"));
    size_t sounds = 0;
    ck_assert_ptr_nonnull(folder);
    for (struct dirent *entry; (entry = readdir(folder));)
        if (strstr(entry->d_name, ".wav")) {
            struct sound sound = recording(entry->d_name);
            expect_none(entry->d_name, &sound);
            sounds++;
        }
    closedir(folder);
    ck_assert_uint_ge(sounds, 6);
}

/* Three seconds of partials at these frequencies and amplitudes. */
static struct sound tones(const double *frequencies, const double *amplitudes, size_t count)
{
    struct sound sound = sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, 1, (size_t)3 * RATE);
    for (size_t i = 0; i < sound.block.frames; i++)
        for (size_t t = 0; t < count; t++)
            sound.block.data[0][i] +=
                (float)(amplitudes[t] * sin(2 * M_PI * frequencies[t] * (double)i / RATE));
    return sound;
}

START_TEST(noise_and_music_are_not_feedback)
{
    const double chord[] = {261.63, 329.63, 392.00}, equal[] = {0.2, 0.2, 0.2};
    const double note[] = {220, 440, 660, 880}, partials[] = {0.3, 0.15, 0.1, 0.05};
    struct sound sound = sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, 1, (size_t)3 * RATE);
    truth_noise(7, sound.block.data[0], sound.block.frames);
    expect_none("white noise", &sound);
    sound = tones(chord, equal, 3);
    expect_none("a chord", &sound);
    sound = tones(note, partials, 4);
    expect_none("an organ's note", &sound);
}

/* A 1 kHz tone whose level in dBFS moves from one value to another. */
static void slope(float *samples, size_t frames, double from_db, double to_db)
{
    for (size_t i = 0; i < frames; i++) {
        double way = (double)i / (double)frames;
        samples[i] = (float)(audio_from_db(from_db + way * (to_db - from_db)) *
                             sin(2 * M_PI * 1000 * (double)i / RATE));
    }
}

START_TEST(steady_and_fading_tones_below_the_ceiling_are_not_feedback)
{
    enum { FRAMES = 3 * RATE };
    static float samples[FRAMES];
    slope(samples, FRAMES, -6, -6);
    ck_assert_uint_eq(found_in(samples, FRAMES, RATE, BLOCK, NULL), NEVER);
    slope(samples, FRAMES, -1.5, -1.5);
    ck_assert_uint_eq(found_in(samples, FRAMES, RATE, BLOCK, NULL), NEVER);
    slope(samples, FRAMES, 20, -40); /* fading, from far above the ceiling */
    ck_assert_uint_eq(found_in(samples, FRAMES, RATE, BLOCK, NULL), NEVER);
    slope(samples, FRAMES, -60, -2); /* growing, and below the ceiling */
    ck_assert_uint_eq(found_in(samples, FRAMES, RATE, BLOCK, NULL), NEVER);
}

START_TEST(a_pinned_tone_is_found)
{
    enum { FRAMES = 2 * RATE };
    static float samples[FRAMES];
    double frequency;
    slope(samples, FRAMES, 0, 0);
    ck_assert_uint_le(found_in(samples, FRAMES, RATE, BLOCK, &frequency), RATE / 2);
    ck_assert_double_eq_tol(frequency, 1000, 5);
    for (uint32_t rate = 8000; rate <= 192000; rate *= 2) /* the tone is at rate / 48 */
        ck_assert_uint_le(found_in(samples, FRAMES, rate, BLOCK, NULL), rate);
}

START_TEST(any_blocks_give_the_same_answer)
{
    enum { FRAMES = 2 * RATE };
    static float samples[FRAMES];
    const size_t blocks[] = {32, 100, 441, 4096, FRAMES};
    slope(samples, FRAMES, -60, 60);
    size_t frame = found_in(samples, FRAMES, RATE, 1, NULL);
    ck_assert_uint_ne(frame, NEVER);
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++)
        ck_assert_uint_eq(found_in(samples, FRAMES, RATE, blocks[b], NULL),
                          (frame + blocks[b] - 1) / blocks[b] * blocks[b]);
}

/* One channel of several has feedback; NaN neither triggers nor disables the detector. */
START_TEST(channels_are_detected_separately)
{
    enum { FRAMES = RATE };
    static float quiet[FRAMES], feedback[FRAMES];
    struct feedback_detector *detector = detector_of(3, RATE);
    const float *rows[] = {quiet, quiet, feedback};
    for (size_t i = 0; i < FRAMES; i++)
        quiet[i] = i % 1000 == 0 ? NAN : i % 1000 == 1 ? 3e38f : INFINITY;
    slope(feedback, FRAMES, 3, 3);
    ck_assert(feedback_detector_process(detector, rows, FRAMES));
    rows[2] = quiet;
    ck_assert(!feedback_detector_process(detector, rows, FRAMES));
    rows[0] = feedback;
    ck_assert(feedback_detector_process(detector, rows, FRAMES));
    ck_assert(!feedback_detector_process(detector, rows, RATE / 4)); /* it was reset */
    feedback_detector_reset(detector, CEILING);
    ck_assert(!feedback_detector_process(detector, rows, RATE / 4));
    feedback_detector_destroy(detector);
    feedback_detector_destroy(NULL);
}
