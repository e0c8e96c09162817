/* Regions and their player: exact frames of the file, across loops and seeks. */
#include "command.h"
#include "live/player.h"
#include "sound.h"
#include "stream.h"
#include "suite.h"
#include "truth.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { RATE = 48000, MOST = 4096, CHANNELS_MOST = 3 };

static const double pi = 3.14159265358979323846;

static enum status try_open(const struct region_settings *settings, const char *name,
                            struct region **region)
{
    struct region_settings whole = *settings;
    whole.path = command_path(name);
    return region_open(&whole, region);
}

static struct player *play(const char *name, struct region_settings settings)
{
    struct region *region;
    struct player *player;
    ck_assert_int_eq(try_open(&settings, name, &region), STATUS_OK);
    ck_assert_int_eq(player_open(region, 0.5, &player), STATUS_OK);
    return player;
}

static void refused(const char *name, struct region_settings settings, enum status status,
                    const char *expected)
{
    char text[512] = "";
    struct region *region;
    log_capture(text, sizeof text);
    ck_assert_int_eq(try_open(&settings, name, &region), status);
    log_capture(NULL, 0);
    ck_assert_msg(strstr(text, expected) != NULL, "%s", text);
}

/* Read some frames and compare them with the sound's from `at` on, wrapping in the loop.
 * Returns the next frame. */
static uint64_t expect(struct player *player, const struct block *sound, uint64_t at, size_t frames)
{
    static float samples[CHANNELS_MOST][MOST];
    float *rows[CHANNELS_MOST] = {samples[0], samples[1], samples[2]};
    uint64_t from, to;
    player_loop_ends(player, &from, &to);
    ck_assert_int_eq(player_wait(player, frames), STATUS_OK);
    ck_assert_uint_eq(player_position(player), at);
    player_read(player, rows, frames);
    for (size_t i = 0; i < frames; i++) {
        for (size_t c = 0; c < sound->channels; c++)
            if (samples[c][i] != sound->data[c][at])
                ck_abort_msg("frame %llu of channel %zu is %g, not %g", (unsigned long long)at, c,
                             samples[c][i], sound->data[c][at]);
        if (++at == to)
            at = from;
    }
    return at;
}

static const size_t odd_sizes[] = {1, 64, 511, 512, 513, 37, 4096, 1000, 3};
enum { ODD_SIZES = sizeof odd_sizes / sizeof *odd_sizes };

/* From memory, and (the longest) from the file. */
START_TEST(loops_are_exact)
{
    static const struct {
        double from, to;
        size_t frames; /* of the region */
    } regions[] = {
        {0, 0, 12 * RATE}, {1.5, 11.75, 492000}, {0.1, 0.2, 4800},   {11.9, 0, 4800},
        {0.5, 0.50002, 1}, {2, 2.01, 480},       {0, 99, 12 * RATE},
    };
    struct sound sound =
        sound_noise("noise.wav", 1, SF_FORMAT_WAV | SF_FORMAT_PCM_16, RATE, 2, 12 * RATE);
    for (size_t p = 0; p < sizeof regions / sizeof *regions; p++) {
        struct player *player = play(
            "noise.wav", (struct region_settings){.from = regions[p].from, .to = regions[p].to});
        const struct region *region = player_region(player);
        ck_assert_uint_eq(region->to - region->from, regions[p].frames);
        ck_assert_uint_eq(region->frames, 12 * RATE);
        ck_assert_uint_eq(region->format.rate, RATE);
        uint64_t at = region->from;
        for (size_t i = 0, done = 0; done < 3 * 12 * RATE; done += odd_sizes[i++ % ODD_SIZES])
            at = expect(player, &sound.block, at, odd_sizes[i % ODD_SIZES]);
        ck_assert_uint_eq(player_missed(player), 0);
        ck_assert_ptr_null(player_failure(player));
        player_close(player);
    }
}

