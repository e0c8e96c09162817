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

enum { OWN_OPTIONS = 18, STAGES_MOST = 8, THREADS_MOST = 1024 };

static const struct option_row own_options[] = {
    {"edge", 0, "EDGE", "what lies beyond the sound's ends: zero (default),\n"
                        "replicate, reflect or wrap; goes with --tail none"},
    {"align", 0, "ALIGN", "causal (default), or centre: time zero at the mask's\n"
                          "middle tap, as textbook kernels index"},
    {"tail", 0, "TAIL", "full (default): frames + taps - 1; none: the input's\n"
                        "frames; until:-80dB: until it stays below that level"},
    {"format", 0, "FORMAT", "pcm16, pcm24, pcm32, float or double; the input's\n"
                            "otherwise"},
    {"container", 0, "NAME", "wav, flac, aiff, au, caf, ...; by OUT's name otherwise"},
    {"normalize", 0, "DB", "bring the peak to DB dBFS, such as -1"},
    {"dither", 0, "DITHER", "tpdf (default) or none, where bits are lost"},
    {"allow-truncated", 0, NULL, "take a file that is shorter than its header says"},
    {"backend", 0, "NAME", "auto (default), cpu, or direct: slow, and the truth that\n"
                           "the others are tested against"},
    {"threads", 0, "N", "processors to use; all by default"},
    {"force", 'f', NULL, "replace OUT if it exists"},
    {"json", 0, NULL, "print a report for scripts on standard output"},
    {"quiet", 'q', NULL, "print errors only"},
    {"verbose", 'v', NULL, "say more: paths, algorithm, true peak"},
    {"help", 'h', NULL, "print this"},
};

static const char *const edge_names[] = {"zero", "replicate", "reflect", "wrap", NULL};
static const char *const align_names[] = {"causal", "centre", NULL};
static const char *const dither_names[] = {"tpdf", "none", NULL};

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

/* ---- the command line ---- */

static size_t collect_options(struct option_row *rows)
{
    size_t count = 0;
    for (const struct stage_kind *kind; (kind = stage_kind_at(count)); count++)
        rows[count] = (struct option_row){kind->option, 0, kind->argument, kind->help};
    memcpy(rows + count, own_options, sizeof own_options);
    return count + sizeof own_options / sizeof *own_options;
}

static void print_help(void)
{
    struct option_row rows[STAGES_MOST + OWN_OPTIONS];
    size_t count = collect_options(rows), stages = 0;
    while (stage_kind_at(stages))
        stages++;
    puts("usage: halo render IN OUT [stages and options]\n\n"
         "Filter a sound file. IN and OUT may be - for standard input and output.\n"
         "OUT keeps IN's rate, sample format and tags; its name's ending is its container.\n\n"
         "stages, in the order given:");
    options_print(stdout, rows, stages);
    puts("\noptions:");
    options_print(stdout, rows + stages, count - stages);
    puts("\nexample: halo render voice.wav out.wav --mask hall.wav,gain=-6 --gain 3");
}

static enum status take_tail(struct render *render, const char *value)
{
    render->tail_given = true;
    if (strcmp(value, "full") == 0) {
        render->tail = TAIL_FULL;
    } else if (strcmp(value, "none") == 0) {
        render->tail = TAIL_NONE;
    } else if (strncmp(value, "until:", 6) == 0) {
        double db;
        enum status status = specs_parse_db(value + 6, "the level of --tail until:", &db);
        if (status != STATUS_OK)
            return status;
        render->tail = TAIL_UNTIL;
        render->until = audio_from_db(db);
    } else {
        return fail(STATUS_USAGE, "--tail is full, none or until:LEVEL such as until:-80dB, "
                    "not '%s'", value);
    }
    return STATUS_OK;
}

static enum status take_threads(struct render *render, const char *value)
{
    char *end;
    errno = 0;
    unsigned long threads = strtoul(value, &end, 10);
    if (errno || end == value || *end || strchr(value, '-') || threads < 1 ||
        threads > THREADS_MOST)
        return fail(STATUS_USAGE, "--threads must be a whole number from 1 to %d, not '%s'",
                    THREADS_MOST, value);
    render->threads = threads;
    return STATUS_OK;
}

static enum status take_backend(struct render *render, const char *value)
{
    if (!convolver_backend_exists(value)) {
        char list[64] = "auto";
        for (size_t i = 0; convolver_backend_name(i); i++)
            snprintf(list + strlen(list), sizeof list - strlen(list), ", %s",
                     convolver_backend_name(i));
        return fail(STATUS_USAGE, "--backend is one of %s, not '%s'", list, value);
    }
    render->stage_settings.backend = value;
    return STATUS_OK;
}

static enum status take_peak(struct render *render, const char *value)
{
    double db;
    enum status status = specs_parse_db(value, "--normalize", &db);
    render->normalize = status == STATUS_OK;
    render->peak = status == STATUS_OK ? audio_from_db(db) : 0;
    return status;
}

static enum status take_position(struct render *render, const char *value)
{
    if (!render->input)
        render->input = value;
    else if (!render->output)
        render->output = value;
    else
        return fail(STATUS_USAGE, "one IN and one OUT, not also '%s'; halo render --help tells "
                    "more", value);
    return STATUS_OK;
}

static enum status take_option(void *context, const struct option_row *row, const char *value)
{
    struct render *render = context;
    size_t choice = 0;
    enum status status = STATUS_OK;
    if (!row)
        return take_position(render, value);
    const struct stage_kind *kind = stage_kind_named(row->name);
    if (kind)
        return stage_list_add(&render->stages, kind, value);
    if (strcmp(row->name, "edge") == 0) {
        status = options_choose(row->name, value, edge_names, &choice);
        render->edge = (enum edge)choice;
    } else if (strcmp(row->name, "align") == 0) {
        status = options_choose(row->name, value, align_names, &choice);
        render->stage_settings.align = (enum mask_align)choice;
    } else if (strcmp(row->name, "dither") == 0) {
        status = options_choose(row->name, value, dither_names, &choice);
        render->dither = choice == 0;
    } else if (strcmp(row->name, "tail") == 0) {
        status = take_tail(render, value);
    } else if (strcmp(row->name, "format") == 0) {
        render->wish.samples = value;
    } else if (strcmp(row->name, "container") == 0) {
        render->wish.container = value;
    } else if (strcmp(row->name, "normalize") == 0) {
        status = take_peak(render, value);
    } else if (strcmp(row->name, "allow-truncated") == 0) {
        render->stage_settings.allow_truncated = true;
    } else if (strcmp(row->name, "backend") == 0) {
        status = take_backend(render, value);
    } else if (strcmp(row->name, "threads") == 0) {
        status = take_threads(render, value);
    } else if (strcmp(row->name, "force") == 0) {
        render->force = true;
    } else if (strcmp(row->name, "json") == 0) {
        render->json = true;
    } else if (strcmp(row->name, "quiet") == 0) {
        render->verbosity = VERBOSITY_QUIET;
    } else if (strcmp(row->name, "verbose") == 0) {
        render->verbosity = VERBOSITY_VERBOSE;
    } else if (strcmp(row->name, "help") == 0) {
        render->help = true;
    }
    return status;
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
    struct option_row rows[STAGES_MOST + OWN_OPTIONS];
    size_t count = collect_options(rows);
    struct render render = {
        .stage_settings = {.backend = "auto"},
        .dither = true,
        .verbosity = VERBOSITY_NORMAL,
    };
    enum status status =
        options_parse(argc, argv, "halo render", rows, count, take_option, &render);
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
