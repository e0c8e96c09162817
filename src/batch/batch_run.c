/* halo batch: does the jobs of a list, and reports what became of each. */
#include "base/atomic_file.h"
#include "base/failure_json.h"
#include "base/files_read.h"
#include "base/json_text.h"
#include "base/monotonic.h"
#include "base/plural.h"
#include "base/progress.h"
#include "base/stop.h"
#include "batch/batch_gpu.h"
#include "batch/batch_job.h"
#include "batch/batch_journal.h"
#include "batch/batch_list.h"
#include "batch/sum_set.h"
#include "chain/mask_cache.h"
#include "chain/report.h"
#include "chain/stage_draw.h"
#include "render/output_names.h"
#include "render/render_job.h"
#include "render/render_many.h"
#include "sound/metadata/metadata_json.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BATCH_REASONS = 20 }; /* most kinds of failures that are counted */

struct batch_report {
    pthread_mutex_t lock;
    struct atomic_file file;
    FILE *stream; /* NULL: no report was requested */
    int error;    /* errno of a line that could not be written; 0: none */
    double start;
    size_t made, kept, failed;
    size_t clipped, lossy; /* number of outputs made that were clipped, or lost metadata */
    size_t open;           /* number of outputs made from inputs with an open length */
    double sound_seconds;  /* seconds of sound in outputs made */
    json_t *devices;       /* results of GPUs, owned; NULL: none were used */
    size_t reason_count;
    struct batch_reason { /* a kind of failure */
        char text[FAILURE_KIND];
        size_t count;
    } reasons[BATCH_REASONS];
};

/* ---- the report ---- */

static const char *const result_names[] = {
    [BATCH_LEFT] = "left", [BATCH_MADE] = "made", [BATCH_KEPT] = "kept", [BATCH_FAILED] = "failed"};

/* Open the report. `path` may be NULL. Errors: writing. */
static enum status batch_report_open(struct batch_report *report, const char *path)
{
    *report = (struct batch_report){.start = monotonic_seconds(), .file = {.fd = -1, .held = -1}};
    pthread_mutex_init(&report->lock, NULL);
    if (!path)
        return STATUS_OK;
    TRY(atomic_file_open(&report->file, path, true));
    report->stream = fdopen(report->file.fd, "wb");
    return report->stream ? STATUS_OK : fail_errno(errno, "cannot write %s", path);
}

static void batch_report_close(struct batch_report *report)
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
        at--; /* the last row counts other reasons */
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

/* Print a line if outputs were clipped or lost metadata. */
static void batch_report_note_losses(const struct batch_report *report)
{
    if (report->clipped > 0)
        warning("%zu of %zu output%s clipped; --gain or --normalize avoids it", report->clipped,
                report->made, plural_s(report->made));
    if (report->open > 0)
        note("%zu of %zu input%s read to the end, since the header leaves the length open, as is "
             "usual in pipes; --report FILE says which",
             report->open, report->made, plural_s(report->made));
    if (report->lossy > 0)
        note("%zu of %zu output%s made without some of the metadata; --report FILE says which",
             report->lossy, report->made, plural_s(report->made));
}

