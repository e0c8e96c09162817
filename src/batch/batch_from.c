/* Converts lines of manifests of each kind (--from) to jobs, and outputs to lines of such a
 * manifest.
 *
 *   Kaldi    wav.scp: RECORDING PATH
 *            segments: UTTERANCE RECORDING START END [CHANNEL], in seconds; END -1 is the end
 *   lhotse   cuts: a part of a recording, of some of its channels
 *   NeMo     a line of JSON */
#include "base/atomic_file.h"
#include "base/decimal.h"
#include "base/json_text.h"
#include "base/status.h"
#include "batch/batch_list.h"
#include "batch/lines_read.h"
#include "batch/zlib_library.h"
#include "render/output_names.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Properties of an output that was written. */
struct lhotse_sound {
    const char *id, *path;
    uint64_t frames; /* 0: all members are unknown */
    uint32_t rate;
    size_t channels;
};

/* ---- Kaldi's parts of recordings ---- */

enum { CHANNELS_MOST = 1024 };

static const char BLANKS[] = " \t\r";

struct kaldi_recording {
    char *id;   /* owned; `path` is in the same allocation */
    char *path; /* path, or a command that ends with | */
};

struct kaldi_recordings {
    struct kaldi_recording *all; /* sorted by id */
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

/* Get the next field of a line. Returns the text after it. */
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

/* A line of `segments` as a new job. Errors (usage): no such line, no such recording. */
static enum status kaldi_segment_read(const struct kaldi_recordings *recordings, const char *line,
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

/* ---- lhotse's cuts: channels, an id, or a list of them ---- */

static bool has_channel(const json_t *channels, const json_t *id)
{
    size_t i;
    const json_t *own;
    if (!json_is_array(channels))
        return json_equal(channels, id);
    json_array_foreach(channels, i, own)
    {
        if (json_equal(own, id))
            return true;
    }
    return false;
}

static bool has_channels(const json_t *channels, const json_t *wanted)
{
    size_t i;
    const json_t *id;
    if (!json_is_array(wanted))
        return has_channel(channels, wanted);
    json_array_foreach(wanted, i, id)
    {
        if (!has_channel(channels, id))
            return false;
    }
    return true;
}

/* The channels of the source that the cut has, in the order of lhotse. NULL: memory. */
static json_t *channels_of(const json_t *source, const json_t *cut)
{
    const json_t *all = json_object_get(source, "channels"), *wanted;
    json_t *channels = json_array(), *id;
    size_t i;
    wanted = json_object_get(cut, "channel");
    json_array_foreach(all, i, id)
    {
        if (!wanted || has_channel(wanted, id))
            json_array_append(channels, id);
    }
    return channels;
}

/* The channels as text for --channel: "2" or "1,3". The caller frees it. NULL: memory. */
static char *numbers_of(const json_t *source, const json_t *channels)
{
    char *numbers = NULL;
    size_t size, i;
    const json_t *id;
    FILE *text = open_memstream(&numbers, &size);
    const char *between = "";
    if (!text)
        return NULL;
    json_array_foreach(json_object_get(source, "channels"), i, id)
    {
        if (!has_channel(channels, id))
            continue;
        fprintf(text, "%s%zu", between, i + 1);
        between = ",";
    }
    if (fclose(text) == 0)
        return numbers;
    free(numbers);
    return NULL;
}

/* ---- lhotse's cuts: a cut as a job ---- */

/* The source with all channels of the cut. A recording's microphones may have a file each. */
static json_t *source_of(const json_t *cut)
{
    size_t i;
    json_t *source;
    const json_t *sources = json_object_get(json_object_get(cut, "recording"), "sources");
    const json_t *wanted = json_object_get(cut, "channel");
    if (!wanted)
        return json_array_size(sources) == 1 ? json_array_get(sources, 0) : NULL;
    json_array_foreach(sources, i, source)
    {
        if (has_channels(json_object_get(source, "channels"), wanted))
            return source;
    }
    return NULL;
}

/* Whether a cut is only a part of its recording. */
static bool is_part(const json_t *cut)
{
    const json_t *recording = json_object_get(cut, "recording");
    double rate = json_number_value(json_object_get(recording, "sampling_rate"));
    double length = json_number_value(json_object_get(cut, "duration"));
    double whole = json_number_value(json_object_get(recording, "duration"));
    return json_number_value(json_object_get(cut, "start")) != 0 ||
           fabs(length - whole) > (rate > 0 ? 0.5 / rate : 1e-3);
}

static enum status check(const json_t *cut)
{
    const json_t *recording = json_object_get(cut, "recording");
    const char *id = json_string_value(json_object_get(cut, "id"));
    if (!id || (!recording && !json_object_get(cut, "tracks")))
        return fail(CAUSE_USAGE, "a cut of lhotse has an id and a recording");
    if (!recording)
        return fail(CAUSE_USAGE,
                    "cut %s is mixed of several, or padded; save the sounds by lhotse first "
                    "(CutSet.save_audios)",
                    id);
    if (json_array_size(json_object_get(recording, "transforms")) > 0)
        return fail(CAUSE_USAGE,
                    "cut %s: lhotse transforms its recording when it loads it; save the sounds by "
                    "lhotse first (CutSet.save_audios)",
                    id);
    const json_t *source = source_of(cut);
    const char *type = json_string_value(json_object_get(source, "type"));
    if (type && strcmp(type, "file") != 0)
        return fail(CAUSE_USAGE,
                    "cut %s: its recording is of type '%s', not a file; save the sounds by lhotse "
                    "first (CutSet.save_audios)",
                    id, type);
    if (!type || !json_is_string(json_object_get(source, "source")))
        return fail(CAUSE_USAGE,
                    "cut %s: its channels are not in one file; save the sounds by lhotse first "
                    "(CutSet.save_audios)",
                    id);
    if (is_part(cut) && !(json_number_value(json_object_get(cut, "start")) >= 0 &&
                          json_number_value(json_object_get(cut, "duration")) > 0))
        return fail(CAUSE_USAGE, "cut %s: its start is from 0 on, and its duration above 0", id);
    return STATUS_OK;
}

/* Set the channels of a job. Releases `channels`. False: memory. */
static bool set_numbers(const json_t *source, json_t *channels, json_t *job)
{
    bool are_all =
        json_array_size(channels) == json_array_size(json_object_get(source, "channels"));
    char *numbers = channels && !are_all ? numbers_of(source, channels) : NULL;
    bool is_set = are_all
                      ? channels != NULL
                      : numbers && json_object_set_new(job, "channel", json_string(numbers)) == 0;
    free(numbers);
    json_decref(channels);
    return is_set;
}

/* The job of a cut. NULL: memory. */
static json_t *job_of(const json_t *cut)
{
    const json_t *source = source_of(cut);
    json_t *job = json_pack("{s:O, s:O}", "id", json_object_get(cut, "id"), "in",
                            json_object_get(source, "source"));
    if (is_part(cut)) {
        json_object_set(job, "start", json_object_get(cut, "start"));
        json_object_set(job, "duration", json_object_get(cut, "duration"));
    }
    if (job && set_numbers(source, channels_of(source, cut), job))
        return job;
    json_decref(job);
    return NULL;
}

static enum status lhotse_cut_read(const char *line, json_t **job)
{
    json_error_t error;
    json_t *cut = json_loads(line, 0, &error);
    enum status status =
        cut ? check(cut)
            : fail(CAUSE_USAGE, "not JSON: %s; a manifest has a cut a line (CutSet.to_jsonl)",
                   error.text);
    if (status == STATUS_OK) {
        *job = job_of(cut);
        status = *job ? STATUS_OK : fail_memory("jobs");
    }
    json_decref(cut);
    return status;
}

/* ---- lhotse's cuts: a cut of an output ---- */

/* Set the ids of the output's channels: the cut's ids if there are as many, else 0, 1, ... */
static void set_channels(json_t *cut, json_t *source, size_t count)
{
    json_t *recording = json_object_get(cut, "recording"), *supervision;
    json_t *channels = channels_of(source, cut);
    size_t i;
    if (count > 0 && count != json_array_size(channels)) {
        json_array_clear(channels);
        for (i = 0; i < count; i++)
            json_array_append_new(channels, json_integer((json_int_t)i));
        json_t *channel = count == 1 ? json_array_get(channels, 0) : channels;
        json_object_set(cut, "channel", channel);
        json_object_set_new(cut, "type", json_string(count == 1 ? "MonoCut" : "MultiCut"));
        json_array_foreach(json_object_get(cut, "supervisions"), i, supervision)
            json_object_set(supervision, "channel", channel);
    }
    json_object_set(source, "channels", channels);
    if (json_object_get(recording, "channel_ids"))
        json_object_set(recording, "channel_ids", channels);
    json_object_set_new(recording, "sources", json_pack("[O]", source));
    json_decref(channels);
}

static json_t *lhotse_cut_of_sound(const char *line, const struct lhotse_sound *sound)
{
    json_t *cut = json_loads(line, 0, NULL), *supervision;
    json_t *recording = json_object_get(cut, "recording"), *source = source_of(cut);
    size_t i;
    set_channels(cut, source, sound->channels);
    source = json_array_get(json_object_get(recording, "sources"), 0);
    json_object_set_new(source, "source", json_text(sound->path));
    json_object_set_new(recording, "id", json_text(sound->id));
    json_array_foreach(json_object_get(cut, "supervisions"), i, supervision)
        json_object_set_new(supervision, "recording_id", json_text(sound->id));
    (void)json_object_del(cut, "features");
    json_object_set_new(cut, "start", json_integer(0));
    if (sound->frames) {
        double seconds = (double)sound->frames / (double)sound->rate;
        json_object_set_new(recording, "sampling_rate", json_integer((json_int_t)sound->rate));
        json_object_set_new(recording, "num_samples", json_integer((json_int_t)sound->frames));
        json_object_set_new(recording, "duration", json_real(seconds));
        json_object_set_new(cut, "duration", json_real(seconds));
    }
    return cut;
}

/* ---- a line of each kind as a job ---- */

/* Write a job as a line of JSON. Releases `object`. */
static enum status print_job(json_t *object, char **job)
{
    *job = object ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    return *job ? STATUS_OK : fail(CAUSE_USAGE, "not UTF-8");
}

static enum status check_command(const struct batch_options *options, const char *path)
{
    size_t length = strlen(path);
    if (path[length - 1] != '|' || options->allow_commands)
        return STATUS_OK;
    return fail(CAUSE_USAGE,
                "'%s' is a command; --allow-commands runs those of this list, with all your rights",
                path);
}

/* Read a line of a wav.scp: "ID PATH" or "ID COMMAND |". */
static enum status read_recording(const char *line, json_t **job)
{
    line += strspn(line, " \t");
    size_t id = strcspn(line, " \t");
    const char *path = line + id + strspn(line + id, " \t");
    size_t length = strlen(path);
    while (length > 0 && strchr(" \t", path[length - 1]))
        length--;
    if (id == 0 || length == 0)
        return fail(CAUSE_USAGE, "a wav.scp has an id and a path a line");
    *job = json_pack("{s:s%, s:s%}", "id", line, id, "in", path, length);
    return *job ? STATUS_OK : fail(CAUSE_USAGE, "not UTF-8");
}

static enum status kaldi_to_job(const struct batch_options *options, const char *line, char **job)
{
    json_t *object = NULL;
    TRY(options->recordings ? kaldi_segment_read(options->recordings, line, &object)
                            : read_recording(line, &object));
    enum status status = check_command(options, json_string_value(json_object_get(object, "in")));
    if (status != STATUS_OK) {
        json_decref(object);
        return status;
    }
    if (!options->render.name)
        json_object_set_new(
            object, "out",
            json_sprintf("%s.wav", json_string_value(json_object_get(object, "id"))));
    return print_job(object, job);
}

/* The name STEM-OFFSET-DURATION.EXT of a part, since a recording may have several. NULL: memory. */
static json_t *part_name(const char *path, double offset, double duration)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.'), *end = dot && dot > name ? dot : name + strlen(name);
    return json_sprintf("%.*s-%.3f-%.3f%s", (int)(end - name), name, offset, duration, end);
}

/* Convert a line to a job. Without "offset" from the start, without "duration" to the end. */
static enum status nemo_to_job(const struct batch_options *options, const char *line, char **job)
{
    json_t *root = json_loads(line, 0, NULL), *object = NULL;
    const char *path = json_string_value(json_object_get(root, "audio_filepath"));
    const json_t *offset = json_object_get(root, "offset");
    double start = json_number_value(offset);
    double duration = json_number_value(json_object_get(root, "duration"));
    enum status status = STATUS_OK;
    if (!path)
        status = fail(CAUSE_USAGE, "a NeMo manifest has \"audio_filepath\" in each line");
    else if (offset && !json_is_null(offset) && !(start >= 0 && duration > 0))
        status =
            fail(CAUSE_USAGE, "%s: \"offset\" is from 0 on, with a \"duration\" above 0", path);
    else if (offset && !json_is_null(offset))
        object = json_pack("{s:s, s:f, s:f}", "in", path, "start", start, "duration", duration);
    else if (duration > 0)
        object = json_pack("{s:s, s:f}", "in", path, "duration", duration);
    else
        object = json_pack("{s:s}", "in", path);
    if (object && json_object_get(object, "start") && !options->render.name)
        json_object_set_new(object, "out", part_name(path, start, duration));
    if (status == STATUS_OK)
        status = print_job(object, job);
    json_decref(root);
    return status;
}

static enum status lhotse_to_job(const struct batch_options *options, const char *line, char **job)
{
    json_t *object = NULL;
    TRY(lhotse_cut_read(line, &object));
    if (!options->render.name)
        json_object_set_new(
            object, "out",
            json_sprintf("%s.wav", json_string_value(json_object_get(object, "id"))));
    return print_job(object, job);
}

enum status batch_line_to_job(const struct batch_options *options, const char *line, char **job)
{
    *job = NULL;
    if (line[strspn(line, " \t\r")] == '\0')
        return STATUS_OK;
    if (options->from == BATCH_FROM_KALDI)
        return kaldi_to_job(options, line, job);
    if (options->from == BATCH_FROM_NEMO)
        return nemo_to_job(options, line, job);
    if (options->from == BATCH_FROM_LHOTSE)
        return lhotse_to_job(options, line, job);
    *job = strdup(line);
    return *job ? STATUS_OK : fail_memory("jobs");
}

/* ---- the outputs ---- */

static json_t *nemo_output(const char *original, const struct batch_job *job,
                           const struct batch_entry *entry)
{
    json_t *root = json_loads(original, 0, NULL);
    json_object_set_new(root, "audio_filepath", json_text(job->output));
    if (json_is_number(json_object_get(root, "offset")))
        json_object_set_new(root, "offset", json_integer(0));
    if (entry->frames)
        json_object_set_new(root, "duration",
                            json_real((double)entry->frames / (double)entry->rate));
    return root;
}

/* The line of the manifest for an output. NULL: memory. */
static char *output_line(const struct batch_options *options, const struct batch_job *job,
                         const struct batch_entry *entry)
{
    char *line = NULL;
    if (options->from == BATCH_FROM_KALDI)
        return asprintf(&line, "%s %s", job->id, job->output) < 0 ? NULL : line;
    const struct lhotse_sound sound = {job->id, job->output, entry->frames, entry->rate,
                                       entry->channels};
    json_t *root = options->from == BATCH_FROM_NEMO ? nemo_output(entry->original, job, entry)
                                                    : lhotse_cut_of_sound(entry->original, &sound);
    line = root ? json_dumps(root, JSON_COMPACT) : NULL;
    json_decref(root);
    return line;
}

/* Set length, rate and channels of an output: from this run, or read from its file. */
static void measure_output(const struct batch_job *job, struct batch_entry *entry)
{
    struct source *source;
    char problem[256];
    const struct log_keeper before = log_keep_in(problem, sizeof problem);
    if (entry->frames == 0 && source_open_sound(job->output, true, &source) == STATUS_OK) {
        entry->frames = source->frames > 0 ? (uint64_t)source->frames : 0;
        entry->rate = source->format.rate;
        entry->channels = source->format.channels;
        source_close(source);
    }
    log_keep_again(&before);
}

struct manifest_output {
    struct atomic_file file;
    gzFile packed;
    FILE *plain;
};

static int put_line(const struct manifest_output *to, const char *line)
{
    return to->packed ? gzputs(to->packed, line) < 0 || gzputs(to->packed, "\n") < 0
                      : fputs(line, to->plain) < 0 || putc('\n', to->plain) < 0;
}

static enum status write_lines(const struct batch_options *options, const struct batch_list *list,
                               const struct manifest_output *to, const char *path)
{
    for (size_t i = 0; i < list->count; i++) {
        struct batch_entry *entry = &list->entries[i];
        struct batch_job job = {0};
        if (entry->result != BATCH_MADE && entry->result != BATCH_KEPT)
            continue;
        enum status status = batch_job_identify(options, entry->line, &job);
        if (status == STATUS_OK && options->from != BATCH_FROM_KALDI)
            measure_output(&job, entry);
        char *line = status == STATUS_OK ? output_line(options, &job, entry) : NULL;
        if (status == STATUS_OK && (!line || put_line(to, line)))
            status = fail_errno(line ? errno : ENOMEM, "cannot write %s", path);
        free(line);
        batch_job_free(&job);
        TRY(status);
    }
    return STATUS_OK;
}

static enum status open_manifest(struct manifest_output *to, const char *path, bool is_packed)
{
    TRY(atomic_file_open(&to->file, path, true));
    if (is_packed)
        TRY(library_open(&zlib_library));
    if (is_packed)
        to->packed = gzdopen(to->file.fd, "wb");
    else
        to->plain = fdopen(to->file.fd, "wb");
    return to->packed || to->plain ? STATUS_OK : fail_errno(errno, "cannot write %s", path);
}

static enum status write_manifest(const struct batch_options *options,
                                  const struct batch_list *list, const char *path)
{
    struct manifest_output to = {0};
    enum status status = open_manifest(&to, path, options->from == BATCH_FROM_LHOTSE);
    if (status == STATUS_OK)
        status = write_lines(options, list, &to, path);
    int failed = to.packed ? gzclose_w(to.packed) != Z_OK : to.plain ? fclose(to.plain) != 0 : 0;
    if (status == STATUS_OK && failed)
        status = fail_errno(errno, "cannot write %s", path);
    if (status == STATUS_OK)
        status = atomic_file_keep(&to.file, path);
    atomic_file_discard(&to.file);
    return status;
}

enum status batch_manifest_write(const struct batch_options *options,
                                 const struct batch_shard *shard, const struct batch_list *list)
{
    static const char *const names[][2] = {[BATCH_FROM_KALDI] = {"wav", ".scp"},
                                           [BATCH_FROM_LHOTSE] = {"cuts", ".jsonl.gz"},
                                           [BATCH_FROM_NEMO] = {"manifest", ".json"}};
    char part[64] = "", *path;
    if (options->from == BATCH_FROM_JOBS)
        return STATUS_OK;
    if (shard->count > 1)
        snprintf(part, sizeof part, ".%zu-of-%zu", shard->number, shard->count);
    if (asprintf(&path, "%s/%s%s%s", options->render.out_dir, names[options->from][0], part,
                 names[options->from][1]) < 0)
        return fail_memory("a manifest");
    enum status status = write_manifest(options, list, path);
    free(path);
    return status;
}
