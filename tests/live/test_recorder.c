/* Recordings: every frame in its place, whatever the ring loses, and readable however the
 * program ends. */
#include "command.h"
#include "live/recorder.h"
#include "sound.h"
#include "suite.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RATE = 48000, BLOCK = 64, CHANNELS_MOST = 8 };

static const char *const endings[] = {"wav", "w64", "caf"};

static struct recorder *record(const char *name, size_t channels, double seconds)
{
    struct recorder *recorder;
    const struct stream_format format = {.rate = RATE, .channels = channels};
    ck_assert_int_eq(recorder_open(command_path(name), true, &format, seconds, &recorder),
                     STATUS_OK);
    ck_assert_int_eq(recorder_keep(recorder), STATUS_OK);
    return recorder;
}

/* Never 0, exact in a float, and different in each channel. */
static float sample_of(size_t frame, size_t channel)
{
    return (float)((frame * 8 + channel) % 8388607 + 1) / 8388608;
}

/* The next frames, in a block. */
static void hand_over(struct recorder *recorder, size_t channels, size_t at, size_t frames)
{
    static float samples[CHANNELS_MOST][4096];
    const float *rows[CHANNELS_MOST];
    for (size_t c = 0; c < channels; c++) {
        for (size_t i = 0; i < frames; i++)
            samples[c][i] = sample_of(at + i, c);
        rows[c] = samples[c];
    }
    recorder_write(recorder, rows, frames);
}

/* Every frame as handed over, or silence where `lost` is allowed. Returns the silent frames. */
static size_t check_sound(const struct sound *sound, bool lost)
{
    size_t silent = 0;
    for (size_t i = 0; i < sound->block.frames; i++) {
        bool right = true, silence = true;
        for (size_t c = 0; c < sound->block.channels; c++) {
            right = right && sound->block.data[c][i] == sample_of(i, c);
            silence = silence && sound->block.data[c][i] == 0;
        }
        silent += silence;
        if (!right && !(lost && silence))
            ck_abort_msg("frame %zu is wrong", i);
    }
    return silent;
}

