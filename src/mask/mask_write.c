#include "mask/mask_write.h"

#include "base/atomic_file.h"
#include "sound/port.h"

#include <errno.h>
#include <sndfile.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct text_file {
    struct atomic_file file;
    const char *path;
    FILE *stream;
};

static void destroy(struct text_file *file)
{
    if (file->stream)
        fclose(file->stream);
    atomic_file_discard(&file->file);
    free(file);
}

enum status text_file_open(const char *path, const struct mask_write_settings *settings,
                           struct text_file **result)
{
    struct text_file *file = calloc(1, sizeof *file);
    if (!file)
        return fail_memory("writing a mask");
    file->path = path;
    enum status status = atomic_file_open(&file->file, path, settings->force);
    if (status == STATUS_OK && !(file->stream = fdopen(file->file.fd, "wb"))) {
        close(file->file.fd);
        status = fail_errno(errno, "cannot write %s", path);
    }
    if (status != STATUS_OK) {
        destroy(file);
        return status;
    }
    *result = file;
    return STATUS_OK;
}

FILE *text_file_stream(struct text_file *file)
{
    return file->stream;
}

enum status text_file_keep(struct text_file *file)
{
    errno = 0;
    bool failed = fflush(file->stream) != 0 || ferror(file->stream);
    enum status status = failed ? fail_errno(errno ? errno : EIO, "cannot write %s", file->path)
                                : atomic_file_keep(&file->file, file->path);
    destroy(file);
    return status;
}

static enum status write_columns(const struct mask *mask, struct sink *sink)
{
    const double **columns = malloc(mask->columns * sizeof *columns);
    if (!columns)
        return fail_memory("writing a mask");
    for (size_t c = 0; c < mask->columns; c++)
        columns[c] = mask_column(mask, c);
    enum status status = sink_write_in_double(sink, columns, mask->taps);
    free(columns);
    return status == STATUS_OK ? sink_commit(sink) : status;
}

enum status mask_write_sound(const struct mask *mask, const struct sink_settings *settings)
{
    struct sink *sink;
    TRY(sink_open_sound(settings, &sink));
    enum status status = write_columns(mask, sink);
    sink_close(sink);
    return status;
}

enum status mask_write_wav(const struct mask *mask, const char *path,
                           const struct mask_write_settings *settings)
{
    if (!mask->rate)
        return fail(CAUSE_USAGE, "mask %s has no rate; set --rate", mask->name);
    return mask_write_sound(
        mask, &(struct sink_settings){
                  .path = path,
                  .format = {.rate = mask->rate, .channels = mask->columns},
                  .sound_format =
                      SF_FORMAT_WAV | (settings->is_double ? SF_FORMAT_DOUBLE : SF_FORMAT_FLOAT),
                  .frames = (int64_t)mask->taps,
                  .force = settings->force,
              });
}

static void print_head(const struct mask *mask, bool all, FILE *stream)
{
    if (mask->rate)
        fprintf(stream, "rate: %u\n", mask->rate);
    if (!all)
        return;
    if (mask->origin)
        fprintf(stream, "origin: %zu\n", mask->origin);
    if (!mask->has_own_paths)
        return;
    fprintf(stream, "inputs: %zu\noutputs: %zu\n", mask->inputs, mask->outputs);
    for (size_t p = 0; p < mask->path_count; p++)
        fprintf(stream, "path: %zu %zu %zu\n", mask->paths[p].input + 1, mask->paths[p].output + 1,
                mask->paths[p].column + 1);
}

/* With as many digits as bring the same number back. */
static void print_tap(double tap, bool is_double, char end, FILE *stream)
{
    if (is_double)
        fprintf(stream, "%.17g%c", tap, end);
    else
        fprintf(stream, "%.9g%c", (double)(float)tap, end);
}

enum status mask_write_text(const struct mask *mask, const char *path, bool all,
                            const struct mask_write_settings *settings)
{
    struct text_file *file;
    TRY(text_file_open(path, settings, &file));
    print_head(mask, all, file->stream);
    for (size_t k = 0; k < mask->taps; k++)
        for (size_t c = 0; c < mask->columns; c++)
            print_tap(mask_column(mask, c)[k], settings->is_double,
                      c + 1 < mask->columns ? ' ' : '\n', file->stream);
    return text_file_keep(file);
}

static uint32_t bits_of(float tap)
{
    uint32_t bits;
    memcpy(&bits, &tap, sizeof bits);
    return bits;
}

enum status mask_write_raw(const struct mask *mask, const char *path,
                           const struct mask_write_settings *settings)
{
    struct text_file *file;
    TRY(text_file_open(path, settings, &file));
    for (size_t k = 0; k < mask->taps; k++) {
        uint64_t bits;
        double tap = mask->coefficients[k];
        memcpy(&bits, &tap, sizeof bits);
        if (!settings->is_double)
            bits = bits_of((float)tap);
        for (int byte = 0; byte < (settings->is_double ? 8 : 4); byte++)
            putc((int)(bits >> 8 * byte & 0xFF), file->stream);
    }
    return text_file_keep(file);
}

/* Each channel goes to itself, once. */
static bool is_diagonal(const struct mask *mask)
{
    if (mask->inputs != mask->outputs || mask->path_count != mask->inputs)
        return false;
    for (size_t p = 0; p < mask->path_count; p++)
        for (size_t q = 0; q <= p; q++)
            if (mask->paths[p].input != mask->paths[p].output ||
                (q < p && mask->paths[p].input == mask->paths[q].input))
                return false;
    return true;
}

enum status mask_without_paths(const struct mask *mask, struct mask **result, bool *is_matrix)
{
    bool own = mask->has_own_paths, diagonal = own && is_diagonal(mask);
    size_t columns = !own ? mask->columns : diagonal ? mask->inputs : mask->inputs * mask->outputs;
    struct mask *plain;
    TRY(mask_create(mask->name, columns, mask->taps, &plain));
    plain->rate = mask->rate;
    plain->origin = mask->origin;
    if (!own)
        memcpy(plain->coefficients, mask->coefficients, columns * mask->taps * sizeof(double));
    for (size_t p = 0; own && p < mask->path_count; p++) {
        const struct mask_path *path = &mask->paths[p];
        const double *from = mask_column(mask, path->column);
        double *to =
            mask_column(plain, diagonal ? path->input : path->input * mask->outputs + path->output);
        for (size_t k = 0; k < mask->taps; k++)
            to[k] += from[k];
    }
    *is_matrix = own && !diagonal;
    *result = plain;
    return STATUS_OK;
}
