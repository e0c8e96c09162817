#include "batch/lhotse_cut.h"

#include "base/json_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- channels: an id, or a list of them ---- */

static bool has_channel(const json_t *channels, const json_t *id)
{
    size_t i;
    const json_t *own;
    if (!json_is_array(channels))
        return json_equal(channels, id);
    json_array_foreach(channels, i, own)
    {
        if (json_equal(own, id))
            return true;
    }
    return false;
}

static bool has_channels(const json_t *channels, const json_t *wanted)
{
    size_t i;
    const json_t *id;
    if (!json_is_array(wanted))
        return has_channel(channels, wanted);
    json_array_foreach(wanted, i, id)
    {
        if (!has_channel(channels, id))
            return false;
    }
    return true;
}

/* Those of the source that the cut has, in the order in which lhotse loads them. NULL: memory. */
static json_t *channels_of(const json_t *source, const json_t *cut)
{
    const json_t *all = json_object_get(source, "channels"), *wanted;
    json_t *channels = json_array(), *id;
    size_t i;
    wanted = json_object_get(cut, "channel");
    json_array_foreach(all, i, id)
    {
        if (!wanted || has_channel(wanted, id))
            json_array_append(channels, id);
    }
    return channels;
}

/* For --channel: "2" or "1,3". For free(); NULL: memory. */
static char *numbers_of(const json_t *source, const json_t *channels)
{
    char *numbers = NULL;
    size_t size, i;
    const json_t *id;
    FILE *text = open_memstream(&numbers, &size);
    const char *between = "";
    if (!text)
        return NULL;
    json_array_foreach(json_object_get(source, "channels"), i, id)
    {
        if (!has_channel(channels, id))
            continue;
        fprintf(text, "%s%zu", between, i + 1);
        between = ",";
    }
    if (fclose(text) == 0)
        return numbers;
    free(numbers);
    return NULL;
}

/* ---- a cut as a job ---- */

/* The source that has all channels of the cut: a recording of an array may have a file for each. */
static json_t *source_of(const json_t *cut)
{
    size_t i;
    json_t *source;
    const json_t *sources = json_object_get(json_object_get(cut, "recording"), "sources");
    const json_t *wanted = json_object_get(cut, "channel");
    if (!wanted)
        return json_array_size(sources) == 1 ? json_array_get(sources, 0) : NULL;
    json_array_foreach(sources, i, source)
    {
        if (has_channels(json_object_get(source, "channels"), wanted))
            return source;
    }
    return NULL;
}

/* Whether a cut is not all of its recording. */
static bool is_part(const json_t *cut)
{
    const json_t *recording = json_object_get(cut, "recording");
    double rate = json_number_value(json_object_get(recording, "sampling_rate"));
    double length = json_number_value(json_object_get(cut, "duration"));
    double whole = json_number_value(json_object_get(recording, "duration"));
    return json_number_value(json_object_get(cut, "start")) != 0 ||
           fabs(length - whole) > (rate > 0 ? 0.5 / rate : 1e-3);
}

static enum status check(const json_t *cut)
{
    const json_t *recording = json_object_get(cut, "recording");
    const char *id = json_string_value(json_object_get(cut, "id"));
    if (!id || (!recording && !json_object_get(cut, "tracks")))
        return fail(CAUSE_USAGE, "a cut of lhotse has an id and a recording");
    if (!recording)
        return fail(CAUSE_USAGE,
                    "cut %s is mixed of several, or padded; save the sounds by lhotse first "
                    "(CutSet.save_audios)",
                    id);
    if (json_array_size(json_object_get(recording, "transforms")) > 0)
        return fail(CAUSE_USAGE,
                    "cut %s: lhotse transforms its recording when it loads it; save the sounds by "
                    "lhotse first (CutSet.save_audios)",
                    id);
    const json_t *source = source_of(cut);
    const char *type = json_string_value(json_object_get(source, "type"));
    if (type && strcmp(type, "file") != 0)
        return fail(CAUSE_USAGE,
                    "cut %s: its recording is of type '%s', not a file; save the sounds by lhotse "
                    "first (CutSet.save_audios)",
                    id, type);
    if (!type || !json_is_string(json_object_get(source, "source")))
        return fail(CAUSE_USAGE,
                    "cut %s: its channels are not in one file; save the sounds by lhotse first "
                    "(CutSet.save_audios)",
                    id);
    if (is_part(cut) && !(json_number_value(json_object_get(cut, "start")) >= 0 &&
                          json_number_value(json_object_get(cut, "duration")) > 0))
        return fail(CAUSE_USAGE, "cut %s: its start is from 0 on, and its duration above 0", id);
    return STATUS_OK;
}

