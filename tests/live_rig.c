#include "live_rig.h"

#include "base/monotonic.h"
#include "stream.h"
#include "suite.h"
#include "truth.h"

#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int keys = -1;             /* a pipe to its standard input */
static size_t lengths_at_keys[2]; /* of standard output and standard error, as keys were typed */

void live_rig_rest(int milliseconds)
{
    const struct timespec pause = {.tv_sec = milliseconds / 1000,
                                   .tv_nsec = milliseconds % 1000 * 1000000L};
    nanosleep(&pause, NULL);
}

void live_rig_save(const struct block *block, const char *name)
{
    struct sound sound = sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, LIVE_RIG_RATE,
                                      block->channels, block->frames);
    for (size_t c = 0; c < block->channels; c++)
        memcpy(sound.block.data[c], block->data[c], block->frames * sizeof(float));
    sound_save(&sound, name);
}

void live_rig_save_square(size_t frames, const char *name)
{
    enum { HALF_PERIOD = 24 };
    struct block square = stream_block(2, frames);
    for (size_t c = 0; c < 2; c++)
        for (size_t i = 0; i < frames; i++)
            square.data[c][i] = i / HALF_PERIOD % 2 ? 0.5f : -0.5f;
    live_rig_save(&square, name);
}

struct block live_rig_noise(size_t channels, size_t silence, size_t frames, float peak)
{
    struct block block = stream_block(channels, frames);
    for (size_t c = 0; c < channels; c++) {
        truth_noise(300 + c, block.data[c] + silence, frames - silence);
        for (size_t i = silence; i < frames; i++)
            block.data[c][i] *= peak;
    }
    return block;
}

/* The text printed there so far. */
static const char *printed(const char *name)
{
    static char text[1 << 18];
    FILE *file = fopen(command_path(name), "r");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    text[length] = '\0';
    if (file)
        fclose(file);
    return text;
}

/* Frames of rec.wav on the disk so far; 0: none, or no such file. */
static size_t recorded(void)
{
    unsigned char head[80] = {0};
    struct stat about = {0};
    FILE *file = fopen(command_path("rec.wav"), "rb");
    if (!file)
        return 0;
    size_t got = fread(head, 1, sizeof head, file);
    fstat(fileno(file), &about);
    fclose(file);
    const unsigned char *format = memmem(head, got, "fmt ", 4);
    size_t bytes = format && format + 21 < head + got ? format[20] + 256U * format[21] : 0;
    return bytes == 0 ? 0 : (size_t)about.st_size / bytes;
}

/* Beyond the first `from` bytes. */
static bool has_printed(const char *name, size_t from, const char *expected)
{
    const char *text = printed(name);
    return from <= strlen(text) && strstr(text + from, expected) != NULL;
}

static void wait_for(const char *expected, bool errors_too, const size_t from[2])
{
    int64_t deadline = monotonic_ns() + COMMAND_PATIENCE * INT64_C(1000000000);
    while (!has_printed(".out", from[0], expected) &&
           !(errors_too && has_printed(".err", from[1], expected))) {
        ck_assert_msg(monotonic_ns() < deadline, "it did not print \"%s\", but: %s", expected,
                      printed(".err"));
        live_rig_rest(5);
    }
}

void live_rig_play(int milliseconds)
{
    if (access(command_path("rec.wav"), F_OK) == 0)
        live_rig_record(milliseconds);
    else
        live_rig_rest(milliseconds / LIVE_RIG_PACE);
}

/* Waits until what has sounded so far is in the file, by the answer to the key w: the recorder looks
 * at its ring every 50 ms, which are 200 ms of sound at LIVE_RIG_PACE. */
static void write_recording(void)
{
    const size_t from[2] = {strlen(printed(".out")), strlen(printed(".err"))};
    ck_assert_int_eq(write(keys, "w", 1), 1);
    wait_for(" s written", true, from);
}

void live_rig_record(int milliseconds)
{
    write_recording();
    size_t before = recorded(), wanted = before + (size_t)milliseconds * LIVE_RIG_RATE / 1000;
    int64_t deadline = monotonic_ns() + COMMAND_PATIENCE * INT64_C(1000000000);
    for (size_t now = before; now < wanted; now = recorded()) {
        ck_assert_msg(monotonic_ns() < deadline, "rec.wav has %zu frames, after %zu: %s", now,
                      before, printed(".err"));
        live_rig_rest(5);
    }
}

void live_rig_wait(const char *expected)
{
    wait_for(expected, true, (const size_t[2]){0, 0});
}

void live_rig_wait_answer(const char *expected)
{
    wait_for(expected, true, lengths_at_keys);
}

