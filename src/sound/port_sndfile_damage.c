/* Damage that a compressed sound shows by its checksums: those of an Ogg's pages, and of a FLAC. */
#include "base/plural.h"
#include "sound/port_sndfile_source.h"

#include <inttypes.h>

static const char cure[] = "use --allow-truncated to go on without it";

/* ---- truncated ---- */

enum status sound_source_judge_missing(struct sound_source *sound, uint64_t frames,
                                       uint64_t missing)
{
    const struct ogg_pages *pages = &sound->io.pages;
    bool is_all = sound->io.is_ogg && pages->has_ended && pages->damages == 0;
    const char *name = sound->source.name, *how = is_all ? "damaged" : "truncated";
    char text[128];
    if (frames > 0 && missing > 0)
        snprintf(text, sizeof text, "its header says %" PRIu64 " frame%s, %" PRIu64 " %s missing",
                 frames, plural_s(frames), missing, plural_are(missing));
    else if (missing > 0)
        snprintf(text, sizeof text, "%" PRIu64 " byte%s %s missing", missing, plural_s(missing),
                 plural_are(missing));
    else
        snprintf(text, sizeof text, "its end is missing");
    if (!sound->allow_truncated)
        return fail(CAUSE_DAMAGED, "%s is %s: %s; use --allow-truncated to render the rest", name,
                    how, text);
    if (!sound->reported_missing)
        warning("%s is %s: %s", name, how, text);
    sound->reported_missing = true;
    return STATUS_OK;
}

/* ---- FLAC ---- */

static enum status refuse_flac(struct sound_source *sound, const struct flac_damage *damage)
{
    const char *name = sound->source.name;
    if (damage->is_cut)
        return sound_source_judge_missing(sound, 0, 0);
    if (damage->is_sum)
        return fail(CAUSE_DAMAGED,
                    "%s is damaged: its samples do not have the MD5 sum that its header gives; use "
                    "--allow-truncated to take them as they are",
                    name);
    if (damage->is_format)
        return fail(
            CAUSE_DAMAGED,
            "%s is damaged: its frames have another rate, or other channels, bits or number, "
            "than its header gives",
            name);
    return fail(CAUSE_DAMAGED, "%s is damaged at frame %" PRId64 ", by its checksums; %s", name,
                damage->at, cure);
}

void sound_source_report_damage(const struct sound_source *sound)
{
    if (!sound->flac || !sound->allow_truncated)
        return;
    struct flac_damage damage = flac_reader_damage(sound->flac);
    const char *name = sound->source.name;
    uint64_t lost = (uint64_t)damage.lost;
    if (damage.is_cut)
        warning("%s is truncated: its end is missing", name);
    else if (damage.is_sum)
        warning("%s is damaged: its samples do not have the MD5 sum that its header gives", name);
    else if (damage.at >= 0 && (lost > 0 || !sound->reported_missing))
        warning("%s is damaged from frame %" PRId64 " on: %" PRIu64 " frame%s %s silent", name,
                damage.at, lost, plural_s(lost), plural_are(lost));
}

/* ---- Ogg ---- */

enum { PLACE = 128 };

/* Between which seconds, as far as the pages beside it tell. */
static const char *place_of(const struct sound_source *sound, char text[PLACE])
{
    const struct ogg_pages *pages = &sound->io.pages;
    int format = sound->source.traits.format;
    bool is_opus = (format & SF_FORMAT_SUBMASK) == SF_FORMAT_OPUS;
    double rate = is_opus ? 48000 : sound->source.format.rate;
    size_t size = (size_t)snprintf(text, PLACE, "from byte %" PRIu64 " on", pages->damaged_at);
    if (rate > 0)
        size += (size_t)snprintf(text + size, PLACE - size, " (from %.2f s",
                                 (double)pages->before / rate);
    if (rate > 0 && pages->after >= 0)
        size +=
            (size_t)snprintf(text + size, PLACE - size, " to %.2f s", (double)pages->after / rate);
    if (rate > 0)
        snprintf(text + size, PLACE - size, ")");
    return text;
}

static enum status judge_pages(const struct sound_source *sound)
{
    const struct ogg_pages *pages = &sound->io.pages;
    const char *name = sound->source.name;
    char place[PLACE], more[64] = "";
    const char *what =
        pages->damaged_bytes > 0 ? "pages have wrong checksums" : "pages are missing";
    if (!sound->allow_truncated)
        return fail(CAUSE_DAMAGED, "%s is damaged: %s %s; %s", name, what, place_of(sound, place),
                    cure);
    if (pages->damages > 1)
        snprintf(more, sizeof more, ", and at %" PRIu64 " more place%s", pages->damages - 1,
                 plural_s(pages->damages - 1));
    warning("%s is damaged: %s %s%s; their sound is left out", name, what, place_of(sound, place),
            more);
    return STATUS_OK;
}

static enum status refuse_chain(const struct sound_source *sound)
{
    if (!sound->allow_truncated)
        return fail(CAUSE_UNSUPPORTED,
                    "cannot read all of %s: it is a chain of Ogg streams, of which only the first "
                    "can be read; use --allow-truncated to render that one",
                    sound->source.name);
    warning("%s is a chain of Ogg streams, of which only the first is read", sound->source.name);
    return STATUS_OK;
}

enum status sound_source_check_ogg(struct sound_source *sound)
{
    struct sound_io *io = &sound->io;
    sound_io_read_pages(io);
    if (!io->is_ogg || io->error)
        return STATUS_OK;
    if (io->pages.damages > 0)
        TRY(judge_pages(sound));
    if (io->pages.is_chain)
        return refuse_chain(sound);
    if (io->pages.begins_late) /* as what was recorded from a server does */
        warning("%s begins late: pages before its first samples are missing", sound->source.name);
    return io->pages.has_ended ? STATUS_OK : sound_source_judge_missing(sound, 0, 0);
}

/* ---- any ---- */

enum status sound_source_check(struct sound_source *sound)
{
    if (sound->allow_truncated)
        return STATUS_OK;
    if (sound->stream && sound->io.pages.damages > 0)
        return judge_pages(sound);
    struct flac_damage damage = {.at = -1};
    if (sound->flac)
        damage = flac_reader_damage(sound->flac);
    return damage.at >= 0 ? refuse_flac(sound, &damage) : STATUS_OK;
}
