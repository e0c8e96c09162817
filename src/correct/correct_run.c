#include "acoustics/mask_stats.h"
#include "base/atomic_file.h"
#include "base/json_text.h"
#include "base/stop.h"
#include "base/user_folder.h"
#include "correct/correct_options.h"
#include "design/design.h"
#include "import/mask_write.h"
#include "live/session/preset.h"

#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    USUAL_POSITIONS = 3,
    POLL_MS = 100,
    PLOT_COLUMNS = 78,
    PLOT_ROWS = 20,
    WORD = PATH_MAX + 16
};

/* The options that keys change. */
enum { TARGET, PHASE, BOOST, CHOICES };
static const char *const choice_keys[CHOICES] = {"target=", "phase=", "boost="};

struct correct_position {
    char *path;
    struct mask *mask;
    struct measurement *measurement; /* NULL: the file has none */
};

struct correct_job {
    const struct correct_options *options;
    struct measure_options measure; /* a copy, with chosen devices */
    char output[CORRECT_DEVICE], input[CORRECT_DEVICE];
    struct view *view; /* NULL: no screen */
    struct measure_rig rig;
    size_t count;
    struct correct_position positions[CORRECT_POSITIONS];
    char *path;                  /* file of the correction */
    char choices[CHOICES][WORD]; /* options that keys change, such as "target=house" */
    char **words;                /* options of --with that no key changes */
    struct mask *correction;     /* the mask, at the rate of the positions; NULL before */
    struct study *study;
};

static const struct measure_rig *rig_of(const struct correct_job *job)
{
    return job->rig.device ? &job->rig : NULL;
}

/* ---- files ---- */

static const char *preset_name(const struct correct_job *job)
{
    const char *slash = strrchr(job->options->name, '/');
    return slash ? slash + 1 : job->options->name;
}

static enum status name_files(struct correct_job *job)
{
    const struct correct_options *options = job->options;
    bool measures = options->measured_count == 0;
    job->count = measures ? options->positions ? options->positions : USUAL_POSITIONS
                          : options->measured_count;
    if (asprintf(&job->path, "%s-correction.wav", options->name) < 0)
        return fail_memory("a correction");
    for (size_t p = 0; p < job->count; p++) {
        char **path = &job->positions[p].path;
        int made = measures ? asprintf(path, "%s-%zu.wav", options->name, p + 1)
                            : asprintf(path, "%s", options->measured[p]);
        if (made < 0)
            return fail_memory("a correction");
        if (strchr(*path, '*') || strchr(job->path, '*'))
            return fail(CAUSE_USAGE, "%s: halo correct takes no names with *; rename it",
                        strchr(*path, '*') ? *path : options->name);
    }
    return STATUS_OK;
}

/* Fails before anything is played if a file or the preset exists, or cannot be written. */
static enum status check_files(struct correct_job *job)
{
    char preset[PATH_MAX];
    bool force = job->options->measure.play.force;
    TRY(preset_path(preset_name(job), preset));
    if (!force && access(preset, F_OK) == 0)
        return fail(CAUSE_USAGE,
                    "preset %s exists: use another name, --force, or halo preset remove %s",
                    preset_name(job), preset_name(job));
    TRY(atomic_file_check(job->path, force));
    if (job->options->measured_count > 0)
        return STATUS_OK;
    TRY(user_folder_make(preset));
    TRY(atomic_file_check(preset, force));
    for (size_t p = 0; p < job->count; p++) {
        struct measure_result result;
        job->measure.output = job->positions[p].path;
        enum status status = measure_result_init(&job->measure, &result);
        measure_result_free(&result);
        TRY(status);
    }
    return STATUS_OK;
}

/* ---- measuring ---- */

/* Waits for Enter on standard input. */
static enum status wait_for_enter(void)
{
    char byte = 0;
    while (byte != '\n') {
        struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
        if (stop_requested())
            return fail(CAUSE_INTERRUPTED, "stopped");
        if (poll(&input, 1, POLL_MS) > 0 && read(STDIN_FILENO, &byte, 1) != 1)
            return fail(CAUSE_USAGE, "standard input ended before Enter was pressed for the next "
                                     "place; --positions 1 needs none");
    }
    return STATUS_OK;
}