START_TEST(seeks_are_exact)
{
    static const double ends[] = {11.5, 3}; /* from the file; from memory */
    uint64_t state = 7;
    struct sound sound =
        sound_noise("noise.wav", 2, SF_FORMAT_FLAC | SF_FORMAT_PCM_24, RATE, 3, 12 * RATE);
    for (size_t e = 0; e < 2; e++) {
        struct player *player =
            play("noise.wav", (struct region_settings){.from = 1, .to = ends[e]});
        const struct region *region = player_region(player);
        for (size_t i = 0; i < 200; i++) {
            state = state * 6364136223846793005U + 1442695040888963407U;
            uint64_t at = region->from + (state >> 33) % (region->to - region->from);
            if (i % 5 == 0) /* frames that were skipped */
                player_seek(player, at / 2);
            player_seek(player, at);
            for (size_t n = 0; n < i % 4; n++)
                at = expect(player, &sound.block, at, odd_sizes[(i + n) % ODD_SIZES]);
        }
        player_seek(player, 0);
        expect(player, &sound.block, region->from, 100);
        player_seek(player, UINT64_MAX);
        expect(player, &sound.block, region->to - 1, 100);
        ck_assert_uint_eq(player_missed(player), 0);
        player_close(player);
    }
}

/* As a device calls: the sound continues from the old place, then from the new one, with nothing
 * else in between. */
START_TEST(loops_in_the_region_are_exact)
{
    static const struct {
        double seconds;
        uint64_t from, to; /* of the sound */
    } loops[] = {
        {12, 48000, 96000}, {12, 95999, 96000},
        {12, 0, 12 * RATE}, {12, 12 * RATE - 700, 12 * RATE},
        {1, 0, 511},        {1, 100, 4900},
        {1, 40000, RATE},
    };
    for (size_t l = 0, before = 0; l < sizeof loops / sizeof *loops; l++) {
        size_t frames = (size_t)(loops[l].seconds * RATE);
        struct sound sound =
            sound_noise("noise.wav", 9, SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, 2, frames);
        struct player *player = play("noise.wav", (struct region_settings){.to = 0});
        uint64_t at = expect(player, &sound.block, 0, 1000 + before++);
        player_loop(player, loops[l].from, loops[l].to);
        if (at < loops[l].from || at >= loops[l].to)
            at = loops[l].from;
        for (size_t i = 0; i < 3 * ODD_SIZES; i++)
            at = expect(player, &sound.block, at, odd_sizes[i % ODD_SIZES]);
        player_seek(player, 3); /* the nearest frame of the loop */
        at = expect(player, &sound.block, loops[l].from > 3 ? loops[l].from : 3, 2000);
        player_loop(player, 0, frames);
        (void)expect(player, &sound.block, at, 4000);
        player_close(player);
    }
}

START_TEST(a_seek_leaves_no_hole)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    float samples[64], *rows[] = {samples};
    struct sound sound =
        sound_noise("noise.wav", 3, SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, 1, 11 * RATE);
    struct player *player = play("noise.wav", (struct region_settings){0});
    uint64_t at = 0;
    for (size_t i = 0; i < 20; i++) {
        bool there = false;
        uint64_t target = (i * 7919 + 5000) * 17 % (10 * RATE);
        player_seek(player, target);
        for (size_t block = 0; block < 2000 && !there; block++) {
            player_read(player, rows, 64);
            there = samples[0] == sound.block.data[0][target];
            at = there ? target : at;
            size_t wrong = 0;
            for (size_t k = 0; k < 64; k++, at++)
                wrong += samples[k] != sound.block.data[0][at % (11 * RATE)];
            ck_assert_uint_eq(wrong, 0);
            nanosleep(&pause, NULL);
        }
        ck_assert(there);
        ck_assert_uint_eq(player_position(player), at);
    }
    ck_assert_uint_eq(player_missed(player), 0);
    player_close(player);
}

START_TEST(missing_sound_is_silence)
{
    float samples[1000], *rows[] = {samples};
    size_t silent = 0;
    struct sound sound =
        sound_noise("noise.wav", 4, SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, 1, 11 * RATE);
    struct player *player = play("noise.wav", (struct region_settings){0});
    for (size_t i = 0; i < 3000; i++) { /* faster than any disk */
        player_read(player, rows, 1000);
        for (size_t k = 0; k < 1000; k++)
            silent += samples[k] == 0;
    }
    size_t zeros = 0;
    for (size_t k = 0; k < 11 * RATE; k++)
        zeros += sound.block.data[0][k] == 0;
    ck_assert_uint_eq(zeros, 0);
    ck_assert_uint_eq(player_missed(player), silent);
    expect(player, &sound.block, (3000000 - silent) % (11 * RATE), 500);
    player_close(player);
}

