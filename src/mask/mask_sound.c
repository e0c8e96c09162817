/* Masks from sound files: a channel is a column. */
#include "mask/mask.h"

#include "sound/port.h"
#include "sound/sndfile_library.h"
#include "sound/sound_format.h"
#include "sound/sound_io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Which no other kind of mask begins like. */
static bool begins_as_wav(int fd)
{
    unsigned char head[12];
    return pread(fd, head, sizeof head, 0) == sizeof head && stream_header_is_wav(head);
}

static enum status is_sound(const char *name, FILE *stream, const struct mask_load_options *options,
                            bool *mine)
{
    (void)options;
    SF_INFO info = {0};
    struct sound_io io;
    *mine = true;
    if (!library_is_there(&sndfile_library) || begins_as_wav(fileno(stream)))
        return STATUS_OK; /* who reads it says why not */
    sound_io_begin(&io, fileno(stream));
    SNDFILE *file = sound_io_open(&io, SFM_READ, &info);
    bool other = !file && !io.error && io.open_error == SF_ERR_UNRECOGNISED_FORMAT;
    struct foreign_sound foreign;
    if (other && foreign_sound_recognise_file(fileno(stream), &foreign))
        other = false; /* who reads it says how to convert it */
    if (file)
        sf_close(file);
    bool restarted = lseek(fileno(stream), 0, SEEK_SET) == 0;
    *mine = !other || !restarted; /* broken sound files are not text */
    return io.error == ENOMEM ? fail_errno(ENOMEM, "cannot read mask %s", name) : STATUS_OK;
}

static enum status read_columns(const char *file, struct source *source, struct mask **result)
{
    if (source->frames == 0)
        return fail(CAUSE_DAMAGED, "cannot use mask %s: it has no tap", file);
    if (source->frames < 0)
        return fail(CAUSE_UNSUPPORTED,
                    "cannot use mask %s: it does not say how long it is; convert it to WAV", file);
    TRY(mask_create_unset(file, source->format.channels, (uint64_t)source->frames, result));
    struct mask *mask = *result; /* destroyed by mask_load_with after an error */
    mask->rate = source->format.rate;
    mask->layout = source->format.layout;
    mask->sound_format = source->traits.format;
    double **columns = malloc(mask->columns * sizeof *columns);
    if (!columns)
        return fail_memory("a mask");
    for (size_t c = 0; c < mask->columns; c++)
        columns[c] = mask_column(mask, c);
    size_t got;
    enum status status = source_read_in_double(source, columns, mask->taps, &got);
    free(columns);
    if (status == STATUS_OK && got < mask->taps)
        status = fail(CAUSE_DAMAGED, "cannot use mask %s: it ends after %zu of %zu taps", file, got,
                      mask->taps);
    return status;
}

static enum status read_sound(const char *file, FILE *stream,
                              const struct mask_load_options *options, struct mask **mask)
{
    (void)stream;
    struct source *source;
    TRY(source_open_sound(file, options->allow_truncated, &source));
    if (source->length_is_open)
        source_note_open_length(file);
    source->workers = options->workers;
    enum status status = read_columns(file, source, mask);
    source_close(source);
    return status;
}

const struct mask_reader mask_reader_sound = {
    .kind = "sound",
    .is_mine = is_sound,
    .read = read_sound,
};