/* Records and writes the responses of a position, or of a check through `filter`. */
static enum status measure_once(struct correct_job *job, const struct mask *filter,
                                const char *path, struct measure_result *result)
{
    struct take *take;
    job->measure.output = path;
    if (path)
        TRY(measure_result_init(&job->measure, result));
    enum status status = measure_take(&job->rig, filter, &take);
    if (status == STATUS_OK && job->view)
        measure_show(job->view, take, "The responses are computed.");
    if (status == STATUS_OK)
        status = path ? measure_write(&job->measure, take, result)
                      : measure_respond(&job->measure, take, result);
    take_destroy(take);
    return status;
}

/* Gives a position the rate of the first one. */
static enum status match_rate(struct correct_job *job, struct correct_position *position)
{
    uint32_t rate = job->positions[0].mask->rate;
    return position->mask->rate == rate ? STATUS_OK : mask_resample(position->mask, rate, NULL);
}

static enum status load_position(struct correct_job *job, struct correct_position *position)
{
    const struct mask_load_options load = {0};
    char *words[] = {position->path, NULL};
    TRY(design_load(words, 0, &load, &position->mask));
    if (!position->mask->rate)
        return fail(CAUSE_USAGE, "%s tells no rate: it is no response of a loudspeaker",
                    position->path);
    if (position->mask->measured)
        TRY(measurement_parse(position->mask->measured, &position->measurement));
    return match_rate(job, position);
}

/* The path of least SNR, which tells whether the take is good. */
static void describe_take(const struct measurement *measurement, char *line, size_t size)
{
    const struct measured_path *least = NULL;
    for (size_t p = 0; p < measurement->path_count; p++)
        if (!least || !(measurement->paths[p].snr_all >= least->snr_all))
            least = &measurement->paths[p];
    snprintf(line, size, "%.1f dB over the noise (output %zu)", least ? least->snr_all : NAN,
             least ? least->output : 0);
}

/* After a position: on to the next one, once more, or done. */
static enum status ask_next(struct correct_job *job, size_t measured, int *key)
{
    const char *last = measured == job->count ? "space correct  r again  q leave"
                                              : "space measure the next place  r again  d done  "
                                                "q leave";
    char line[200], take[80];
    const char *lines[] = {line, "",
                           measured == job->count ? "All places are measured."
                                                  : "Move the microphone by 20 to 50 cm, "
                                                    "then press space and be quiet."};
    describe_take(job->positions[measured - 1].measurement, take, sizeof take);
    snprintf(line, sizeof line, "Place %zu of %zu is measured: %s.", measured, job->count, take);
    if (job->view)
        return correct_ask(job->view, rig_of(job), lines, 3, last,
                           measured == job->count ? " r" : " rd", key);
    *key = ' ';
    note("%s", line);
    if (measured == job->count)
        return STATUS_OK;
    fprintf(stderr, "Place %zu of %zu: move the microphone, then press Enter.\n", measured + 1,
            job->count);
    return wait_for_enter();
}

/* After a bad take on the screen: measures again, unless the user leaves. */
static enum status ask_again(struct correct_job *job, enum status status)
{
    const char *lines[] = {"This take cannot be used. Its reason is below."};
    int key;
    if (!job->view || stop_requested() || device_state(job->rig.device) != DEVICE_RUNNING)
        return status;
    return correct_ask(job->view, rig_of(job), lines, 1, "space measure again  q leave", " ", &key);
}

/* Moves the responses of a take into a position. Its file is not read, so that another take can
 * replace it. */
static void take_result(struct correct_position *position, struct measure_result *result)
{
    mask_destroy(position->mask);
    measurement_destroy(position->measurement);
    position->mask = result->mask;
    position->measurement = result->measurement;
    result->mask = NULL;
    result->measurement = NULL;
}

static enum status measure_positions(struct correct_job *job)
{
    size_t measured = 0;
    job->measure.play.force = true; /* check_files found what must not be replaced */
    while (measured < job->count) {
        struct correct_position *position = &job->positions[measured];
        struct measure_result result = {0};
        int key;
        enum status status = measure_once(job, NULL, position->path, &result);
        if (status == STATUS_OK)
            take_result(position, &result);
        measure_result_free(&result);
        if (status != STATUS_OK) {
            TRY(ask_again(job, status));
            continue;
        }
        TRY(match_rate(job, position));
        TRY(ask_next(job, measured + 1, &key));
        measured += key != 'r';
        if (key == 'd')
            job->count = measured;
    }
    return STATUS_OK;
}