static struct sound sine_file(const char *name, uint32_t rate, size_t seconds, double hertz)
{
    struct sound sound = sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, rate, 1, seconds * rate);
    for (size_t i = 0; i < sound.block.frames; i++)
        sound.block.data[0][i] = (float)(0.5 * sin(2 * pi * hertz * (double)i / rate));
    sound_save(&sound, name);
    return sound;
}

/* At the other rate a tone keeps its frequency, amplitude and phase. */
START_TEST(another_rate_is_the_same_sound)
{
    static const uint32_t rates[][2] = {
        {44100, 48000}, {96000, 44100}, {8000, 48000}, {48000, 48001}, {44100, 22050}};
    float samples[2048], *rows[] = {samples};
    for (size_t r = 0; r < sizeof rates / sizeof *rates; r++)
        for (double from = 0; from < 3; from += 2.25) {
            uint32_t rate = rates[r][1];
            sine_file("sine.wav", rates[r][0], 13, 1000);
            struct player *player =
                play("sine.wav", (struct region_settings){.rate = rate, .from = from, .to = 12.7});
            const struct region *region = player_region(player);
            ck_assert_uint_eq(region->frames, (uint64_t)13 * rate);
            ck_assert_uint_eq(region->format.rate, rate);
            for (uint64_t i = 0; i < 6; i++) {
                uint64_t at = region->from + 3000 + i * rate;
                player_seek(player, at);
                ck_assert_int_eq(player_wait(player, 2048), STATUS_OK);
                player_read(player, rows, 2048);
                double worst = 0;
                for (size_t k = 0; k < 2048; k++)
                    worst = fmax(worst, fabs(samples[k] -
                                             0.5 * sin(2 * pi * 1000 * (double)(at + k) / rate)));
                ck_assert_double_lt(worst, 1e-6);
            }
            player_close(player);
        }
}

/* Reading on and seeking give the same frames. */
START_TEST(another_rate_is_the_same_after_a_seek)
{
    static const uint32_t rates[] = {44100, 96000, 47999};
    float samples[777], *rows[] = {samples};
    sound_noise_file("noise.wav", 5, SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, 1, 11 * RATE);
    for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
        struct block whole;
        struct region *region;
        size_t got;
        ck_assert_int_eq(
            try_open(&(struct region_settings){.rate = rates[r]}, "noise.wav", &region), STATUS_OK);
        ck_assert_uint_eq(region->frames, (uint64_t)11 * rates[r]);
        whole = stream_block(1, region->frames);
        ck_assert_int_eq(region_read(region, whole.data, whole.frames, &got), STATUS_OK);
        ck_assert_uint_eq(got, whole.frames);
        double worst = 0;
        for (uint64_t at = 1; at + 777 <= whole.frames; at = at * 3 + 11) {
            ck_assert_int_eq(region_seek(region, at), STATUS_OK);
            ck_assert_int_eq(region_read(region, rows, 777, &got), STATUS_OK);
            ck_assert_uint_eq(got, 777);
            for (size_t k = 0; k < 777; k++)
                worst = fmax(worst, fabs((double)samples[k] - whole.data[0][at + k]));
        }
        ck_assert_double_lt(worst, 1e-7);
        region_close(region);
    }
}

START_TEST(a_pipe_is_kept)
{
    struct sound sound =
        sound_noise("noise.wav", 6, SF_FORMAT_WAV | SF_FORMAT_PCM_16, RATE, 2, 12 * RATE);
    ck_assert_int_eq(mkfifo(command_path("pipe"), 0600), 0);
    pid_t cat = command_start("exec cp noise.wav pipe");
    struct player *player = play("pipe", (struct region_settings){.from = 0.5});
    ck_assert_int_eq(command_wait(cat).code, 0);
    uint64_t at = RATE / 2;
    for (size_t i = 0; i < 300; i++)
        at = expect(player, &sound.block, at, 4001);
    player_seek(player, 500000);
    expect(player, &sound.block, 500000, 4000);
    player_close(player);
    cat = command_start("exec cp noise.wav pipe");
    player = play("pipe", (struct region_settings){.rate = 24000});
    ck_assert_int_eq(command_wait(cat).code, 0);
    ck_assert_uint_eq(player_region(player)->frames, 6 * RATE);
    player_close(player);
}

