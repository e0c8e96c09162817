#include "listen/panel/stimuli.h"

#include "base/json_text.h"
#include "base/printable.h"
#include "base/progress.h"
#include "base/stop.h"
#include "batch/batch_job.h"
#include "listen/digest.h"
#include "render/render_job.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double EXCERPT_SECONDS = 30; /* excerpt of each version that finds the delays */

/* ---- rendering ---- */

static char *rendered_path(const char *folder, size_t sound, size_t choice)
{
    char *path;
    return asprintf(&path, "%s/%zu-%zu.wav", folder, sound, choice) < 0 ? NULL : path;
}

/* The file that a choice is made of, for free(): the sound, its file of the choice, or for an
 * anchor the rendered reference. */
static char *input_of(const struct stimuli *stimuli, size_t sound, size_t choice)
{
    const struct listening_test *test = stimuli->test;
    const char *pattern = test->choices[choice].file;
    const char *field = pattern ? strstr(pattern, "{sound}") : NULL;
    char *path;
    if (test->choices[choice].lowpass > 0)
        return rendered_path(stimuli->folder, sound, test->reference);
    if (!field)
        return strdup(pattern ? pattern : test->sounds[sound].file);
    return asprintf(&path, "%.*s%s%s", (int)(field - pattern), pattern, test->sounds[sound].name,
                    field + strlen("{sound}")) < 0
               ? NULL
               : path;
}

/* The job that renders a choice, as a line of halo batch. A low-pass passes up to its frequency and
 * stops from 8/7 of it (BS.1534-3 asks for 25 dB there, and 50 dB at 9/7). */
static char *job_of(const struct stimuli *stimuli, size_t sound, size_t choice)
{
    const struct test_choice *own = &stimuli->test->choices[choice];
    const struct test_sound *part = &stimuli->test->sounds[sound];
    char *input = input_of(stimuli, sound, choice);
    json_t *job = own->render ? json_copy(own->render) : json_object();
    json_object_del(job, "name");
    json_object_del(job, "file");
    json_object_set_new(job, "in", json_text(input));
    json_object_set_new(job, "out", json_sprintf("%zu-%zu.wav", sound, choice));
    json_object_set_new(job, "format", json_string("float"));
    json_object_set_new(job, "rate", json_integer(stimuli->rate));
    json_object_set_new(job, "tail", json_string("none"));
    if (own->lowpass > 0) {
        json_object_set_new(
            job, "mask",
            json_sprintf("lowpass:%.6g,width=%.6g", own->lowpass * 15 / 14, own->lowpass / 7));
    } else {
        json_object_set_new(job, "start", json_real(part->from));
        if (part->to > 0)
            json_object_set_new(job, "end", json_real(part->to));
    }
    free(input);
    return json_line(job, JSON_COMPACT);
}

static enum status render_line(const struct batch_options *defaults, const char *line)
{
    struct batch_job job;
    enum status status = batch_job_identify(defaults, line, &job);
    if (status == STATUS_OK)
        status = batch_job_prepare(defaults, &job);
    if (status == STATUS_OK)
        status = render_job_run(&job.options, &job.options.chain.stages,
                                &(struct render_job_settings){.alone = false});
    batch_job_free(&job);
    return status;
}

static enum status render_choice(const struct stimuli *stimuli, size_t sound, size_t choice)
{
    const struct batch_options defaults = {.render = {.chain = CHAIN_OPTIONS_DEFAULTS,
                                                      .metadata = "none",
                                                      .dither = DITHER_AUTO,
                                                      .proof = PROOF_OPTIONS_DEFAULTS,
                                                      .out_dir = stimuli->folder}};
    char *line = job_of(stimuli, sound, choice), where[200];
    snprintf(where, sizeof where, "%s as '%s'", printable(stimuli->test->sounds[sound].name),
             stimuli->test->choices[choice].name);
    const char *before = log_prefix(where);
    enum status status = line ? render_line(&defaults, line) : fail_memory("a test");
    (void)log_prefix(before);
    free(line);
    return status;
}

