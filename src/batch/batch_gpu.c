#include "batch/batch_gpu.h"

#include "base/machine.h"
#include "base/plural.h"
#include "batch/batch_list.h"
#include "batch/sum_set.h"
#include "chain/mask_cache.h"
#include "convolve/convolver_backend.h"
#include "convolve/convolver_choice.h"
#include "sound/port.h"

#include <math.h>
#include <string.h>
#include <strings.h>

enum {
    LOOKED_AT = 8,         /* jobs whose files are opened for the estimate */
    NAMES_LOOKED_AT = 128, /* jobs whose masks are counted for the estimate */
    DEVICES_MOST = 64,
    THREADS_EACH = 3, /* threads for each CPU: one computes while others wait for a GPU or a disk */
    THREADS_MORE = 8,
    THREADS_MOST = 1024,
    PROBLEM_BYTES = 1024,
};

#ifdef HALO_NO_CUDA
/* this build has no CUDA: choose_devices refuses it */
const struct gather_device_kind gather_cuda = {.name = "cuda"};
#endif

/* ---- estimate of the work ---- */

/* Whether a format is compressed, by its name alone, since an output does not exist yet. */
static bool is_compressed(const char *path)
{
    static const char *const plain[] = {"wav", "wave", "w64", "rf64", "aif", "aiff", "au", "caf"};
    const char *dot = strrchr(path, '.');
    size_t i = 0;
    while (i < sizeof plain / sizeof *plain && (!dot || strcasecmp(dot + 1, plain[i]) != 0))
        i++;
    return i == sizeof plain / sizeof *plain;
}

struct looked_at {
    struct mask_cache *masks;
    struct backend_set *set;
};

/* Add the cost of a job's sound and masks. False: the job's files cannot be read. */
static bool look_at(struct batch_job *job, void *context)
{
    const struct looked_at *at = context;
    struct render_options *options = &job->options;
    struct backend_set *set = at->set;
    struct source *source = NULL;
    struct stage_settings settings = options->chain.settings;
    settings.masks = at->masks;
    bool is_known = source_open_sound(options->input, true, &source) == STATUS_OK &&
                    source->frames != FRAMES_UNKNOWN;
    struct stream_format format = {0};
    if (is_known)
        format = source->format;
    for (const char *one = options->channel; one; one = strchr(one + 1, ','))
        format.channels = one == options->channel ? 1 : format.channels + 1;
    is_known = is_known && stage_list_load(&options->chain.stages, &settings, &format) == STATUS_OK;
    for (size_t i = 0; is_known && i < options->chain.stages.count; i++) {
        const struct stage *stage = &options->chain.stages.stages[i];
        size_t taps = stage_describe(stage).taps;
        size_t widest = stage->inputs > stage->outputs ? stage->inputs : stage->outputs;
        const struct backend_job convolved = {.frames = (double)source->frames,
                                              .inputs = stage->inputs,
                                              .outputs = stage->outputs,
                                              .paths = widest,
                                              .columns = widest,
                                              .taps = taps,
                                              .threads = 1};
        if (taps > 0)
            backend_set_add(set, &convolved);
    }
    if (is_known) {
        double in = (double)source->frames * (double)source->format.channels;
        double out = (double)source->frames * (double)format.channels;
        backend_set_add_file(set, in + out,
                             (is_compressed(options->input) ? in : 0) +
                                 (is_compressed(options->output) ? out : 0));
    }
    source_close(source);
    stage_list_unload(&options->chain.stages);
    return is_known;
}

/* Visit up to `most` jobs, spread over the list. Errors are ignored: the job will report them. */
static size_t visit_some(const struct batch_options *options, const struct batch_list *list,
                         size_t most, bool (*visit)(struct batch_job *job, void *context),
                         void *context)
{
    char problem[PROBLEM_BYTES] = "";
    size_t looks = list->count < most ? list->count : most, seen = 0;
    const struct log_keeper before = log_keep_in(problem, sizeof problem);
    for (size_t i = 0; i < looks; i++) {
        struct batch_job job;
        const char *line = list->entries[i * list->count / looks].line;
        if (batch_job_identify(options, line, &job) == STATUS_OK &&
            batch_job_prepare(options, &job) == STATUS_OK)
            seen += visit(&job, context);
        batch_job_free(&job);
    }
    log_keep_again(&before);
    return seen;
}

