/* Ports and their parts: sound files, boundary modes, spool, memory, quantising. */
#include "base/noise.h"
#include "command.h"
#include "sound.h"
#include "sound/port.h"
#include "stream.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The textbook's index of extended frame `i` of a sound of `n` frames; n: silence. */
static size_t boundary_index(enum boundary boundary, int64_t i, int64_t n)
{
    if (n == 0 || (boundary == BOUNDARY_ZERO && (i < 0 || i >= n)))
        return (size_t)n;
    if (boundary == BOUNDARY_REPLICATE)
        return (size_t)(i < 0 ? 0 : i >= n ? n - 1 : i);
    if (boundary == BOUNDARY_WRAP)
        return (size_t)((i % n + n) % n);
    while (n > 1 && (i < 0 || i >= n))
        i = i < 0 ? -i : 2 * (n - 1) - i;
    return (size_t)(n > 1 ? i : 0);
}

static void check_boundary(enum boundary boundary, size_t n, size_t before, size_t after,
                           size_t block)
{
    struct block sound = stream_noise(n, 2, n), in;
    struct source *inner, *source;
    ck_assert_int_eq(source_open_memory(&sound, 48000, &inner), STATUS_OK);
    ck_assert_int_eq(source_open_boundary(inner, boundary, before, after, &source), STATUS_OK);
    ck_assert_int_eq(source->frames, (int64_t)(before + n + after));
    in = stream_block(2, block);
    size_t at = 0, got;
    do {
        ck_assert_int_eq(source_read(source, in.data, block, &got), STATUS_OK);
        for (size_t i = 0; i < got; i++)
            for (size_t c = 0; c < 2; c++) {
                size_t index =
                    boundary_index(boundary, (int64_t)(at + i) - (int64_t)before, (int64_t)n);
                float expected = index < n ? sound.data[c][index] : 0;
                ck_assert_msg(in.data[c][i] == expected,
                              "edge %d, %zu frames, %zu before, blocks of %zu: frame %zu", boundary,
                              n, before, block, at + i);
            }
        at += got;
    } while (got == block);
    ck_assert_uint_eq(at, before + n + after);
    source_close(source);
}

START_TEST(boundaries_follow_the_textbook)
{
    const size_t lengths[] = {0, 1, 2, 7, 100}, around[] = {0, 1, 5, 99, 333},
                 blocks[] = {1, 8, 1000};
    for (enum boundary boundary = BOUNDARY_ZERO; boundary <= BOUNDARY_WRAP; boundary++)
        for (size_t n = 0; n < 5; n++)
            for (size_t a = 0; a < 5; a++)
                for (size_t b = 0; b < 3; b++)
                    check_boundary(boundary, lengths[n], around[a], around[4 - a], blocks[b]);
}

START_TEST(spool_returns_its_content)
{
    enum { N = 100001 };
    struct block sound = stream_noise(1, 3, N), back;
    struct source *like, *source;
    struct sink *sink;
    size_t got;
    ck_assert_int_eq(source_open_memory(&sound, 48000, &like), STATUS_OK);
    ck_assert_int_eq(spool_open(NULL, like, 3, &sink, &source), STATUS_OK);
    ck_assert_int_eq(sink_write(sink, (const float *const *)sound.data, N), STATUS_OK);
    ck_assert_int_eq(sink_commit(sink), STATUS_OK);
    sink_close(sink);
    back = stream_block(3, N + 10);
    ck_assert_int_eq(source_read(source, back.data, N + 10, &got), STATUS_OK);
    ck_assert_uint_eq(got, N);
    for (size_t c = 0; c < 3; c++)
        ck_assert_mem_eq(back.data[c], sound.data[c], N * sizeof(float));
    source_close(source);
    source_close(like);
}

