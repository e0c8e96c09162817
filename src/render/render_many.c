#include "render/render_many.h"

#include "base/failure_json.h"
#include "base/files_read.h"
#include "base/json_text.h"
#include "base/memory_limit.h"
#include "base/plural.h"
#include "base/progress_of_many.h"
#include "base/stop.h"
#include "chain/mask_cache.h"
#include "chain/stage_draw.h"
#include "render/output_names.h"
#include "render/render_job.h"
#include "signal/audio.h"
#include "signal/fft.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    LONG_BYTES = 1 << 26, /* some three minutes of a stereo studio file */
    KEPT_BYTES = 1 << 25, /* the largest block that malloc does not return to the system */
};

struct render_set {
    const struct render_options *options;
    size_t count;
    const char **inputs;
    char **outputs;
    double *sizes; /* of the inputs, in bytes */
    size_t threads;
    bool sharing; /* all threads share each file: the long ones */
    struct mask_cache *masks;
    struct progress_of_many progress;
    pthread_mutex_t print_lock;
    pthread_mutex_t alone_lock; /* stages of which one runs at a time */
    atomic_size_t failed;
};

void render_expect_many(void)
{
    fft_keep_plans();
    mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
}

size_t render_masks_memory(void)
{
    return memory_limit() / 4;
}

bool render_is_long(double bytes, size_t files, size_t threads)
{
    return threads > 1 && (bytes >= LONG_BYTES || files < threads);
}

/* Whether a line has a path as a whole: "a.wav" is not in "hall/a.wav". */
static bool names_path(const char *problem, const char *path)
{
    size_t length = strlen(path);
    for (const char *at = problem; length > 0 && (at = strstr(at, path)); at++) {
        bool begins = at == problem || strchr(" '\"(", at[-1]);
        if (begins && strchr(" '\"):;,", at[length])) /* or the end */
            return true;
    }
    return false;
}

/* Why a file failed, and which one it is, if the line does not say so. */
static void report_failure(struct render_set *set, enum status status, const char *input,
                           const struct failure *problem)
{
    int error = 0;
    pthread_mutex_lock(&set->print_lock);
    const char *before = log_prefix(names_path(problem->message, input) ? NULL : input);
    status = fail_again(status, problem);
    log_prefix(before);
    if (set->options->json)
        error = json_write(
            json_pack("{s:o, s:o}", "input", json_text(input), "error", failure_json_of_file()),
            JSON_COMPACT, stdout);
    if (error)
        status = fail(STATUS_FAILED, "cannot write the report: %s", strerror(error));
    pthread_mutex_unlock(&set->print_lock);
    (void)status; /* that of the set counts failures */
}

/* A line a file. */
static enum status print_result(void *context, const struct report *report)
{
    struct render_set *set = context;
    int error = 0;
    pthread_mutex_lock(&set->print_lock);
    report_print(report);
    if (set->options->json)
        error = json_write(report_object(report), JSON_COMPACT | JSON_REAL_PRECISION(9), stdout);
    pthread_mutex_unlock(&set->print_lock);
    return error ? fail(STATUS_FAILED, "cannot write the report: %s", strerror(error)) : STATUS_OK;
}

/* Its path in the folder of all. */
static const char *output_in(const struct render_set *set, size_t file)
{
    const char *name = set->outputs[file] + strlen(set->options->out_dir);
    return name + strspn(name, "/");
}

static enum status run_job(struct render_set *set, size_t file, struct render_options *options)
{
    const struct render_job_settings settings = {
        .alone = !set->sharing, .masks = set->masks, .report = print_result, .context = set};
    options->input = set->inputs[file];
    options->output = set->outputs[file];
    options->chain.threads = set->threads;
    TRY(stage_list_draw(&options->chain.stages, options->seed, output_in(set, file)));
    TRY(output_make_folders(options->output));
    bool beside = stage_list_runs_beside(&options->chain.stages);
    if (!beside)
        pthread_mutex_lock(&set->alone_lock);
    enum status status = render_job_run(options, &settings);
    if (!beside)
        pthread_mutex_unlock(&set->alone_lock);
    return status;
}

