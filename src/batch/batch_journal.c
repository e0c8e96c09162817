#include "batch/batch_journal.h"

#include "base/atomic_file.h"
#include "base/cache_file.h"
#include "base/hidden_name.h"
#include "base/json_text.h"
#include "batch/batch_job.h"
#include "batch/sum_set.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define JOURNAL_FOLDER ".halo-batch"
#define JOURNAL_ENDING ".jsonl"

enum { LINE_MOST = 1 << 16, READ_BYTES = 1 << 18 };

/* How far a file has been read. */
struct journal_file {
    char *name;
    off_t seen;
};

struct batch_journal {
    char *place;     /* path of DIR/.halo-batch */
    int locks, file; /* descriptors: the file of locks, and the file of this shard */
    char name[80];   /* name of this shard's file */
    const struct batch_shard *shard;
    const struct sum_set *outputs;
    pthread_mutex_t lock; /* guards all members below */
    pthread_cond_t synced_more;
    struct done_table last;      /* last result of each job; 0 bytes: it failed */
    struct done_table files;     /* all outputs that were ever written, by file_sum() */
    off_t seen;                  /* bytes of this shard's file that were read */
    struct journal_file *others; /* files of other shards */
    size_t other_count;
    int64_t latest;           /* largest at_ms of all lines */
    uint64_t written, synced; /* number of lines of this run that were written, and synced */
    bool syncing;
    int sync_error;
};

json_t *batch_journal_parse(const char *line, size_t length)
{
    json_t *root =
        length < LINE_MOST ? json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL) : NULL;
    if (json_is_object(root))
        return root;
    json_decref(root);
    return NULL;
}

/* ---- reading ---- */

/* A sum of an output's name and the file's length and time of change. */
static uint64_t file_sum(const char *name, const struct done_entry *file)
{
    char text[96];
    snprintf(text, sizeof text, "%" PRId64 " %" PRId64 ".%" PRId64, file->bytes, file->changed,
             file->changed_ns);
    return cache_file_sum(batch_id_sum(name), text, strlen(text));
}

/* Learn a line. If memory runs out, the line is ignored, and its job is done again. */
static void learn_line(struct batch_journal *journal, const json_t *line)
{
    const int64_t AT_MOST = INT64_MAX / 2; /* bound, since a damaged line may have any number */
    const char *id = json_string_value(json_object_get(line, "id"));
    const char *digest = json_string_value(json_object_get(line, "digest"));
    const char *out = json_string_value(json_object_get(line, "out"));
    const json_t *bytes = json_object_get(line, "bytes");
    bool has_failed = json_object_get(line, "failed");
    struct done_entry entry = {.digest = "x", .bytes = json_integer_value(bytes)};
    entry.at = json_integer_value(json_object_get(line, "at_ms"));
    if (entry.at > journal->latest && entry.at < AT_MOST)
        journal->latest = entry.at;
    entry.id = id ? batch_id_sum(id) : 0;
    if (id && has_failed)
        done_table_add(&journal->last, &entry);
    if (!id || !digest || !json_is_integer(bytes) || strlen(digest) != BATCH_DIGEST - 1)
        return;
    memcpy(entry.digest, digest, BATCH_DIGEST);
    entry.changed = json_integer_value(json_object_get(line, "changed"));
    entry.changed_ns = json_integer_value(json_object_get(line, "changed_ns"));
    done_table_add(&journal->last, &entry);
    entry.id = out ? file_sum(out, &entry) : 0;
    if (out)
        done_table_add(&journal->files, &entry);
}

/* How to read lines, and which. */
struct line_reader {
    void (*found)(void *context, const json_t *line);
    void *context;
    const struct batch_shard *shard; /* shard whose lines are wanted; NULL: all */
    const struct sum_set *outputs;   /* lines about these names are wanted, too */
};

static bool is_wanted(const struct line_reader *reader, const char *line)
{
    struct job_line done;
    if (!reader->shard || !job_line_scan_done(line, &done))
        return true;
    uint64_t id = cache_file_sum(CACHE_FILE_SUM, done.id.text, done.id.length);
    uint64_t out = cache_file_sum(CACHE_FILE_SUM, done.out.text, done.out.length);
    return batch_shard_has(reader->shard, id) || sum_set_place(reader->outputs, out) > 0;
}

static void read_line(const struct line_reader *reader, const char *text, size_t length)
{
    json_t *line = is_wanted(reader, text) ? batch_journal_parse(text, length) : NULL;
    if (line)
        reader->found(reader->context, line);
    json_decref(line);
}