/* In blocks, the last of which is not full. */
static void check_read(const char *name)
{
    enum { BLOCK = 40000 };
    struct sound wanted = sound_load(name);
    const struct block *block = &wanted.block;
    struct source *source;
    struct block in;
    char path[256];
    size_t at = 0, got;
    snprintf(path, sizeof path, "%s/%s", command_folder(), name);
    ck_assert_int_eq(source_open_sound(path, false, &source), STATUS_OK);
    in = stream_block(block->channels, BLOCK);
    do {
        ck_assert_int_eq(source_read(source, in.data, BLOCK, &got), STATUS_OK);
        for (size_t c = 0; c < block->channels; c++)
            ck_assert_msg(memcmp(in.data[c], block->data[c] + at, got * sizeof(float)) == 0,
                          "%s: channel %zu after frame %zu", name, c + 1, at);
        at += got;
    } while (got == BLOCK);
    ck_assert_uint_eq(at, block->frames);
    source_close(source);
}

/* Those of 16 bits, most of which are read as integers; full scale among them, and a bit more. */
START_TEST(files_are_read_as_libsndfile_reads_them)
{
    static const struct {
        const char *name;
        int format;
    } rows[] = {
        {"a.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16},
        {"b.aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_16},
        {"c.au", SF_FORMAT_AU | SF_FORMAT_PCM_16},
        {"d.caf", SF_FORMAT_CAF | SF_FORMAT_PCM_16},
        {"e.caf", SF_FORMAT_CAF | SF_FORMAT_ALAC_16},
        {"f.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16},
        {"g.w64", SF_FORMAT_W64 | SF_FORMAT_PCM_16},
        {"h.rf64", SF_FORMAT_RF64 | SF_FORMAT_PCM_16},
        {"i.wav", SF_FORMAT_WAVEX | SF_FORMAT_PCM_16},
        {"j.mat", SF_FORMAT_MAT4 | SF_FORMAT_PCM_16},
        {"k.voc", SF_FORMAT_VOC | SF_FORMAT_PCM_16},
        {"l.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_24},
        {"m.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_U8},
        {"n.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_24},
        {"o.wav", SF_FORMAT_WAV | SF_FORMAT_IMA_ADPCM},
        {"p.wav", SF_FORMAT_WAV | SF_FORMAT_ULAW},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t channels = 1; channels <= 2; channels++) {
            struct sound sound = sound_create(rows[i].format, 16000, channels, 100003);
            for (size_t c = 0; c < channels; c++)
                for (size_t k = 0; k < sound.block.frames; k++)
                    sound.block.data[c][k] = 1.1F * noise_next(&(uint64_t){k * channels + c});
            sound_save(&sound, rows[i].name);
            check_read(rows[i].name);
        }
}

/* From `from` on but for the last `less`, and then these: by `workers` the same as by libsndfile.
 */
static void check_parts(const char *name, size_t from, size_t less, struct workers *workers)
{
    char path[256];
    struct source *source[2];
    struct block_in_double read[2];
    size_t got;
    snprintf(path, sizeof path, "%s/%s", command_folder(), name);
    for (size_t s = 0; s < 2; s++) {
        ck_assert_int_eq(source_open_sound(path, false, &source[s]), STATUS_OK);
        size_t frames = (size_t)source[s]->frames - from - less;
        source[s]->workers = s > 0 ? workers : NULL;
        ck_assert_int_eq(
            block_init_in_double(&read[s], source[s]->format.channels, frames + less, "block"),
            STATUS_OK);
        if (from > 0)
            ck_assert_int_eq(source_seek(source[s], from), STATUS_OK);
        ck_assert_int_eq(source_read_in_double(source[s], read[s].data, frames, &got), STATUS_OK);
        ck_assert_uint_eq(got, frames);
        for (size_t c = 0; c < read[s].channels; c++)
            read[s].data[c] += frames;
        ck_assert_int_eq(source_read_in_double(source[s], read[s].data, less, &got), STATUS_OK);
        ck_assert_uint_eq(got, less);
        for (size_t c = 0; c < read[s].channels; c++)
            read[s].data[c] -= frames;
        source_close(source[s]);
    }
    for (size_t c = 0; c < read[0].channels; c++)
        ck_assert_msg(
            memcmp(read[1].data[c], read[0].data[c], read[0].frames * sizeof *read[0].data[c]) == 0,
            "%s from %zu: channel %zu", name, from, c + 1);
    block_free_in_double(&read[0]);
    block_free_in_double(&read[1]);
}

/* Parts that threads read at once, of samples that single precision holds and others. */
START_TEST(parts_are_read_as_the_whole)
{
    static const struct {
        const char *name;
        int format;
    } rows[] = {
        {"a.wav", SF_FORMAT_WAV | SF_FORMAT_FLOAT},
        {"b.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16},
        {"c.aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_24},
        {"d.caf", SF_FORMAT_CAF | SF_FORMAT_PCM_32},
        {"e.w64", SF_FORMAT_W64 | SF_FORMAT_DOUBLE},
        {"f.au", SF_FORMAT_AU | SF_FORMAT_FLOAT},
        {"g.rf64", SF_FORMAT_RF64 | SF_FORMAT_PCM_U8},
        {"h.wav", SF_FORMAT_WAV | SF_FORMAT_ULAW},
        {"i.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_24},
        {"j.wav", SF_FORMAT_WAV | SF_FORMAT_IMA_ADPCM},
    };
    static const size_t channels[] = {1, 2, 7, 38};
    struct workers *workers;
    ck_assert_int_eq(workers_create(3, &workers), STATUS_OK);
    command_clean();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t n = 0; n < sizeof channels / sizeof *channels; n++) {
            int samples = rows[i].format & SF_FORMAT_SUBMASK;
            bool is_few = samples == SF_FORMAT_IMA_ADPCM ? channels[n] <= 2 : channels[n] <= 8;
            bool holds_many = samples != SF_FORMAT_IMA_ADPCM &&
                              (rows[i].format & SF_FORMAT_TYPEMASK) != SF_FORMAT_FLAC;
            if (!is_few && !holds_many)
                continue;
            size_t frames = (1 << 20) / channels[n] + 4321;
            struct sound sound = sound_create(rows[i].format, 16000, channels[n], frames);
            for (size_t c = 0; c < channels[n]; c++)
                for (size_t k = 0; k < frames; k++)
                    sound.block.data[c][k] = noise_next(&(uint64_t){k * channels[n] + c});
            sound_save(&sound, rows[i].name);
            check_parts(rows[i].name, 0, 0, workers);
            check_parts(rows[i].name, 0, 777, workers);
            if (samples != SF_FORMAT_IMA_ADPCM)
                check_parts(rows[i].name, 1234, 5, workers);
        }
    workers_destroy(workers);
}

/* A file that shrinks after it was opened. */
START_TEST(parts_that_are_missing_are_found)
{
    enum { CHANNELS = 4, FRAMES = (1 << 18) + 99 };
    char path[256];
    size_t got;
    struct workers *workers;
    struct source *source;
    struct block_in_double in;
    ck_assert_int_eq(workers_create(3, &workers), STATUS_OK);
    struct sound sound = sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, 16000, CHANNELS, FRAMES);
    sound_save(&sound, "a.wav");
    ck_assert_int_eq(block_init_in_double(&in, CHANNELS, FRAMES, "block"), STATUS_OK);
    snprintf(path, sizeof path, "%s/a.wav", command_folder());
    ck_assert_int_eq(source_open_sound(path, false, &source), STATUS_OK);
    source->workers = workers;
    ck_assert_int_eq(truncate(path, 4 * CHANNELS * (FRAMES - 7)), 0);
    ck_assert_int_eq(source_read_in_double(source, in.data, FRAMES, &got), STATUS_FAILED);
    ck_assert_uint_lt(got, FRAMES);
    source_close(source);
    block_free_in_double(&in);
    workers_destroy(workers);
}
