#include "base/stop.h"
#include "correct/correct_options.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POLL_MS = 50, LINES_MOST = 100, OTHER_ROWS = 9 /* rows of the screen that are no plot */ };

enum status correct_ask(struct view *view, const struct measure_rig *rig, const char *const *lines,
                        size_t count, const char *keys, const char *accepted, int *key)
{
    char device[160] = "";
    struct live_status status = {.command = "halo correct",
                                 .device = device,
                                 .lines = lines,
                                 .line_count = count,
                                 .only_meters = true,
                                 .keys = keys};
    if (rig) {
        struct device_info info;
        device_info(rig->device, &info);
        device_describe(&info, device, sizeof device);
        status.rate = info.rate;
    }
    for (;;) {
        struct pollfd waits = {.fd = view_key_fd(view), .events = POLLIN};
        if (stop_requested())
            return fail(CAUSE_INTERRUPTED, "stopped");
        if (rig && device_state(rig->device) == DEVICE_LOST)
            return fail(CAUSE_DEVICE, "the device was lost");
        (void)poll(&waits, 1, POLL_MS);
        while ((*key = view_key(view)) != VIEW_KEY_NONE) {
            if (*key == 'q' && !strchr(accepted, 'q'))
                return fail(CAUSE_INTERRUPTED, "stopped");
            if (*key > 0 && *key < 128 && strchr(accepted, *key))
                return STATUS_OK;
        }
        if (view_is_due(view))
            view_show(view, &status);
    }
}

/* ---- devices ---- */

/* The next device with channels of that direction, after `at`. */
static size_t next_device(const struct device_list *list, size_t at, bool records)
{
    for (size_t i = 1; i <= list->count; i++) {
        const struct device_row *row = &list->rows[(at + i) % list->count];
        if (!row->only_named && (records ? row->channels_in : row->channels_out) > 0)
            return (at + i) % list->count;
    }
    return at;
}

static size_t default_device(const struct device_list *list, bool records)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->hosts[list->rows[i].host].is_default &&
            (records ? list->rows[i].default_in : list->rows[i].default_out))
            return i;
    return next_device(list, list->count - 1, records);
}

static void describe_device(const struct device_list *list, size_t at, const char *what,
                            size_t channels, char line[static 320])
{
    snprintf(line, 320, "  %s: %s, %s, %zu channel%s", what, list->hosts[list->rows[at].host].name,
             list->rows[at].name, channels, channels == 1 ? "" : "s");
}

static enum status choose(struct view *view, const struct device_list *list, size_t *output,
                          size_t *input)
{
    static const char place[] = "The microphone belongs where your head is, at the height of the "
                                "ears.";
    int key = 0;
    while (key != ' ') {
        char out[320], in[320];
        const char *lines[] = {"Step 1: the devices", "", out, in, "", place};
        describe_device(list, *output, "o  loudspeakers", list->rows[*output].channels_out, out);
        describe_device(list, *input, "i  microphone", list->rows[*input].channels_in, in);
        TRY(correct_ask(view, NULL, lines, sizeof lines / sizeof *lines,
                        "o other loudspeakers  i other microphone  space next  q leave", "oi ",
                        &key));
        if (key == 'o')
            *output = next_device(list, *output, false);
        if (key == 'i')
            *input = next_device(list, *input, true);
    }
    return STATUS_OK;
}

enum status correct_choose_devices(struct view *view, struct device_request *request,
                                   char output[static CORRECT_DEVICE],
                                   char input[static CORRECT_DEVICE])
{
    struct device_list list;
    if (request->driver || request->input || request->output)
        return STATUS_OK;
    TRY(device_list_init(&list));
    enum status status = STATUS_OK;
    if (list.count > 0) {
        size_t out = default_device(&list, false), in = default_device(&list, true);
        status = choose(view, &list, &out, &in);
        snprintf(output, CORRECT_DEVICE, "%zu", out);
        snprintf(input, CORRECT_DEVICE, "%zu", in);
        request->output = output;
        request->input = input;
    }
    device_list_free(&list);
    return status;
}

/* ---- plots ---- */

enum status correct_show(struct view *view, const struct measure_rig *rig,
                         const struct study *study, size_t speaker, const char *text,
                         const char *keys, const char *accepted, int *key)
{
    const char *lines[LINES_MOST];
    char about[STUDY_LINE], *plot = NULL, *rest;
    size_t count = 0, rows = (size_t)view_rows(view), columns = (size_t)view_columns(view);
    size_t height = rows > OTHER_ROWS + LINES_MOST / 2 ? LINES_MOST / 2
                    : rows > OTHER_ROWS                ? rows - OTHER_ROWS
                                                       : 0;
    study_describe(&study->speakers[speaker], about);
    if (height >= 8 && columns >= 40)
        TRY(study_plot(study, speaker, columns - 2, height, &plot));
    rest = plot;
    for (char *line; rest && count < LINES_MOST - 3 && (line = strsep(&rest, "\n"));)
        if (*line)
            lines[count++] = line;
    if (plot)
        lines[count++] = study_legend(study);
    lines[count++] = about;
    lines[count++] = text;
    enum status status = correct_ask(view, rig, lines, count, keys, accepted, key);
    free(plot);
    return status;
}