static enum status find_rate(struct stimuli *stimuli)
{
    for (size_t i = 0; i < stimuli->test->sound_count; i++) {
        struct source *source;
        TRY(source_open_sound(stimuli->test->sounds[i].file, false, &source));
        stimuli->rate = source->format.rate > stimuli->rate ? source->format.rate : stimuli->rate;
        source_close(source);
    }
    return STATUS_OK;
}

/* Anchors come last, after the reference that they are made of. */
static enum status render_all(struct stimuli *stimuli, bool quiet)
{
    const struct listening_test *test = stimuli->test;
    struct progress_of_many progress;
    enum status status = find_rate(stimuli);
    size_t count = test->sound_count * test->choice_count;
    progress_of_many_begin(&progress, count, (double)count, !quiet);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        status = render_choice(stimuli, i / test->choice_count, i % test->choice_count);
        progress_of_many_add(&progress, 1, status != STATUS_OK);
        if (status == STATUS_OK && stop_requested())
            status = STATUS_INTERRUPTED;
    }
    progress_of_many_end(&progress);
    return status;
}

/* ---- reading ---- */

/* Opens all versions of a sound, one after the other in the channels. */
static enum status open_versions(const struct stimuli *stimuli, size_t sound,
                                 struct region **region)
{
    const size_t count = stimuli->test->choice_count;
    char *paths[TEST_CHOICES_MOST] = {NULL};
    bool all = true;
    for (size_t i = 0; i < count; i++)
        all = (paths[i] = rendered_path(stimuli->folder, sound, i)) && all;
    struct region_settings settings = {.path = paths[0],
                                       .others = (const char *const *)paths + 1,
                                       .other_count = count - 1,
                                       .rate = stimuli->rate};
    enum status status = all ? region_open(&settings, region) : fail_memory("a test");
    for (size_t i = 0; i < count; i++)
        free(paths[i]);
    return status;
}

static enum status count_channels(struct stimuli *stimuli)
{
    for (size_t s = 0; s < stimuli->test->sound_count; s++) {
        struct region *region = NULL;
        TRY(open_versions(stimuli, s, &region));
        for (size_t i = 0; i < region->sound_count; i++)
            if (region->sounds[i].format.channels > stimuli->channels)
                stimuli->channels = region->sounds[i].format.channels;
        region_close(region);
    }
    return STATUS_OK;
}

enum status stimuli_render(const struct listening_test *test, const char *folder, bool quiet,
                           struct stimuli *stimuli)
{
    *stimuli = (struct stimuli){.test = test, .folder = folder};
    const char *slash = strrchr(test->path, '/');
    char *own = slash ? strndup(test->path, (size_t)(slash - test->path) + 1) : strdup(".");
    int before = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    enum status status = STATUS_OK;
    if (!own || before < 0 || chdir(own) != 0)
        status = fail_errno(errno, "cannot enter the folder of the test %s", test->path);
    if (status == STATUS_OK)
        status = render_all(stimuli, quiet);
    if (status == STATUS_OK)
        stimuli->files = digest_files_read(folder);
    if (before >= 0 && fchdir(before) != 0 && status == STATUS_OK)
        status = fail_errno(errno, "cannot go back to the working folder");
    if (before >= 0)
        close(before);
    free(own);
    return status == STATUS_OK ? count_channels(stimuli) : status;
}

/* ---- matching ---- */

/* The versions of a sound while they are matched. */
struct versions {
    const struct stimuli *stimuli;
    const struct test_sound *sound;
    struct region *region;
    struct block block; /* the channels of all versions */
    struct mask *passing[TEST_CHOICES_MOST], *excerpts[TEST_CHOICES_MOST];
};

static enum status make_masks(struct versions *versions)
{
    const struct stimuli *stimuli = versions->stimuli;
    size_t first = 0, frames = (size_t)(EXCERPT_SECONDS * (double)stimuli->rate);
    frames = frames < versions->block.frames ? frames : versions->block.frames;
    for (size_t i = 0; i < stimuli->test->choice_count; i++) {
        const size_t channels = versions->region->sounds[i].format.channels;
        struct mask **mask = &versions->passing[i];
        char name[200];
        snprintf(name, sizeof name, "%s as %s", versions->sound->name,
                 stimuli->test->choices[i].name);
        TRY(mask_create_passing(stimuli->test->choices[i].name, versions->block.channels, first,
                                channels, channels, mask));
        (*mask)->rate = stimuli->rate;
        TRY(mask_widen(*mask, stimuli->channels));
        TRY(level_match_excerpt(name, stimuli->rate, versions->block.data + first, channels, frames,
                                &versions->excerpts[i]));
        first += channels;
    }
    return STATUS_OK;
}

