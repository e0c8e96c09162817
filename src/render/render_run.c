/* halo render: one sound, a replay, or many sounds. */
#include "base/failure_json.h"
#include "base/laps.h"
#include "base/stop.h"
#include "chain/stage_draw.h"
#include "render/render_job.h"
#include "render/render_many.h"
#include "render/render_output.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool to_standard_output(const struct render_options *options)
{
    struct stat output, standard;
    return strcmp(options->output, "-") == 0 ||
           (stat(options->output, &output) == 0 && fstat(STDOUT_FILENO, &standard) == 0 &&
            output.st_dev == standard.st_dev && output.st_ino == standard.st_ino &&
            !S_ISCHR(output.st_mode));
}

static enum status print_one(void *context, const struct report *report)
{
    const struct render_options *options = context;
    report_print(report);
    if (!options->json)
        return STATUS_OK;
    return report_print_json(report, to_standard_output(options) ? stderr : stdout);
}

static enum status render_sound(struct render_options *options)
{
    const struct render_job_settings settings = {.shows_progress =
                                                     options->verbosity != VERBOSITY_QUIET,
                                                 .report = print_one,
                                                 .context = options};
    TRY(stage_list_draw(&options->chain.stages, options->seed, ""));
    return render_job_run(options, &settings);
}

enum status render_run(void *context)
{
    struct render_options *options = context;
    TRY(render_options_check(options));
    /* A report on standard error is not mixed with notes. */
    bool alone = options->json && !options->out_dir && to_standard_output(options);
    failure_json_to(alone ? stderr : stdout);
    note_verbosity(alone ? VERBOSITY_SILENT : options->verbosity);
    laps_begin(options->verbosity == VERBOSITY_VERBOSE);
    convolver_expect(&options->chain.settings.convolver, NULL);
    stop_watch();
    enum status status = options->out_dir  ? render_many(options)
                         : options->replay ? render_replay(options)
                                           : render_sound(options);
    laps_note();
    convolver_settle();
    return status;
}