/* Read complete lines from *at on, and move *at after them. */
static int read_lines(int file, off_t *at, const struct line_reader *reader)
{
    char *buffer = malloc(READ_BYTES);
    ssize_t got = 0;
    while (buffer && (got = pread(file, buffer, READ_BYTES, *at)) > 0) {
        char *from = buffer, *end;
        while ((end = memchr(from, '\n', (size_t)(buffer + got - from)))) {
            *end = '\0';
            read_line(reader, from, (size_t)(end - from));
            from = end + 1;
        }
        if (from == buffer && got < READ_BYTES)
            break;                                   /* the line is incomplete, or being written */
        *at += from == buffer ? got : from - buffer; /* a line as long as the buffer is invalid */
    }
    free(buffer);
    return buffer && got >= 0 ? 0 : errno;
}

static void learn_into(void *context, const json_t *line)
{
    learn_line(context, line);
}

static bool is_journal(const char *name)
{
    size_t length = strlen(name), ending = strlen(JOURNAL_ENDING);
    return name[0] != '.' && length > ending && strcmp(name + length - ending, JOURNAL_ENDING) == 0;
}

/* The offset up to which a file of the journal's folder was read. NULL: no memory. */
static off_t *seen_of(struct batch_journal *journal, const char *name)
{
    if (strcmp(name, journal->name) == 0)
        return &journal->seen;
    for (size_t i = 0; i < journal->other_count; i++)
        if (strcmp(name, journal->others[i].name) == 0)
            return &journal->others[i].seen;
    size_t bytes = (journal->other_count + 1) * sizeof *journal->others;
    struct journal_file *larger = realloc(journal->others, bytes);
    char *copy = larger ? strdup(name) : NULL;
    journal->others = larger ? larger : journal->others;
    if (!copy)
        return NULL;
    larger[journal->other_count] = (struct journal_file){.name = copy};
    return &larger[journal->other_count++].seen;
}

/* Read all files of a folder; with a journal, only bytes not read before. Returns 0 or an errno. */
static int read_folder(const char *place, struct batch_journal *journal,
                       const struct line_reader *reader)
{
    DIR *folder = opendir(place);
    int error = folder ? 0 : errno;
    for (const struct dirent *entry; folder && !error && (entry = readdir(folder));) {
        off_t from_start = 0;
        int file = is_journal(entry->d_name)
                       ? openat(dirfd(folder), entry->d_name, O_RDONLY | O_CLOEXEC)
                       : -1;
        if (file < 0)
            continue;
        off_t *at = journal ? seen_of(journal, entry->d_name) : &from_start;
        error = at ? read_lines(file, at, reader) : ENOMEM;
        close(file);
    }
    if (folder)
        closedir(folder);
    return error;
}

enum status batch_journal_read_all(const char *folder,
                                   void (*found)(void *context, const json_t *line), void *context)
{
    char *place;
    if (asprintf(&place, "%s/" JOURNAL_FOLDER, folder) < 0)
        return fail_memory("a journal");
    const struct line_reader reader = {.found = found, .context = context};
    int error = read_folder(place, NULL, &reader);
    free(place);
    if (error == ENOENT)
        return fail(CAUSE_MISSING, "%s has no journal of halo batch", folder);
    return error ? fail_errno(error, "cannot read the journal of %s", folder) : STATUS_OK;
}

void batch_journal_refresh(struct batch_journal *journal)
{
    const struct line_reader reader = {.found = learn_into, .context = journal};
    struct stat about;
    pthread_mutex_lock(&journal->lock);
    if (fstat(journal->file, &about) == 0 && about.st_size > journal->seen)
        (void)read_lines(journal->file, &journal->seen, &reader);
    pthread_mutex_unlock(&journal->lock);
}

/* Read what other runs added about this run's jobs. The lock is held. Returns 0 or an errno. */
static int read_others(struct batch_journal *journal)
{
    const struct line_reader reader = {learn_into, journal, journal->shard, journal->outputs};
    return read_folder(journal->place, journal, &reader);
}

/* ---- opening ---- */

/* If a killed run left an incomplete last line, end it. */
static void end_last_line(int file)
{
    struct stat about;
    char last = '\n';
    if (fstat(file, &about) == 0 && about.st_size > 0 &&
        pread(file, &last, 1, about.st_size - 1) == 1 && last != '\n' && write(file, "\n", 1) != 1)
        note_detail("a journal's last line is cut off");
}

