#include "batch/batch_report.h"

#include "base/json_text.h"
#include "base/monotonic.h"
#include "base/plural.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const result_names[] = {
    [BATCH_LEFT] = "left", [BATCH_MADE] = "made", [BATCH_KEPT] = "kept", [BATCH_FAILED] = "failed"};

enum status batch_report_open(struct batch_report *report, const char *path)
{
    *report = (struct batch_report){.start = monotonic_seconds(), .file = {.fd = -1, .held = -1}};
    pthread_mutex_init(&report->lock, NULL);
    if (!path)
        return STATUS_OK;
    TRY(atomic_file_open(&report->file, path, true));
    report->stream = fdopen(report->file.fd, "wb");
    return report->stream ? STATUS_OK : fail_errno(errno, "cannot write %s", path);
}

void batch_report_close(struct batch_report *report)
{
    if (report->stream)
        fclose(report->stream);
    atomic_file_discard(&report->file);
    json_decref(report->devices);
    pthread_mutex_destroy(&report->lock);
}

static void count_kind(struct batch_report *report, const char *kind)
{
    size_t at = 0;
    while (at < report->reason_count && strcmp(report->reasons[at].text, kind) != 0)
        at++;
    if (at == BATCH_REASONS)
        at--; /* "others" */
    else if (at == report->reason_count)
        memcpy(report->reasons[report->reason_count++].text,
               at == BATCH_REASONS - 1 ? "others" : kind,
               at == BATCH_REASONS - 1 ? sizeof "others" : strlen(kind) + 1);
    report->reasons[at].count++;
}

static void write_result(struct batch_report *report, const char *id, enum batch_result result,
                         const struct failure *problem, json_t *details)
{
    json_t *line =
        json_pack("{s:o, s:s, s:s*, s:o*}", "id", json_text(id), "result", result_names[result],
                  "cause", problem ? cause_name(problem->cause) : NULL, "reason",
                  problem ? json_text(problem->message) : NULL);
    if (line && details)
        json_object_update(line, details);
    int error = json_write(line, JSON_COMPACT | JSON_REAL_PRECISION(9), report->stream);
    report->error = report->error ? report->error : error;
}

static void count_made(struct batch_report *report, const json_t *details)
{
    const json_t *metadata = json_object_get(details, "metadata");
    report->sound_seconds += json_number_value(json_object_get(details, "sound_seconds"));
    report->clipped += json_integer_value(json_object_get(details, "clipped")) > 0;
    report->open += json_is_true(json_object_get(details, "length_open"));
    report->lossy += json_array_size(json_object_get(metadata, "dropped")) > 0;
}

void batch_report_note_losses(const struct batch_report *report)
{
    if (report->clipped > 0)
        warning("%zu of %zu output%s clipped; --gain or --normalize avoids it", report->clipped,
                report->made, plural_s(report->made));
    if (report->open > 0)
        note(
            "%zu of %zu input%s read to the end, since the header leaves the length open, as those "
            "of pipes do; --report FILE says which",
            report->open, report->made, plural_s(report->made));
    if (report->lossy > 0)
        note("%zu of %zu output%s made without some of the metadata; --report FILE says which",
             report->lossy, report->made, plural_s(report->made));
}

void batch_report_add(struct batch_report *report, const char *id, enum batch_result result,
                      const struct failure *problem, json_t *details)
{
    pthread_mutex_lock(&report->lock);
    report->made += result == BATCH_MADE;
    report->kept += result == BATCH_KEPT;
    report->failed += result == BATCH_FAILED;
    if (result == BATCH_MADE)
        count_made(report, details);
    if (result == BATCH_FAILED && problem)
        count_kind(report, problem->kind);
    if (report->stream)
        write_result(report, id, result, problem, details);
    json_decref(details);
    pthread_mutex_unlock(&report->lock);
}

json_t *batch_report_summary(struct batch_report *report, size_t jobs)
{
    double seconds = monotonic_seconds() - report->start;
    json_t *reasons = json_object();
    for (size_t i = 0; i < report->reason_count; i++)
        json_object_set_new(reasons, report->reasons[i].text,
                            json_integer((json_int_t)report->reasons[i].count));
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:o, s:O*}", "jobs",
                     (json_int_t)jobs, "made", (json_int_t)report->made, "kept",
                     (json_int_t)report->kept, "failed", (json_int_t)report->failed, "left",
                     (json_int_t)(jobs - report->made - report->kept - report->failed), "clipped",
                     (json_int_t)report->clipped, "metadata_lost", (json_int_t)report->lossy,
                     "seconds", seconds, "files_per_second", (double)report->made / seconds,
                     "hours_of_sound_per_second", report->sound_seconds / 3600 / seconds,
                     "failures", reasons, "devices", report->devices);
}

enum status batch_report_keep(struct batch_report *report, const char *path, size_t jobs)
{
    if (!report->stream)
        return STATUS_OK;
    json_t *line = json_pack("{s:o}", "summary", batch_report_summary(report, jobs));
    int error = json_write(line, JSON_COMPACT | JSON_REAL_PRECISION(9), report->stream);
    if (report->error)
        error = report->error;
    if (error)
        return fail_errno(error, "cannot write %s", path);
    return atomic_file_keep(&report->file, path);
}
