#include "base/atomic_file.h"
#include "base/plural.h"
#include "chain/stage_mask.h"
#include "command/commands.h"
#include "mask/design.h"
#include "mask/mask2d.h"
#include "mask/mask_write.h"
#include "sound/port.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mask_make_settings {
    const char *spec;
    const char *output;
    struct sound_format_request request;
    bool force;
};

static enum status write_mask(const struct mask_make_settings *settings, const struct mask *mask)
{
    const struct sound_traits traits = {.format = SF_FORMAT_WAV | SF_FORMAT_FLOAT};
    struct sink_settings sink_settings = {
        .path = settings->output,
        .format = {.rate = mask->rate, .channels = mask->columns},
        .frames = (int64_t)mask->taps,
        .force = settings->force,
    };
    TRY(sound_format_choose(settings->output, &settings->request, &traits, &sink_settings.format,
                            &sink_settings.sound_format));
    TRY(mask_write_sound(mask, &sink_settings));
    note("%s: %zu channel%s of %zu tap%s at %u Hz", settings->output, mask->columns,
         plural_s(mask->columns), mask->taps, plural_s(mask->taps), mask->rate);
    if (mask->origin > 0 && mask->origin == (mask->taps - 1) / 2)
        note(
            "time zero is at the middle tap: the file delays by %zu frames unless used with --align "
            "centre",
            mask->origin);
    return STATUS_OK;
}

static enum status make2d(const struct mask_make_settings *settings)
{
    struct mask2d *mask;
    struct text_file *file;
    const struct mask_write_settings write = {.force = settings->force};
    if (settings->request.samples)
        return fail(CAUSE_USAGE, "--format sets a sample format; two-dimensional masks are text");
    if (!mask_file_ends_with(settings->output, ".mask2d") &&
        !mask_file_ends_with(settings->output, ".txt"))
        return fail(CAUSE_USAGE, "%s must end with .mask2d or .txt: a two-dimensional mask is text",
                    settings->output);
    TRY(stage_spectral_study(settings->spec, &mask));
    enum status status = text_file_open(settings->output, &write, &file);
    if (status == STATUS_OK) {
        mask2d_write(mask, text_file_stream(file));
        status = text_file_keep(file);
    }
    if (status == STATUS_OK)
        note("%s: %zu rows of time x %zu columns of frequency%s", settings->output, mask->rows,
             mask->columns, mask->is_separable ? ", separable" : "");
    mask2d_destroy(mask);
    return status;
}

static enum status make(const struct mask_make_settings *settings)
{
    struct mask *mask;
    char *file;
    TRY(stage_mask_file(settings->spec, &file));
    /* A name with a colon may be a misspelt kind, which loading reports. */
    enum status status =
        file && !strchr(file, ':')
            ? fail(CAUSE_USAGE, "'%s' is not a kind of mask; halo mask make --help lists them",
                   file)
            : stage_mask_study(settings->spec, &(struct stream_format){0}, &mask);
    free(file);
    TRY(status);
    status = mask->has_own_paths
                 ? fail(CAUSE_USAGE,
                        "'%s': a sound file holds no paths; use map= where the mask "
                        "is used",
                        settings->spec)
                 : write_mask(settings, mask);
    mask_destroy(mask);
    return status;
}

static enum status run(void *options)
{
    const struct mask_make_settings *settings = options;
    if (!settings->output)
        return fail(CAUSE_USAGE, "no output: -o FILE names the file to write");
    return mask2d_design_is_spec(settings->spec) ? make2d(settings) : make(settings);
}

static void print_kinds(void)
{
    puts("\nEvery kind takes rate=HZ: by default 48000 here, else the rate of the sound.\n");
    design_print_kinds(stdout);
    puts("\ntwo-dimensional masks, for --spectral and as text (NAME.mask2d); rows of time x\n"
         "columns of frequency:");
    mask2d_design_print_kinds(stdout);
}

static const struct option_row rows[] = {
    OPT_FILE("output", "FILE", struct mask_make_settings, output,
             "file to write: sound, or text for a two-dimensional mask", .letter = 'o'),
    OPT_WORD("format", "FORMAT", struct mask_make_settings, request.samples,
             "sample format: float (default), double, pcm24, ...", .names = sound_format_names),
    OPT_FLAG("force", struct mask_make_settings, force, "replace FILE if it exists", .letter = 'f'),
    OPT_NO_SYNC,
    {0},
};

const struct command command_mask_make = {
    .name = "halo mask make",
    .summary = "make a mask from a spec such as lowpass:1000",
    .usage =
        "usage: halo mask make SPEC -o FILE [options]\n\n"
        "Make a mask and write it to a file. A SPEC can also be used wherever a mask is named:\n"
        "halo render in.wav out.wav --mask lowpass:1000,gain=-3",
    .arguments = OPTION_ARGUMENTS(
        OPT_ARGUMENT("SPEC", struct mask_make_settings, spec, 1, .made_at = design_made_at)),
    .groups = OPTION_GROUP(rows),
    .print_ending = print_kinds,
    .surplus = "quote a SPEC that contains blanks",
    .size = sizeof(struct mask_make_settings),
    .run = run,
};
