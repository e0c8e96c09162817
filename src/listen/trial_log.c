#include "listen/trial.h"

#include "base/atomic_file.h"
#include "base/json_text.h"
#include "base/status.h"
#include "base/text_stream.h"
#include "listen/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { LINE = JSON_REAL_PRECISION(15), TORN_LINES_MOST = 8 };

static const char open_end[] = "\n]}\n"; /* end of a log whose test is not over */

struct trial_log {
    char *text; /* text of the records so far, without the end of the file; NULL: none */
    size_t length, capacity;
    bool has_events;
    char head[DIGEST_TEXT], last_event[DIGEST_TEXT];
    size_t trial; /* trial of the last sound, from 1; 0: none yet */
    const char *sound;
    json_t *end; /* record of the end; NULL: none yet */
    struct atomic_file file;
    bool is_open;
    char *path; /* path as the user gave it; NULL: no file */
    int error;  /* first error, an errno; 0: none */
};

void trial_log_destroy(struct trial_log *log)
{
    if (!log)
        return;
    if (log->is_open)
        close(log->file.fd);
    atomic_file_discard(&log->file);
    json_decref(log->end);
    free(log->path);
    free(log->text);
    free(log);
}

enum status trial_log_create(struct trial_log **result)
{
    struct trial_log *log = calloc(1, sizeof *log);
    if (!log)
        return fail_memory("a log");
    log->file = (struct atomic_file){.fd = -1, .held = -1};
    *result = log;
    return STATUS_OK;
}

