#include "batch/batch_job.h"

#include "base/build_info.h"
#include "base/cache_file.h"
#include "base/files_read.h"
#include "chain/stage_draw.h"
#include "chain/stage_paths.h"
#include "render/output_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- id, input and output in a line ---- */

/* In these functions NULL means a text that was not found, and is passed on. */
static const char *skip_space(const char *at)
{
    while (at && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n'))
        at++;
    return at;
}

static const char *skip(const char *at, char wanted)
{
    at = skip_space(at);
    return at && *at == wanted ? at + 1 : NULL;
}

/* Skip a text, from after its opening quote to after the first quote that is not escaped. */
static const char *skip_text(const char *text)
{
    for (const char *quote = text; (quote = strchr(quote, '"')); quote++) {
        size_t escapes = 0;
        while (quote - escapes > text && quote[-1 - (ptrdiff_t)escapes] == '\\')
            escapes++;
        if (escapes % 2 == 0)
            return quote + 1;
    }
    return NULL;
}

/* Skip a list or an object, from its first bracket to after its last. */
static const char *skip_nested(const char *at)
{
    size_t depth = 0;
    do {
        depth += *at == '{' || *at == '[';
        depth -= *at == '}' || *at == ']';
        at = *at == '"' ? skip_text(at + 1) : *at ? at + 1 : NULL;
    } while (at && depth > 0);
    return at;
}

static const char *skip_value(const char *at)
{
    if (*at == '"')
        return skip_text(at + 1);
    if (*at == '{' || *at == '[')
        return skip_nested(at);
    size_t length = strcspn(at, ",{}[]\": \t\r\n");
    return length > 0 ? at + length : NULL;
}

/* Whether a text is the same before and after parsing: not empty, printable ASCII, no escapes. */
static bool is_plain(const struct job_text *text)
{
    unsigned odd = 0;
    for (size_t i = 0; i < text->length; i++) {
        unsigned char byte = (unsigned char)text->text[i];
        odd |= (unsigned)(byte < ' ') | (unsigned)(byte > '~') | (unsigned)(byte == '\\');
    }
    return text->length > 0 && !odd;
}

/* Whether output_within() would keep a path: no part is empty or begins with a dot. */
static bool is_tidy(const struct job_text *path)
{
    char before = '/';
    bool tidy = true;
    for (size_t i = 0; i < path->length; i++) {
        tidy = tidy && !(before == '/' && (path->text[i] == '/' || path->text[i] == '.'));
        before = path->text[i];
    }
    return tidy && before != '/';
}

/* Read a member's name, from after its quote. *name is empty if it has an escape. */
static const char *read_name(const char *at, struct job_text *name)
{
    const char *end = skip_text(at);
    *name = (struct job_text){at, end ? (size_t)(end - 1 - at) : 0};
    return end && !memchr(at, '\\', name->length) ? skip_space(skip(end, ':')) : NULL;
}

static bool is_named(const struct job_text *name, const char *wanted)
{
    size_t length = strlen(wanted);
    return name->length == length && memcmp(name->text, wanted, length) == 0;
}

static struct job_text *member_of(struct job_line *job, const struct job_text *name)
{
    return is_named(name, "id")    ? &job->id
           : is_named(name, "in")  ? &job->in
           : is_named(name, "out") ? &job->out
                                   : NULL;
}

/* Read the value of a member. NULL: a wanted member is no text, or occurs twice. */
static const char *read_member(const char *at, struct job_line *job)
{
    struct job_text name;
    at = read_name(at, &name);
    if (!at)
        return NULL;
    struct job_text *member = member_of(job, &name);
    const char *end = skip_value(at);
    if (!end || !member)
        return end;
    if (*at != '"' || member->text)
        return NULL;
    *member = (struct job_text){at + 1, (size_t)(end - at) - 2};
    return is_plain(member) ? end : NULL;
}

/* Scan a line. False: it is no object, or no ordinary one. */
static bool scan(const char *line, struct job_line *job)
{
    *job = (struct job_line){0};
    const char *at = skip(line, '{');
    for (bool more = true; at && more;) {
        at = skip(at, '"');
        at = at ? skip_space(read_member(at, job)) : NULL;
        more = at && *at == ',';
        at = at && (*at == ',' || *at == '}') ? at + 1 : NULL;
    }
    at = skip_space(at);
    return at && !*at;
}

bool job_line_scan(const char *line, struct job_line *job)
{
    return scan(line, job) && job->id.text && job->in.text && job->out.text && is_tidy(&job->out);
}

bool job_line_scan_done(const char *line, struct job_line *job)
{
    return scan(line, job) && job->id.text && job->out.text;
}

/* Options of halo render that a job cannot have. */
static const char *const not_of_a_job[] = {
    "output",   "threads",    "devices",      "out-dir", "name", "replay", "kernel",
    "gpu-mode", "save-chain", "collect",      "force",   "json", "quiet",  "verbose",
    "no-sync",  "help",       "reproducible", "block",   NULL};

/* Members that are no options. */
static const char *const own_members[] = {"id", "in", "out", "stages", "seed", NULL};

static bool is_among(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

uint64_t batch_id_sum(const char *id)
{
    return cache_file_sum(CACHE_FILE_SUM, id, strlen(id));
}

/* ---- id and output of a job ---- */

char *batch_name_pattern(const char *pattern, const char *id)
{
    const char *field = strstr(pattern, "{id}");
    char *text;
    if (!field)
        return strdup(pattern);
    return asprintf(&text, "%.*s%s%s", (int)(field - pattern), pattern, id, field + 4) < 0 ? NULL
                                                                                           : text;
}

/* Name the output of a job without "out". */
static enum status name_output(const struct batch_options *defaults, struct batch_job *job)
{
    char *pattern = batch_name_pattern(
        defaults->render.name ? defaults->render.name : OUTPUT_NAMES_USUAL, job->id ? job->id : "");
    if (!pattern)
        return fail_memory("a job");
    enum status status =
        output_name(defaults->render.out_dir, pattern, job->options.input, 0, 1, &job->output);
    free(pattern);
    return status;
}

static const char *text_of(const json_t *root, const char *name)
{
    return json_string_value(json_object_get(root, name));
}

bool batch_is_journal(const char *path)
{
    static const char folder[] = ".halo-batch";
    bool is_one = false;
    for (const char *part = path; *part && !is_one;) {
        size_t length = strcspn(part, "/");
        is_one = length == sizeof folder - 1 && memcmp(part, folder, length) == 0;
        part += length + strspn(part + length, "/");
    }
    return is_one;
}

enum status batch_job_identify(const struct batch_options *defaults, const char *line,
                               struct batch_job *job)
{
    json_error_t error;
    *job = (struct batch_job){.root = json_loads(line, JSON_REJECT_DUPLICATES, &error)};
    if (!job->root)
        return fail(CAUSE_USAGE, "not JSON: %s", error.text);
    const char *out = text_of(job->root, "out");
    job->id = text_of(job->root, "id");
    job->options.input = text_of(job->root, "in");
    if (!job->options.input || !*job->options.input)
        return fail(CAUSE_USAGE, "a job is an object with \"in\", the path of a sound file");
    if (out) /* the name stays as it is, unless it leads out of the folder */
        TRY(output_within(defaults->render.out_dir, out, &job->output));
    else
        TRY(name_output(defaults, job));
    job->name = job->output + strlen(defaults->render.out_dir);
    job->name += strspn(job->name, "/");
    if (batch_is_journal(job->name))
        return fail(CAUSE_USAGE,
                    "the output '%s' is in the folder of a journal; choose another name",
                    job->name);
    if (!job->id || !*job->id)
        job->id = job->name;
    return STATUS_OK;
}

void batch_job_free(struct batch_job *job)
{
    render_options_free(&job->options);
    for (size_t i = 0; i < job->text_count; i++)
        free(job->texts[i]);
    free(job->texts);
    free(job->output);
    json_decref(job->root);
    *job = (struct batch_job){0};
}

/* ---- options of a job ---- */

/* A value as text for the command line, owned by the job. NULL: memory. */
static const char *value_text(struct batch_job *job, const json_t *value)
{
    char *text = NULL;
    if (json_is_string(value))
        return json_string_value(value);
    char **more = realloc(job->texts, (job->text_count + 1) * sizeof *more);
    if (!more)
        return NULL;
    job->texts = more;
    if ((json_is_integer(value)
             ? asprintf(&text, "%" JSON_INTEGER_FORMAT, json_integer_value(value))
             : asprintf(&text, "%.15g", json_real_value(value))) < 0)
        return NULL;
    return job->texts[job->text_count++] = text;
}

static enum status set_option(struct batch_job *job, const char *name, const json_t *value)
{
    if (json_is_false(value))
        return STATUS_OK;
    if (json_is_true(value))
        return program_set(&command_render, &job->options, name, NULL);
    if (!json_is_string(value) && !json_is_number(value))
        return fail(CAUSE_USAGE, "\"%s\" is a text, a number, true, or a list of them", name);
    const char *text = value_text(job, value);
    return text ? program_set(&command_render, &job->options, name, text) : fail_memory("a job");
}

static enum status set_member(struct batch_job *job, const char *name, const json_t *value)
{
    size_t index;
    const json_t *item;
    if (is_among(not_of_a_job, name))
        return fail(CAUSE_USAGE, "\"%s\" is for the whole batch, not for a job", name);
    if (!json_is_array(value))
        return set_option(job, name, value);
    if (!stage_ops_named(name) && strcmp(name, "chain") != 0 && json_array_size(value) > 1)
        return fail(CAUSE_USAGE, "\"%s\" is one value; a list of numbers is a text: \"1,3\"", name);
    json_array_foreach(value, index, item) TRY(set_option(job, name, item));
    return STATUS_OK;
}

static enum status set_stages(struct batch_job *job, const json_t *stages)
{
    size_t index;
    json_t *stage;
    json_array_foreach(stages, index, stage)
    {
        void *member = json_object_iter(stage);
        const char *name = member ? json_object_iter_key(member) : NULL;
        if (!name || json_object_size(stage) != 1 ||
            (!stage_ops_named(name) && strcmp(name, "chain") != 0))
            return fail(CAUSE_USAGE,
                        "\"stages\" has objects of one stage: {\"mask\": \"hall.wav\"}");
        TRY(set_member(job, name, json_object_iter_value(member)));
    }
    return json_is_array(stages) || !stages ? STATUS_OK
                                            : fail(CAUSE_USAGE, "\"stages\" is a list of stages");
}

bool batch_job_has_stages(const json_t *root)
{
    bool has = json_object_get(root, "stages") || json_object_get(root, "chain");
    const struct stage_ops *ops;
    for (size_t i = 0; !has && (ops = stage_ops_at(i)); i++)
        has = json_object_get(root, ops->option) != NULL;
    return has;
}

/* ---- digest of a job ---- */

/* Print the options about layout, metadata, precision and proof, and the state of a tag file. */
static void print_conditions(const struct render_options *options, FILE *text)
{
    const char *metadata = options->metadata;
    fprintf(text, "%s\n%s\n%d %d %.17g\n", options->layout ? options->layout : "", metadata,
            options->chain.precision_given, options->proof.wanted, options->proof.bound_db);
    if (strcmp(metadata, "keep") != 0 && strcmp(metadata, "none") != 0)
        stage_files_print_one(metadata, text);
}

/* Print all options that change the sound or its file. */
static enum status print_options(const struct render_options *options, FILE *text)
{
    const struct stage_settings *settings = &options->chain.settings;
    fprintf(text, "%d %d %.17g %d %.17g %d\n", options->boundary, options->tail, options->until,
            options->normalize + options->to_loudness, options->level, options->dither);
    fprintf(text, "%s\n%s\n", options->request.samples ? options->request.samples : "",
            options->request.container ? options->request.container : "");
    fprintf(text, "%d %d %s %d %d %d\n", settings->align, settings->convolver.precision,
            settings->convolver.backend, settings->allow_truncated, settings->distrusts_configs,
            settings->isolate);
    print_conditions(options, text);
    fprintf(text, "%.17g %.17g\n", options->part.start, options->part.duration);
    if (options->end_given)
        fprintf(text, "end %.17g\n", options->part.end);
    for (const char *at = options->channel; at && *at; at += *at == ',') {
        fprintf(text, "channel %.*s\n", (int)strcspn(at, ","), at);
        at += strcspn(at, ",");
    }
    if (options->rate)
        fprintf(text, "rate %u\n", options->rate);
    if (options->quality > 0)
        fprintf(text, "quality %.17g\n", options->quality);
    fprintf(text, "%.17g %u/%u\n", settings->tempo.bpm, settings->tempo.bar, settings->tempo.unit);
    return stage_files_print_all(&options->chain.stages, text);
}

static enum status print_all(const struct batch_job *job, FILE *text)
{
    struct stat about;
    if (stat(job->options.input, &about) != 0)
        about = (struct stat){0}; /* the render reports why the file cannot be read */
    fprintf(text, "halo %s\n%s\n%s\n%s\n%jd %jd.%09ld\n", HALO_VERSION, job->id, job->name,
            job->options.input, (intmax_t)about.st_size, (intmax_t)about.st_mtim.tv_sec,
            about.st_mtim.tv_nsec);
    return print_options(&job->options, text);
}

static enum status make_digest(struct batch_job *job)
{
    char *all = NULL;
    size_t size;
    FILE *text = open_memstream(&all, &size);
    if (!text)
        return fail_memory("a job");
    enum status status = print_all(job, text);
    if (fclose(text) != 0 && status == STATUS_OK)
        status = fail_memory("a job");
    if (status == STATUS_OK) {
        uint64_t sum = cache_file_sum(CACHE_FILE_SUM, all, size);
        snprintf(job->digest, sizeof job->digest, "%016" PRIx64 "%016" PRIx64, sum,
                 cache_file_sum(~sum, all, size));
    }
    free(all);
    return status;
}

/* ---- input of a job ---- */

/* Refuse pipes as inputs: a second try or another run would wait for the pipe without end. */
static enum status check_input(const char *input)
{
    if (strcmp(input, "-") == 0)
        return fail(CAUSE_USAGE, "a job reads a file, not standard input");
    return files_read_refuse_waits(input);
}

/* ---- preparing a job ---- */

/* Take a job's own seed, a number or a text, as for --seed. */
static enum status check_seed(const struct batch_options *defaults, struct batch_job *job)
{
    const json_t *own = json_object_get(job->root, "seed");
    const char *text = json_is_string(own) ? json_string_value(own) : "";
    size_t digits = strspn(text, "0123456789");
    json_int_t value = json_integer_value(own);
    if (digits > 0 && digits <= 10 && !text[digits])
        value = strtoll(text, NULL, 10);
    else if (own && !json_is_integer(own))
        value = -1;
    if (value < 0 || value > UINT32_MAX)
        return fail(CAUSE_USAGE, "\"seed\" is a whole number from 0 to %" PRIu32, UINT32_MAX);
    job->seed = own ? (uint64_t)value : defaults->render.seed;
    return STATUS_OK;
}

/* The mask of a job. It depends on the job's id and the seed, not on other jobs. */
static const char *choose_mask(const struct batch_options *defaults, const struct batch_job *job)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64 " mask", job->seed);
    uint64_t sum = cache_file_sum(batch_id_sum(job->id), text, strlen(text));
    sum = (sum ^ sum >> 33) * UINT64_C(0xff51afd7ed558ccd);
    return defaults->mask_list.values[(sum ^ sum >> 33) % defaults->mask_list.count];
}

