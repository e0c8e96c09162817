#include "batch/kaldi_segments.h"

#include "base/decimal.h"
#include "batch/lines_read.h"

#include <stdlib.h>
#include <string.h>

enum { CHANNELS_MOST = 1024 };

static const char BLANKS[] = " \t\r";

struct kaldi_recording {
    char *id;   /* owned; the path is in the same memory */
    char *path; /* or a command with | at its end */
};

struct kaldi_recordings {
    struct kaldi_recording *all; /* sorted by their ids */
    size_t count, capacity;
};

void kaldi_recordings_destroy(struct kaldi_recordings *recordings)
{
    for (size_t i = 0; recordings && i < recordings->count; i++)
        free(recordings->all[i].id);
    if (recordings)
        free(recordings->all);
    free(recordings);
}

static void cut_blanks(char *text)
{
    size_t length = strlen(text);
    while (length > 0 && strchr(BLANKS, text[length - 1]))
        text[--length] = '\0';
}

static enum status add(struct kaldi_recordings *recordings, const char *line)
{
    if (line[strspn(line, BLANKS)] == '\0')
        return STATUS_OK;
    if (recordings->count == recordings->capacity) {
        size_t more = recordings->capacity ? 2 * recordings->capacity : 1024;
        struct kaldi_recording *larger = realloc(recordings->all, more * sizeof *larger);
        if (!larger)
            return fail_memory("recordings");
        recordings->all = larger;
        recordings->capacity = more;
    }
    char *id = strdup(line);
    if (!id)
        return fail_memory("recordings");
    char *path = id + strcspn(id, BLANKS);
    path += strspn(path, BLANKS);
    id[strcspn(id, BLANKS)] = '\0';
    cut_blanks(path);
    recordings->all[recordings->count++] = (struct kaldi_recording){id, path};
    return *id && *path ? STATUS_OK : fail(CAUSE_USAGE, "a wav.scp has an id and a path a line");
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct kaldi_recording *)a)->id, ((const struct kaldi_recording *)b)->id);
}

static enum status sort(struct kaldi_recordings *recordings, const char *scp)
{
    if (recordings->count > 0)
        qsort(recordings->all, recordings->count, sizeof *recordings->all, compare);
    for (size_t i = 1; i < recordings->count; i++)
        if (compare(&recordings->all[i - 1], &recordings->all[i]) == 0)
            return fail(CAUSE_USAGE, "%s: two recordings have the id '%s'", scp,
                        recordings->all[i].id);
    return STATUS_OK;
}

enum status kaldi_recordings_load(const char *scp, struct kaldi_recordings **result)
{
    struct lines_read *lines;
    char *line;
    TRY(lines_read_open(scp, &lines));
    struct kaldi_recordings *recordings = calloc(1, sizeof *recordings);
    enum status status = recordings ? STATUS_OK : fail_memory("recordings");
    while (status == STATUS_OK && (status = lines_read_next(lines, &line)) == STATUS_OK && line)
        status = add(recordings, line);
    lines_read_close(lines);
    if (status == STATUS_OK)
        status = sort(recordings, scp);
    if (status != STATUS_OK)
        goto fail;
    *result = recordings;
    return STATUS_OK;
fail:
    kaldi_recordings_destroy(recordings);
    return status;
}

/* The next field, of any length; returns what follows it. */
static const char *next_field(const char *text, const char **field, size_t *length)
{
    *field = text + strspn(text, BLANKS);
    *length = strcspn(*field, BLANKS);
    return *field + *length;
}

static bool read_time(const char *field, size_t length, double *seconds)
{
    char text[64];
    if (length == 0 || length >= sizeof text)
        return false;
    memcpy(text, field, length);
    text[length] = '\0';
    return decimal_parse(text, seconds);
}

static bool read_channel(const char *field, size_t length, double *channel)
{
    return strspn(field, "0123456789") == length && read_time(field, length, channel) &&
           *channel < CHANNELS_MOST;
}

static const char *path_of(const struct kaldi_recordings *recordings, const char *field,
                           size_t length)
{
    char *id = strndup(field, length);
    const struct kaldi_recording key = {.id = id};
    const struct kaldi_recording *found =
        !id || recordings->count == 0
            ? NULL
            : bsearch(&key, recordings->all, recordings->count, sizeof key, compare);
    free(id);
    return found ? found->path : NULL;
}

enum status kaldi_segment_read(const struct kaldi_recordings *recordings, const char *line,
                               json_t **job)
{
    const char *fields[5];
    size_t lengths[5];
    double start = 0, end = 0, channel = 0;
    const char *rest = line;
    for (size_t i = 0; i < 5; i++)
        rest = next_field(rest, &fields[i], &lengths[i]);
    bool is_read = read_time(fields[2], lengths[2], &start) &&
                   read_time(fields[3], lengths[3], &end) &&
                   (lengths[4] == 0 || read_channel(fields[4], lengths[4], &channel)) &&
                   rest[strspn(rest, BLANKS)] == '\0';
    if (!is_read || start < 0 || (end <= start && end != -1))
        return fail(
            CAUSE_USAGE,
            "segments has an id, a recording, its start and its end in seconds (-1: that of "
            "the recording), and perhaps a channel from 0, a line");
    const char *path = path_of(recordings, fields[1], lengths[1]);
    if (!path)
        return fail(CAUSE_USAGE, "the wav.scp has no recording '%.*s'", (int)lengths[1], fields[1]);
    *job = json_pack("{s:s%, s:s, s:f}", "id", fields[0], lengths[0], "in", path, "start", start);
    if (*job && end != -1)
        json_object_set_new(*job, "end", json_real(end));
    if (*job && lengths[4] > 0)
        json_object_set_new(*job, "channel", json_integer((json_int_t)channel + 1));
    return *job ? STATUS_OK : fail(CAUSE_USAGE, "not UTF-8");
}
