#include "listen/trial_log.h"

#include "base/atomic_file.h"
#include "base/json_text.h"
#include "base/text_stream.h"
#include "listen/trial.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct trial_log {
    json_t *start;
    json_t *choices;
    json_t *settings;
    json_t *events;
    json_t *end;  /* NULL until then */
    size_t trial; /* of the last sound, from 1; 0: none yet */
    const char *sound;
    bool broken; /* no memory */
};

/* `failed`: a result of jansson, not 0 if it or its argument lacked memory. */
static void check(struct trial_log *log, int failed)
{
    log->broken |= failed != 0;
}

void trial_log_destroy(struct trial_log *log)
{
    if (!log)
        return;
    json_decref(log->start);
    json_decref(log->choices);
    json_decref(log->settings);
    json_decref(log->events);
    json_decref(log->end);
    free(log);
}

enum status trial_log_create(struct trial_log **result)
{
    struct trial_log *log = calloc(1, sizeof *log);
    if (!log)
        return fail_memory("a log");
    log->choices = json_array();
    log->settings = json_object();
    log->events = json_array();
    *result = log;
    return STATUS_OK;
}

json_t *trial_log_number(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

void trial_log_choice(struct trial_log *log, const char *name, double gain_db, size_t delay)
{
    check(log, json_array_append_new(
                   log->choices, json_pack("{s:o, s:o, s:I}", "name", json_text(name), "gain_db",
                                           trial_log_number(gain_db), "delay", (json_int_t)delay)));
}

void trial_log_setting(struct trial_log *log, const char *name, const char *value)
{
    check(log, json_object_set_new(log->settings, name, json_text(value)));
}

void trial_log_begin(struct trial_log *log, json_t *start)
{
    log->start = start;
    check(log, start == NULL);
}

void trial_log_event(struct trial_log *log, double seconds, size_t trial, const char *event,
                     json_t *about)
{
    json_t *line =
        json_pack("{s:f, s:I, s:s}", "time", seconds, "trial", (json_int_t)trial, "event", event);
    check(log, json_object_update(line, about));
    check(log, json_array_append_new(log->events, line));
    json_decref(about);
}

void trial_log_sound(struct trial_log *log, double seconds, size_t trial, const char *sound)
{
    bool other = log->trial == trial && strcmp(log->sound, sound) != 0;
    log->trial = trial;
    log->sound = sound;
    trial_log_event(log, seconds, trial, other ? "switch" : "listen",
                    json_pack("{s:s}", "sound", sound));
}

void trial_log_p_value_note(char *text, size_t size, const char *test, size_t answered,
                            size_t planned)
{
    if (answered == planned)
        snprintf(text, size, "%s, over all %zu planned trials", test, planned);
    else
        snprintf(text, size,
                 "%s, over the %zu answered of %zu planned trials; not valid as a planned test, "
                 "since it was stopped early",
                 test, answered, planned);
}

void trial_log_end(struct trial_log *log, double seconds, const struct trial *trial, json_t *result)
{
    log->end =
        json_pack("{s:f, s:I, s:b, s:{s:s, s:s}, s:o}", "time", seconds, "answered",
                  (json_int_t)trial->answered, "stopped_early", trial->answered < trial->planned,
                  "key", "draws", trial->key.draws, "salt", trial->key.salt, "result", result);
    check(log, log->end == NULL);
}

static json_t *assemble(const struct trial_log *log)
{
    json_t *root = json_object();
    int failed = json_object_update(root, log->start);
    failed |= json_object_set(root, "choices", log->choices);
    failed |= json_object_set(root, "settings", log->settings);
    failed |= json_object_set(root, "events", log->events);
    failed |= json_object_set(root, "end", log->end);
    if (!failed && !log->broken)
        return root;
    json_decref(root);
    return NULL;
}

static enum status write_file(json_t *root, struct atomic_file *file, const char *path)
{
    FILE *stream = fdopen(file->fd, "w");
    int error = 0;
    if (stream)
        error = json_write(json_incref(root), JSON_INDENT(2) | JSON_REAL_PRECISION(15), stream);
    int finished = text_stream_finish(stream);
    if (!stream)
        close(file->fd);
    error = error ? error : finished;
    return error ? fail(STATUS_FAILED, "cannot write %s: %s", path, strerror(error))
                 : atomic_file_keep(file, path);
}

enum status trial_log_save(const struct trial_log *log, const char *path, bool force)
{
    struct atomic_file file;
    if (!log->end && !log->broken)
        return fail(STATUS_FAILED, "cannot write %s: the test is not over", path);
    json_t *root = assemble(log);
    if (!root)
        return fail_memory("a log");
    enum status status = atomic_file_open(&file, path, force);
    if (status == STATUS_OK) {
        status = write_file(root, &file, path);
    } else if (file.fd >= 0) {
        close(file.fd);
    }
    atomic_file_discard(&file);
    json_decref(root);
    return status;
}