static enum status read_versions(struct versions *versions, size_t sound)
{
    size_t got = 0;
    TRY(open_versions(versions->stimuli, sound, &versions->region));
    const struct region *region = versions->region;
    size_t frames = (size_t)(region->to - region->from);
    TRY(block_init(&versions->block, region->format.channels, frames, "a test"));
    TRY(region_seek(versions->region, region->from));
    TRY(region_read(versions->region, versions->block.data, frames, &got));
    return make_masks(versions);
}

static void versions_free(struct versions *versions)
{
    for (size_t i = 0; i < TEST_CHOICES_MOST; i++) {
        mask_destroy(versions->passing[i]);
        mask_destroy(versions->excerpts[i]);
    }
    block_free(&versions->block);
    region_close(versions->region);
}

static double fade_at(size_t frame, size_t frames, uint32_t rate)
{
    size_t end = frames - 1 - frame;
    double place = (double)(frame < end ? frame : end) / (STIMULI_FADE * (double)rate);
    return place < 1 ? 0.5 - 0.5 * cos(acos(-1) * place) : 1;
}

/* Takes a version with its gain. `from`: the frame with which it begins, so that all begin at the
 * same moment. */
static enum status take(const struct versions *versions, size_t choice, size_t from,
                        struct stimulus *stimulus)
{
    const struct stimuli *stimuli = versions->stimuli;
    const struct mask *mask = versions->passing[choice];
    double gain = audio_from_db(stimulus->matches[choice].gain_db);
    float *samples = calloc(stimulus->frames, stimuli->channels * sizeof *samples);
    stimulus->samples[choice] = samples;
    if (!samples)
        return fail_memory("a test");
    for (size_t p = 0; p < mask->path_count; p++) {
        const float *in = versions->block.data[mask->paths[p].input] + from;
        float *out = samples + mask->paths[p].output;
        for (size_t i = 0; i < stimulus->frames; i++)
            out[i * stimuli->channels] =
                (float)((double)in[i] * gain * fade_at(i, stimulus->frames, stimuli->rate));
    }
    return STATUS_OK;
}

static enum status match(const struct versions *versions, struct stimulus *stimulus)
{
    const struct listening_test *test = versions->stimuli->test;
    const struct level_match_settings settings = {
        .by = test->match, .align = test->align, .ceiling = 1};
    const struct mask_levels_sound sound = {.block = &versions->block,
                                            .rate = versions->stimuli->rate,
                                            .excerpts =
                                                (const struct mask *const *)versions->excerpts};
    const size_t count = test->choice_count;
    uint64_t most = 0;
    TRY(level_match_measure(&settings, &sound, (const struct mask *const *)versions->passing, count,
                            stimulus->matches));
    for (size_t i = 0; i < count; i++)
        most = stimulus->matches[i].zeros > most ? stimulus->matches[i].zeros : most;
    if (most >= versions->block.frames)
        return fail(CAUSE_OTHER, "cannot align the versions of a sound: they are too short");
    stimulus->frames = versions->block.frames - (size_t)most;
    for (size_t i = 0; i < count; i++)
        TRY(take(versions, i, (size_t)(most - stimulus->matches[i].zeros), stimulus));
    return STATUS_OK;
}

enum status stimulus_make(const struct stimuli *stimuli, size_t sound, struct stimulus *stimulus)
{
    struct versions versions = {.stimuli = stimuli, .sound = &stimuli->test->sounds[sound]};
    *stimulus = (struct stimulus){.frames = 0};
    enum status status = read_versions(&versions, sound);
    if (status == STATUS_OK)
        status = match(&versions, stimulus);
    versions_free(&versions);
    return status;
}

void stimulus_free(struct stimulus *stimulus)
{
    for (size_t i = 0; i < TEST_CHOICES_MOST; i++)
        free(stimulus->samples[i]);
}
