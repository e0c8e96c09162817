#include "command/cmd_mask.h"

#include "base/json_text.h"
#include "base/options.h"
#include "chain/stage_mask.h"
#include "chain/stage_spectral.h"
#include "mask/mask2d.h"
#include "mask/mask2d_summary.h"
#include "mask/mask_summary.h"
#include "mask/mask_lint.h"
#include "mask/mask_stats.h"
#include "sound/port.h"

#include <stdio.h>
#include <stdlib.h>

enum { RATE_MOST = 10000000, CHANNELS_MOST = 256 };

struct settings {
    char **masks; /* the user's words */
    size_t count;
    struct stream_format sound;
    bool json;
    bool help;
};

/* ---- words ---- */

static enum status parse_mask(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    struct settings *settings = context;
    settings->masks[settings->count++] = (char *)value;
    return STATUS_OK;
}

static enum status parse_sound(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    struct source *source;
    enum status status = source_open_sound(value, true, &source);
    if (status != STATUS_OK)
        return status;
    ((struct settings *)context)->sound = source->format;
    source_close(source);
    return STATUS_OK;
}

static enum status parse_rate(void *context, const struct option_row *row, const char *value)
{
    size_t rate = 0;
    enum status status = options_parse_number(row->name, value, 1, RATE_MOST, &rate);
    ((struct settings *)context)->sound.rate = (uint32_t)rate;
    return status;
}

static enum status parse_channels(void *context, const struct option_row *row, const char *value)
{
    return options_parse_number(row->name, value, 1, CHANNELS_MOST,
                                &((struct settings *)context)->sound.channels);
}

static enum status parse_json(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct settings *)context)->json = true;
    return STATUS_OK;
}

static enum status parse_help(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct settings *)context)->help = true;
    return STATUS_OK;
}

static const struct option_row rows[] = {
    {"for", 0, "SOUND", "also say what does not go with this sound file", parse_sound},
    {"rate", 0, "HZ", "also say what does not go with a sound of this rate", parse_rate},
    {"channels", 0, "N", "also say what does not go with a sound of N channels", parse_channels},
    {"json", 0, NULL, "print one JSON object", parse_json},
    {"help", 'h', NULL, "print this", parse_help},
    {NULL, 0, NULL, NULL, parse_mask},
};

static void print_help(void)
{
    puts("usage: halo mask show MASK... [options]\n\n"
         "Tell what masks are, and what is likely to be wrong with them, each trouble with the\n"
         "option that mends it. A mask is named as behind --mask, options and all:\n"
         "hall.wav,trim=10ms,gain=-6; or as behind --spectral: box2d:3x3, edge.mask2d.\n\n"
         "options:");
    options_print(stdout, rows, sizeof rows / sizeof *rows);
}

/* ---- work ---- */

/* With the sound's channels where they go together, else as it is by itself; the doctor
 * tells. */
static enum status study(const char *text, const struct stream_format *sound, struct mask **result)
{
    struct mask *mask = NULL;
    enum status status = stage_mask_study(text, 0, &mask);
    if (status == STATUS_OK && sound->channels &&
        mask_lint_fits(mask->columns, sound->channels)) {
        mask_destroy(mask);
        return stage_mask_study(text, sound->channels, result);
    }
    if (status == STATUS_OK)
        *result = mask;
    return status;
}

static enum status show2d(const struct settings *settings, const char *text, json_t *masks)
{
    struct mask2d *mask = NULL;
    enum status status = stage_spectral_study(text, &mask);
    if (status == STATUS_OK && settings->json)
        json_array_append_new(masks, mask2d_summary_object(text, mask));
    else if (status == STATUS_OK)
        mask2d_summary_print(text, mask);
    mask2d_destroy(mask);
    return status;
}

static enum status show(const struct settings *settings, const char *text, json_t *masks)
{
    if (mask2d_is_named(text))
        return show2d(settings, text, masks);
    struct mask *mask = NULL;
    struct mask_stats stats = {0};
    struct mask_trouble troubles[MASK_TROUBLES];
    enum status status = study(text, &settings->sound, &mask);
    if (status == STATUS_OK) {
        uint32_t usual = settings->sound.rate ? settings->sound.rate : STAGE_MASK_USUAL_RATE;
        status = mask_stats_init(&stats, mask, mask->rate ? mask->rate : usual);
    }
    if (status == STATUS_OK) {
        struct mask_summary summary = {.text = text, .mask = mask, .stats = &stats, .troubles = troubles};
        summary.trouble_count = mask_lint(mask, &stats, &settings->sound, troubles);
        if (settings->json)
            json_array_append_new(masks, mask_summary_object(&summary));
        else
            mask_summary_print(&summary);
    }
    mask_stats_free(&stats);
    mask_destroy(mask);
    return status;
}

/* One that cannot be read does not keep the others from being shown. */
static enum status show_all(const struct settings *settings)
{
    json_t *masks = json_array();
    enum status status = STATUS_OK;
    for (size_t i = 0; i < settings->count; i++) {
        if (i > 0 && !settings->json)
            puts("");
        enum status own = show(settings, settings->masks[i], masks);
        status = status == STATUS_OK ? own : status;
    }
    enum status printed = STATUS_OK;
    if (settings->json)
        printed =
            json_print(json_pack("{s:O}", "masks", masks), JSON_REAL_PRECISION(9), "the masks");
    json_decref(masks);
    return status == STATUS_OK ? printed : status;
}

enum status cmd_mask_show(int argc, char **argv)
{
    struct settings settings = {.masks = calloc((size_t)argc, sizeof *settings.masks)};
    if (!settings.masks)
        return fail_memory("options");
    enum status status = options_parse(argc, argv, "halo mask show", rows, &settings);
    if (status == STATUS_OK && settings.help)
        print_help();
    else if (status == STATUS_OK && settings.count == 0)
        status = fail(STATUS_USAGE, "which mask? see halo mask show --help");
    else if (status == STATUS_OK)
        status = show_all(&settings);
    free(settings.masks);
    return status;
}