/* ---- correcting ---- */

static const char *choice_value(const struct correct_job *job, int choice)
{
    return job->choices[choice] + strlen(choice_keys[choice]);
}

/* Splits --with, and takes out what keys change. */
static enum status read_with(struct correct_job *job)
{
    static const char *const usual[CHOICES] = {"flat", "minimum", "6"};
    size_t kept = 0;
    job->words = spec_split(job->options->with ? job->options->with : "");
    if (!job->words)
        return fail_memory("a correction");
    for (int c = 0; c < CHOICES; c++)
        snprintf(job->choices[c], WORD, "%s%s", choice_keys[c], usual[c]);
    for (char **word = job->words; *word; word++) {
        bool is_choice = false;
        for (int c = 0; c < CHOICES && !is_choice; c++) {
            is_choice = strncmp(*word, choice_keys[c], strlen(choice_keys[c])) == 0;
            if (is_choice)
                snprintf(job->choices[c], WORD, "%s", *word);
        }
        if (!is_choice && **word)
            job->words[kept++] = *word;
    }
    job->words[kept] = NULL;
    return STATUS_OK;
}

/* Appends a word of a spec (spec.h) after a separator. Frees `text`. NULL: no memory. */
static char *append(char *text, const char *separator, const char *word)
{
    size_t length = text ? strlen(text) : 0;
    char *longer = text ? realloc(text, length + strlen(separator) + 2 * strlen(word) + 1) : NULL;
    if (!longer) {
        free(text);
        return NULL;
    }
    char *to = stpcpy(longer + length, separator);
    for (const char *from = word; *from; from++) {
        if (*from == ',')
            *to++ = '\\';
        *to++ = *from;
    }
    *to = '\0';
    return longer;
}

/* The words of the correction's spec, in one block. NULL: no memory. */
static char **make_spec(const struct correct_job *job)
{
    char *text = strdup("correct:");
    for (size_t p = 0; p < job->count; p++)
        text = append(text, p ? "*" : "", job->positions[p].path);
    for (int c = 0; c < CHOICES; c++)
        text = append(text, ",", job->choices[c]);
    for (char **word = job->words; *word; word++)
        text = append(text, ",", *word);
    char **words = text ? spec_split(text) : NULL;
    free(text);
    return words;
}

static enum status load_correction(struct correct_job *job)
{
    const struct mask_load_options load = {0};
    char **spec = make_spec(job);
    if (!spec)
        return fail_memory("a correction");
    enum status status = design_load(spec, 0, &load, &job->correction);
    if (status == STATUS_OK && spec[1])
        status = fail(CAUSE_USAGE, "--with takes options of correct:, and '%s' is none", spec[1]);
    free(spec);
    return status;
}

/* Makes the correction and what it will do. */
static enum status correct(struct correct_job *job)
{
    struct mask *masks[CORRECT_POSITIONS];
    mask_destroy(job->correction);
    study_destroy(job->study);
    job->correction = NULL;
    job->study = NULL;
    TRY(load_correction(job));
    for (size_t p = 0; p < job->count; p++)
        masks[p] = job->positions[p].mask;
    if (job->correction->rate != masks[0]->rate)
        return fail(CAUSE_OTHER, "correct: %s has another rate than its responses", job->path);
    return study_create(masks, job->count, job->correction, choice_value(job, TARGET), &job->study);
}

/* Changes what a key stands for. */
static void change(struct correct_job *job, int key)
{
    static const char *const targets[] = {"flat", "house", "tilt:-0.8"};
    static const char *const phases[] = {"minimum", "mixed", "linear"};
    static const double boost_most = 40;
    double boost = strtod(choice_value(job, BOOST), NULL);
    size_t next = 0;
    for (size_t i = 0; i < 3; i++)
        if (strcmp(key == 't' ? targets[i] : phases[i],
                   choice_value(job, key == 't' ? TARGET : PHASE)) == 0)
            next = (i + 1) % 3;
    if (key == 't')
        snprintf(job->choices[TARGET], WORD, "target=%s", targets[next]);
    else if (key == 'p')
        snprintf(job->choices[PHASE], WORD, "phase=%s", phases[next]);
    else if (key == '+' || key == '-')
        snprintf(job->choices[BOOST], WORD, "boost=%g",
                 fmin(fmax(boost + (key == '+' ? 1 : -1), 0), boost_most));
}