static enum status set_members(struct batch_job *job)
{
    const char *name;
    json_t *value;
    json_object_foreach(job->root, name, value) if (!is_among(own_members, name))
        TRY(set_member(job, name, value));
    return set_stages(job, json_object_get(job->root, "stages"));
}

enum status batch_job_prepare(const struct batch_options *defaults, struct batch_job *job)
{
    const char *input = job->options.input;
    TRY(render_options_copy(&defaults->render, &job->options));
    job->options.input = input;
    job->options.verbosity = VERBOSITY_QUIET;
    TRY(check_seed(defaults, job));
    if (batch_job_has_stages(job->root))
        stage_list_free(&job->options.chain.stages);
    else if (defaults->mask_list.count > 0)
        TRY(stage_list_insert(&job->options.chain.stages, defaults->masks_at,
                              stage_ops_named("mask"), choose_mask(defaults, job)));
    TRY(set_members(job));
    TRY(stage_list_draw(&job->options.chain.stages, job->seed, job->id));
    if (strcmp(job->options.chain.settings.convolver.backend, "cuda") == 0 &&
        strcmp(defaults->render.chain.settings.convolver.backend, "cuda") != 0)
        return fail(CAUSE_USAGE, "\"backend\": \"cuda\" is for the whole batch: --backend cuda");
    /* the output stays in the folder, whatever the job's members are */
    job->options.output = job->output;
    TRY(render_options_check_job(&job->options));
    TRY(check_input(input));
    return make_digest(job);
}
