#include "render/render_many.h"

#include "base/failure_json.h"
#include "base/files_read.h"
#include "base/json_text.h"
#include "base/machine.h"
#include "base/plural.h"
#include "base/progress.h"
#include "base/stop.h"
#include "chain/mask_cache.h"
#include "chain/stage_draw.h"
#include "render/output_names.h"
#include "render/render_job.h"
#include "signal/audio.h"
#include "signal/fft_odd.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LONG_BYTES = 1 << 26, /* about three minutes of a stereo studio file */
    KEPT_BYTES = 1 << 25, /* the largest block that malloc does not return to the system */
};

struct render_input {
    char *path, *within; /* `within`: path in a folder that was named, else NULL */
    char *output;
    double bytes;
};

struct render_set {
    const struct render_options *options;
    size_t count;
    struct render_input *inputs;
    size_t threads;
    bool sharing; /* long files are running: all threads share each */
    struct mask_cache *masks;
    struct progress_of_many progress;
    pthread_mutex_t print_lock;
    pthread_mutex_t alone_lock;     /* held while a job with a one_at_a_time stage runs */
    atomic_size_t failed, existing; /* files that failed; those whose output existed */
};

/* A file while it is rendered. */
struct render_file {
    struct render_set *set;
    size_t number;
    double moved; /* bytes of the file that the progress counts */
};

