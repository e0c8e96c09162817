#include "sound.h"

#include "command.h"
#include "stream.h"
#include "suite.h"
#include "truth.h"

#include <ebur128.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = 256 };

static const char *path_of(const char *name, char path[PATH_SIZE])
{
    if (name[0] == '/')
        snprintf(path, PATH_SIZE, "%s", name);
    else
        snprintf(path, PATH_SIZE, "%s/%s", command_folder(), name);
    return path;
}

struct sound sound_create(int format, uint32_t rate, size_t channels, size_t frames)
{
    return (struct sound){.block = stream_block(channels, frames), .rate = rate, .format = format};
}

static float *interleaved(size_t channels, size_t frames)
{
    float *samples = calloc(channels * frames + 1, sizeof *samples);
    ck_assert_ptr_nonnull(samples);
    return samples;
}

void sound_save(const struct sound *sound, const char *name)
{
    char path[PATH_SIZE];
    size_t channels = sound->block.channels, frames = sound->block.frames;
    SF_INFO info = {
        .samplerate = (int)sound->rate, .channels = (int)channels, .format = sound->format};
    SNDFILE *file = sf_open(path_of(name, path), SFM_WRITE, &info);
    ck_assert_msg(file != NULL, "cannot make %s: %s", name, sf_strerror(NULL));
    sf_command(file, SFC_SET_CLIPPING, NULL, SF_TRUE);
    float *samples = interleaved(channels, frames);
    for (size_t i = 0; i < frames * channels; i++)
        samples[i] = sound->block.data[i % channels][i / channels];
    ck_assert_int_eq(sf_writef_float(file, samples, (sf_count_t)frames), (sf_count_t)frames);
    free(samples);
    ck_assert_int_eq(sf_close(file), 0);
}

struct sound sound_load(const char *name)
{
    char path[PATH_SIZE];
    SF_INFO info = {0};
    SNDFILE *file = sf_open(path_of(name, path), SFM_READ, &info);
    ck_assert_msg(file != NULL, "cannot read %s: %s", name, sf_strerror(NULL));
    size_t channels = (size_t)info.channels, frames = (size_t)info.frames;
    struct sound sound = sound_create(info.format, (uint32_t)info.samplerate, channels, frames);
    float *samples = interleaved(channels, frames);
    sf_count_t read = sf_readf_float(file, samples, (sf_count_t)frames);
    ck_assert_msg(read == (sf_count_t)frames, "%s ends at frame %lld of %zu", name, (long long)read,
                  frames);
    for (size_t i = 0; i < frames * channels; i++)
        sound.block.data[i % channels][i / channels] = samples[i];
    free(samples);
    sf_close(file);
    return sound;
}

struct sound sound_noise(const char *name, uint64_t seed, int format, uint32_t rate,
                         size_t channels, size_t frames)
{
    struct sound sound = sound_create(format, rate, channels, frames);
    for (size_t c = 0; c < channels; c++) {
        truth_noise(seed * 1000 + c, sound.block.data[c], frames);
        for (size_t i = 0; i < frames; i++)
            sound.block.data[c][i] *= 0.5f;
    }
    sound_save(&sound, name);
    return sound_load(name);
}

void sound_noise_file(const char *name, uint64_t seed, int format, uint32_t rate, size_t channels,
                      size_t frames)
{
    (void)sound_noise(name, seed, format, rate, channels, frames);
}