/* The different files that stages of some jobs name. */
struct named_files {
    struct job_reader reader;
    struct sum_set set;
    size_t count; /* number of names, including repeated ones */
};

static enum status note_file(struct job_reader *reader, const char *path, size_t length)
{
    struct named_files *files = (struct named_files *)reader;
    size_t earlier;
    char *name = strndup(path, length);
    if (!name)
        return fail_memory("a list");
    uint64_t sum = batch_id_sum(name);
    free(name);
    return sum_set_add(&files->set, sum, ++files->count, &earlier);
}

static bool note_files(struct batch_job *job, void *context)
{
    struct named_files *files = context;
    return job_reads_find_in(&job->options.chain.stages, &files->reader) == STATUS_OK;
}

/* Estimate the number n of files from `named` random names with `different` different files. Solves
 * different = n (1 - exp(-named / n)) by bisection. */
static double there_are(double named, double different, double most)
{
    double low = different, high = most;
    for (int i = 0; i < 60; i++) {
        double n = (low + high) / 2;
        *(n * -expm1(-named / n) < different ? &low : &high) = n;
    }
    return low;
}

static double masks_of(const struct batch_options *options, const struct batch_list *list)
{
    struct named_files files = {.reader = {note_file}};
    size_t seen = visit_some(options, list, NAMES_LOOKED_AT, note_files, &files);
    double named = (double)files.count, different = (double)files.set.count;
    sum_set_free(&files.set);
    return seen > 0 && named > 0
               ? there_are(named, different, named * (double)list->count / (double)seen)
               : 0;
}

/* ---- choice of devices ---- */

static enum status choose_devices(const struct gather_device_kind *kind,
                                  const struct gpu_devices *wanted, int numbers[DEVICES_MOST],
                                  size_t *count)
{
    size_t there;
    *count = 0;
    if (!kind->count)
        return fail_no_cuda();
    TRY(kind->count(&there));
    size_t named = wanted->all ? there : wanted->count > 0 ? wanted->count : 1;
    for (size_t i = 0; i < named && i < DEVICES_MOST; i++) {
        size_t d = wanted->all ? i : wanted->of[i];
        bool is_twice = false;
        for (size_t before = 0; before < *count; before++)
            is_twice |= numbers[before] == (int)d;
        if (d >= there)
            return fail(CAUSE_DEVICE,
                        "cannot use GPU %zu: there %s %zu, counted from 0; name others with "
                        "--devices or use --backend cpu",
                        d, there == 1 ? "is" : "are", there);
        if (!is_twice)
            numbers[(*count)++] = (int)d;
    }
    return STATUS_OK;
}

static bool may_be_there(const struct gather_device_kind *kind)
{
    return kind != &gather_cuda || (convolver_cuda.is_usable && machine_may_have_gpu());
}

/* Whether there is a device. Prints nothing, since most machines have none. */
static bool is_there(const struct gather_device_kind *kind)
{
    return kind != &gather_cuda || convolver_cuda.is_usable();
}

/* Whether one GPU is faster than the CPU. Further GPUs are only used if named. CUDA is started
 * last, since that takes longer than a small batch. */
static bool is_faster(const struct batch_options *options, const struct batch_list *list,
                      struct mask_cache *masks, const struct gather_device_kind *kind)
{
    const struct chain_options *chain = &options->render.chain;
    struct backend_set set = {.processors = chain->threads ? chain->threads : machine_processors()};
    struct looked_at looked = {masks, &set};
    size_t seen = visit_some(options, list, LOOKED_AT, look_at, &looked);
    set.jobs = seen > 0 ? (double)list->count / (double)seen : 0;
    set.masks = masks_of(options, list);
    double cpu = backend_set_cpu(&set), gpu = backend_set_gpu(&set, 0);
    bool faster = backend_cost_clearly_gpu(cpu, gpu) && is_there(kind);
    if (faster && kind == &gather_cuda) {
        gpu = backend_set_gpu(&set, convolver_cuda.bandwidth());
        faster = backend_cost_clearly_gpu(cpu, gpu);
    }
    note_detail("auto takes %s: convolving takes an estimated %.2f s on %zu processor%s, %.2f s "
                "with a GPU; decoding and encoding take as long with both",
                faster ? "the GPU" : "the CPU", cpu, set.processors, plural_s(set.processors), gpu);
    return faster;
}