static int open_in(const struct batch_journal *journal, const char *name, int flags)
{
    char *path;
    if (asprintf(&path, "%s/%s", journal->place, name) < 0)
        return -1;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | flags, 0666);
    int error = errno;
    free(path);
    errno = error;
    return fd;
}

static enum status open_journal(struct batch_journal *journal, const char *folder)
{
    snprintf(journal->name, sizeof journal->name, "%zu-of-%zu" JOURNAL_ENDING,
             journal->shard->number, journal->shard->count);
    int error = asprintf(&journal->place, "%s/" JOURNAL_FOLDER, folder) < 0 ? ENOMEM : 0;
    if (error)
        journal->place = NULL;
    if (!error && mkdir(journal->place, 0777) != 0 && errno != EEXIST)
        error = errno;
    if (!error && (journal->locks = open_in(journal, "locks", 0)) < 0)
        error = errno;
    if (!error && (journal->file = open_in(journal, journal->name, O_APPEND)) < 0)
        error = errno;
    if (!error) {
        end_last_line(journal->file);
        error = journal->outputs->count > 0 ? read_others(journal) : 0;
    }
    if (!error)
        error = atomic_file_sync_folder(journal->place);
    return error ? fail_errno(error, "cannot keep a journal in %s", folder) : STATUS_OK;
}

enum status batch_journal_open(const char *folder, const struct batch_shard *shard,
                               const struct sum_set *outputs, struct batch_journal **result)
{
    struct batch_journal *journal = calloc(1, sizeof *journal);
    if (!journal)
        return fail_memory("a journal");
    journal->locks = journal->file = -1;
    journal->shard = shard;
    journal->outputs = outputs;
    pthread_mutex_init(&journal->lock, NULL);
    pthread_cond_init(&journal->synced_more, NULL);
    enum status status = open_journal(journal, folder);
    if (status != STATUS_OK)
        batch_journal_close(journal);
    else
        *result = journal;
    return status;
}

void batch_journal_close(struct batch_journal *journal)
{
    if (!journal)
        return;
    if (journal->locks >= 0)
        close(journal->locks);
    if (journal->file >= 0)
        close(journal->file);
    pthread_cond_destroy(&journal->synced_more);
    pthread_mutex_destroy(&journal->lock);
    done_table_free(&journal->last);
    done_table_free(&journal->files);
    for (size_t i = 0; i < journal->other_count; i++)
        free(journal->others[i].name);
    free(journal->others);
    free(journal->place);
    free(journal);
}

/* ---- states of jobs ---- */

/* Any output in the journal counts: a killed run may have left an earlier one. For an unknown
 * output, reads new lines of other shards, since a later run may have other shards. */
enum batch_state batch_journal_state(struct batch_journal *journal, const struct batch_job *job)
{
    struct stat about;
    struct done_entry file;
    if (stat(job->output, &about) != 0)
        return BATCH_NEW;
    file = (struct done_entry){.bytes = about.st_size,
                               .changed = about.st_mtim.tv_sec,
                               .changed_ns = about.st_mtim.tv_nsec};
    uint64_t sum = file_sum(job->name, &file);
    pthread_mutex_lock(&journal->lock);
    bool is_ours = done_table_find(&journal->files, sum, &file);
    if (!is_ours && read_others(journal) == 0)
        is_ours = done_table_find(&journal->files, sum, &file);
    pthread_mutex_unlock(&journal->lock);
    if (!is_ours)
        return BATCH_NEW;
    return strcmp(file.digest, job->digest) == 0 ? BATCH_DONE : BATCH_CHANGED;
}

/* ---- claims: locks of open files, which end when the last descriptor is closed ---- */

static bool lock_byte(const struct batch_journal *journal, const char *digest, short type)
{
    char first[16];
    snprintf(first, sizeof first, "%.15s", digest); /* 60 bits, used as an offset */
    struct flock range = {.l_type = type,
                          .l_whence = SEEK_SET,
                          .l_start = (off_t)strtoull(first, NULL, 16),
                          .l_len = 1};
    /* If the file system has no locks, each claim succeeds, and only shards keep runs apart. */
    return fcntl(journal->locks, F_OFD_SETLK, &range) == 0 || (errno != EAGAIN && errno != EACCES);
}

bool batch_journal_claim(struct batch_journal *journal, const char *digest)
{
    return lock_byte(journal, digest, F_WRLCK);
}

