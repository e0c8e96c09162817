#include "base/options.h"
#include "chain/stage_mask.h"
#include "command/cmd_mask.h"
#include "mask/mask_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct settings {
    const char *in, *out;
    const char *raw, *rate, *channels, *folder; /* as the options of --mask have them */
    struct mask_write_settings write;
    const struct mask_config_writer *to; /* NULL: by the ending of OUT */
    size_t inputs;                       /* channels of the sound; 0: by the mask */
    bool help;
};

static enum status parse_to(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    struct settings *settings = context;
    for (size_t i = 0; (settings->to = mask_config_writer_at(i)); i++)
        if (strcmp(settings->to->name, value) == 0)
            return STATUS_OK;
    return fail(STATUS_USAGE, "--to is jconvolver, camilladsp, brutefir or eqapo, not '%s'", value);
}

static enum status parse_format(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    static const char *const names[] = {"float", "double", NULL};
    size_t index;
    enum status status = options_choose("--format", value, names, &index);
    if (status == STATUS_OK)
        ((struct settings *)context)->write.is_double = index == 1;
    return status;
}

static enum status parse_raw(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    ((struct settings *)context)->raw = value;
    return STATUS_OK;
}

static enum status parse_rate(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    ((struct settings *)context)->rate = value;
    return STATUS_OK;
}

static enum status parse_channels(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    ((struct settings *)context)->channels = value;
    return STATUS_OK;
}

static enum status parse_inputs(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    struct settings *settings = context;
    return options_parse_number("--inputs", value, 1, MASK_CHANNELS_MOST, &settings->inputs);
}

static enum status parse_folder(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    ((struct settings *)context)->folder = value;
    return STATUS_OK;
}

static enum status parse_force(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct settings *)context)->write.force = true;
    return STATUS_OK;
}

static enum status parse_help(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct settings *)context)->help = true;
    return STATUS_OK;
}

static enum status parse_file(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    struct settings *settings = context;
    if (settings->out)
        return fail(STATUS_USAGE, "halo mask convert takes IN and OUT, not '%s' besides", value);
    *(settings->in ? &settings->out : &settings->in) = value;
    return STATUS_OK;
}

static const struct option_row rows[] = {
    {"to", 0, "PROGRAM",
     "OUT is a configuration of jconvolver (and fconvolver),\n"
     "camilladsp, brutefir or eqapo; the files that it names are\n"
     "written beside it",
     parse_to},
    {"format", 0, "FORMAT", "samples of a WAV: float (default) or double", parse_format},
    {"raw", 0, "FORMAT", "IN is samples without a header: F32_LE, S16_LE, ...", parse_raw},
    {"rate", 0, "HZ", "the rate of a mask that does not say it", parse_rate},
    {"channels", 0, "N", "channels of --raw (default: 1)", parse_channels},
    {"inputs", 0, "N",
     "channels of the sound that --to is for (default: 2, or as\n"
     "many as the mask has)",
     parse_inputs},
    {"folder", 0, "FOLDER", "in which a configuration may name files", parse_folder},
    {"force", 'f', NULL, "replace files that exist", parse_force},
    {"help", 'h', NULL, "print this", parse_help},
    {NULL, 0, NULL, NULL, parse_file},
};

static void print_help(void)
{
    puts(
        "usage: halo mask convert IN OUT [options]\n\n"
        "Write a mask of any kind as another: OUT ends with .wav, .txt (text, a column a channel)\n"
        "or .mask (text that keeps paths and time zero, too).\n\n"
        "options:");
    options_print(stdout, rows, sizeof rows / sizeof *rows);
}

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
    return mask_config_write(settings->to, mask, settings->out, &settings->write);
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

static enum status convert(struct settings *settings)
{
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

enum status cmd_mask_convert(int argc, char **argv)
{
    struct settings settings = {0};
    enum status status = options_parse(argc, argv, "halo mask convert", rows, &settings);
    if (status != STATUS_OK)
        return status;
    if (settings.help) {
        print_help();
        return STATUS_OK;
    }
    if (!settings.out)
        return fail(STATUS_USAGE, "halo mask convert needs IN and OUT; see --help");
    return convert(&settings);
}