static void sleep_ms(long ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

START_TEST(every_frame_is_written)
{
    const size_t channels[] = {1, 2, 8}, blocks[] = {1, 64, 1000, 4096};
    for (size_t e = 0; e < 3; e++)
        for (size_t c = 0; c < 3; c++) {
            char name[32];
            struct recording recording;
            snprintf(name, sizeof name, "whole.%s", endings[e]);
            struct recorder *recorder = record(name, channels[c], 1);
            size_t at = 0;
            for (size_t k = 0; k < 40; at += blocks[k++ % 4])
                if (at < RATE)
                    hand_over(recorder, channels[c], at, blocks[k % 4]);
            ck_assert_ptr_null(recorder_failure(recorder));
            ck_assert_int_eq(recorder_close(recorder, &recording), STATUS_OK);
            struct sound sound = sound_load(name);
            ck_assert_uint_eq(recording.lost, 0);
            ck_assert_uint_eq(recording.frames, sound.block.frames);
            ck_assert_uint_ge(sound.block.frames, RATE);
            ck_assert_uint_eq(sound.block.channels, channels[c]);
            ck_assert_uint_eq(sound.rate, RATE);
            ck_assert_int_eq(sound.format & SF_FORMAT_SUBMASK, SF_FORMAT_FLOAT);
            check_sound(&sound, false);
        }
}

/* Below 4 GB a .wav is a plain one, which every program reads. */
START_TEST(short_wavs_are_plain)
{
    char head[12] = "";
    struct recording recording;
    struct recorder *recorder = record("plain.wav", 2, 1);
    hand_over(recorder, 2, 0, BLOCK);
    ck_assert_int_eq(recorder_close(recorder, &recording), STATUS_OK);
    FILE *file = fopen(command_path("plain.wav"), "rb");
    ck_assert_uint_eq(fread(head, 1, sizeof head, file), sizeof head);
    fclose(file);
    ck_assert_int_eq(memcmp(head, "RIFF", 4), 0);
    ck_assert_int_eq(memcmp(head + 8, "WAVE", 4), 0);
}

START_TEST(lost_frames_become_silence)
{
    struct recording recording;
    struct recorder *recorder = record("lost.wav", 2, 0.01); /* 512 frames */
    size_t at = 0;
    for (size_t burst = 0; burst < 5; burst++) {
        for (size_t k = 0; k < 40; k++, at += BLOCK)
            hand_over(recorder, 2, at, BLOCK);
        sleep_ms(70); /* so that others fit again */
    }
    for (size_t k = 0; k < 40; k++, at += BLOCK) /* lost up to the end */
        hand_over(recorder, 2, at, BLOCK);
    ck_assert_int_eq(recorder_close(recorder, &recording), STATUS_OK);
    struct sound sound = sound_load("lost.wav");
    ck_assert_uint_eq(sound.block.frames, at);
    ck_assert_uint_eq(recording.frames, at);
    ck_assert_uint_eq(check_sound(&sound, true), recording.lost);
    ck_assert_uint_gt(recording.lost, 0);
    ck_assert_uint_lt(recording.lost, at);
}

START_TEST(a_flushed_file_is_whole_while_it_grows)
{
    for (size_t e = 0; e < 3; e++) {
        char name[32];
        uint64_t frames;
        struct recording recording;
        snprintf(name, sizeof name, "flushed.%s", endings[e]);
        struct recorder *recorder = record(name, 2, 1);
        for (size_t at = 0; at < 10 * 4096; at += 4096) {
            hand_over(recorder, 2, at, 4096);
            recorder_flush(recorder, &frames);
            ck_assert_uint_eq(frames, at + 4096);
            struct sound sound = sound_load(name);
            ck_assert_uint_eq(sound.block.frames, at + 4096);
            check_sound(&sound, false);
        }
        ck_assert_int_eq(recorder_close(recorder, &recording), STATUS_OK);
        ck_assert_uint_eq(recording.frames, 10 * 4096);
    }
}

/* The child records at a device's pace until it is killed. */
static pid_t start_recording(const char *name, atomic_size_t *handed)
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child > 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* fails first on error */
    struct recorder *recorder = record(name, 2, 5);
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (;;) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        double seconds =
            (double)(now.tv_sec - start.tv_sec) + 1e-9 * (double)(now.tv_nsec - start.tv_nsec);
        for (size_t at = atomic_load(handed); (double)at < seconds * RATE; at += BLOCK) {
            hand_over(recorder, 2, at, BLOCK);
            atomic_store(handed, at + BLOCK);
        }
        sleep_ms(1);
    }
}

START_TEST(a_killed_recording_is_readable)
{
    const size_t kill_at[] = {RATE * 5 / 4, RATE * 3 / 2, RATE * 7 / 4}; /* frames */
    atomic_size_t *handed =
        mmap(NULL, 3 * sizeof *handed, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char names[3][32];
    pid_t children[3];
    ck_assert_ptr_ne(handed, MAP_FAILED);
    for (size_t e = 0; e < 3; e++) {
        snprintf(names[e], sizeof names[e], "killed.%s", endings[e]);
        children[e] = start_recording(names[e], &handed[e]);
    }
    for (size_t e = 0; e < 3; e++) {
        while (atomic_load(&handed[e]) < kill_at[e])
            sleep_ms(5);
        kill(children[e], SIGKILL);
        ck_assert_int_eq(waitpid(children[e], NULL, 0), children[e]);
        struct sound sound = sound_load(names[e]);
        ck_assert_msg(sound.block.frames + RATE >= handed[e], "%s: %zu frames of %zu", names[e],
                      sound.block.frames, (size_t)handed[e]);
        check_sound(&sound, false);
    }
    munmap(handed, 3 * sizeof *handed);
}

/* As with a full disk: the data written is kept, the failure is reported once, the step may
 * continue. */
START_TEST(a_full_disk_ends_only_the_recording)
{
    enum { LIMIT = 100000 };
    struct rlimit before, full;
    struct recording recording;
    uint64_t frames;
    char reported[512] = "";
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    full = (struct rlimit){.rlim_cur = LIMIT, .rlim_max = before.rlim_max};
    for (int asked = 0; asked < 2; asked++) {
        struct recorder *recorder = record("full.wav", 2, 1);
        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &full), 0);
        hand_over(recorder, 2, 0, 4096);
        recorder_flush(recorder, &frames);
        ck_assert_uint_eq(frames, 4096);
        ck_assert_ptr_null(recorder_failure(recorder));
        for (size_t at = 4096; at < 10 * 4096; at += 4096)
            hand_over(recorder, 2, at, 4096);
        recorder_flush(recorder, &frames);
        hand_over(recorder, 2, 0, 4096);
        if (asked) {
            const char *text = recorder_failure(recorder);
            ck_assert_ptr_nonnull(text);
            snprintf(reported, sizeof reported, "%s", text);
            ck_assert_ptr_null(recorder_failure(recorder));
        }
        char printed[512] = "";
        log_capture(printed, sizeof printed);
        ck_assert_int_eq(recorder_close(recorder, &recording), STATUS_FAILED);
        log_capture(NULL, 0);
        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
        ck_assert_ptr_nonnull(strstr(asked ? reported : printed, "full.wav: File too large"));
        ck_assert_ptr_nonnull(strstr(asked ? reported : printed, "ends after 0.3 s"));
        if (asked)
            ck_assert_str_eq(printed, "");
        struct sound sound = sound_load("full.wav");
        ck_assert_uint_ge(sound.block.frames, 4096);
        ck_assert_uint_le(sound.block.frames, LIMIT / 8);
        check_sound(&sound, false);
    }
}

