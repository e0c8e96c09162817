#include "cmd_render.h"

#include "convolver.h"
#include "engine.h"
#include "gain.h"
#include "options.h"
#include "port.h"
#include "progress.h"
#include "report.h"
#include "specs.h"
#include "stop.h"
#include "workers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STAGES_MOST = 8, THREADS_MOST = 1024 };

static const char *const edge_names[] = {"zero", "replicate", "reflect", "wrap", NULL};

struct render {
    const char *input;
    const char *output;
    struct stage_list stages;
    struct stage_settings stage_settings;
    struct sound_wish wish;
    enum edge edge;
    enum tail tail;
    double until; /* linear */
    bool tail_given;
    bool normalize;
    double peak; /* linear, to normalize to */
    bool dither;
    size_t threads; /* 0: all */
    bool force;
    bool json;
    bool help;
    enum verbosity verbosity;
};

/* ---- the command line: one function an option ---- */

static enum status take_stage(void *context, const struct option_row *row, const char *value)
{
    struct render *render = context;
    return stage_list_add(&render->stages, stage_kind_named(row->name), value);
}

static enum status take_edge(void *context, const struct option_row *row, const char *value)
{
    size_t choice = EDGE_ZERO;
    enum status status = options_choose(row->name, value, edge_names, &choice);
    ((struct render *)context)->edge = (enum edge)choice;
    return status;
}

static enum status take_align(void *context, const struct option_row *row, const char *value)
{
    static const char *const names[] = {"causal", "centre", NULL};
    size_t choice = MASK_ALIGN_CAUSAL;
    enum status status = options_choose(row->name, value, names, &choice);
    ((struct render *)context)->stage_settings.align = (enum mask_align)choice;
    return status;
}

static enum status take_tail(void *context, const struct option_row *row, const char *value)
{
    struct render *render = context;
    enum status status = STATUS_OK;
    double db = 0;
    render->tail_given = true;
    if (strcmp(value, "full") == 0) {
        render->tail = TAIL_FULL;
    } else if (strcmp(value, "none") == 0) {
        render->tail = TAIL_NONE;
    } else if (strncmp(value, "until:", 6) == 0) {
        status = specs_parse_db(value + 6, "the level of --tail until:", &db);
        render->tail = TAIL_UNTIL;
        render->until = audio_from_db(db);
    } else {
        status = fail(STATUS_USAGE, "--%s is full, none or until:LEVEL such as until:-80dB, "
                      "not '%s'", row->name, value);
    }
    return status;
}

static enum status take_format(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    ((struct render *)context)->wish.samples = value;
    return STATUS_OK;
}

static enum status take_container(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    ((struct render *)context)->wish.container = value;
    return STATUS_OK;
}

static enum status take_peak(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    struct render *render = context;
    double db = 0;
    enum status status = specs_parse_db(value, "--normalize", &db);
    render->normalize = true;
    render->peak = audio_from_db(db);
    return status;
}

static enum status take_dither(void *context, const struct option_row *row, const char *value)
{
    static const char *const names[] = {"tpdf", "none", NULL};
    size_t choice = 0;
    enum status status = options_choose(row->name, value, names, &choice);
    ((struct render *)context)->dither = choice == 0;
    return status;
}

static enum status take_truncated(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct render *)context)->stage_settings.allow_truncated = true;
    return STATUS_OK;
}

static enum status take_backend(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    ((struct render *)context)->stage_settings.backend = value;
    if (convolver_backend_exists(value))
        return STATUS_OK;
    char list[64] = "auto";
    for (size_t i = 0; convolver_backend_name(i); i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), ", %s",
                 convolver_backend_name(i));
    return fail(STATUS_USAGE, "--backend is one of %s, not '%s'", list, value);
}

static enum status take_threads(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    char *end;
    errno = 0;
    unsigned long threads = strtoul(value, &end, 10);
    if (errno || end == value || *end || strchr(value, '-') || threads < 1 ||
        threads > THREADS_MOST)
        return fail(STATUS_USAGE, "--threads must be a whole number from 1 to %d, not '%s'",
                    THREADS_MOST, value);
    ((struct render *)context)->threads = threads;
    return STATUS_OK;
}

static enum status take_force(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct render *)context)->force = true;
    return STATUS_OK;
}

static enum status take_json(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct render *)context)->json = true;
    return STATUS_OK;
}

static enum status take_quiet(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct render *)context)->verbosity = VERBOSITY_QUIET;
    return STATUS_OK;
}

static enum status take_verbose(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct render *)context)->verbosity = VERBOSITY_VERBOSE;
    return STATUS_OK;
}

static enum status take_help(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct render *)context)->help = true;
    return STATUS_OK;
}

static enum status take_position(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    struct render *render = context;
    if (!render->input)
        render->input = value;
    else if (!render->output)
        render->output = value;
    else
        return fail(STATUS_USAGE, "one IN and one OUT, not also '%s'; halo render --help tells "
                    "more", value);
    return STATUS_OK;
}