static void batch_report_add(struct batch_report *report, const char *id, enum batch_result result,
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

/* The summary, as a new object; NULL: memory. */
static json_t *batch_report_summary(struct batch_report *report, size_t jobs)
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

/* Write the summary as the report's last line, and keep the report. Errors: writing. */
static enum status batch_report_keep(struct batch_report *report, const char *path, size_t jobs)
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

enum {
    DEFERRED_WAIT_US = 100000,
    STUDIO_BYTES = 2 * 4 * 48000 /* bytes of a second of a stereo studio file */
};

struct batch {
    struct batch_options *options;
    struct batch_shard shard;
    struct batch_list list;
    char set[JOB_SET_NAME]; /* name of the saved set of jobs; empty: not saved */
    int set_held;
    struct batch_journal *journal;
    struct batch_report report;
    struct mask_cache *masks;
    struct gather *gather; /* the GPUs; NULL: none */
    struct progress_of_many progress;
    pthread_mutex_t alone_lock; /* held while a job with a one_at_a_time stage runs */
    size_t threads;
    bool sharing;               /* long jobs are running: all threads share each */
    bool waiting;               /* waiting for jobs of another run */
    _Atomic(enum status) ended; /* why it ended early (full disk, no journal); STATUS_OK: not */
};

/* A job that runs on a thread. */
struct batch_work {
    struct batch *batch;
    struct batch_entry *entry;
    struct batch_job job;
    json_t *details;
    const char *input;     /* input as written in the job */
    double moved;          /* part of this job, 0 to 1, that the progress counts */
    FILE *command;         /* command whose output is the input; NULL: none */
    char command_path[32]; /* path of that output */
    bool is_unrecorded;    /* the journal cannot be written, and the output is discarded */
    struct failure problem;
};

/* ---- a job ---- */

/* End the command after its sound, or the wanted part of it, was read. The rest of its output is
 * read and dropped, since a command that cannot write does not end. */
static enum status end_command(struct batch_work *work)
{
    char rest[4096];
    while (work->command && !stop_requested() && fread(rest, 1, sizeof rest, work->command) > 0)
        continue;
    if (work->command && stop_requested())
        return STATUS_INTERRUPTED;
    int code = work->command ? pclose(work->command) : 0;
    work->command = NULL;
    return code == 0 ? STATUS_OK
                     : fail(CAUSE_OTHER, "the command '%s' failed with exit status %d", work->input,
                            WIFEXITED(code) ? WEXITSTATUS(code) : code);
}

static enum status record_output(void *context, const struct stat *about)
{
    struct batch_work *work = context;
    TRY(end_command(work));
    enum status status = batch_journal_add(work->batch->journal, &work->job, about);
    work->is_unrecorded = status != STATUS_OK;
    return status;
}

static enum status keep_report(void *context, const struct report *report)
{
    struct batch_work *work = context;
    work->entry->frames = report->totals.frames_out;
    work->entry->rate = report->rate;
    work->entry->channels = report->channels;
    json_t *metadata = report->metadata ? metadata_report(report->metadata) : NULL;
    json_t *length_open = report->length_is_open ? json_true() : NULL;
    json_decref(work->details); /* details of an earlier try */
    work->details = json_pack("{s:o, s:o, s:I, s:I, s:I, s:f, s:f, s:I, s:o, s:o*, s:o*}", "input",
                              json_text(report->input), "output", json_text(report->output),
                              "frames", (json_int_t)report->totals.frames_out, "rate",
                              (json_int_t)report->rate, "channels", (json_int_t)report->channels,
                              "sound_seconds", (double)report->totals.frames_out / report->rate,
                              "peak", report->totals.peak, "clipped", (json_int_t)report->clipped,
                              "layout", report_layout(report->layout, report->channels), "metadata",
                              metadata, "length_open", length_open);
    return STATUS_OK;
}

static void move_on(void *context, uint64_t frames, int64_t total)
{
    struct batch_work *work = context;
    progress_of_many_move(&work->batch->progress, &work->moved, 1, frames, total);
}

/* Start the command of an input "COMMAND |", whose output is the sound. */
static enum status begin_command(struct batch_work *work)
{
    struct render_options *options = &work->job.options;
    size_t length = strlen(options->input);
    work->input = options->input;
    if (length == 0 || options->input[length - 1] != '|')
        return STATUS_OK;
    if (!work->batch->options->allow_commands)
        return fail(CAUSE_USAGE, "'%s' is a command; --allow-commands runs it", options->input);
    char *command = strndup(options->input, length - 1);
    work->command = command ? popen(command, "re") : NULL;
    free(command);
    if (!work->command)
        return fail_errno(errno, "cannot run '%s'", options->input);
    snprintf(work->command_path, sizeof work->command_path, "/dev/fd/%d", fileno(work->command));
    options->input = work->command_path;
    return STATUS_OK;
}

/* Whether the input is the report's file, perhaps under another name. */
static bool is_report(const struct batch *batch, const char *input)
{
    const char *report = batch->options->report;
    struct stat one, other;
    return report && stat(report, &one) == 0 && stat(input, &other) == 0 &&
           one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

static enum status render_work(struct batch_work *work)
{
    struct batch *batch = work->batch;
    struct render_options *options = &work->job.options;
    const struct output_record record = {work->job.digest, record_output, work};
    const struct render_job_settings settings = {.alone = !batch->sharing,
                                                 .masks = batch->masks,
                                                 .progress = move_on,
                                                 .report = keep_report,
                                                 .context = work};
    work->is_unrecorded = false;
    options->record = &record;
    options->chain.threads = batch->threads;
    batch_gpu_settle(batch->gather, options);
    TRY(output_make_folders(options->output));
    TRY(begin_command(work));
    bool beside = stage_list_runs_beside(&options->chain.stages);
    if (!beside)
        pthread_mutex_lock(&batch->alone_lock);
    enum status status = render_job_run(options, &options->chain.stages, &settings);
    if (!beside)
        pthread_mutex_unlock(&batch->alone_lock);
    if (!is_report(batch, options->input)) /* the report must not replace an input */
        files_read_forget(options->input);
    options->input = work->input;
    /* the output was not read to its end; after a signal the command may never end */
    if (work->command && !stop_requested())
        pclose(work->command);
    work->command = NULL;
    return status;
}

/* Whether a job with this failure may succeed if tried again. */
static bool may_pass(enum cause cause)
{
    return cause == CAUSE_TEMPORARY || cause == CAUSE_NO_MEMORY;
}

static enum status try_work(struct batch_work *work)
{
    enum status status = render_work(work);
    for (size_t again = 0; again < work->batch->options->retries && status == STATUS_FAILED &&
                           may_pass(work->problem.cause);
         again++)
        status = render_work(work);
    return status;
}

/* Claim a job and do it. An existing output is only replaced if a batch made it. */
static enum status claim_and_work(struct batch_work *work, enum batch_result *result)
{
    struct batch_journal *journal = work->batch->journal;
    if (!batch_journal_claim(journal, work->job.digest))
        return STATUS_OK; /* another run is working at the job */
    batch_journal_refresh(journal);
    enum batch_state state = batch_journal_state(journal, &work->job);
    work->job.options.force = state == BATCH_CHANGED || work->batch->options->force;
    enum status status = state == BATCH_DONE ? STATUS_OK : try_work(work);
    batch_journal_release(journal, work->job.digest);
    *result = status != STATUS_OK ? BATCH_FAILED : state == BATCH_DONE ? BATCH_KEPT : BATCH_MADE;
    return status;
}

/* Whether a job is long: long jobs wait until all threads are free. */
static bool is_for_later(const struct batch_work *work)
{
    struct stat about;
    const struct render_options *options = &work->job.options;
    double bytes = stat(options->input, &about) == 0 ? (double)about.st_size : 0;
    const struct sound_part *part = &options->part; /* a part seldom has more bytes than this */
    if (options->duration_given || options->end_given)
        bytes = fmin(bytes, STUDIO_BYTES *
                                (options->end_given ? part->end - part->start : part->duration));
    /* with GPUs the number of jobs does not matter */
    size_t files = work->batch->gather ? SIZE_MAX : work->batch->list.count;
    return !work->batch->sharing && render_is_long(bytes, files, work->batch->threads);
}

static enum status do_work(struct batch_work *work, enum batch_result *result)
{
    const struct batch *batch = work->batch;
    TRY(batch_job_identify(batch->options, work->entry->line, &work->job));
    if (work->entry->flaw)
        return fail(CAUSE_USAGE, "%s", work->entry->flaw);
    TRY(batch_job_prepare(batch->options, &work->job));
    if (batch_journal_state(batch->journal, &work->job) == BATCH_DONE) {
        *result = BATCH_KEPT;
        return STATUS_OK;
    }
    return is_for_later(work) ? STATUS_OK : claim_and_work(work, result);
}

/* Print why a job failed, with the id unless the message names the input by a path ending in it. */
static void report_failure(const struct batch_work *work)
{
    const char *id = work->job.id ? work->job.id : "?", *input = work->job.options.input;
    size_t size = strlen(id), length = input ? strlen(input) : 0;
    bool ends = length >= size && strcmp(input + length - size, id) == 0;
    const char *before =
        log_prefix(ends && render_names_path(work->problem.message, input) ? NULL : id);
    enum status printed = fail_again(&work->problem);
    log_prefix(before);
    (void)printed;
}

static void tell(struct batch_work *work, enum batch_result result)
{
    struct batch *batch = work->batch;
    const char *id = work->job.id ? work->job.id : "?";
    work->entry->result = result;
    if (result == BATCH_KEPT)
        progress_of_many_skip(&batch->progress, 1);
    else
        progress_of_many_add(&batch->progress, 1 - work->moved, result == BATCH_FAILED);
    if (result == BATCH_KEPT)
        batch_journal_confirm(batch->journal, &work->job);
    if (result == BATCH_FAILED) {
        report_failure(work);
        batch_journal_note(batch->journal, json_pack("{s:o, s:o}", "id", json_text(id), "failed",
                                                     json_text(work->problem.message)));
    }
    if (!work->details)
        work->details = json_object();
    json_object_set_new(work->details, "stages", stage_list_texts(&work->job.options.chain.stages));
    batch_report_add(&batch->report, id, result, result == BATCH_FAILED ? &work->problem : NULL,
                     work->details);
    work->details = NULL;
}

/* End the batch early, since all other jobs would fail, too. The first thread prints the reason. */
static void end_early(struct batch_work *work, enum status status)
{
    enum status none = STATUS_OK;
    if (atomic_compare_exchange_strong(&work->batch->ended, &none, status))
        report_failure(work);
}

/* Whether the failure means that no further job can write its output. */
static bool disk_is_full(enum cause cause)
{
    return cause == CAUSE_NO_SPACE || cause == CAUSE_READ_ONLY;
}

static void run_entry(struct batch *batch, struct batch_entry *entry)
{
    struct batch_work work = {.batch = batch, .entry = entry};
    enum batch_result result = BATCH_LEFT;
    if (entry->result != BATCH_LEFT || atomic_load(&batch->ended) != STATUS_OK)
        return;
    const struct log_keeper before = log_keep_failure(&work.problem);
    enum status status = do_work(&work, &result);
    if (status != STATUS_OK && stop_requested())
        status = STATUS_INTERRUPTED; /* the signal may have made it fail */
    log_keep_again(&before);
    if (status != STATUS_OK && status != STATUS_INTERRUPTED) {
        bool is_full = disk_is_full(work.problem.cause);
        result = is_full || work.is_unrecorded ? BATCH_LEFT : BATCH_FAILED;
        if (result == BATCH_LEFT)
            end_early(&work, is_full ? STATUS_TRY_AGAIN : STATUS_FAILED);
    }
    if (result != BATCH_LEFT && status != STATUS_INTERRUPTED)
        tell(&work, result);
    json_decref(work.details);
    batch_job_free(&work.job);
}

static void run_piece(void *context, size_t piece, size_t worker)
{
    struct batch *batch = context;
    (void)worker;
    run_entry(batch, &batch->list.entries[piece]);
}

static bool goes_on(const struct batch *batch)
{
    return !stop_requested() && atomic_load(&batch->ended) == STATUS_OK;
}

static size_t count_left(const struct batch *batch)
{
    size_t left = 0;
    for (size_t i = 0; i < batch->list.count; i++)
        left += batch->list.entries[i].result == BATCH_LEFT;
    return left;
}

/* Run short jobs first, one on each thread, then long jobs, each on all threads. Last, wait for
 * jobs that other runs of this shard have begun, until those runs have ended them or died. */
static enum status run_jobs(struct batch *batch)
{
    struct workers *workers = NULL;
    size_t threads = batch->options->render.chain.threads;
    TRY(workers_create(batch->gather ? batch_gpu_threads(threads) : threads, &workers));
    batch->threads = workers_count(workers);
    workers_run(workers, batch->list.count, run_piece, batch);
    workers_destroy(workers);
    batch->sharing = true;
    while (count_left(batch) > 0 && goes_on(batch)) {
        for (size_t i = 0; i < batch->list.count && !stop_requested(); i++)
            run_entry(batch, &batch->list.entries[i]);
        if (count_left(batch) > 0 && goes_on(batch)) {
            if (!batch->waiting)
                note("%zu job%s left to another run that works on them", count_left(batch),
                     plural_s(count_left(batch)));
            batch->waiting = true;
            usleep(DEFERRED_WAIT_US);
            batch_journal_refresh(batch->journal);
        }
    }
    return STATUS_OK;
}

/* ---- the whole batch ---- */

static enum status check_options(const struct batch_options *options)
{
    if (!options->render.out_dir || !*options->render.out_dir)
        return fail(CAUSE_USAGE, "halo batch needs -O DIR, where outputs go");
    if (!options->list == !options->glob)
        return fail(CAUSE_USAGE, "halo batch needs a LIST of jobs, or --glob PATTERN");
    if (options->render.name && strstr(options->render.name, "{index}"))
        return fail(CAUSE_USAGE, "--name with {index} is for halo render; jobs have {id}");
    if (options->glob && options->from != BATCH_FROM_JOBS)
        return fail(CAUSE_USAGE, "--glob cannot be used with --from");
    if (options->segments && options->from != BATCH_FROM_KALDI)
        return fail(CAUSE_USAGE, "--segments needs --from kaldi");
    return STATUS_OK;
}

/* Sweep the folders of outputs. A folder is swept once for jobs in a row that share it. */
static void sweep_folders(struct batch *batch)
{
    char *last = NULL;
    for (size_t i = 0; i < batch->list.count; i++) {
        struct batch_job job;
        if (batch_job_identify(batch->options, batch->list.entries[i].line, &job) == STATUS_OK) {
            char *slash = strrchr(job.output, '/');
            *slash = '\0';
            if (!last || strcmp(last, job.output) != 0) {
                free(last);
                last = strdup(job.output);
                batch_journal_sweep(batch->journal, job.output);
            }
        }
        batch_job_free(&job);
    }
    free(last);
}

static void note_run(struct batch *batch, const char *what, json_t *summary)
{
    char shard[64];
    snprintf(shard, sizeof shard, "%zu/%zu", batch->shard.number, batch->shard.count);
    batch_journal_note(batch->journal,
                       json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:o*}", "run", what, "shard",
                                 shard, "list", batch->set, "jobs", (json_int_t)batch->list.count,
                                 "all", (json_int_t)batch->list.all, "process",
                                 (json_int_t)getpid(), "summary", summary));
}