START_TEST(truncated_files_end_early)
{
    struct sound sound =
        sound_noise("noise.wav", 8, SF_FORMAT_WAV | SF_FORMAT_PCM_16, RATE, 1, 12 * RATE);
    ck_assert_int_eq(truncate(command_path("noise.wav"), 44 + 2 * 500000), 0);
    refused("noise.wav", (struct region_settings){0}, STATUS_FAILED, "truncated");
    struct player *player = play("noise.wav", (struct region_settings){.allow_truncated = true});
    ck_assert_uint_eq(player_region(player)->to, 500000);
    player_seek(player, 499000);
    expect(player, &sound.block, 499000, 3000);
    player_close(player);
}

/* The file is truncated while it plays. */
START_TEST(files_truncated_while_playing)
{
    struct sound sound =
        sound_noise("noise.wav", 9, SF_FORMAT_WAV | SF_FORMAT_PCM_16, RATE, 1, 12 * RATE);
    struct player *player = play("noise.wav", (struct region_settings){.allow_truncated = true});
    ck_assert_int_eq(truncate(command_path("noise.wav"), 44 + 2 * 100000), 0);
    float samples[1000], *rows[] = {samples};
    uint64_t at = 0;
    for (size_t i = 0; i < 600; i++) {
        ck_assert_int_eq(player_wait(player, 1000), STATUS_OK);
        player_read(player, rows, 1000);
        for (size_t k = 0; k < 1000; k++) {
            /* The exact end depends on libsndfile's byte buffer. */
            bool right = samples[k] == sound.block.data[0][at];
            if (!right && at >= 100000)
                right = samples[k] == sound.block.data[0][at = 0];
            if (!right)
                ck_abort_msg("frame %llu", (unsigned long long)at);
            at++;
        }
        ck_assert_uint_eq(player_position(player), at == 100000 ? 0 : at);
    }
    player_close(player);

    sound_save(&sound, "noise.wav");
    player = play("noise.wav", (struct region_settings){0});
    ck_assert_int_eq(truncate(command_path("noise.wav"), 44 + 2 * 100000), 0);
    for (size_t i = 0; i < 2000 && !player_failure(player); i++) {
        player_read(player, rows, 1000);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    for (size_t i = 0; i < RATE / 1000; i++) /* frames read before */
        player_read(player, rows, 1000);
    ck_assert_ptr_null(player_failure(player));
    char text[512] = "";
    log_capture(text, sizeof text);
    ck_assert_int_eq(player_wait(player, 2000), STATUS_FAILED);
    log_capture(NULL, 0);
    ck_assert_msg(strstr(text, "became shorter"), "%s", text);
    player_read(player, rows, 1000);
    ck_assert(samples[0] == 0);
    ck_assert_uint_gt(player_missed(player), 0);
    player_close(player);
}

START_TEST(unplayable_files_are_refused)
{
    struct sound sound = sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, 2, RATE);
    sound_save(&sound, "second.wav");
    refused("none.wav", (struct region_settings){0}, STATUS_FAILED, "cannot open");
    refused("second.wav", (struct region_settings){.from = 1}, STATUS_USAGE, "1.000 s long");
    refused("second.wav", (struct region_settings){.from = 0.5, .to = 0.25}, STATUS_USAGE,
            "nothing between");
    sound.block.data[1][40000] = NAN;
    sound_save(&sound, "nan.wav");
    struct region *region;
    struct player *player;
    char text[512] = "";
    ck_assert_int_eq(try_open(&(struct region_settings){0}, "nan.wav", &region), STATUS_OK);
    log_capture(text, sizeof text);
    ck_assert_int_eq(player_open(region, 2, &player), STATUS_FAILED);
    log_capture(NULL, 0);
    ck_assert_msg(strstr(text, "frame 40001 of channel 2 is not a number"), "%s", text);
}
