#include "listen/listen_match.h"

#include "base/json_text.h"
#include "base/plural.h"
#include "base/progress.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double CHANGE_DB = 0.3; /* dB: a smaller change of a live input's gains is ignored */

static void free_measured(struct listen_match *matching)
{
    for (size_t i = 0; i < LISTEN_MATCHED_MOST; i++)
        live_chain_free(&matching->measured[i]);
}

void listen_match_free(struct listen_match *matching)
{
    for (size_t i = 0; i < matching->count; i++)
        mask_destroy(matching->originals[i]);
    free_measured(matching);
    matching->count = 0;
}

/* ---- the chain that masks are heard through ---- */

static enum status put_mask(void *context, struct mask **masks, size_t count)
{
    const struct mask *mask = context;
    struct mask *copy;
    (void)count;
    TRY(level_match_apply(mask, &(struct level_match){.origin = mask->origin}, &copy));
    mask_destroy(masks[0]);
    masks[0] = copy;
    return STATUS_OK;
}

/* Makes the chain for one mask. For a live input it is kept and used again: the matched gains do
 * not change it. */
static enum status make_chain(void *context, size_t choice, const struct mask *mask, size_t block,
                              struct filter **filter)
{
    struct listen_match *matching = context;
    struct live_chain *chain = &matching->measured[choice];
    struct live_chain_request request = matching->chain->request;
    const enum verbosity verbosity = note_verbosity_now();
    if (!matching->region && chain->filter) {
        filter_reset(chain->filter);
        *filter = chain->filter;
        return STATUS_OK;
    }
    request.adapt = put_mask;
    request.adapt_context = (void *)mask;
    request.other_count = 0;
    request.sound_count = request.sound_count > 0 ? 1 : 0; /* put_mask replaces the only mask */
    request.outputs = mask->outputs;
    request.block = block;
    request.live = request.twice = request.dry = false;
    request.priority = 0;
    request.proof = NULL;
    live_chain_free(chain);
    note_verbosity(VERBOSITY_QUIET); /* the messages of the chain were printed before */
    enum status status = live_chain_init(chain, &request);
    note_verbosity(verbosity);
    *filter = chain->filter;
    return status;
}

static struct mask_levels_chain chain_of(struct listen_match *matching)
{
    if (matching->chain->stages.count < 2)
        return (struct mask_levels_chain){0};
    return (struct mask_levels_chain){make_chain, matching};
}

/* A ceiling keeps all choices below the limiter, which would affect some more than others. */
static struct level_match_settings settings_of(const struct listen_match *matching)
{
    return (struct level_match_settings){
        .by = matching->options->by,
        .align = matching->options->align,
        .ceiling = audio_from_db(matching->options->play.ceiling_db),
    };
}

/* ---- several sounds ---- */

static const double EXCERPT_SECONDS = 30; /* excerpt of each sound that finds the delays */

static void tell_sound(const struct listen_match *matching, size_t i)
{
    const struct region_sound *sound = &matching->region->sounds[i];
    const char *name = matching->sounds[i].name;
    char length[40] = "", rate[40] = "";
    if (sound->frames != FRAMES_UNKNOWN)
        snprintf(length, sizeof length, ", %.3f s",
                 (double)sound->frames / (double)sound->format.rate);
    if (sound->format.rate != matching->rate)
        snprintf(rate, sizeof rate, ", played at %u Hz", matching->rate);
    note("%s: %u Hz, %zu channel%s%s%s", name, sound->format.rate, sound->format.channels,
         plural_s(sound->format.channels), length, rate);
}

void listen_match_sounds(struct listen_match *matching, struct live_chain_request *request)
{
    const struct listen_options *options = matching->options;
    for (size_t i = 0; i < options->sound_count; i++) {
        const struct stream_format *format = &matching->region->sounds[i].format;
        matching->sounds[i] = (struct live_chain_sound){
            .name = options->arguments.values[i],
            .channels = format->channels,
            .layout = format->layout,
        };
        tell_sound(matching, i);
    }
    request->sounds = matching->sounds;
    request->sound_count = options->sound_count;
}

static enum status read_excerpts(struct listen_match *matching, struct mask **excerpts)
{
    struct region *region = matching->region;
    uint64_t length = region->to - region->from;
    size_t frames = (size_t)fmin((double)length, EXCERPT_SECONDS * (double)matching->rate), got = 0;
    struct block block;
    enum status status = block_init(&block, region->format.channels, frames, "excerpts");
    if (status == STATUS_OK)
        status = region_seek(region, region->from);
    if (status == STATUS_OK)
        status = region_read(region, block.data, frames, &got);
    float *const *planar = block.data;
    for (size_t i = 0; i < matching->options->sound_count && status == STATUS_OK; i++) {
        status = level_match_excerpt(matching->sounds[i].name, matching->rate, planar,
                                     matching->sounds[i].channels, frames, &excerpts[i]);
        planar += matching->sounds[i].channels;
    }
    block_free(&block);
    return status;
}