/* Check the file of tags once: if it is wrong, all jobs would fail. */
static enum status check_tags(const char *metadata)
{
    struct sound_metadata *tags;
    if (strcmp(metadata, "keep") == 0 || strcmp(metadata, "none") == 0)
        return STATUS_OK;
    TRY(metadata_create(&tags));
    enum status status = metadata_load(metadata, tags);
    metadata_destroy(tags);
    return status;
}

static enum status begin_batch(struct batch *batch)
{
    struct batch_options *options = batch->options;
    char *inside;
    TRY(check_options(options));
    TRY(render_options_check_job(&options->render));
    TRY(check_tags(options->render.metadata));
    TRY(batch_shard_choose(options->shard, &batch->shard));
    TRY(batch_list_load(options, &batch->shard, &batch->list));
    size_t memory = options->memory ? options->memory << 20 : render_masks_memory();
    TRY(mask_cache_create(memory, &batch->masks));
    TRY(batch_gpu_choose(options, &batch->list, batch->masks, &batch->gather));
    if (asprintf(&inside, "%s/x", options->render.out_dir) < 0)
        return fail_memory("names");
    enum status status = output_make_folders(inside);
    free(inside);
    TRY(status);
    const char *folder = options->render.out_dir;
    TRY(batch_journal_open(folder, &batch->shard, &batch->list.outputs, &batch->journal));
    if (job_set_save(&batch->list.ids, folder, batch->set, &batch->set_held) != STATUS_OK)
        *batch->set = '\0'; /* halo batch status then counts without the set; no job needs it */
    return STATUS_OK;
}