static void expect_refusal(const char *name, bool force, const char *expected, enum status wanted)
{
    char reported[512] = "";
    struct recorder *recorder;
    const struct stream_format format = {.rate = RATE, .channels = 2};
    log_capture(reported, sizeof reported);
    ck_assert_int_eq(recorder_open(command_path(name), force, &format, 1, &recorder), wanted);
    log_capture(NULL, 0);
    ck_assert_msg(strstr(reported, expected) != NULL, "%s: %s", name, reported);
}

START_TEST(unwritable_recordings_are_refused)
{
    struct recording recording;
    struct stat about;
    sound_text("exists.wav", "something of the user's");
    expect_refusal("exists.wav", false, "exists.wav exists; --force replaces it", STATUS_FAILED);
    ck_assert_int_eq(stat(command_path("exists.wav"), &about), 0);
    ck_assert_int_eq((int)about.st_size, 23);
    expect_refusal("nowhere/out.wav", true, "out.wav: No such file or directory", STATUS_FAILED);
    mkdir(command_path("folder.wav"), 0777);
    expect_refusal("folder.wav", true, "folder.wav: it is a directory", STATUS_FAILED);
    mkfifo(command_path("pipe.wav"), 0666);
    expect_refusal("pipe.wav", true, "a recording needs a regular file", STATUS_FAILED);
    expect_refusal("out.mp3", true, "use .wav, .w64 or .caf", STATUS_USAGE);
    expect_refusal("out", true, "use .wav, .w64 or .caf", STATUS_USAGE);
    ck_assert_int_ne(stat(command_path("out.mp3"), &about), 0);
    ck_assert_int_eq(recorder_close(record("exists.wav", 1, 1), &recording), STATUS_OK);
    struct sound sound = sound_load("exists.wav");
    ck_assert_uint_eq(sound.block.frames, 0);
    ck_assert_int_eq(recorder_close(NULL, &recording), STATUS_OK);
}

START_TEST(an_old_take_stays_until_the_new_one_is_kept)
{
    struct recorder *recorder;
    struct recording recording;
    const struct stream_format format = {.rate = RATE, .channels = 1};
    sound_text("take.wav", "an old take");
    ck_assert_int_eq(recorder_open(command_path("take.wav"), true, &format, 1, &recorder),
                     STATUS_OK);
    hand_over(recorder, 1, 0, BLOCK);
    ck_assert_int_eq(recorder_close(recorder, &recording), STATUS_OK);
    command_done("[ \"$(cat take.wav)\" = 'an old take' ]");
    ck_assert_str_eq(command_files(), "take.wav");
}
