#include "base/failure_json.h"
#include "base/json_text.h"
#include "chain/mask_options.h"
#include "chain/stage_mask.h"
#include "command/commands.h"
#include "mask/design.h"
#include "mask/mask2d.h"
#include "mask/mask_stats.h"
#include "mask/mask_summary.h"
#include "sound/port.h"

#include <stdio.h>

enum { RATE_MOST = 10000000, CHANNELS_MOST = 256 };

struct mask_show_settings {
    struct string_list masks; /* of --mask */
    struct stream_format sound;
    bool json;
};

/* Routed for the sound's channels where that is possible, else as it is; lint reports that. */
static enum status study(const char *text, const struct stream_format *sound, struct mask **result)
{
    TRY(stage_mask_study(text, &(struct stream_format){.rate = sound->rate}, result));
    if (!sound->channels || !mask_lint_fits((*result)->columns, sound->channels))
        return STATUS_OK;
    mask_destroy(*result);
    return stage_mask_study(text, sound, result);
}

static enum status show2d(const struct mask_show_settings *settings, const char *text,
                          json_t *masks)
{
    struct mask2d *mask;
    TRY(stage_spectral_study(text, &mask));
    if (settings->json)
        json_array_append_new(masks, mask2d_summary_object(text, mask));
    else
        mask2d_summary_print(text, mask);
    mask2d_destroy(mask);
    return STATUS_OK;
}

static enum status show(const struct mask_show_settings *settings, const char *text, json_t *masks)
{
    if (mask2d_is_named(text))
        return show2d(settings, text, masks);
    struct mask *mask;
    struct mask_stats stats = {0};
    struct mask_trouble troubles[MASK_TROUBLES];
    TRY(study(text, &settings->sound, &mask));
    uint32_t usual = settings->sound.rate ? settings->sound.rate : STAGE_MASK_USUAL_RATE;
    enum status status = mask_stats_init(&stats, mask, mask->rate ? mask->rate : usual);
    if (status == STATUS_OK) {
        struct mask_summary summary = {
            .text = text, .mask = mask, .stats = &stats, .troubles = troubles};
        status = mask_lint(mask, &stats, &settings->sound, troubles, &summary.trouble_count);
        if (status == STATUS_OK && settings->json)
            json_array_append_new(masks, mask_summary_object(&summary));
        else if (status == STATUS_OK)
            mask_summary_print(&summary);
    }
    mask_stats_free(&stats);
    mask_destroy(mask);
    return status;
}

/* A mask that cannot be read does not prevent the others from being shown. */
static enum status show_all(void *options)
{
    const struct mask_show_settings *settings = options;
    json_t *masks = json_array();
    enum status status = STATUS_OK;
    for (size_t i = 0; i < settings->masks.count; i++) {
        if (i > 0 && !settings->json)
            puts("");
        enum status own = show(settings, settings->masks.values[i], masks);
        if (own != STATUS_OK && settings->json)
            json_array_append_new(masks, json_pack("{s:o, s:o}", "mask",
                                                   json_text(settings->masks.values[i]), "error",
                                                   failure_json_take()));
        status = status == STATUS_OK ? own : status;
    }
    if (!settings->json) {
        json_decref(masks);
        return status;
    }
    enum status printed =
        json_print(json_pack("{s:o}", "masks", masks), JSON_REAL_PRECISION(9), "the masks");
    return status == STATUS_OK ? printed : status;
}

static enum status parse_sound(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    struct source *source;
    TRY(source_open_sound(value, true, &source));
    ((struct mask_show_settings *)context)->sound = source->format;
    source_close(source);
    return STATUS_OK;
}

static const struct option_row rows[] = {
    OPT_PARSE("for", "SOUND", parse_sound, "also report what does not fit this sound file",
              .is_file = true),
    OPT_INTEGER("rate", "HZ", struct mask_show_settings, sound.rate, 1, RATE_MOST,
                "also report what does not fit a sound of this rate, and make\n"
                "for it what is made (lowpass:1000, an equaliser)"),
    OPT_INTEGER("channels", "N", struct mask_show_settings, sound.channels, 1, CHANNELS_MOST,
                "also report what does not fit a sound of N channels"),
    OPT_FLAG("json", struct mask_show_settings, json, "print one JSON object"),
    {0},
};

const struct command command_mask_show = {
    .name = "halo mask show",
    .summary = "describe masks and report likely problems",
    .usage =
        "usage: halo mask show MASK... [options]\n\n"
        "Describe masks and report likely problems, each with the option that fixes it. MASK is\n"
        "a spec of --mask, such as hall.wav,trim=10ms,gain=-6, or of --spectral, such as\n"
        "box2d:3x3 or edge.mask2d.",
    .arguments =
        OPTION_ARGUMENTS(OPT_ARGUMENTS("MASK", struct mask_show_settings, masks, 1, .is_file = true,
                                       .keys = mask_options_rows, .made_at = design_made_at)),
    .groups = OPTION_GROUP(rows),
    .size = sizeof(struct mask_show_settings),
    .run = show_all,
};