/* Corrects anew after a key. If that fails, such as excess= without phase=mixed, the choices stay,
 * and the screen shows the reason. */
static enum status try_change(struct correct_job *job, int key)
{
    char choices[CHOICES][WORD];
    memcpy(choices, job->choices, sizeof choices);
    change(job, key);
    if (correct(job) == STATUS_OK)
        return STATUS_OK;
    memcpy(job->choices, choices, sizeof choices);
    return correct(job);
}

/* Shows the correction until the user takes it. */
static enum status choose_correction(struct correct_job *job)
{
    int key = 0;
    size_t speaker = 0;
    TRY(correct(job));
    while (job->view && key != ' ') {
        char text[3 * WORD + 64];
        snprintf(text, sizeof text, "target %s, %s phase, at most %s dB louder",
                 choice_value(job, TARGET), choice_value(job, PHASE), choice_value(job, BOOST));
        TRY(correct_show(
            job->view, rig_of(job), job->study, speaker, text,
            "t target  p phase  + - boost  o other loudspeaker  space take it  q leave", "tp+-o ",
            &key));
        if (key == 'o')
            speaker = (speaker + 1) % job->study->count;
        else if (key != ' ')
            TRY(try_change(job, key));
    }
    return STATUS_OK;
}

/* ---- what is written ---- */

/* The headroom that music needs, in dB. */
static enum status find_headroom(struct mask *mask, double *headroom)
{
    struct mask_stats stats;
    TRY(mask_route(mask, mask->columns, MASK_ORDER_LL_LR_RL_RR, MASK_MAP_AUTO));
    TRY(mask_stats_init(&stats, mask, mask->rate));
    *headroom = 0;
    for (size_t o = 0; o < stats.outputs; o++)
        *headroom = fmax(*headroom, stats.output[o].headroom);
    mask_stats_free(&stats);
    return STATUS_OK;
}

/* The spec of the preset's stage: the whole path, and a gain that leaves headroom. */
static char *stage_text(const char *path, double headroom)
{
    char gain[32], *whole = realpath(path, NULL);
    snprintf(gain, sizeof gain, "gain=%.1f", -ceil(10 * headroom) / 10 + 0.0);
    char *text = whole ? append(append(strdup(""), "", whole), ",", gain) : NULL;
    free(whole);
    return text;
}

static enum status write_preset(const struct correct_job *job, const char *text)
{
    const struct chain_live live = {.stage = SIZE_MAX, .mask = 1};
    const struct stage_settings settings = {0};
    struct stream_format format = {.rate = job->correction->rate,
                                   .channels = job->correction->columns};
    struct stage_list stages = {0};
    enum status status = stage_list_add(&stages, stage_ops_named("mask"), text, NULL);
    if (status == STATUS_OK)
        status = stage_list_load(&stages, &settings, &format);
    if (status == STATUS_OK)
        status = preset_save(preset_name(job), job->options->measure.play.force, &stages, &live);
    stage_list_free(&stages);
    return status;
}

static enum status write_correction(const struct correct_job *job)
{
    const struct mask_write_settings settings = {.force = job->options->measure.play.force};
    double headroom = 0;
    TRY(find_headroom(job->correction, &headroom));
    TRY(mask_write_wav(job->correction, job->path, &settings));
    char *text = stage_text(job->path, headroom);
    enum status status = text ? write_preset(job, text) : fail_memory("a preset");
    free(text);
    if (status != STATUS_OK && !settings.force)
        unlink(job->path);
    return status;
}

/* ---- the check ---- */

static enum status show_check(const struct correct_job *job, size_t speaker, int *key)
{
    char line[STUDY_LINE];
    study_describe_check(&job->study->speakers[speaker], line);
    return correct_show(job->view, rig_of(job), job->study, speaker, line,
                        "o other loudspeaker  space q end", "o q", key);
}