json_t *trial_log_number(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

char *trial_log_text(const json_t *record)
{
    return json_line(json_incref((json_t *)record),
                     JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY | LINE);
}

/* ---- the file ---- */

static int write_at(int fd, const char *text, size_t size, size_t at)
{
    while (size > 0) {
        ssize_t done = pwrite(fd, text, size, (off_t)at);
        if (done < 0 && errno != EINTR)
            return errno;
        if (done > 0) {
            text += done;
            at += (size_t)done;
            size -= (size_t)done;
        }
    }
    return 0;
}

/* Writes the text from `at` on, and the end of the file after it. The next call overwrites the
 * end. */
static int write_from(struct trial_log *log, size_t at)
{
    const char *end = log->end ? "" : open_end;
    char *whole;
    if (asprintf(&whole, "%s%s", log->text + at, end) < 0)
        return ENOMEM;
    int error = write_at(log->file.fd, whole, strlen(whole), at);
    free(whole);
    return error;
}

/* Whether a test is writing the log: it holds a lock on the file. */
static bool is_running(int fd)
{
    return flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

static enum status check_running(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool runs = fd >= 0 && is_running(fd);
    if (fd >= 0)
        close(fd);
    return runs ? fail(CAUSE_BUSY, "cannot write %s: its test is running", path) : STATUS_OK;
}

enum status trial_log_try(const char *path, bool force)
{
    struct atomic_file file;
    TRY(check_running(path));
    enum status status = atomic_file_open(&file, path, force);
    if (status == STATUS_OK)
        close(file.fd);
    atomic_file_discard(&file);
    return status;
}

enum status trial_log_open(struct trial_log *log, const char *path, bool force)
{
    TRY(check_running(path));
    log->path = strdup(path);
    if (!log->path)
        return fail_memory("a log");
    enum status status = atomic_file_open(&log->file, path, force);
    log->is_open = log->file.fd >= 0;
    if (status != STATUS_OK)
        return status;
    log->error = log->error ? log->error : write_from(log, 0);
    TRY(trial_log_check(log));
    (void)flock(log->file.fd, LOCK_EX | LOCK_NB); /* see trial_log_load */
    return atomic_file_keep(&log->file, path);
}

bool trial_log_failed(const struct trial_log *log)
{
    return log->error != 0;
}

enum status trial_log_check(const struct trial_log *log)
{
    if (log->error == ENOMEM)
        return fail_memory("a log");
    if (log->error == ESTALE)
        return fail(CAUSE_OTHER, "the log %s was removed, replaced or written by another program",
                    log->path);
    return log->error ? fail_errno(log->error, "cannot write %s", log->path) : STATUS_OK;
}

/* Compares the file with the records. Returns 0 or an errno. ESTALE: the path leads to another
 * file, or the file has other content. */
static int compare_file(const struct trial_log *log)
{
    const char *end = log->end ? "" : open_end;
    size_t size = log->length + strlen(end);
    struct stat there, own;
    if (stat(log->file.path, &there) != 0 || fstat(log->file.fd, &own) != 0 ||
        there.st_dev != own.st_dev || there.st_ino != own.st_ino || (size_t)own.st_size != size)
        return ESTALE;
    char *read = malloc(size);
    if (!read)
        return ENOMEM;
    ssize_t got = pread(log->file.fd, read, size, 0);
    int error = got < 0 ? errno : 0;
    if (!error && ((size_t)got != size || memcmp(read, log->text, log->length) != 0 ||
                   memcmp(read + log->length, end, strlen(end)) != 0))
        error = ESTALE;
    free(read);
    return error;
}

void trial_log_sync(struct trial_log *log)
{
    if (log->is_open && !log->error)
        log->error = atomic_file_sync(log->file.fd);
    if (log->is_open && !log->error)
        log->error = compare_file(log);
}

/* ---- records ---- */

const char *trial_log_head(const struct trial_log *log)
{
    return log->head;
}

const char *trial_log_last_event(const struct trial_log *log)
{
    return log->last_event;
}

const json_t *trial_log_the_end(const struct trial_log *log)
{
    return log->end;
}

/* Hash of a text and a record, which is owned. */
static enum status hash_of(const char *before, json_t *record, char hash[DIGEST_TEXT])
{
    char *text = record ? trial_log_text(record) : NULL, *whole = NULL;
    json_decref(record);
    if (!text || asprintf(&whole, "%s%s", before, text) < 0) {
        free(text);
        return fail_memory("a hash");
    }
    digest_of_text(whole, hash);
    free(whole);
    free(text);
    return STATUS_OK;
}

enum status trial_log_hash(const char *before, const json_t *record, char hash[DIGEST_TEXT])
{
    json_t *bare = json_copy((json_t *)record);
    json_object_del(bare, "hash");
    return hash_of(before, bare, hash);
}

enum status trial_log_commit(const json_t *key, char commitment[DIGEST_TEXT])
{
    char salt[DIGEST_TEXT + 1] = "";
    json_t *bare = json_copy((json_t *)key);
    const char *own = json_string_value(json_object_get(key, "salt"));
    snprintf(salt, sizeof salt, "%s ", own ? own : "");
    json_object_del(bare, "salt");
    json_object_del(bare, "commitment");
    return hash_of(salt, bare, commitment);
}

static bool add_text(struct trial_log *log, const char *text)
{
    size_t size = strlen(text), least = log->length + size + 1;
    if (least > log->capacity) {
        char *longer = realloc(log->text, 2 * least);
        if (!longer)
            return false;
        log->text = longer;
        log->capacity = 2 * least;
    }
    memcpy(log->text + log->length, text, size + 1);
    log->length += size;
    return true;
}

/* Adds a text and writes it to the file. `text` is freed; NULL: no memory. */
static void append(struct trial_log *log, const char *before, char *text, const char *after)
{
    size_t at = log->length;
    if (!text || !add_text(log, before) || !add_text(log, text) || !add_text(log, after))
        log->error = log->error ? log->error : ENOMEM;
    if (log->is_open && !log->error)
        log->error = write_from(log, at);
    free(text);
}

/* Adds the hash to a record, which becomes the log's head. Returns the record as a line; NULL: no
 * memory. */
static char *hashed(struct trial_log *log, json_t *record)
{
    char hash[DIGEST_TEXT];
    if (!record || trial_log_hash(log->head, record, hash) != STATUS_OK ||
        json_object_set_new(record, "hash", json_string(hash)) != 0)
        return NULL;
    memcpy(log->head, hash, sizeof hash);
    return json_line(json_incref(record), LINE);
}

void trial_log_begin(struct trial_log *log, json_t *start)
{
    char *line = hashed(log, start);
    if (line)
        line[strlen(line) - 1] = '\0'; /* remove the closing brace */
    append(log, "", line, ",\n\"events\": [");
    memcpy(log->last_event, log->head, sizeof log->head);
    json_decref(start);
}

void trial_log_event(struct trial_log *log, double seconds, size_t trial, const char *event,
                     json_t *about)
{
    json_t *record =
        json_pack("{s:f, s:I, s:s}", "time", seconds, "trial", (json_int_t)trial, "event", event);
    if (about && json_object_update(record, about) != 0)
        log->error = log->error ? log->error : ENOMEM;
    append(log, log->has_events ? ",\n" : "\n", hashed(log, record), "");
    log->has_events = true;
    memcpy(log->last_event, log->head, sizeof log->head);
    json_decref(record);
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

void trial_log_end(struct trial_log *log, json_t *end)
{
    log->end = end;
    append(log, "\n],\n\"end\": ", hashed(log, end), "}\n");
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

/* ---- reading ---- */

static enum status read_text(const char *path, bool alone, char **text, size_t *size)
{
    FILE *file = fopen(path, "re"), *memory = text_stream_open(text, size);
    char chunk[4096];
    size_t got;
    int error = file ? (memory ? 0 : ENOMEM) : errno;
    if (!error && alone && is_running(fileno(file)))
        error = ETXTBSY;
    while (!error && (got = fread(chunk, 1, sizeof chunk, file)) > 0)
        fwrite(chunk, 1, got, memory);
    if (!error && ferror(file))
        error = errno;
    int finished = text_stream_finish(memory);
    error = error ? error : finished;
    if (file)
        fclose(file);
    if (error == ETXTBSY)
        return fail(CAUSE_BUSY, "cannot read %s: its test is running", path);
    return error ? fail_errno(error, "cannot read %s", path) : STATUS_OK;
}

/* Size of the text without blanks and the comma at its end. */
static size_t strip(const char *text, size_t size)
{
    while (size > 0 && strchr(" \t\r\n,", text[size - 1]))
        size--;
    return size;
}

/* Reads the log without its last lines, which are cut off. NULL: this is not a log. A member that
 * occurs twice is not repaired. */
static json_t *restore(const char *text, size_t size, json_error_t *error)
{
    for (int i = 0; i < TORN_LINES_MOST && json_error_code(error) != json_error_duplicate_key;
         i++) {
        char *whole;
        size = strip(text, size);
        if (asprintf(&whole, "%.*s%s", (int)size, text, open_end) < 0)
            return NULL;
        json_t *root = json_loads(whole, JSON_REJECT_DUPLICATES, error);
        free(whole);
        if (root)
            return root;
        while (size > 0 && text[size - 1] != '\n')
            size--;
    }
    return NULL;
}

enum status trial_log_load(const char *path, bool alone, json_t **root, bool *cut)
{
    static const char mark[] = "\xEF\xBB\xBF"; /* byte order mark of UTF-8 */
    json_error_t error;
    char *text = NULL;
    size_t size = 0;
    enum status status = read_text(path, alone, &text, &size);
    if (status == STATUS_OK) {
        size_t skipped = strncmp(text, mark, strlen(mark)) == 0 ? strlen(mark) : 0;
        *root = json_loadb(text + skipped, size - skipped, JSON_REJECT_DUPLICATES, &error);
        *cut = !*root;
        if (*cut && !(*root = restore(text + skipped, size - skipped, &error)))
            status = fail(CAUSE_DAMAGED, "cannot read %s: %s", path,
                          text[skipped] == '{' ? error.text : "it is no log of halo listen");
    }
    free(text);
    return status;
}