void render_expect_many(void)
{
    odd_fft_keep();
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

bool render_names_path(const char *problem, const char *path)
{
    size_t length = strlen(path);
    for (const char *at = problem; length > 0 && (at = strstr(at, path)); at++) {
        bool begins = at == problem || strchr(" '\"(", at[-1]);
        if (begins && strchr(" '\"):;,", at[length])) /* strchr also finds the end of the text */
            return true;
    }
    return false;
}

/* Print why a file failed, with its name unless the message has it. */
static void report_failure(struct render_set *set, const char *input, const struct failure *problem)
{
    int error = 0;
    pthread_mutex_lock(&set->print_lock);
    const char *before = log_prefix(render_names_path(problem->message, input) ? NULL : input);
    enum status status = fail_again(problem);
    log_prefix(before);
    if (set->options->json)
        error = json_write(
            json_pack("{s:o, s:o}", "input", json_text(input), "error", failure_json_of_file()),
            JSON_COMPACT, stdout);
    if (error)
        status = fail_errno(error, "cannot write the report");
    pthread_mutex_unlock(&set->print_lock);
    (void)status; /* the set counts failures */
}

/* Print a line for a file. */
static enum status print_result(void *context, const struct report *report)
{
    struct render_set *set = ((struct render_file *)context)->set;
    int error = 0;
    pthread_mutex_lock(&set->print_lock);
    report_print(report);
    if (set->options->json)
        error = json_write(report_object(report), JSON_COMPACT | JSON_REAL_PRECISION(9), stdout);
    pthread_mutex_unlock(&set->print_lock);
    return error ? fail_errno(error, "cannot write the report") : STATUS_OK;
}

/* The path of the output in the folder of outputs. */
static const char *output_in(const struct render_set *set, size_t file)
{
    const char *name = set->inputs[file].output + strlen(set->options->out_dir);
    return name + strspn(name, "/");
}

static void move_on(void *context, uint64_t frames, int64_t total)
{
    struct render_file *file = context;
    struct render_set *set = file->set;
    progress_of_many_move(&set->progress, &file->moved, set->inputs[file->number].bytes, frames,
                          total);
}

static enum status run_job(struct render_file *job, struct render_options *options)
{
    struct render_set *set = job->set;
    size_t file = job->number;
    const struct render_job_settings settings = {.alone = !set->sharing,
                                                 .masks = set->masks,
                                                 .progress = move_on,
                                                 .report = print_result,
                                                 .context = job};
    options->input = set->inputs[file].path;
    options->output = set->inputs[file].output;
    options->chain.threads = set->threads;
    TRY(stage_list_draw(&options->chain.stages, options->seed, output_in(set, file)));
    TRY(output_make_folders(options->output));
    bool beside = stage_list_runs_beside(&options->chain.stages);
    if (!beside)
        pthread_mutex_lock(&set->alone_lock);
    enum status status = render_job_run(options, &options->chain.stages, &settings);
    if (!beside)
        pthread_mutex_unlock(&set->alone_lock);
    return status;
}

static void run_file(struct render_set *set, size_t file)
{
    struct render_options options;
    struct failure problem;
    struct render_file job = {.set = set, .number = file};
    const struct render_input *input = &set->inputs[file];
    warn_about(input->path);
    bool exists = !set->options->force && access(input->output, F_OK) == 0;
    const struct log_keeper before = log_keep_failure(&problem);
    enum status status = render_options_copy(set->options, &options);
    if (status == STATUS_OK)
        status = run_job(&job, &options);
    files_read_forget(input->path); /* no output is an input, as was checked */
    render_options_free(&options);
    log_keep_again(&before);
    warn_about(NULL);
    if (status == STATUS_INTERRUPTED)
        return;
    if (status != STATUS_OK) {
        atomic_fetch_add(&set->failed, 1);
        atomic_fetch_add(&set->existing, exists);
        report_failure(set, input->path, &problem);
    }
    progress_of_many_add(&set->progress, input->bytes - job.moved, status != STATUS_OK);
}

static bool is_long(const struct render_set *set, size_t file)
{
    return render_is_long(set->inputs[file].bytes, set->count, set->threads);
}

static void run_short_file(void *context, size_t piece, size_t worker)
{
    struct render_set *set = context;
    (void)worker;
    if (!is_long(set, piece))
        run_file(set, piece);
}

/* Render short files first, one on each thread, then long files, each on all threads. */
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

/* Add an input. `within`: path in a folder, else NULL. The list grows by doubling. */
static enum status add_input(struct render_set *set, const char *path, const char *within)
{
    if ((set->count & (set->count + 1)) == 0) {
        struct render_input *inputs = realloc(set->inputs, 2 * (set->count + 1) * sizeof *inputs);
        if (!inputs)
            return fail_memory("names");
        set->inputs = inputs;
    }
    struct stat about;
    struct render_input *input = &set->inputs[set->count++];
    *input = (struct render_input){
        .path = strdup(path),
        .within = within ? strdup(within) : NULL,
        .bytes = stat(path, &about) == 0 ? (double)about.st_size : 0,
    };
    return input->path && (!within || input->within) ? STATUS_OK : fail_memory("names");
}

static enum status add_found(void *context, const char *path, const char *within)
{
    return add_input(context, path, within);
}

static enum status add_argument(struct render_set *set, const char *argument)
{
    if (strcmp(argument, "-") == 0)
        return fail(CAUSE_USAGE, "-O takes files and folders, not standard input");
    return input_folder_is(argument)
               ? input_folder_read(argument, set->options->out_dir, add_found, set)
               : add_input(set, argument, NULL);
}

static enum status name_file(struct render_set *set, size_t file)
{
    struct render_input *input = &set->inputs[file];
    const struct render_options *options = set->options;
    const char *pattern = options->name ? options->name : OUTPUT_NAMES_USUAL;
    return input->within ? output_name_within(options->out_dir, pattern, input->within, file,
                                              set->count, &input->output)
                         : output_name(options->out_dir, pattern, input->path, file, set->count,
                                       &input->output);
}

static enum status check_names(const struct render_set *set)
{
    const char **inputs = calloc(set->count, sizeof *inputs);
    char **outputs = calloc(set->count, sizeof *outputs);
    enum status status = inputs && outputs ? STATUS_OK : fail_memory("names");
    for (size_t i = 0; i < set->count && status == STATUS_OK; i++) {
        inputs[i] = set->inputs[i].path;
        outputs[i] = set->inputs[i].output;
    }
    if (status == STATUS_OK)
        status = output_names_check(inputs, outputs, set->count);
    free(inputs);
    free(outputs);
    return status;
}

static enum status begin(struct render_set *set)
{
    const struct render_options *options = set->options;
    TRY(add_argument(set, options->input));
    if (options->output)
        TRY(add_argument(set, options->output));
    for (size_t i = 0; i < options->more.count; i++)
        TRY(add_argument(set, options->more.values[i]));
    for (size_t i = 0; i < set->count; i++)
        TRY(name_file(set, i));
    TRY(check_names(set));
    return mask_cache_create(render_masks_memory(), &set->masks);
}

static void end(struct render_set *set)
{
    mask_cache_destroy(set->masks);
    for (size_t i = 0; i < set->count; i++) {
        free(set->inputs[i].path);
        free(set->inputs[i].within);
        free(set->inputs[i].output);
    }
    free(set->inputs);
}

static enum status run_set(struct render_set *set)
{
    double bytes = 0;
    for (size_t i = 0; i < set->count; i++)
        bytes += set->inputs[i].bytes;
    pthread_mutex_init(&set->print_lock, NULL);
    pthread_mutex_init(&set->alone_lock, NULL);
    progress_of_many_begin(&set->progress, set->count, bytes,
                           set->options->verbosity != VERBOSITY_QUIET);
    enum status status = run_all(set);
    progress_of_many_end(&set->progress);
    pthread_mutex_destroy(&set->alone_lock);
    pthread_mutex_destroy(&set->print_lock);
    size_t failed = atomic_load(&set->failed);
    if (atomic_load(&set->existing) > 0)
        note("outputs exist: --force replaces them; halo batch resumes: it renders what is missing "
             "or has changed");
    if (status == STATUS_OK && failed)
        status =
            fail(CAUSE_OTHER, "%zu of %zu file%s failed", failed, set->count, plural_s(set->count));
    return status;
}

enum status render_many(const struct render_options *options)
{
    struct render_set set = {.options = options};
    render_expect_many();
    enum status status = begin(&set);
    if (status == STATUS_OK)
        status = run_set(&set);
    end(&set);
    return status;
}