/* Measures through the mask as it was written, at the device's rate. */
static enum status measure_check(struct correct_job *job, const char *spec)
{
    struct measure_result result = {0};
    struct mask *filter;
    TRY(measure_load_filter(&job->rig, spec, &filter));
    enum status status;
    while ((status = measure_once(job, filter, NULL, &result)) != STATUS_OK) {
        measure_result_free(&result);
        if (ask_again(job, status) != STATUS_OK)
            break;
    }
    if (status == STATUS_OK)
        status = study_check(job->study, result.mask, result.measurement,
                             job->positions[job->count - 1].measurement);
    else
        note("%s and preset %s are written; only the check failed", job->path, preset_name(job));
    measure_result_free(&result);
    mask_destroy(filter);
    return status;
}

static enum status check_correction(struct correct_job *job)
{
    static const char *const lines[] = {
        "The correction and the preset are written.", "",
        "Leave the microphone where it is. Now the sweeps pass the correction."};
    int key = ' ';
    size_t speaker = 0;
    if (job->view)
        TRY(correct_ask(job->view, rig_of(job), lines, 3,
                        "space measure through it  d done without  q leave", " d", &key));
    if (key == 'd')
        return STATUS_OK;
    char *spec = append(strdup(""), "", job->path);
    enum status status = spec ? measure_check(job, spec) : fail_memory("a correction");
    free(spec);
    for (key = 'o'; job->view && status == STATUS_OK && key == 'o';
         speaker = (speaker + 1) % job->study->count)
        status = show_check(job, speaker, &key);
    return status;
}

/* ---- the steps ---- */

static enum status print_results(const struct correct_job *job)
{
    const struct study *study = job->study;
    if (job->options->measure.play.json)
        return json_print(json_pack("{s:o, s:o, s:o}", "mask", json_text(job->path), "preset",
                                    json_text(preset_name(job)), "loudspeakers",
                                    study_object(study)),
                          JSON_REAL_PRECISION(6), "the correction");
    for (size_t s = 0; s < study->count; s++) {
        char line[STUDY_LINE], check[STUDY_LINE], *plot = NULL;
        TRY(study_plot(study, s, PLOT_COLUMNS, PLOT_ROWS, &plot));
        study_describe(&study->speakers[s], line);
        study_describe_check(&study->speakers[s], check);
        printf("%s        %s\n%s\n%s%s\n", plot, study_legend(study), line, check,
               *check ? "\n" : "");
        free(plot);
    }
    printf("%s is the correction, and preset %s plays through it (halo live --preset).\n",
           job->path, preset_name(job));
    return STATUS_OK;
}

static enum status load_positions(struct correct_job *job)
{
    for (size_t p = 0; p < job->count; p++)
        TRY(load_position(job, &job->positions[p]));
    return STATUS_OK;
}

static enum status run_steps(struct correct_job *job)
{
    bool measures = job->options->measured_count == 0;
    if (measures && job->view)
        TRY(correct_choose_devices(job->view, &job->measure.play.device, job->output, job->input));
    if (measures)
        TRY(measure_open(&job->measure, job->view, &job->rig));
    TRY(measures ? measure_positions(job) : load_positions(job));
    TRY(choose_correction(job));
    TRY(write_correction(job));
    return measures && !job->options->no_check ? check_correction(job) : STATUS_OK;
}

enum status correct_run(const struct correct_options *options)
{
    struct correct_job job = {.options = options, .measure = options->measure};
    enum status status = name_files(&job);
    if (status == STATUS_OK)
        status = read_with(&job);
    if (status == STATUS_OK)
        status = check_files(&job);
    if (status == STATUS_OK)
        status = measure_screen_open(&options->measure.play, &job.view);
    if (status == STATUS_OK)
        status = run_steps(&job);
    view_close(job.view);
    enum status closed = job.rig.device ? measure_close(&job.rig) : STATUS_OK;
    status = status == STATUS_OK ? closed : status;
    if (status == STATUS_OK)
        status = print_results(&job);
    for (size_t p = 0; p < CORRECT_POSITIONS; p++) { /* also those that the key d left out */
        mask_destroy(job.positions[p].mask);
        measurement_destroy(job.positions[p].measurement);
        free(job.positions[p].path);
    }
    mask_destroy(job.correction);
    study_destroy(job.study);
    free(job.words);
    free(job.path);
    return status;
}