static const struct option_row own_options[] = {
    {"edge", 0, "EDGE", "what lies beyond the sound's ends: zero (default),\n"
                        "replicate, reflect or wrap; goes with --tail none", take_edge},
    {"align", 0, "ALIGN", "causal (default), or centre: time zero at the mask's\n"
                          "middle tap, as textbook kernels index", take_align},
    {"tail", 0, "TAIL", "full (default): frames + taps - 1; none: the input's\n"
                        "frames; until:-80dB: until it stays below that level", take_tail},
    {"format", 0, "FORMAT", "pcm16, pcm24, pcm32, float or double; the input's\n"
                            "otherwise", take_format},
    {"container", 0, "NAME", "wav, flac, aiff, au, caf, ...; by OUT's name otherwise",
     take_container},
    {"normalize", 0, "DB", "bring the peak to DB dBFS, such as -1", take_peak},
    {"dither", 0, "DITHER", "tpdf (default) or none, where bits are lost", take_dither},
    {"allow-truncated", 0, NULL, "take a file that is shorter than its header says",
     take_truncated},
    {"backend", 0, "NAME", "auto (default), cpu, or direct: slow, and the truth that\n"
                           "the others are tested against", take_backend},
    {"threads", 0, "N", "processors to use; all by default", take_threads},
    {"force", 'f', NULL, "replace OUT if it exists", take_force},
    {"json", 0, NULL, "print a report for scripts on standard output", take_json},
    {"quiet", 'q', NULL, "print errors only", take_quiet},
    {"verbose", 'v', NULL, "say more: paths, algorithm, true peak", take_verbose},
    {"help", 'h', NULL, "print this", take_help},
    {.take = take_position},
};

enum { ROWS_MOST = STAGES_MOST + sizeof own_options / sizeof *own_options };

/* The stages' options first, then our own. Returns how many stages there are. */
static size_t collect_options(struct option_row rows[ROWS_MOST])
{
    size_t stages = 0;
    for (const struct stage_kind *kind; (kind = stage_kind_at(stages)); stages++)
        rows[stages] =
            (struct option_row){kind->option, 0, kind->argument, kind->help, take_stage};
    memcpy(rows + stages, own_options, sizeof own_options);
    return stages;
}

static void print_help(void)
{
    struct option_row rows[ROWS_MOST];
    size_t stages = collect_options(rows);
    puts("usage: halo render IN OUT [stages and options]\n\n"
         "Filter a sound file. IN and OUT may be - for standard input and output.\n"
         "OUT keeps IN's rate, sample format and tags; its name's ending is its container.\n\n"
         "stages, in the order given:");
    options_print(stdout, rows, stages);
    puts("\noptions:");
    options_print(stdout, rows + stages, ROWS_MOST);
    puts("\nexample: halo render voice.wav out.wav --mask hall.wav,gain=-6 --gain 3");
}

static enum status check_words(struct render *render)
{
    if (!render->input || !render->output)
        return fail(STATUS_USAGE, "IN and OUT are needed; halo render --help tells more");
    if (render->edge != EDGE_ZERO) {
        if (render->tail_given && render->tail != TAIL_NONE)
            return fail(STATUS_USAGE, "--edge %s goes with --tail none: a sound that goes on has "
                        "no tail", edge_names[render->edge]);
        render->tail = TAIL_NONE;
    }
    if (strcmp(render->output, "-") == 0 && isatty(STDOUT_FILENO))
        return fail(STATUS_USAGE, "standard output is a terminal; send the sound to a file or a "
                    "pipe");
    return STATUS_OK;
}

/* ---- the work ---- */

struct job {
    const struct render *render;
    struct source *source;
    struct workers *workers;
    struct filter *chain;
    struct sink *sink;
    struct stream_format format; /* of the output */
    int sound_format;
    struct engine_run_settings run;
    struct report report;
    struct progress progress;
};

static uint64_t frames_to_come(const struct source *source, const struct stage_list *stages)
{
    if (source->frames == FRAMES_UNKNOWN)
        return UINT64_MAX;
    uint64_t frames = (uint64_t)source->frames;
    for (size_t i = 0; i < stages->count; i++)
        if (stages->stages[i].mask)
            frames += stages->stages[i].mask->taps;
    return frames;
}

/* Everything up to the chain: what is wrong with the words or files shows here. */
static enum status prepare(struct job *job, struct render *render)
{
    enum status status =
        source_open_sound(render->input, render->stage_settings.allow_truncated, &job->source);
    if (status != STATUS_OK)
        return status;
    job->format = job->source->format;
    status = stage_list_load(&render->stages, &render->stage_settings, &job->format);
    if (status == STATUS_OK)
        status = sound_format_choose(render->output, &render->wish, &job->source->traits,
                                     &job->format, &job->sound_format);
    if (status == STATUS_OK)
        status = workers_create(render->threads, &job->workers);
    if (status != STATUS_OK)
        return status;
    size_t channels = job->source->format.channels;
    size_t block = stage_list_block(&render->stages, channels, workers_count(job->workers),
                                    frames_to_come(job->source, &render->stages));
    return stage_list_create(&render->stages, channels, block, job->workers, &job->chain);
}

