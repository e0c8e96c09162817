/* Every OUT opens, whatever is around its samples: container by container by kind and size of
 * metadata, opened by libsndfile, sox and ffmpeg. HALO_TEST_FULL: all sizes through all pairs. */
#include "base/atomic_file.h"
#include "command.h"
#include "sound/port.h"
#include "suite.h"

#include <sndfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES = 500, CHANNELS = 2, RATE = 48000, BYTES = 2 * CHANNELS * FRAMES };

static const struct container {
    const char *name;
    int format;
    enum metadata_family family;
    size_t most; /* bytes of metadata; 0: any */
    bool is_lossy;
    bool has_sox; /* reads it on all systems */
} containers[] = {
    {"wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, FAMILY_RIFF, .has_sox = true},
    {"rf64", SF_FORMAT_RF64 | SF_FORMAT_PCM_16, FAMILY_RIFF, .has_sox = true},
    {"w64", SF_FORMAT_W64 | SF_FORMAT_PCM_16, FAMILY_RIFF, .most = 30000, .has_sox = true},
    {"aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_16, FAMILY_AIFF, .has_sox = true},
    {"caf", SF_FORMAT_CAF | SF_FORMAT_PCM_16, FAMILY_CAF, .has_sox = true},
    {"flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, FAMILY_RIFF, .has_sox = true},
    {"ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS, FAMILY_RIFF, .most = 5000000, .is_lossy = true,
     .has_sox = true},
    {"opus", SF_FORMAT_OGG | SF_FORMAT_OPUS, FAMILY_RIFF, .most = 30000, .is_lossy = true},
#ifdef HALO_SNDFILE_MP3
    {"mp3", SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, FAMILY_RIFF, .is_lossy = true},
#endif
};
enum { CONTAINERS = sizeof containers / sizeof *containers };

enum kind { TEXT, PICTURE, MARKERS, BEXT, IXML, UNKNOWN, KINDS };

/* ---- metadata ---- */

static void add_markers(struct sound_metadata *metadata, size_t size)
{
    size_t count = size / 24 < 3000 ? size / 24 : 3000;
    for (size_t i = 0; i < count; i++) {
        struct metadata_marker *marker;
        ck_assert_int_eq(metadata_add_marker(metadata, (uint32_t)i + 1, &marker), STATUS_OK);
        marker->frame = i % FRAMES;
        marker->placed = true;
        ck_assert_int_eq(metadata_set(metadata, marker, &marker->label, "a label", 7), STATUS_OK);
    }
}

static void add_picture(struct sound_metadata *metadata, const char *bytes, size_t size)
{
    struct metadata_buffer block = {0};
    metadata_put_big(&block, 3, 4);
    metadata_put_big(&block, 9, 4);
    metadata_put(&block, "image/png", 9);
    metadata_put(&block, (const char[20]){0}, 20); /* no description, no sizes */
    metadata_put_big(&block, size, 4);
    metadata_put(&block, bytes, size);
    ck_assert_int_eq(metadata_add_picture(metadata, block.bytes, block.size), STATUS_OK);
    free(block.bytes);
}

static struct sound_metadata *make(enum kind kind, size_t size, enum metadata_family family)
{
    static const char *const unknown[] = {
        [FAMILY_RIFF] = "wxyz", [FAMILY_AIFF] = "APPL", [FAMILY_CAF] = "uuid"};
    struct sound_metadata *metadata;
    char *text = malloc(size + 1000);
    memset(text, 'x', size + 1000);
    ck_assert_int_eq(metadata_create(&metadata), STATUS_OK);
    metadata->origin = family;
    if (kind == TEXT)
        ck_assert_int_eq(metadata_add_text(metadata, "COMMENT", 7, text, size), STATUS_OK);
    if (kind == PICTURE)
        add_picture(metadata, text, size);
    if (kind == MARKERS)
        add_markers(metadata, size);
    if (kind == BEXT)
        ck_assert_int_eq(metadata_add_chunk(metadata, FAMILY_RIFF, "bext", text, 602 + size),
                         STATUS_OK);
    if (kind == IXML)
        ck_assert_int_eq(metadata_add_chunk(metadata, FAMILY_RIFF, "iXML", text, size), STATUS_OK);
    if (kind == UNKNOWN)
        ck_assert_int_eq(metadata_add_chunk(metadata, family, unknown[family], text, size),
                         STATUS_OK);
    free(text);
    return metadata;
}

/* Whether a container keeps it, by docs/files.md. */
static bool has_place(enum kind kind, size_t size, const struct container *from,
                      const struct container *to)
{
    int major = to->format & SF_FORMAT_TYPEMASK;
    bool has_chunks = major != SF_FORMAT_OGG && to->format >> 16 != 0x23; /* MPEG */
    bool is_riff = has_chunks && to->family == FAMILY_RIFF;
    if (major == SF_FORMAT_W64 && size == 0) /* an empty chunk */
        return false;
    if ((to->most && size > to->most) || (from->most && size > from->most))
        return false;
    if (major == SF_FORMAT_FLAC && size > 8000000 && kind != TEXT)
        return true;
    switch (kind) {
    case TEXT:
        return true;
    case PICTURE:
        return major != SF_FORMAT_CAF && (from->format & SF_FORMAT_TYPEMASK) != SF_FORMAT_CAF;
    case MARKERS:
        return has_chunks;
    case UNKNOWN:
        return has_chunks && major != SF_FORMAT_W64 && from->family == to->family;
    default:
        return is_riff;
    }
}

static bool is_kept(const struct sound_metadata *metadata)
{
    bool kept = true;
    for (size_t i = 0; i < metadata->text_count; i++)
        kept &= metadata->texts[i].kept;
    for (size_t i = 0; i < metadata->picture_count; i++)
        kept &= metadata->pictures[i].kept;
    for (size_t i = 0; i < metadata->marker_count; i++)
        kept &= metadata->markers[i].kept;
    for (size_t i = 0; i < metadata->chunk_count; i++)
        kept &= metadata->chunks[i].kept;
    return kept;
}

/* ---- files ---- */

static void write_file(const char *name, int format, struct sound_metadata *metadata)
{
    static float samples[FRAMES];
    struct sink *sink;
    struct sink_settings settings = {.path = command_path(name),
                                     .format = {.rate = RATE, .channels = CHANNELS},
                                     .sound_format = format,
                                     .frames = FRAMES,
                                     .force = true};
    if (!sink_puts_metadata_after(&settings))
        settings.metadata = metadata;
    ck_assert_int_eq(sink_open_sound(&settings, &sink), STATUS_OK);
    for (size_t i = 0; i < FRAMES; i++)
        samples[i] = 0.01F * (float)(i % 50);
    ck_assert_int_eq(sink_write(sink, (const float *const[]){samples, samples}, FRAMES), STATUS_OK);
    if (sink->takes_metadata)
        ck_assert_int_eq(sink_put_metadata(sink, metadata), STATUS_OK);
    enum status status = sink_commit(sink);
    ck_assert_msg(status == STATUS_OK, "%s", name);
    sink_close(sink);
}

static void expect_opens(const char *name)
{
    SF_INFO info = {0};
    SNDFILE *file = sf_open(command_path(name), SFM_READ, &info);
    ck_assert_msg(file != NULL, "%s: %s", name, sf_strerror(NULL));
    sf_close(file);
    ck_assert_msg(info.frames == FRAMES && info.channels == CHANNELS && info.samplerate == RATE,
                  "%s: %ld frames", name, (long)info.frames);
}

static void read_metadata(const char *name, struct source **source)
{
    ck_assert_int_eq(source_open_sound(command_path(name), false, source), STATUS_OK);
    ck_assert_int_eq(source_read_metadata(*source), STATUS_OK);
}

/* All files of the folder at once. */
static void expect_others_open(void)
{
    command_done("mkdir raw; soxi -s $(ls | grep -v -e opus$ -e mp3$ -e raw) >frames && "
                 "! grep -v -x %d frames",
                 FRAMES);
    command_done(
        "rm frames; n=0; in=; out=; for f in *.*; do in=\"$in -i $f\"; "
        "out=\"$out -map $n:a -f s16le raw/$f\"; n=$((n+1)); done; "
        "ffmpeg -v error -threads 1 $in $out </dev/null 2>err; ! grep -v -e PNG -e picture err >&2");
    for (size_t i = 0; i < CONTAINERS; i++)
        command_done("for f in raw/*.%s; do [ -s $f ] || exit 1; done", containers[i].name);
    for (size_t i = 0; i < CONTAINERS; i++)
        if (!containers[i].is_lossy)
            command_done("! stat -c %%s raw/*.%s | grep -v -x %d", containers[i].name, BYTES);
}

static void try_size(enum kind kind, size_t size, bool through)
{
    char name[64];
    for (size_t i = 0; i < CONTAINERS; i++) {
        const struct container *from = &containers[i];
        struct sound_metadata *metadata = make(kind, size, from->family);
        snprintf(name, sizeof name, "%zu.%s", size, from->name);
        write_file(name, from->format, metadata);
        expect_opens(name);
        ck_assert_msg(is_kept(metadata) || !has_place(kind, size, from, from),
                      "%s loses kind %d of %zu", from->name, kind, size);
        metadata_destroy(metadata);
        for (size_t k = 0; through && k < CONTAINERS; k++) {
            const struct container *to = &containers[k];
            struct source *source;
            char out[64];
            read_metadata(name, &source);
            snprintf(out, sizeof out, "%zu-%s.%s", size, from->name, to->name);
            write_file(out, to->format, source->traits.metadata);
            expect_opens(out);
            ck_assert_msg(is_kept(source->traits.metadata) || !has_place(kind, size, from, to),
                          "%s loses kind %d of %zu of %s", to->name, kind, size, from->name);
            source_close(source);
        }
    }
}

START_TEST(every_output_opens)
{
    static const size_t sizes[] = {0, 7, 9001, 70001, 300000, 1000001, 8000000};
    bool full = getenv("HALO_TEST_FULL") != NULL;
    ck_assert_int_eq(atomic_file_no_sync(NULL, NULL, NULL), STATUS_OK);
    for (int kind = 0; kind < KINDS; kind++) {
        command_clean();
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            if (full || i == 3 || i == 5 || i == (size_t)kind % 3)
                try_size((enum kind)kind, sizes[i], i == 3 || (full && i < 5));
        expect_others_open();
    }
}

/* Padding and remains behind the last chunk, whose names are not printable. */
START_TEST(what_is_no_chunk_is_left)
{
    static const char tails[][24] = {"", "TAG", "ID3\3\0\0\0\0\0\12", "\1\2\3\4\4", "wxy\377\1\1"};
    static const char *const outs[] = {"out.wav", "out.rf64", "out.w64"};
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++)
        for (size_t k = 0; k < sizeof outs / sizeof *outs; k++) {
            struct sound_metadata *none = make(KINDS, 0, FAMILY_RIFF);
            struct source *source;
            command_clean();
            write_file("in.wav", containers[0].format, none);
            metadata_destroy(none);
            FILE *file = fopen(command_path("in.wav"), "ab");
            ck_assert(file && fwrite(tails[i], sizeof *tails, 1, file) == 1 && fclose(file) == 0);
            read_metadata("in.wav", &source);
            ck_assert_uint_eq(source->traits.metadata->chunk_count, 0);
            write_file(outs[k], containers[k].format, source->traits.metadata);
            expect_opens(outs[k]);
            source_close(source);
        }
}

START_TEST(damaged_pictures_are_losses)
{
    static const unsigned char lengths[] = {0, 0, 0, 3, 0, 0, 1, 0};
    struct sound_metadata *metadata = make(KINDS, 0, FAMILY_RIFF);
    for (size_t size = 0; size <= sizeof lengths; size++)
        ck_assert_int_eq(metadata_add_picture(metadata, lengths, size), STATUS_OK);
    ck_assert_uint_eq(metadata->picture_count, 0);
    ck_assert_uint_eq(metadata->loss_count, sizeof lengths + 1);
    metadata_destroy(metadata);
}

/* What libsndfile does not open: the kind is left out, and no other. */
START_TEST(what_breaks_a_file_is_left_out)
{
    struct sound_metadata *metadata = make(TEXT, 100, FAMILY_AIFF);
    command_clean();
    ck_assert_int_eq(metadata_add_chunk(metadata, FAMILY_AIFF, "COMT", "2,000 of them? no", 17),
                     STATUS_OK);
    write_file("out.aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_16, metadata);
    expect_opens("out.aiff");
    ck_assert(metadata->texts[0].kept && !metadata->chunks[0].kept);
    ck_assert_uint_eq(metadata->without, METADATA_OTHERS);
    metadata_destroy(metadata);
}
