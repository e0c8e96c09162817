#include "sound/metadata/metadata_json.h"

#include "base/json_text.h"
#include "base/plural.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char no_place[] = "the container has no place for it";

/* Why an item of `of` was not kept: `why`, unless its kind has another reason. */
static const char *reason(const struct sound_metadata *of, enum metadata_kind kind, const char *why)
{
    if (of->without & kind)
        return of->why_without;
    return of->lacks_module && kind & (METADATA_TAGS | METADATA_PICTURES) ? metadata_no_module
                                                                          : why;
}

/* Turn parts of kept markers that were not kept into losses. */
static enum status conclude_parts(struct sound_metadata *metadata, const struct sound_metadata *of,
                                  const char *why)
{
    static const char *const names[] = {"label", "note", "region text", "loop"};
    size_t lost[sizeof names / sizeof *names] = {0};
    for (size_t i = 0; i < of->marker_count; i++) {
        const struct metadata_marker *marker = &of->markers[i];
        const char *const texts[] = {marker->label, marker->note, marker->text};
        for (size_t k = 0; marker->kept && k < sizeof lost / sizeof *lost; k++) {
            bool is_there = k == 3 ? marker->flags != 0 : texts[k] && *texts[k];
            lost[k] += is_there && !(marker->kept_parts & 1U << k);
        }
    }
    for (size_t k = 0; k < sizeof lost / sizeof *lost; k++)
        if (lost[k] > 0)
            TRY(metadata_lose(metadata, why, "%zu %s%s", lost[k], names[k], plural_s(lost[k])));
    return STATUS_OK;
}

static enum status conclude_counted(struct sound_metadata *metadata,
                                    const struct sound_metadata *of, const char *why)
{
    size_t markers = 0, pictures = 0;
    for (size_t i = 0; i < of->marker_count; i++)
        markers += !of->markers[i].kept;
    for (size_t i = 0; i < of->picture_count; i++)
        pictures += !of->pictures[i].kept;
    TRY(conclude_parts(metadata, of, why));
    if (markers > 0)
        TRY(metadata_lose(metadata, reason(of, METADATA_MARKERS, why), "%zu marker%s", markers,
                          plural_s(markers)));
    return pictures == 0 ? STATUS_OK
                         : metadata_lose(metadata, reason(of, METADATA_PICTURES, why),
                                         "%zu picture%s", pictures, plural_s(pictures));
}

/* Whether the same text was kept elsewhere: a stream may have it before and after its samples. */
static bool has_kept(const struct sound_metadata *metadata, const struct metadata_text *text)
{
    for (size_t i = 0; i < metadata->text_count; i++) {
        const struct metadata_text *other = &metadata->texts[i];
        if (other->kept && strcmp(other->name, text->name) == 0 &&
            strcmp(other->value, text->value) == 0)
            return true;
    }
    return false;
}

/* Turn each item of `of` that was not kept into a loss. */
static enum status conclude(struct sound_metadata *metadata, const struct sound_metadata *of,
                            const char *why)
{
    for (size_t i = 0; i < of->chunk_count; i++)
        if (!of->chunks[i].kept)
            TRY(metadata_lose(metadata, reason(of, metadata_kind_of(&of->chunks[i]), why), "%.4s",
                              of->chunks[i].id));
    TRY(conclude_counted(metadata, of, why));
    for (size_t i = 0; i < of->text_count; i++)
        if (!has_kept(metadata, &of->texts[i]))
            TRY(metadata_lose(metadata, reason(of, METADATA_TAGS, why), "%s", of->texts[i].name));
    return STATUS_OK;
}

enum status metadata_conclude(struct sound_metadata *metadata)
{
    return conclude(metadata, metadata, no_place);
}

static const char too_late[] = "it follows the samples of a stream";

enum status metadata_conclude_late(struct sound_metadata *metadata,
                                   const struct sound_metadata *late)
{
    for (size_t i = 0; i < late->loss_count; i++)
        TRY(metadata_lose(metadata, late->losses[i].why, "%s", late->losses[i].what));
    if (late->cut)
        TRY(metadata_lose(metadata, too_late, "some of it"));
    return conclude(metadata, late, too_late);
}

enum { LOSSES_SHOWN = 8 };

/* Add all losses with the same cause as loss `from` to the line. */
static void put_cause(const struct sound_metadata *metadata, size_t from, bool *reported,
                      FILE *line)
{
    const char *why = metadata->losses[from].why;
    size_t shown = 0, more = 0;
    for (size_t i = from; i < metadata->loss_count; i++) {
        if (metadata->losses[i].why != why)
            continue;
        reported[i] = true;
        if (shown == LOSSES_SHOWN)
            more++;
        else
            fprintf(line, "%s%s", shown++ ? ", " : "", metadata->losses[i].what);
    }
    if (more > 0)
        fprintf(line, " and %zu more", more);
    fprintf(line, " (%s)", why);
}