static enum status check(const struct convolver_settings *convolver)
{
    if (convolver->gpu.kernel || convolver->gpu.mode != GPU_MODE_AUTO)
        return fail(CAUSE_USAGE,
                    "halo batch has kernels of its own: remove --kernel and --gpu-mode");
    return STATUS_OK;
}

/* Whether a GPU is chosen although none was named. */
static bool is_chosen(const struct batch_options *options, const struct batch_list *list,
                      struct mask_cache *masks, const struct gather_device_kind *kind)
{
    const struct convolver_settings *convolver = &options->render.chain.settings.convolver;
    return strcmp(convolver->backend, "auto") == 0 && !options->render.chain.reproducible &&
           may_be_there(kind) && is_faster(options, list, masks, kind);
}

enum status batch_gpu_choose(const struct batch_options *options, const struct batch_list *list,
                             struct mask_cache *masks, struct gather **gather)
{
    const struct convolver_settings *convolver = &options->render.chain.settings.convolver;
    const struct gather_device_kind *kind =
        options->device_kind ? options->device_kind : &gather_cuda;
    int numbers[DEVICES_MOST];
    size_t count;
    *gather = NULL;
    TRY(check(convolver));
    bool named =
        gpu_devices_are_given(&convolver->gpu.devices) || strcmp(convolver->backend, "cuda") == 0;
    if (options->render.chain.reproducible)
        note_detail("--reproducible: the batch stays on the CPU");
    if (!named && !is_chosen(options, list, masks, kind))
        return STATUS_OK;
    log_as_notes(!named);
    enum status status = choose_devices(kind, &convolver->gpu.devices, numbers, &count);
    const struct gather_settings settings = {kind, count, numbers, 0};
    if (status == STATUS_OK)
        status = gather_create(&settings, gather);
    log_as_notes(false);
    if (status != STATUS_OK && named)
        return status;
    if (*gather)
        note_detail("the batch uses %zu GPU%s", count, plural_s(count));
    return STATUS_OK;
}

size_t batch_gpu_threads(size_t threads)
{
    size_t some = THREADS_EACH * machine_processors() + THREADS_MORE;
    return threads ? threads : some < THREADS_MOST ? some : THREADS_MOST;
}

void batch_gpu_settle(const struct gather *gather, struct render_options *options)
{
    struct convolver_settings *convolver = &options->chain.settings.convolver;
    const char *backend = convolver->backend;
    bool may = strcmp(backend, "auto") == 0 || strcmp(backend, "cuda") == 0;
    bool gathers = gather && may && !options->chain.reproducible;
    convolver->service = gathers ? gather_service(gather) : NULL;
    convolver->gpu = (struct gpu_settings){0}; /* the gather has these settings */
    if (may)
        convolver->backend = "cpu"; /* for stages that the GPUs do not compute */
}

json_t *batch_gpu_report(struct gather *gather)
{
    struct gather_count count;
    json_t *rows = gather ? json_array() : NULL;
    for (size_t i = 0; gather && gather_count_of(gather, i, &count); i++) {
        json_array_append_new(rows, json_pack("{s:i, s:I, s:I, s:I, s:I, s:s?}", "device",
                                              count.number, "batches", (json_int_t)count.batches,
                                              "pieces", (json_int_t)count.items, "masks_sent",
                                              (json_int_t)count.masks_sent, "done_again",
                                              (json_int_t)count.lost_items, "lost", count.loss));
        note_detail("GPU %d: %zu piece%s of sound in %zu batch%s, %zu mask%s sent", count.number,
                    count.items, plural_s(count.items), count.batches,
                    count.batches == 1 ? "" : "es", count.masks_sent, plural_s(count.masks_sent));
        if (count.loss)
            note("GPU %d was lost (%s): %zu piece%s of sound done again elsewhere", count.number,
                 count.loss, count.lost_items, plural_s(count.lost_items));
    }
    return rows;
}