static void put(unsigned char *at, uint32_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

void sound_sparse(const char *name, uint32_t rate, size_t channels, uint64_t frames)
{
    char path[PATH_SIZE];
    unsigned char head[44] = "RIFF....WAVEfmt ....................data....";
    uint64_t bytes = frames * channels * 2;
    ck_assert_uint_le(bytes, UINT32_MAX - 36);
    put(head + 4, (uint32_t)bytes + 36, 4);
    put(head + 16, 16, 4);
    put(head + 20, 1, 2);
    put(head + 22, (uint32_t)channels, 2);
    put(head + 24, rate, 4);
    put(head + 28, rate * (uint32_t)channels * 2, 4);
    put(head + 32, (uint32_t)channels * 2, 2);
    put(head + 34, 16, 2);
    put(head + 40, (uint32_t)bytes, 4);
    FILE *file = fopen(path_of(name, path), "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(head, 1, sizeof head, file), sizeof head);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(truncate(path, (off_t)(sizeof head + bytes)), 0);
}

struct sound sound_noise_mask(const char *name, uint64_t seed, size_t channels, size_t taps)
{
    return sound_noise(name, seed, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, channels, taps);
}

void sound_text(const char *name, const char *text)
{
    char path[PATH_SIZE];
    FILE *file = fopen(path_of(name, path), "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

struct mask *sound_mask(const struct sound *columns, const struct mask_path *paths, size_t count,
                        size_t channels)
{
    struct mask *mask = NULL;
    size_t capacity = count ? count : channels;
    ck_assert_int_eq(mask_create("truth", columns->block.channels, columns->block.frames, &mask),
                     STATUS_OK);
    for (size_t c = 0; c < columns->block.channels; c++)
        for (size_t k = 0; k < mask->taps; k++)
            mask_column(mask, c)[k] = (double)columns->block.data[c][k];
    mask->paths = calloc(capacity, sizeof *mask->paths);
    ck_assert_ptr_nonnull(mask->paths);
    for (; mask->path_count < capacity; mask->path_count++) {
        size_t p = mask->path_count;
        struct mask_path own = {p, p, mask->columns == 1 ? 0 : p};
        struct mask_path path = count ? paths[p] : own;
        mask->paths[p] = path;
        mask->inputs = path.input < mask->inputs ? mask->inputs : path.input + 1;
        mask->outputs = path.output < mask->outputs ? mask->outputs : path.output + 1;
    }
    return suite_mask(mask);
}

int sound_format_of(const struct sound *sound)
{
    int major = sound->format & SF_FORMAT_TYPEMASK;
    if (major == SF_FORMAT_WAVEX)
        major = SF_FORMAT_WAV;
    return major | (sound->format & SF_FORMAT_SUBMASK);
}

void sound_expect_format(const struct sound *sound, int format, uint32_t rate, size_t channels,
                         size_t frames)
{
    ck_assert_msg(sound_format_of(sound) == format, "format %#x, not %#x", sound_format_of(sound),
                  format);
    ck_assert_uint_eq(sound->rate, rate);
    ck_assert_uint_eq(sound->block.channels, channels);
    ck_assert_uint_eq(sound->block.frames, frames);
}

void sound_expect_same(const struct sound *a, const struct sound *b)
{
    ck_assert_uint_eq(a->block.channels, b->block.channels);
    ck_assert_uint_eq(a->block.frames, b->block.frames);
    for (size_t c = 0; c < a->block.channels; c++)
        for (size_t i = 0; i < a->block.frames; i++)
            ck_assert_msg(a->block.data[c][i] == b->block.data[c][i],
                          "channel %zu, frame %zu: %.9g, not %.9g", c, i,
                          (double)a->block.data[c][i], (double)b->block.data[c][i]);
}

void sound_expect_cables(const char *name)
{
    enum { CABLES = 2 };
    struct sound got = sound_load(name);
    ck_assert_uint_eq(got.block.channels, CABLES * CABLES);
    for (size_t c = 0; c < CABLES * CABLES; c++) {
        double real = 0, imaginary = 0; /* the gain at 1 kHz */
        for (size_t i = 0; i < got.block.frames; i++) {
            double turn = 2 * M_PI * 1000 * (double)i / got.rate;
            real += (double)got.block.data[c][i] * cos(turn);
            imaginary += (double)got.block.data[c][i] * sin(turn);
        }
        ck_assert_double_eq_tol(hypot(real, imaginary), c == 0 || c == CABLES + 1 ? 1 : 0, 1e-3);
    }
}

void sound_expect_truth(const struct sound *out, const struct mask *mask, const struct block *in,
                        size_t first)
{
    ck_assert_uint_eq(out->block.channels, mask->outputs);
    ck_assert_uint_ge(in->channels, mask->inputs);
    ck_assert_uint_le(first + out->block.frames, in->frames + mask->taps - 1);
    double **truth = truth_render(mask, in->data, in->frames);
    double **from = calloc(mask->outputs, sizeof *from);
    ck_assert_ptr_nonnull(from);
    for (size_t o = 0; o < mask->outputs; o++)
        from[o] = truth[o] + first;
    struct truth_error error = stream_error(&out->block, from, mask, in);
    free(from);
    ck_assert_msg(truth_error_bound_db(&error) <= -130, "the error is %.1f dB of max|x| sum|h|",
                  truth_error_bound_db(&error));
}

void sound_expect_filtered(const char *out_name, const char *in_name, const char *mask_name)
{
    struct sound out = sound_load(out_name), in = sound_load(in_name),
                 columns = sound_load(mask_name);
    struct mask *mask = sound_mask(&columns, NULL, 0, in.block.channels);
    ck_assert_uint_eq(out.block.frames, in.block.frames + mask->taps - 1);
    sound_expect_truth(&out, mask, &in.block, 0);
}

double sound_libebur128_loudness(const struct sound *sound)
{
    size_t channels = sound->block.channels;
    ebur128_state *state = ebur128_init((unsigned)channels, sound->rate, EBUR128_MODE_I);
    double level = 0;
    size_t frames = sound->block.frames;
    float *interleaved = audio_alloc(frames * channels + 1);
    ck_assert_ptr_nonnull(interleaved);
    audio_interleave((const float *const *)sound->block.data, 0, channels, frames, interleaved);
    ck_assert_ptr_nonnull(state);
    ck_assert_int_eq(ebur128_add_frames_float(state, interleaved, frames), EBUR128_SUCCESS);
    free(interleaved);
    ck_assert_int_eq(ebur128_loudness_global(state, &level), EBUR128_SUCCESS);
    ebur128_destroy(&state);
    return level;
}

double sound_ffmpeg_loudness(const char *name)
{
    double value;
    struct command_result result =
        command_done("ffmpeg -nostdin -v error -i \"%s\" "
                     "-af ebur128=metadata=1,ametadata=print:key=lavfi.r128.I:file=- -f null - | "
                     "sed -n 's/^lavfi[^=]*=//p' | tail -n 1",
                     name);
    ck_assert_msg(sscanf(result.out, "%lf", &value) == 1, "ffmpeg printed: %s", result.out);
    return value;
}
