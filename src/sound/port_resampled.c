/* A sound at another rate, by libsoxr. Seeks do not change the output: resampling restarts at a
 * frame that both rates share, early enough for the filter to settle.
 *
 * Compiled for each precision. */
#include "signal/real.h"
#include "sound/port.h"

#include "sound/soxr_library.h"

#include <limits.h>
#include <stdlib.h>

enum {
    RING = 4096,  /* reach of the resampler's filter, in frames of the lower rate */
    CHUNK = 4096, /* frames resampled at a time */
    SOXR_BYTES = 1 << 21,
};

struct resampled {
    struct source source;
    struct source *inner;
    uint64_t up, down; /* ratio of the rates in lowest terms */
    soxr_t soxr;
    struct real_block chunk; /* frames read from the inner sound */
    size_t from, held;       /* pending frames of `chunk` */
    bool ended;              /* the inner sound has ended */
    uint64_t position;
};

static void resampled_close(struct source *source)
{
    struct resampled *resampled = (struct resampled *)source;
    if (resampled->soxr)
        soxr_delete(resampled->soxr);
    block_free(&resampled->chunk);
    source_close(resampled->inner);
    free(resampled);
}

static enum status refuse(const struct resampled *resampled, soxr_error_t error)
{
    return fail(CAUSE_OTHER, "cannot resample %s from %u to %u Hz: %s", resampled->source.name,
                resampled->inner->format.rate, resampled->source.format.rate, error);
}

/* Reset the filter. */
static enum status restart(struct resampled *resampled)
{
    soxr_error_t error = NULL;
    size_t channels = resampled->source.format.channels;
    TRY(library_open(&soxr_library));
    if (!memory_is_there(SOXR_BYTES * (channels + 1)))
        return fail_memory("resampling a sound");
    const soxr_datatype_t type = REAL_IS_DOUBLE ? SOXR_FLOAT64_S : SOXR_FLOAT32_S;
    soxr_io_spec_t planar = soxr_io_spec(type, type);
    soxr_quality_spec_t quality = soxr_quality_spec(SOXR_VHQ, SOXR_HI_PREC_CLOCK);
    soxr_delete(resampled->soxr);
    resampled->soxr =
        soxr_create(resampled->inner->format.rate, resampled->source.format.rate,
                    (unsigned)resampled->source.format.channels, &error, &planar, &quality, NULL);
    resampled->held = 0;
    resampled->ended = false;
    return error ? refuse(resampled, error) : STATUS_OK;
}

static enum status refill(struct resampled *resampled)
{
    resampled->from = 0;
    enum status status =
        REAL(source_read)(resampled->inner, resampled->chunk.data, CHUNK, &resampled->held);
    resampled->ended = resampled->held < CHUNK;
    return status;
}

/* Resample up to `frames` frames. *got == 0: the sound has ended. */
static enum status convert(struct resampled *resampled, real *const *planar, size_t at,
                           size_t frames, size_t *got)
{
    size_t channels = resampled->source.format.channels;
    const real *in[channels];
    real *out[channels];
    for (size_t c = 0; c < channels; c++)
        out[c] = planar[c] + at;
    for (*got = 0; *got == 0;) {
        size_t used = 0;
        if (resampled->held == 0 && !resampled->ended)
            TRY(refill(resampled));
        bool flush = resampled->held == 0;
        for (size_t c = 0; c < channels; c++)
            in[c] = resampled->chunk.data[c] + resampled->from;
        soxr_error_t error = soxr_process(resampled->soxr, flush ? NULL : (soxr_in_t)in,
                                          resampled->held, &used, (soxr_out_t)out, frames, got);
        if (error)
            return refuse(resampled, error);
        resampled->from += used;
        resampled->held -= used;
        if (flush)
            break;
    }
    return STATUS_OK;
}

static enum status resampled_read(struct source *source, real *const *planar, size_t frames,
                                  size_t *got)
{
    struct resampled *resampled = (struct resampled *)source;
    enum status status = STATUS_OK;
    size_t part = 1;
    for (*got = 0; *got < frames && part > 0 && status == STATUS_OK; *got += part)
        status = convert(resampled, planar, *got, frames - *got, &part);
    resampled->position += *got;
    return status;
}

static enum status skip(struct resampled *resampled, uint64_t frames)
{
    struct real_block nowhere;
    enum status status =
        block_init(&nowhere, resampled->source.format.channels, CHUNK, "resampling");
    for (size_t got = 1; frames > 0 && got > 0 && status == STATUS_OK; frames -= got)
        status = resampled_read(&resampled->source, nowhere.data,
                                frames < CHUNK ? (size_t)frames : CHUNK, &got);
    block_free(&nowhere);
    return status;
}

static enum status resampled_seek(struct source *source, uint64_t frame)
{
    struct resampled *resampled = (struct resampled *)source;
    uint64_t slower = resampled->up < resampled->down ? resampled->up : resampled->down;
    uint64_t shared = frame / resampled->up, before = (RING + slower - 1) / slower;
    shared = shared > before ? shared - before : 0;
    TRY(restart(resampled));
    TRY(source_seek(resampled->inner, shared * resampled->down));
    resampled->position = shared * resampled->up;
    return skip(resampled, frame - resampled->position);
}

static const struct source_kind resampled_kind = {
    .REAL(read) = resampled_read, .seek = resampled_seek, .close = resampled_close};

enum status REAL(source_open_resampled)(struct source *inner, uint32_t rate, struct source **result)
{
    struct resampled *resampled = calloc(1, sizeof *resampled);
    if (!resampled) {
        source_close(inner);
        return fail_memory("resampling");
    }
    uint64_t divisor = audio_common_divisor(inner->format.rate, rate);
    resampled->inner = inner;
    resampled->up = rate / divisor;
    resampled->down = inner->format.rate / divisor;
    resampled->source = *inner;
    resampled->source.kind = &resampled_kind;
    resampled->source.format.rate = rate;
    if (inner->frames != FRAMES_UNKNOWN) /* rounded to the nearest frame, as in libsoxr */
        resampled->source.frames =
            (int64_t)(((uint64_t)inner->frames * resampled->up + resampled->down / 2) /
                      resampled->down);
    enum status status;
    if ((status = block_init(&resampled->chunk, inner->format.channels, CHUNK, "resampling")) ||
        (status = restart(resampled))) {
        resampled_close(&resampled->source);
        return status;
    }
    *result = &resampled->source;
    return STATUS_OK;
}