void metadata_note_losses(const struct sound_metadata *metadata, const char *output)
{
    char *text = NULL;
    size_t size = 0;
    if (metadata->loss_count == 0)
        return;
    bool *reported = calloc(metadata->loss_count, sizeof *reported);
    FILE *line = reported ? open_memstream(&text, &size) : NULL;
    for (size_t i = 0; line && i < metadata->loss_count; i++) {
        if (reported[i])
            continue;
        fputs(i ? "; " : "", line);
        put_cause(metadata, i, reported, line);
    }
    if (line && fclose(line) == 0)
        note("%s does not keep: %s", output, text);
    free(text);
    free(reported);
}

static void report_kept(const struct sound_metadata *metadata, json_t *kept)
{
    for (size_t i = 0; i < metadata->chunk_count; i++)
        if (metadata->chunks[i].kept)
            json_array_append_new(kept, json_sprintf("%.4s", metadata->chunks[i].id));
    for (size_t i = 0; i < metadata->text_count; i++)
        if (metadata->texts[i].kept)
            json_array_append_new(kept, json_text(metadata->texts[i].name));
    for (size_t i = 0; i < metadata->marker_count; i++)
        if (metadata->markers[i].kept)
            json_array_append_new(kept, json_sprintf("marker %u", metadata->markers[i].id));
    for (size_t i = 0; i < metadata->picture_count; i++)
        if (metadata->pictures[i].kept)
            json_array_append_new(kept, json_sprintf("picture %zu", i + 1));
}

json_t *metadata_report(const struct sound_metadata *metadata)
{
    json_t *kept = json_array(), *moved = json_array(), *dropped = json_array();
    report_kept(metadata, kept);
    for (size_t i = 0; i < metadata->moved_count; i++)
        json_array_append_new(moved, json_text(metadata->moved[i]));
    for (size_t i = 0; i < metadata->loss_count; i++)
        json_array_append_new(dropped,
                              json_pack("{s:o, s:s}", "what", json_text(metadata->losses[i].what),
                                        "why", metadata->losses[i].why));
    return json_pack("{s:o, s:o, s:o}", "kept", kept, "moved", moved, "dropped", dropped);
}

/* ---- --metadata FILE.json ---- */

static void remove_named(struct sound_metadata *metadata, const char *name)
{
    for (size_t i = metadata->text_count; i-- > 0;)
        if (strcasecmp(metadata->texts[i].name, name) == 0)
            metadata_remove_text(metadata, i);
}

static enum status set_value(const char *path, struct sound_metadata *metadata, const char *name,
                             const json_t *value)
{
    const char *text = json_string_value(value);
    if (!text)
        return fail(CAUSE_DAMAGED,
                    "cannot use %s: tag '%s' is to be a string, an array of strings, or null", path,
                    name);
    return metadata_add_text(metadata, name, strlen(name), text, strlen(text));
}

static enum status set_tag(const char *path, struct sound_metadata *metadata, const char *name,
                           const json_t *value)
{
    if (!*name || strpbrk(name, "=\n\r"))
        return fail(CAUSE_DAMAGED, "cannot use %s: '%s' is no name of a tag", path, name);
    remove_named(metadata, name);
    if (json_is_null(value))
        return STATUS_OK;
    if (!json_is_array(value))
        return set_value(path, metadata, name, value);
    size_t i;
    const json_t *one;
    json_array_foreach(value, i, one) TRY(set_value(path, metadata, name, one));
    return STATUS_OK;
}

static enum status set_tags(const char *path, struct sound_metadata *metadata, json_t *root)
{
    json_t *tags = json_object_get(root, "tags"), *value;
    const char *name;
    if (!json_is_object(tags) || json_object_size(root) != 1)
        return fail(CAUSE_DAMAGED, "cannot use %s: it is to be {\"tags\": {\"TITLE\": \"...\"}}",
                    path);
    json_object_foreach(tags, name, value) TRY(set_tag(path, metadata, name, value));
    return STATUS_OK;
}

enum status metadata_load(const char *path, struct sound_metadata *metadata)
{
    json_error_t error;
    json_t *root = json_text_load(path, JSON_REJECT_DUPLICATES, &error);
    if (!root && error.line < 1)
        return fail(CAUSE_DAMAGED, "cannot use --metadata %s: %s", path, error.text);
    if (!root)
        return fail(CAUSE_DAMAGED, "cannot use %s: line %d: %s", path, error.line, error.text);
    enum status status = set_tags(path, metadata, root);
    json_decref(root);
    return status;
}
