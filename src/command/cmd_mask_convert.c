#include "base/atomic_file.h"
#include "chain/mask_options.h"
#include "chain/stage_mask.h"
#include "command/commands.h"
#include "mask/mask_curves.h"
#include "mask/mask_load.h"
#include "mask/mask_write.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mask_convert_settings {
    const char *in, *out;
    const char *raw, *rate, *channels, *folder, *trust; /* options of --mask */
    struct mask_write_settings write;
    const char *to; /* a program; NULL: by the suffix of OUT */
    size_t inputs;  /* channels of the sound; 0: those of the mask */
};

/* Sound and text hold columns only; a note says what else is lost. */
static enum status write_plain(const struct mask_convert_settings *settings,
                               const struct mask *mask)
{
    struct mask *plain;
    bool is_matrix;
    TRY(mask_without_paths(mask, &plain, &is_matrix));
    enum status status = mask_file_ends_with(settings->out, ".wav")
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

static enum status write_config(const struct mask_convert_settings *settings, struct mask *mask)
{
    bool is_for_any = mask->columns == 1 && !mask->has_own_paths && !settings->inputs;
    if (is_for_any)
        TRY(mask_route(mask, 2, MASK_ORDER_LL_LR_RL_RR, MASK_MAP_AUTO));
    if (mask->origin)
        note("%s cannot store that time zero is at tap %zu", settings->out, mask->origin);
    return mask_config_write(settings->to, mask, settings->out, &settings->write);
}

/* IN with the options, as a spec of --mask. */
static enum status load(const struct mask_convert_settings *settings, struct mask **mask)
{
    const struct {
        const char *key, *value;
    } spec[] = {
        {"raw", settings->raw},
        {"rate", settings->rate},
        {"channels", settings->channels},
        {"folder", settings->folder},
        {"trust-config", settings->trust},
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
    const struct stream_format sound = {.channels = settings->inputs};
    enum status status = text ? stage_mask_study(text, &sound, mask) : fail_memory("a mask");
    free(text);
    return status;
}

/* 48 frequencies an octave. The phase is from time zero. */
static enum status write_response(const struct mask_convert_settings *settings,
                                  const struct mask *mask)
{
    struct mask_spectrum spectrum;
    struct text_file *file;
    if (mask->columns != 1 || mask->rate == 0)
        return fail(CAUSE_USAGE, "%s holds the response of one channel at a rate: set %s",
                    settings->out, mask->rate ? "channel=, as in hall.wav,channel=1" : "--rate");
    TRY(mask_spectrum_init(&spectrum, mask, 0, mask->rate));
    enum status status = text_file_open(settings->out, &settings->write, &file);
    if (status == STATUS_OK) {
        const double width = spectrum.rate / (double)spectrum.length, step = exp2(1.0 / 48);
        fputs("* Frequency(Hz) Level(dB) Phase(degrees)\n", text_file_stream(file));
        double before = 0;
        for (double hz = spectrum.low; hz <= spectrum.high; hz *= step) {
            double at = width * rint(hz / width);
            double complex value =
                spectrum.bins[(size_t)rint(hz / width)] * cexp(2 * M_PI * I * at * spectrum.origin);
            if (at > before)
                fprintf(text_file_stream(file), "%.9g %.5f %.4f\n", at,
                        20 * log10(fmax(cabs(value), 1e-20)), carg(value) * 180 / M_PI);
            before = at;
        }
        status = text_file_keep(file);
    }
    mask_spectrum_free(&spectrum);
    return status;
}

static enum status convert(void *options)
{
    struct mask_convert_settings *settings = options;
    struct mask *mask = NULL;
    bool is_mask = mask_file_ends_with(settings->out, ".mask");
    bool is_response = mask_file_ends_with(settings->out, ".frd");
    if (!settings->to && !is_mask && !is_response && !mask_file_ends_with(settings->out, ".wav") &&
        !mask_file_ends_with(settings->out, ".txt"))
        return fail(CAUSE_USAGE,
                    "%s must end with .wav, .txt, .mask or .frd, or --to must name a program",
                    settings->out);
    enum status status = load(settings, &mask);
    if (status == STATUS_OK && settings->to)
        status = write_config(settings, mask);
    else if (status == STATUS_OK && is_response)
        status = write_response(settings, mask);
    else if (status == STATUS_OK && is_mask)
        status = mask_write_text(mask, settings->out, true, &settings->write);
    else if (status == STATUS_OK)
        status = write_plain(settings, mask);
    mask_destroy(mask);
    return status;
}

static const char *const format_names[] = {"float", "double", NULL};

static const struct option_row rows[] = {
    OPT_FILE("output", "OUT", struct mask_convert_settings, out,
             "where to write, instead of as an argument", .letter = 'o'),
    OPT_WORD("to", "PROGRAM", struct mask_convert_settings, to,
             "write a configuration of jconvolver (and fconvolver),\n"
             "camilladsp, brutefir, eqapo or pipewire, and its files beside it",
             .name_at = mask_config_program),
    OPT_CHOICE("format", "FORMAT", struct mask_convert_settings, write.is_double, format_names,
               "precision of the taps written: float (default) or double"),
    OPT_STRING("raw", "FORMAT", struct mask_convert_settings, raw,
               "IN has no header and these samples: F32_LE, S16_LE, ..."),
    OPT_STRING("rate", "HZ", struct mask_convert_settings, rate,
               "rate of a mask that has none of its own"),
    OPT_STRING("channels", "N", struct mask_convert_settings, channels,
               "channels of --raw (default: 1)"),
    OPT_INTEGER("inputs", "N", struct mask_convert_settings, inputs, 1, MASK_CHANNELS_MOST,
                "channels of the sound, for --to (default: 2, or those of\n"
                "the mask)"),
    OPT_FILE("folder", "FOLDER", struct mask_convert_settings, folder,
             "folder whose files a configuration may name in any case"),
    OPT_WORD("trust-config", "no|yes", struct mask_convert_settings, trust,
             "no: a configuration may name files in its own folder or in\n"
             "--folder only; yes (default): any regular file",
             .names = mask_options_trust),
    OPT_FLAG("force", struct mask_convert_settings, write.force, "replace files that exist",
             .letter = 'f'),
    OPT_NO_SYNC,
    {0},
};

const struct command command_mask_convert = {
    .name = "halo mask convert",
    .summary = "convert a mask to another format or program",
    .usage =
        "usage: halo mask convert IN OUT [options]\n\n"
        "Convert a mask to another format. OUT ends with .wav, .txt (text, one column per channel),\n"
        ".mask (text with paths and time zero) or .frd (frequency, level and phase of one channel).",
    .arguments = OPTION_ARGUMENTS(
        OPT_ARGUMENT("IN", struct mask_convert_settings, in, 1, .is_file = true),
        OPT_ARGUMENT("OUT", struct mask_convert_settings, out, 1, .is_file = true)),
    .groups = OPTION_GROUP(rows),
    .size = sizeof(struct mask_convert_settings),
    .run = convert,
};
