#include "spectrogram/spectrogram_report.h"

#include "base/json_text.h"

#include <math.h>

static json_t *loudest_object(const struct spectrogram *picture)
{
    struct spectrogram_peak peak = spectrogram_find_peak(picture);
    if (peak.power <= 0)
        return json_null();
    return json_pack("{s:f, s:f, s:f}", "db", 10 * log10(peak.power), "seconds", peak.seconds, "hz",
                     peak.hz);
}

static json_t *sound_object(const char *name, const struct spectrogram *picture,
                            const struct spectrogram_report_sound *sound)
{
    return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:I, s:o}", "sound", json_text(name),
                     "rate", (json_int_t)sound->format.rate, "channels",
                     (json_int_t)sound->format.channels, "frames", (json_int_t)sound->frames,
                     "size", (json_int_t)sound->size, "hop", (json_int_t)sound->hop, "columns",
                     (json_int_t)picture->columns, "column_seconds", picture->step, "rows",
                     (json_int_t)picture->axis.rows, "loudest", loudest_object(picture));
}

enum status spectrogram_report_print(const struct spectrogram_options *options,
                                     const struct spectrogram_figure *figure,
                                     const struct spectrogram_report *report)
{
    const struct spectrogram_axis *axis = &figure->pictures[0].axis;
    json_t *sounds = json_array();
    for (size_t i = 0; i < figure->count; i++)
        json_array_append_new(
            sounds, sound_object(options->sounds.values[i], &figure->pictures[i], &report->sounds[i]));
    json_t *root = json_pack(
        "{s:o, s:s, s:s, s:o, s:f, s:f, s:f, s:f, s:f, s:f, s:o}", "file",
        options->file ? json_text(options->file) : json_null(), "frequency",
        axis->is_log ? "log" : "linear", "window", spectrogram_window_names[options->window],
        "channel", options->channel ? json_integer((json_int_t)options->channel) : json_null(),
        "low_hz", axis->low, "high_hz", axis->high, "from_seconds", figure->from, "to_seconds",
        figure->to, "bottom_db", figure->bottom, "top_db", figure->top, "sounds", sounds);
    bool printed = root && json_dumpf(root, stdout, JSON_INDENT(2)) == 0 && puts("") >= 0;
    json_decref(root);
    return printed ? STATUS_OK : fail(STATUS_FAILED, "cannot print the spectrogram as JSON");
}
