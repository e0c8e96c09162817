#include "chain/stage_mask.h"
#include "command/commands.h"
#include "mask/mask_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct settings {
    const char *in, *out;
    const char *raw, *rate, *channels, *folder; /* as the options of --mask have them */
    struct mask_write_settings write;
    const char *to; /* a program; NULL: by the ending of OUT */
    size_t inputs;  /* channels of the sound; 0: by the mask */
};

static bool ends_with(const char *path, const char *ending)
{
    const char *dot = strrchr(path, '.');
    return dot && strcasecmp(dot, ending) == 0;
}

/* Sound and text hold columns; what else the mask has is said to be lost. */
static enum status write_plain(const struct settings *settings, const struct mask *mask)
{
    struct mask *plain;
    bool is_matrix;
    enum status status = mask_without_paths(mask, &plain, &is_matrix);
    if (status != STATUS_OK)
        return status;
    status = ends_with(settings->out, ".wav")
                 ? mask_write_wav(plain, settings->out, &settings->write)
                 : mask_write_text(plain, settings->out, false, &settings->write);
    if (status == STATUS_OK && is_matrix)
        note("%s: %zu columns for %zu inputs and %zu outputs; use it with map=matrix",
             settings->out, plain->columns, mask->inputs, mask->outputs);
    if (status == STATUS_OK && mask->origin)
        note("%s cannot store that time zero is at tap %zu; .mask can", settings->out,
             mask->origin);
    mask_destroy(plain);
    return status;
}

static enum status write_config(const struct settings *settings, struct mask *mask)
{
    bool is_for_any = mask->columns == 1 && !mask->has_own_paths && !settings->inputs;
    if (is_for_any)
        TRY(mask_route(mask, 2, MASK_ORDER_LL_LR_RL_RR, MASK_MAP_AUTO));
    if (mask->origin)
        note("%s cannot store that time zero is at tap %zu", settings->out, mask->origin);
    const struct mask_config_writer *writer;
    for (size_t i = 0; (writer = mask_config_writer_at(i)); i++)
        if (strcmp(writer->name, settings->to) == 0)
            break;
    return mask_config_write(writer, mask, settings->out, &settings->write);
}

/* IN with what the options say about it, in the words of --mask. */
static enum status load(const struct settings *settings, struct mask **mask)
{
    const struct {
        const char *key, *value;
    } spec[] = {
        {"raw", settings->raw},
        {"rate", settings->rate},
        {"channels", settings->channels},
        {"folder", settings->folder},
    };
    char *text = strdup(settings->in);
    for (size_t i = 0; text && i < sizeof spec / sizeof *spec; i++) {
        char *longer = NULL;
        if (!spec[i].value)
            continue;
        if (asprintf(&longer, "%s,%s=%s", text, spec[i].key, spec[i].value) < 0)
            longer = NULL;
        free(text);
        text = longer;
    }
    enum status status =
        text ? stage_mask_study(text, settings->inputs, mask) : fail_memory("a mask");
    free(text);
    return status;
}

static enum status convert(void *options)
{
    struct settings *settings = options;
    struct mask *mask;
    char *file;
    bool is_mask = ends_with(settings->out, ".mask");
    if (!settings->to && !is_mask && !ends_with(settings->out, ".wav") &&
        !ends_with(settings->out, ".txt"))
        return fail(STATUS_USAGE,
                    "%s must end with .wav, .txt or .mask, or --to say for which program it is",
                    settings->out);
    enum status status = load(settings, &mask);
    if (status != STATUS_OK)
        return status;
    status = stage_mask_file(settings->in, &file);
    if (status != STATUS_OK) {
        mask_destroy(mask);
        return status;
    }
    settings->write.input = file;
    if (settings->to)
        status = write_config(settings, mask);
    else if (is_mask)
        status = mask_write_text(mask, settings->out, true, &settings->write);
    else
        status = write_plain(settings, mask);
    mask_destroy(mask);
    free(file);
    return status;
}

static const char *writer_name(size_t index)
{
    const struct mask_config_writer *writer = mask_config_writer_at(index);
    return writer ? writer->name : NULL;
}

static const char *const format_names[] = {"float", "double", NULL};

static const struct option_row rows[] = {
    OPT_WORD("to", "PROGRAM", struct settings, to,
             "OUT is a configuration of jconvolver (and fconvolver),\n"
             "camilladsp, brutefir or eqapo; the files that it names are\n"
             "written beside it",
             .name_at = writer_name),
    OPT_CHOICE("format", "FORMAT", struct settings, write.is_double, format_names,
               "samples of a WAV: float (default) or double"),
    OPT_STRING("raw", "FORMAT", struct settings, raw,
               "IN is samples without a header: F32_LE, S16_LE, ..."),
    OPT_STRING("rate", "HZ", struct settings, rate, "the rate of a mask that does not say it"),
    OPT_STRING("channels", "N", struct settings, channels, "channels of --raw (default: 1)"),
    OPT_INTEGER("inputs", "N", struct settings, inputs, 1, MASK_CHANNELS_MOST,
                "channels of the sound that --to is for (default: 2, or as\n"
                "many as the mask has)"),
    OPT_FILE("folder", "FOLDER", struct settings, folder,
             "in which a configuration may name files"),
    OPT_FLAG("force", struct settings, write.force, "replace files that exist", .letter = 'f'),
    {0},
};

static const struct option_group groups[] = {{.heading = "options", .rows = rows}, {0}};

static const struct option_row arguments[] = {
    OPT_ARGUMENT("IN", struct settings, in, 1, .is_file = true),
    OPT_ARGUMENT("OUT", struct settings, out, 1, .is_file = true),
    {0},
};

const struct command command_mask_convert = {
    .name = "halo mask convert",
    .summary = "writes a mask as another kind, or for another program",
    .usage =
        "usage: halo mask convert IN OUT [options]\n\n"
        "Write a mask of any kind as another: OUT ends with .wav, .txt (text, a column a channel)\n"
        "or .mask (text that keeps paths and time zero, too).",
    .arguments = arguments,
    .groups = groups,
    .size = sizeof(struct settings),
    .run = convert,
};
