#include "chain/stage_draw.h"

#include "base/cache_file.h"
#include "base/json_text.h"
#include "base/noise.h"
#include "base/options.h"
#include "base/text_stream.h"
#include "chain/stages.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_BYTES = 64 };

/* The names from which a value is drawn. */
struct draw {
    uint64_t seed;
    const char *id;
    size_t stage; /* number of the stage, from 1 */
};

static double draw_one(const struct draw *draw, const char *key, size_t length)
{
    char before[64], after[64];
    snprintf(before, sizeof before, "%" PRIu64 "\n", draw->seed);
    snprintf(after, sizeof after, "\n%zu\n%.*s", draw->stage, (int)length, key);
    uint64_t sum = cache_file_sum(CACHE_FILE_SUM, before, strlen(before));
    sum = cache_file_sum(sum, draw->id, strlen(draw->id));
    sum = cache_file_sum(sum, after, strlen(after));
    return (double)(noise_hash(sum) >> 11) * 0x1p-53;
}

/* Draw from a range "-6..0". */
static enum status draw_range(const char *name, const char *text, double share,
                              char value[VALUE_BYTES])
{
    const char *dots = strstr(text, "..");
    double low, high;
    char *first = strndup(text, (size_t)(dots - text));
    if (!first)
        return fail_memory("a stage");
    enum status status = options_parse_db(name, first, -OPTIONS_DB_MOST, OPTIONS_DB_MOST, &low);
    free(first);
    if (status == STATUS_OK)
        status = options_parse_db(name, dots + 2, -OPTIONS_DB_MOST, OPTIONS_DB_MOST, &high);
    TRY(status);
    if (low > high)
        return fail(CAUSE_USAGE,
                    "%s is a range from the lower to the higher, such as -6..0, not "
                    "'%s'",
                    name, text);
    snprintf(value, VALUE_BYTES, "%.3f", low + share * (high - low));
    return STATUS_OK;
}

/* The key of a word whose value may be drawn; NULL: none. */
static const struct stage_draw *find_draw(const struct stage_ops *ops, const char *word, bool first)
{
    for (const struct stage_draw *row = ops->draws; row && row->key; row++)
        if (*row->key ? !first && strncmp(word, row->key, strlen(row->key)) == 0 : first)
            return row;
    return NULL;
}

static bool is_to_draw(const struct stage_draw *row, const char *text)
{
    return row->is_share ? strcmp(text, "random") == 0 : strstr(text, "..") != NULL;
}

static enum status draw_value(const struct stage_ops *ops, const struct stage_draw *row,
                              const char *text, const struct draw *draw, char value[VALUE_BYTES])
{
    char name[64];
    const char *key = *row->key ? row->key : ops->option;
    double share = draw_one(draw, key, strcspn(key, "="));
    snprintf(name, sizeof name, "%s%s", *row->key ? "" : "--", key);
    if (!row->is_share)
        return draw_range(name, text, share, value);
    snprintf(value, VALUE_BYTES, "%.9f%%", 100 * share);
    return STATUS_OK;
}

/* Write a word as in a spec, with commas escaped. */
static void put_word(const char *word, FILE *stream)
{
    for (; *word; word++) {
        if (*word == ',')
            fputc('\\', stream);
        fputc(*word, stream);
    }
}

static enum status put_spec(const struct stage_ops *ops, char *const *spec, const struct draw *draw,
                            FILE *stream, bool *drawn)
{
    char value[VALUE_BYTES];
    bool has_share = false;
    for (size_t i = 0; spec[i]; i++) {
        const struct stage_draw *row = find_draw(ops, spec[i], i == 0);
        const char *text = row ? spec[i] + strlen(row->key) : NULL;
        bool draws = row && is_to_draw(row, text);
        has_share |= row && row->is_share;
        if (draws)
            TRY(draw_value(ops, row, text, draw, value));
        *drawn |= draws;
        fputs(i > 0 ? "," : "", stream);
        if (draws)
            fprintf(stream, "%s%s", row->key, value);
        else
            put_word(spec[i], stream);
    }
    for (const struct stage_draw *row = ops->draws; row->key; row++)
        if (row->is_share && !has_share) {
            TRY(draw_value(ops, row, "random", draw, value));
            fprintf(stream, ",%s%s", row->key, value);
            *drawn = true;
        }
    return STATUS_OK;
}

static enum status draw_stage(struct stage *stage, const struct draw *draw)
{
    char *text = NULL;
    size_t size = 0;
    bool is_drawn = false;
    char **spec = spec_split(stage->text);
    FILE *stream = spec ? text_stream_open(&text, &size) : NULL;
    enum status status =
        stream ? put_spec(stage->ops, spec, draw, stream, &is_drawn) : fail_memory("a stage");
    if (stream && text_stream_finish(stream) != 0 && status == STATUS_OK)
        status = fail_memory("a stage");
    free(spec);
    if (status == STATUS_OK && is_drawn) {
        free(stage->text);
        stage->text = text;
        text = NULL;
        stage->drawn = true;
    }
    free(text);
    return status;
}

enum status stage_list_draw(struct stage_list *list, uint64_t seed, const char *id)
{
    for (size_t i = 0; i < list->count; i++) {
        struct stage *stage = &list->stages[i];
        const struct draw draw = {seed, id, i + 1};
        if (!stage->ops->draws)
            continue;
        const char *before = log_prefix(stage->origin);
        enum status status = draw_stage(stage, &draw);
        log_prefix(before);
        TRY(status);
    }
    return STATUS_OK;
}

json_t *stage_list_texts(const struct stage_list *list)
{
    json_t *stages = json_array();
    for (size_t i = 0; stages && i < list->count; i++)
        json_array_append_new(stages, json_pack("{s:o}", list->stages[i].ops->option,
                                                json_text(list->stages[i].text)));
    return stages;
}

json_t *stage_list_drawn(const struct stage_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->stages[i].drawn)
            return stage_list_texts(list);
    return NULL;
}