static void run_file(struct render_set *set, size_t file)
{
    struct render_options options;
    struct failure problem;
    warn_about(set->inputs[file]);
    const struct log_keeper before = log_keep_failure(&problem);
    enum status status = render_options_copy(set->options, &options);
    if (status == STATUS_OK)
        status = run_job(set, file, &options);
    files_read_forget(set->inputs[file]); /* which no output is: that was checked */
    render_options_free(&options);
    log_keep_again(&before);
    warn_about(NULL);
    if (status == STATUS_INTERRUPTED)
        return;
    if (status != STATUS_OK) {
        atomic_fetch_add(&set->failed, 1);
        report_failure(set, status, set->inputs[file], &problem);
    }
    progress_of_many_add(&set->progress, set->sizes[file], status != STATUS_OK);
}

static bool is_long(const struct render_set *set, size_t file)
{
    return render_is_long(set->sizes[file], set->count, set->threads);
}

static void run_short_file(void *context, size_t piece, size_t worker)
{
    struct render_set *set = context;
    (void)worker;
    if (!is_long(set, piece))
        run_file(set, piece);
}

/* Short ones first, a file a thread; then the long ones, each on all threads. */
static enum status run_all(struct render_set *set)
{
    struct workers *workers = NULL;
    TRY(workers_create(set->options->chain.threads, &workers));
    set->threads = workers_count(workers);
    workers_run(workers, set->count, run_short_file, set);
    workers_destroy(workers);
    set->sharing = true;
    for (size_t i = 0; i < set->count && !stop_requested(); i++)
        if (is_long(set, i))
            run_file(set, i);
    return stop_requested() ? STATUS_INTERRUPTED : STATUS_OK;
}

static enum status name_files(struct render_set *set)
{
    const struct render_options *options = set->options;
    const char *pattern = options->name ? options->name : OUTPUT_NAMES_USUAL;
    for (size_t i = 0; i < set->count; i++) {
        struct stat about;
        const char *input = i == 0   ? options->input
                            : i == 1 ? options->output
                                     : options->more.values[i - 2];
        if (strcmp(input, "-") == 0)
            return fail(STATUS_USAGE, "-O takes files, not standard input");
        set->inputs[i] = input;
        set->sizes[i] = stat(input, &about) == 0 ? (double)about.st_size : 0;
        TRY(output_name(options->out_dir, pattern, input, i, set->count, &set->outputs[i]));
    }
    return output_names_check(set->inputs, set->outputs, set->count);
}

static enum status begin(struct render_set *set)
{
    set->inputs = calloc(set->count, sizeof *set->inputs);
    set->outputs = calloc(set->count, sizeof *set->outputs);
    set->sizes = calloc(set->count, sizeof *set->sizes);
    if (!set->inputs || !set->outputs || !set->sizes)
        return fail_memory("names");
    TRY(name_files(set));
    return mask_cache_create(render_masks_memory(), &set->masks);
}

static void end(struct render_set *set)
{
    mask_cache_destroy(set->masks);
    for (size_t i = 0; set->outputs && i < set->count; i++)
        free(set->outputs[i]);
    free(set->inputs);
    free(set->outputs);
    free(set->sizes);
}

static enum status run_set(struct render_set *set)
{
    double bytes = 0;
    for (size_t i = 0; i < set->count; i++)
        bytes += set->sizes[i];
    pthread_mutex_init(&set->print_lock, NULL);
    pthread_mutex_init(&set->alone_lock, NULL);
    progress_of_many_begin(&set->progress, set->count, bytes,
                           set->options->verbosity != VERBOSITY_QUIET);
    enum status status = run_all(set);
    progress_of_many_end(&set->progress);
    pthread_mutex_destroy(&set->alone_lock);
    pthread_mutex_destroy(&set->print_lock);
    size_t failed = atomic_load(&set->failed);
    if (status == STATUS_OK && failed)
        status = fail(STATUS_FAILED, "%zu of %zu file%s failed", failed, set->count,
                      plural_s(set->count));
    return status;
}

enum status render_many(const struct render_options *options)
{
    struct render_set set = {.options = options,
                             .count = (size_t)1 + (options->output != NULL) + options->more.count};
    render_expect_many();
    enum status status = begin(&set);
    if (status == STATUS_OK)
        status = run_set(&set);
    end(&set);
    return status;
}