void batch_journal_release(struct batch_journal *journal, const char *digest)
{
    (void)lock_byte(journal, digest, F_UNLCK);
}

static bool is_left(void *context, const char *mark)
{
    return batch_journal_claim(context, mark);
}

/* Claims are kept until all files are removed. */
void batch_journal_sweep(struct batch_journal *journal, const char *folder)
{
    struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    (void)hidden_sweep_marked(folder, is_left, journal);
    (void)fcntl(journal->locks, F_OFD_SETLK, &all);
}

/* ---- writing ---- */

/* If the own line directly follows the bytes read, nothing else was written: skip the line. */
static void skip_own(struct batch_journal *journal, off_t length)
{
    off_t end = lseek(journal->file, 0, SEEK_CUR);
    if (end - length == journal->seen)
        journal->seen = end;
}

/* Write a line in one call, so lines do not mix. Releases it. Lock held. Returns 0 or an errno. */
static int write_line(struct batch_journal *journal, json_t *line)
{
    char *text = json_line(line, JSON_COMPACT), *ended = NULL;
    int length = text ? asprintf(&ended, "%s\n", text) : -1;
    free(text);
    if (length < 0)
        return ENOMEM;
    ssize_t written = write(journal->file, ended, (size_t)length);
    int error = written == length ? 0 : written < 0 ? errno : ENOSPC;
    if (written > 0 && error) /* ends the partial line, so that it is no part of the next */
        (void)!write(journal->file, "\n", 1);
    free(ended);
    if (!error)
        skip_own(journal, length);
    return error;
}

/* Wait until line `mine` is synced; one thread syncs for all. Lock held. Returns 0 or an errno. */
static int sync_until(struct batch_journal *journal, uint64_t mine)
{
    while (journal->synced < mine && !journal->sync_error) {
        if (journal->syncing) {
            pthread_cond_wait(&journal->synced_more, &journal->lock);
            continue;
        }
        uint64_t written = journal->written;
        journal->syncing = true;
        pthread_mutex_unlock(&journal->lock);
        int error = atomic_file_sync(journal->file);
        pthread_mutex_lock(&journal->lock);
        journal->syncing = false;
        journal->sync_error = error;
        journal->synced = written;
        pthread_cond_broadcast(&journal->synced_more);
    }
    return journal->sync_error;
}

/* A time for the next line, later than all known lines even if the clock went back, since the later
 * of two lines about a job counts. The lock is held. */
static int64_t next_ms(struct batch_journal *journal)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    journal->latest = ms > journal->latest ? ms : journal->latest + 1;
    return journal->latest;
}

/* Write the line of an output. The lock is held. Returns 0 or an errno. */
static int write_done(struct batch_journal *journal, const struct batch_job *job,
                      const struct stat *about)
{
    json_t *line =
        json_pack("{s:o, s:o, s:s, s:I, s:I, s:I, s:I}", "id", json_text(job->id), "out",
                  json_text(job->name), "digest", job->digest, "bytes", (json_int_t)about->st_size,
                  "changed", (json_int_t)about->st_mtim.tv_sec, "changed_ns",
                  (json_int_t)about->st_mtim.tv_nsec, "at_ms", (json_int_t)next_ms(journal));
    if (line)
        learn_line(journal, line);
    return write_line(journal, line);
}

enum status batch_journal_add(struct batch_journal *journal, const struct batch_job *job,
                              const struct stat *about)
{
    pthread_mutex_lock(&journal->lock);
    int error = write_done(journal, job, about);
    if (!error)
        error = sync_until(journal, ++journal->written);
    pthread_mutex_unlock(&journal->lock);
    return error ? fail_errno(error, "cannot write the journal") : STATUS_OK;
}

void batch_journal_confirm(struct batch_journal *journal, const struct batch_job *job)
{
    struct done_entry last;
    struct stat about;
    pthread_mutex_lock(&journal->lock);
    if (done_table_find(&journal->last, batch_id_sum(job->id), &last) && last.bytes == 0 &&
        stat(job->output, &about) == 0)
        (void)write_done(journal, job, &about);
    pthread_mutex_unlock(&journal->lock);
}

void batch_journal_note(struct batch_journal *journal, json_t *line)
{
    pthread_mutex_lock(&journal->lock);
    if (line)
        json_object_set_new(line, "at_ms", json_integer((json_int_t)next_ms(journal)));
    (void)write_line(journal, line);
    pthread_mutex_unlock(&journal->lock);
}