/* Releases `channels`. Whether there was memory. */
static bool set_numbers(const json_t *source, json_t *channels, json_t *job)
{
    bool are_all =
        json_array_size(channels) == json_array_size(json_object_get(source, "channels"));
    char *numbers = channels && !are_all ? numbers_of(source, channels) : NULL;
    bool is_set = are_all
                      ? channels != NULL
                      : numbers && json_object_set_new(job, "channel", json_string(numbers)) == 0;
    free(numbers);
    json_decref(channels);
    return is_set;
}

/* NULL: memory. */
static json_t *job_of(const json_t *cut)
{
    const json_t *source = source_of(cut);
    json_t *job = json_pack("{s:O, s:O}", "id", json_object_get(cut, "id"), "in",
                            json_object_get(source, "source"));
    if (is_part(cut)) {
        json_object_set(job, "start", json_object_get(cut, "start"));
        json_object_set(job, "duration", json_object_get(cut, "duration"));
    }
    if (job && set_numbers(source, channels_of(source, cut), job))
        return job;
    json_decref(job);
    return NULL;
}

enum status lhotse_cut_read(const char *line, json_t **job)
{
    json_error_t error;
    json_t *cut = json_loads(line, 0, &error);
    enum status status =
        cut ? check(cut)
            : fail(CAUSE_USAGE, "not JSON: %s; a manifest has a cut a line (CutSet.to_jsonl)",
                   error.text);
    if (status == STATUS_OK) {
        *job = job_of(cut);
        status = *job ? STATUS_OK : fail_memory("jobs");
    }
    json_decref(cut);
    return status;
}

/* ---- a cut of an output ---- */

/* The ids of its channels are those of the cut, where there are as many; else 0, 1 and so on. */
static void set_channels(json_t *cut, json_t *source, size_t count)
{
    json_t *recording = json_object_get(cut, "recording"), *supervision;
    json_t *channels = channels_of(source, cut);
    size_t i;
    if (count > 0 && count != json_array_size(channels)) {
        json_array_clear(channels);
        for (i = 0; i < count; i++)
            json_array_append_new(channels, json_integer((json_int_t)i));
        json_t *channel = count == 1 ? json_array_get(channels, 0) : channels;
        json_object_set(cut, "channel", channel);
        json_object_set_new(cut, "type", json_string(count == 1 ? "MonoCut" : "MultiCut"));
        json_array_foreach(json_object_get(cut, "supervisions"), i, supervision)
            json_object_set(supervision, "channel", channel);
    }
    json_object_set(source, "channels", channels);
    if (json_object_get(recording, "channel_ids"))
        json_object_set(recording, "channel_ids", channels);
    json_object_set_new(recording, "sources", json_pack("[O]", source));
    json_decref(channels);
}

json_t *lhotse_cut_of_sound(const char *line, const struct lhotse_sound *sound)
{
    json_t *cut = json_loads(line, 0, NULL), *supervision;
    json_t *recording = json_object_get(cut, "recording"), *source = source_of(cut);
    size_t i;
    set_channels(cut, source, sound->channels);
    source = json_array_get(json_object_get(recording, "sources"), 0);
    json_object_set_new(source, "source", json_text(sound->path));
    json_object_set_new(recording, "id", json_text(sound->id));
    json_array_foreach(json_object_get(cut, "supervisions"), i, supervision)
        json_object_set_new(supervision, "recording_id", json_text(sound->id));
    (void)json_object_del(cut, "features");
    json_object_set_new(cut, "start", json_integer(0));
    if (sound->frames) {
        double seconds = (double)sound->frames / (double)sound->rate;
        json_object_set_new(recording, "sampling_rate", json_integer((json_int_t)sound->rate));
        json_object_set_new(recording, "num_samples", json_integer((json_int_t)sound->frames));
        json_object_set_new(recording, "duration", json_real(seconds));
        json_object_set_new(cut, "duration", json_real(seconds));
    }
    return cut;
}
