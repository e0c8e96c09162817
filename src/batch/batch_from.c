/* Manifests of speech toolkits as lists of jobs, and the outputs as the same kind. */
#include "base/atomic_file.h"
#include "base/json_text.h"
#include "batch/batch_list.h"
#include "batch/lhotse_cut.h"
#include "batch/zlib_library.h"
#include "render/output_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- a line as a job ---- */

/* Releases `object`. */
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

/* "ID PATH" or "ID COMMAND |". */
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

/* STEM-OFFSET-DURATION.EXT: there may be several parts of a recording. NULL: memory. */
static json_t *part_name(const char *path, double offset, double duration)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.'), *end = dot && dot > name ? dot : name + strlen(name);
    return json_sprintf("%.*s-%.3f-%.3f%s", (int)(end - name), name, offset, duration, end);
}

/* As NeMo loads it: so much from "offset" on, or from the start; all without a "duration". */
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

/* NULL: memory. */
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

/* Of this run, or read from the file of an earlier one. */
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