/* ---- matching ---- */

static enum status measure(struct listen_match *matching, const struct mask *const *masks)
{
    struct level_match_settings settings = settings_of(matching);
    struct mask_levels_sound sound = {
        .region = matching->region, .frames = matching->frames, .chain = chain_of(matching)};
    struct progress progress;
    progress_begin(&progress, matching->rate,
                   matching->options->play.verbosity != VERBOSITY_QUIET &&
                       !matching->options->play.json);
    settings.progress = (struct mask_levels_progress){progress_update, &progress};
    struct mask *excerpts[LISTEN_CHOICES_MOST] = {NULL};
    enum status status = STATUS_OK;
    if (matching->options->sound_count > 0) {
        status = read_excerpts(matching, excerpts);
        sound.excerpts = (const struct mask *const *)excerpts;
    }
    if (!matching->region) { /* only delays can be measured now */
        settings.by = LEVEL_MATCH_NONE;
        settings.ceiling = 0;
    }
    if (status == STATUS_OK)
        status = level_match_measure(&settings, &sound, masks, matching->count, matching->matches);
    for (size_t i = 0; i < LISTEN_CHOICES_MOST; i++)
        mask_destroy(excerpts[i]);
    if (matching->region)
        free_measured(matching);
    return status;
}

enum status listen_match_adapt(void *context, struct mask **masks, size_t count)
{
    struct listen_match *matching = context;
    matching->count = count;
    TRY(measure(matching, (const struct mask *const *)masks));
    for (size_t i = 0; i < count; i++) {
        struct mask *matched;
        TRY(level_match_apply(masks[i], &matching->matches[i], &matched));
        matching->originals[i] = masks[i];
        masks[i] = matched;
    }
    bool changed = count > 1 || fabs(matching->matches[0].gain_db) >= 0.05;
    for (size_t i = 0; i < count && changed; i++) {
        char text[400];
        listen_match_describe(matching, i, text, sizeof text);
        note("%s", text);
    }
    return STATUS_OK;
}

enum status listen_match_measure(struct listen_match *matching,
                                 const struct mask_levels_sound *sound, bool *changed)
{
    const struct level_match_settings settings = settings_of(matching);
    struct mask_levels_sound heard = *sound;
    heard.chain = chain_of(matching);
    struct level_match matches[LISTEN_MATCHED_MOST];
    *changed = false;
    TRY(level_match_measure(&settings, &heard, (const struct mask *const *)matching->originals,
                            matching->count, matches));
    for (size_t i = 0; i < matching->count; i++)
        if (settings.by != LEVEL_MATCH_NONE && !isfinite(matches[i].loudness))
            return STATUS_OK;
    for (size_t i = 0; i < matching->count; i++)
        *changed = *changed || fabs(matches[i].gain_db - matching->matches[i].gain_db) >= CHANGE_DB;
    if (*changed)
        memcpy(matching->matches, matches, matching->count * sizeof *matches);
    return STATUS_OK;
}

enum status listen_match_mask(const struct listen_match *matching, size_t choice,
                              struct mask **mask)
{
    return level_match_apply(matching->originals[choice], &matching->matches[choice], mask);
}

void listen_match_describe(const struct listen_match *matching, size_t choice, char *text,
                           size_t size)
{
    char label[] = "A", number[12];
    const char *name = matching->chain->names[choice];
    bool hides = listen_options_hides(matching->options);
    bool dry = choice == matching->chain->choice_count;
    label[0] = (char)('A' + choice);
    snprintf(number, sizeof number, "%s %c", matching->options->sound_count > 0 ? "sound" : "mask",
             (char)('1' + choice));
    level_match_describe(&matching->matches[choice],
                         dry     ? name
                         : hides ? number
                                 : label,
                         matching->rate, matching->options->align, text, size);
    size_t length = strlen(text);
    if (!hides && !dry)
        snprintf(text + length, size - length, " (%s)", name);
}

static json_t *match_json(const struct listen_match *matching, size_t choice)
{
    const struct level_match *match = &matching->matches[choice];
    return json_pack("{s:o, s:f, s:I, s:b}", "name", json_text(matching->chain->names[choice]),
                     "gain_db", match->gain_db, "later", (json_int_t)match->later, "aligned",
                     matching->options->align);
}

void listen_match_show(const struct listen_match *matching, struct view *view)
{
    for (size_t i = 0; i < matching->count && view_columns(view) != INT_MAX; i++) {
        char text[400];
        listen_match_describe(matching, i, text, sizeof text);
        view_message(view, "%s", text);
    }
}

json_t *listen_match_json(const struct listen_match *matching)
{
    json_t *array = json_array();
    for (size_t i = 0; i < matching->chain->choice_count && i < matching->count; i++)
        json_array_append_new(array, match_json(matching, i));
    return array;
}

json_t *listen_match_dry_json(const struct listen_match *matching)
{
    size_t dry = matching->chain->choice_count;
    return dry < matching->count ? match_json(matching, dry) : json_null();
}