pid_t live_rig_launch(const char *command, const char *arguments)
{
    const char *path = command_path("keys");
    unlink(path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    keys = open(path, O_RDWR | O_CLOEXEC); /* both ends, so that neither open blocks */
    ck_assert_int_ge(keys, 0);
    /* Removes the log of an earlier run. */
    ck_assert_int_eq(command_run("rm -f .out .err").code, 0);
    return command_start("exec \"$HALO\" %s %s <keys", command, arguments);
}

/* Waits for the first line of the status. Returns false if the program ended before it. */
static bool has_begun(pid_t process)
{
    int64_t deadline = monotonic_ns() + COMMAND_PATIENCE * INT64_C(1000000000);
    for (siginfo_t ended = {0}; !has_printed(".out", 0, "\n"); live_rig_rest(5)) {
        if (ended.si_pid != 0)
            return false;
        ck_assert_msg(monotonic_ns() < deadline, "it did not begin: %s", printed(".err"));
        ck_assert_int_eq(waitid(P_PID, (id_t)process, &ended, WEXITED | WNOHANG | WNOWAIT), 0);
    }
    return true;
}

/* On a busy machine JACK may answer later than its library waits; then the program is started
 * again. */
static void expect_late_server(int turn)
{
    enum { TURNS_MOST = 5 };
    bool is_late = has_printed(".err", 0, "there is no input device here") ||
                   has_printed(".err", 0, "no JACK server answers");
    ck_assert_msg(is_late && turn < TURNS_MOST, "it ended: %s", printed(".err"));
    printf("started again: %s", printed(".err"));
}

pid_t live_rig_start(const char *format, ...)
{
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    char command[100];
    const char *backend = getenv("HALO_TEST_BACKEND");
    snprintf(command, sizeof command, "live --plain --no-feedback-guard --backend %s",
             backend ? backend : "auto");
    for (int turn = 1;; turn++) {
        pid_t process = live_rig_launch(command, text);
        if (has_begun(process))
            return process;
        (void)live_rig_end(process);
        expect_late_server(turn);
    }
}

unsigned live_rig_osc_port(void)
{
    static const char line[] = "halo: OSC control on port ";
    const char *at = strstr(printed(".err"), line);
    ck_assert_ptr_nonnull(at);
    return (unsigned)strtoul(at + strlen(line), NULL, 10) & 65535;
}

void live_rig_keys(const char *typed)
{
    lengths_at_keys[0] = strlen(printed(".out"));
    lengths_at_keys[1] = strlen(printed(".err"));
    ck_assert_int_eq(write(keys, typed, strlen(typed)), (ssize_t)strlen(typed));
}

struct command_result live_rig_end(pid_t process)
{
    struct command_result result = command_wait(process);
    close(keys);
    keys = -1;
    return result;
}

const char *live_rig_errors(const struct command_result *result)
{
    static const char about_priority[] = "halo: no real-time priority: ";
    const char *end = strchr(result->err, '\n');
    bool is_first = strncmp(result->err, about_priority, strlen(about_priority)) == 0;
    return is_first && end ? end + 1 : result->err;
}

void live_rig_expect(const struct block *output, const struct block *truth, size_t first,
                     size_t frames)
{
    double peak = 0, error = 0;
    size_t where = 0;
    ck_assert_uint_eq(output->channels, truth->channels);
    ck_assert_uint_le(first + frames, output->frames);
    ck_assert_uint_le(first + frames, truth->frames);
    for (size_t c = 0; c < truth->channels; c++)
        for (size_t i = first; i < first + frames; i++) {
            double difference = fabs((double)output->data[c][i] - (double)truth->data[c][i]);
            peak = fmax(peak, fabs((double)truth->data[c][i]));
            if (!(difference <= error)) { /* also false for NaN */
                error = difference;
                where = i;
            }
        }
    ck_assert_msg(peak > 1e-3, "there is nothing to compare: peak %g", peak);
    ck_assert_msg(error <= 1e-6 * peak, "frame %zu of %zu is %.1f dB off", where, first + frames,
                  20 * log10(error / peak));
}

size_t live_rig_frames_before_end(const struct block *recording)
{
    size_t frames = recording->frames, sounding = 0;
    while (frames > 0 && sounding == 0) {
        frames--;
        for (size_t c = 0; c < recording->channels; c++)
            sounding += recording->data[c][frames] != 0;
    }
    ck_assert_uint_gt(frames, LIVE_RIG_RATE / 5);
    return frames - LIVE_RIG_RATE / 5;
}

void live_rig_expect_replay(void)
{
    command_done("\"$HALO\" render dry.wav again.wav --force --replay rec.wav.log");
    struct sound output = sound_load("rec.wav"), again = sound_load("again.wav");
    ck_assert_uint_eq(output.block.frames, again.block.frames);
    live_rig_expect(&output.block, &again.block, 0, again.block.frames);
}

void halver_step(void *context, const float *const *in, float *const *out, size_t frames, bool lost)
{
    struct halver *halver = context;
    for (size_t c = 0; c < halver->channels; c++)
        for (size_t i = 0; i < frames; i++)
            out[c][i] = 0.5f * in[c][i];
    if (lost) {
        halver->lost_at = halver->frames;
        halver->times_lost++;
    }
    halver->calls++;
    halver->frames += frames;
}

void halver_run(struct halver *halver, struct device *device, size_t frames)
{
    int64_t deadline = monotonic_ns() + COMMAND_PATIENCE * INT64_C(1000000000);
    device_run(device, halver_step, halver);
    while (halver->frames < frames && device_state(device) == DEVICE_RUNNING) {
        ck_assert_msg(monotonic_ns() < deadline, "the device does not run");
        live_rig_rest(1);
    }
    ck_assert(device_stop(device));
}

void live_rig_end_well(pid_t process)
{
    live_rig_keys("q");
    struct command_result result = live_rig_end(process);
    ck_assert_msg(result.code == 0, "%s", result.err);
}