/* Turn a failure of the report or the manifest into "try again" if the disk is full. */
static enum status try_again_if_full(enum status status)
{
    struct failure last;
    bool is_full = status != STATUS_OK && failure_last(&last) && disk_is_full(last.cause);
    return is_full ? STATUS_TRY_AGAIN : status;
}

static enum status keep_lists(struct batch *batch)
{
    const struct batch_options *options = batch->options;
    enum status kept =
        try_again_if_full(batch_report_keep(&batch->report, options->report, batch->list.count));
    if (stop_requested()) /* after a signal, the outputs are incomplete */
        return kept;
    enum status written =
        try_again_if_full(batch_manifest_write(options, &batch->shard, &batch->list));
    return kept != STATUS_OK ? kept : written;
}

/* Write report and manifest. If the report fails, the manifest is still written. */
static enum status conclude(struct batch *batch)
{
    const struct batch_report *report = &batch->report;
    size_t left = count_left(batch), jobs = batch->list.count;
    batch->report.devices = batch_gpu_report(batch->gather);
    note_run(batch, "ended", batch_report_summary(&batch->report, jobs));
    enum status printed = STATUS_OK;
    if (batch->options->json)
        printed = json_print(batch_report_summary(&batch->report, jobs),
                             JSON_INDENT(2) | JSON_REAL_PRECISION(9), "the summary");
    note("%zu job%s: %zu made, %zu were done, %zu failed, %zu left", jobs, plural_s(jobs),
         report->made, report->kept, report->failed, left);
    batch_report_note_losses(report);
    enum status kept = keep_lists(batch);
    if (stop_requested())
        return fail(CAUSE_INTERRUPTED, "stopped; the same command does the rest");
    if (left) /* the last failure was printed */
        return atomic_load(&batch->ended);
    TRY(printed);
    TRY(kept);
    return report->failed ? fail(CAUSE_SOME_FAILED, "%zu of %zu job%s failed", report->failed, jobs,
                                 plural_s(jobs))
                          : STATUS_OK;
}

