/* Masks of headerless samples: in a format that the user names, or by the name of the file `.dbl`
 * (Acourate, rePhase: little-endian float64) and `.pcm` (DRC: little-endian float32), both of one
 * channel and unknown rate. */
#include "mask/mask.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
    const char *suffix;
    const char *format;
} suffixes[] = {{".dbl", "F64_LE"}, {".pcm", "F32_LE"}};

/* Text or WAV of such a name. */
static bool is_other(FILE *stream)
{
    char head[4];
    bool other = fread(head, sizeof head, 1, stream) == 1 &&
                 (memcmp(head, "RIFF", 4) == 0 || memcmp(head, "RF64", 4) == 0);
    mask_file_restart(stream);
    return other || mask_looks_like_text(stream);
}

static const struct raw_format *format_for(const char *file)
{
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (mask_file_ends_with(file, suffixes[i].suffix))
            return raw_format_named(suffixes[i].format);
    return NULL;
}

static enum status count_frames(const char *file, FILE *stream, const struct raw_layout *raw,
                                uint64_t *frames)
{
    struct stat about;
    if (fstat(fileno(stream), &about) != 0)
        return fail_errno(errno, "cannot read mask %s", file);
    uint64_t size = (uint64_t)about.st_size, frame = raw->format->bytes * raw->channels;
    if (raw->skip >= size)
        return fail(CAUSE_DAMAGED, "cannot read mask %s: it ends before byte %llu", file,
                    (unsigned long long)raw->skip);
    size -= raw->skip;
    if (raw->most && raw->most < size)
        size = raw->most;
    if (size % frame != 0)
        return fail(CAUSE_DAMAGED,
                    "cannot read mask %s: its %llu bytes are not a whole number of frames of %zu "
                    "channels in %s; see raw= and channels=",
                    file, (unsigned long long)size, raw->channels, raw->format->name);
    *frames = size / frame;
    return STATUS_OK;
}

static enum status read_samples(const char *file, FILE *stream, const struct raw_layout *raw,
                                struct mask *mask)
{
    if (fseeko(stream, (off_t)raw->skip, SEEK_SET) != 0)
        return fail_errno(errno, "cannot read mask %s", file);
    for (size_t k = 0; k < mask->taps; k++)
        for (size_t c = 0; c < mask->columns; c++) {
            unsigned char sample[8];
            if (fread(sample, raw->format->bytes, 1, stream) != 1)
                return fail(CAUSE_DAMAGED,
                            "cannot read mask %s: it was truncated while it was read", file);
            mask_column(mask, c)[k] = raw_format_decode(raw->format, sample);
        }
    return STATUS_OK;
}

static enum status is_raw(const char *file, FILE *stream, const struct mask_load_options *options,
                          bool *mine)
{
    *mine = options->raw.format || (format_for(file) && !is_other(stream));
    return STATUS_OK;
}

static enum status read_raw(const char *file, FILE *stream, const struct mask_load_options *options,
                            struct mask **mask)
{
    struct raw_layout raw = options->raw;
    if (!raw.format)
        raw.format = format_for(file);
    if (raw.channels == 0)
        raw.channels = 1;
    uint64_t frames = 0;
    TRY(count_frames(file, stream, &raw, &frames));
    TRY(mask_create(file, raw.channels, frames, mask));
    (*mask)->rate = raw.rate;
    return read_samples(file, stream, &raw, *mask);
}

const struct mask_reader mask_reader_raw = {
    .kind = "raw samples",
    .is_mine = is_raw,
    .read = read_raw,
};