static enum status open_sink(struct job *job)
{
    const struct render *render = job->render;
    struct sink_settings settings = {
        .path = render->output,
        .input = render->input,
        .format = job->format,
        .sound_format = job->sound_format,
        .traits = &job->source->traits,
        .frames = engine_frames_out(job->chain, job->source->frames, render->tail),
        .dither = render->dither,
        .force = render->force,
    };
    return sink_open_sound(&settings, &job->sink);
}

/* The edges lie around the source, as far as the chain looks. */
static enum status lay_edges(struct job *job, struct source **extended)
{
    const struct render *render = job->render;
    if (render->edge == EDGE_ZERO)
        return STATUS_OK;
    job->run.lead = job->chain->tail - job->chain->latency;
    job->run.trail = job->chain->latency;
    struct source *inner;
    enum status status =
        source_open_sound(render->input, render->stage_settings.allow_truncated, &inner);
    if (status != STATUS_OK)
        return status;
    return source_open_edge(inner, render->edge, job->run.lead, job->run.trail, extended);
}

static enum status run_once(struct job *job, struct source *source)
{
    return engine_run(job->chain, source, job->sink, &job->run, &job->report.totals);
}

/* Two passes: one to know the peak, one to scale to it. */
static enum status run_normalized(struct job *job, struct source *source)
{
    struct sink *spool = NULL;
    struct source *again = NULL;
    struct filter *gain = NULL;
    struct engine_totals totals = {0};
    bool to_file = strcmp(job->render->output, "-") != 0;
    enum status status = spool_open(to_file ? job->render->output : NULL, source,
                                    job->format.channels, &spool, &again);
    if (status == STATUS_OK)
        status = engine_run(job->chain, source, spool, &job->run, &job->report.totals);
    if (status == STATUS_OK)
        status = sink_commit(spool);
    double peak = job->report.totals.peak;
    if (status == STATUS_OK && peak == 0)
        note("the sound is silent: there is nothing to normalize");
    job->report.scale = peak > 0 ? job->render->peak / peak : 1;
    if (status == STATUS_OK)
        status = gain_create(job->format.channels, 1 << 14, job->report.scale, &gain);
    if (status == STATUS_OK) {
        struct engine_run_settings second = {.tail = TAIL_NONE,
                                             .true_peak = job->run.true_peak};
        status = engine_run(gain, again, job->sink, &second, &totals);
        job->report.totals.peak = totals.peak;
        job->report.totals.true_peak = totals.true_peak;
    }
    filter_destroy(gain);
    source_close(again);
    sink_close(spool);
    return status;
}

static enum status work(struct job *job)
{
    const struct render *render = job->render;
    struct source *extended = NULL;
    job->run.tail = render->tail;
    job->run.until = render->until;
    job->run.true_peak = render->verbosity == VERBOSITY_VERBOSE;
    job->run.progress = progress_update;
    job->run.progress_context = &job->progress;
    enum status status = lay_edges(job, &extended);
    if (status == STATUS_OK)
        status = open_sink(job);
    progress_begin(&job->progress, job->format.rate, render->verbosity != VERBOSITY_QUIET);
    job->report.scale = 1;
    if (status == STATUS_OK)
        status = (render->normalize ? run_normalized : run_once)(job, extended ? extended
                                                                              : job->source);
    source_close(extended);
    if (status == STATUS_OK)
        status = sink_commit(job->sink);
    job->report.seconds = progress_clock() - job->progress.start;
    return status;
}

static enum status print_report(struct job *job)
{
    const struct render *render = job->render;
    struct report *report = &job->report;
    report->input = render->input;
    report->output = render->output;
    report->rate = job->format.rate;
    report->channels = job->format.channels;
    report->channels_in = job->source->format.channels;
    report->sound_format = job->sound_format;
    report->stages = &render->stages;
    report->chain = job->chain;
    report->true_peak = job->run.true_peak;
    report->clipped = job->sink->clipped;
    report->threads = workers_count(job->workers);
    report_print(report);
    if (!render->json)
        return STATUS_OK;
    return report_print_json(report, strcmp(render->output, "-") == 0 ? stderr : stdout);
}

static enum status render_sound(struct render *render)
{
    struct job job = {.render = render};
    enum status status = prepare(&job, render);
    if (status == STATUS_OK)
        status = work(&job);
    if (status == STATUS_OK)
        status = print_report(&job);
    sink_close(job.sink);
    filter_destroy(job.chain);
    workers_destroy(job.workers);
    source_close(job.source);
    return status;
}

enum status cmd_render(int argc, char **argv)
{
    struct option_row rows[ROWS_MOST];
    collect_options(rows);
    struct render render = {
        .stage_settings = {.backend = "auto"},
        .dither = true,
        .verbosity = VERBOSITY_NORMAL,
    };
    enum status status = options_parse(argc, argv, "halo render", rows, &render);
    if (status == STATUS_OK && render.help) {
        print_help();
    } else if (status == STATUS_OK) {
        note_verbosity(render.verbosity);
        status = check_words(&render);
        stop_watch();
        if (status == STATUS_OK)
            status = render_sound(&render);
    }
    stage_list_free(&render.stages);
    return status;
}