static enum status run_batch(struct batch *batch)
{
    const struct batch_options *options = batch->options;
    TRY(try_again_if_full(batch_report_open(&batch->report, options->report)));
    sweep_folders(batch);
    note_run(batch, "begun", NULL);
    if (*batch->set) /* halo batch status is about this list from now on */
        job_set_sweep(options->render.out_dir, batch->set);
    pthread_mutex_init(&batch->alone_lock, NULL);
    progress_of_many_begin(&batch->progress, batch->list.count, (double)batch->list.count,
                           options->render.verbosity != VERBOSITY_QUIET);
    enum status status = run_jobs(batch);
    progress_of_many_end(&batch->progress);
    pthread_mutex_destroy(&batch->alone_lock);
    return status == STATUS_OK ? conclude(batch) : status;
}

enum status batch_run(void *context)
{
    struct batch batch = {.options = context, .set_held = -1};
    failure_json_to(stdout); /* standard output has no sound: "-" is a list of jobs */
    note_verbosity(batch.options->render.verbosity);
    render_expect_many();
    stop_watch();
    enum status status = begin_batch(&batch);
    if (status == STATUS_OK) {
        status = run_batch(&batch);
        batch_report_close(&batch.report);
    }
    mask_cache_destroy(batch.masks); /* masks must go before the gather that they refer to */
    gather_destroy(batch.gather);
    batch_journal_close(batch.journal);
    if (batch.set_held >= 0)
        close(batch.set_held);
    batch_list_free(&batch.list);
    return status;
}
