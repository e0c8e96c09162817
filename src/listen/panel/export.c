#include "listen/panel/export.h"

#include "base/atomic_file.h"
#include "base/atomic_folder.h"
#include "base/build_info.h"
#include "base/embedded_file.h"
#include "listen/digest.h"
#include "listen/panel/stimuli.h"
#include "listen/trial.h"
#include "sound/sodium_library.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ID_DIGITS = 16, COPIES_MOST = 2 * TEST_CHOICES_MOST + 1, SAMPLE_BYTES = 3 };

/* A version of a sound in its data file. */
struct copy {
    size_t choice;
    size_t pair; /* Only hidden references of bs1116 have one; others have 0. */
    bool open;
};

struct export {
    const struct export_settings *settings;
    struct listening_test test;
    struct atomic_folder folder, renders;
    struct stimuli stimuli;
    size_t trial_count;
    struct test_trial *trials;
    size_t copy_count;
    struct copy copies[COPIES_MOST];              /* All sounds have the same. */
    json_t *page, *key, *slots[TEST_SOUNDS_MOST]; /* `slots` of each sound's data file */
};

static void draw_id(char id[DIGEST_TEXT])
{
    digest_draw_secret(id);
    id[ID_DIGITS] = '\0';
}

/* Draws an order of the numbers below `count`, into zeros: a Fisher-Yates shuffle. */
static void draw_order(size_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = randombytes_uniform((uint32_t)i + 1);
        order[i] = order[at];
        order[at] = i;
    }
}

/* ---- trials and slots ---- */

static size_t copy_of(const struct export *export, size_t choice, size_t pair, bool open)
{
    bool apart = export->test.kind == TEST_BS1116 && choice == export->test.reference && !open;
    size_t at = 0;
    while (export->copies[at].choice != choice || export->copies[at].open != open ||
           (apart && export->copies[at].pair != pair))
        at++;
    return at;
}

static void list_copies(struct export *export)
{
    const struct listening_test *test = &export->test;
    size_t order[COPIES_MOST] = {0}, count = 0;
    struct copy copies[COPIES_MOST];
    for (size_t i = 0; i < test->choice_count; i++) {
        bool is_reference = i == test->reference;
        bool repeats = test->kind == TEST_BS1116 && is_reference;
        for (size_t pair = 0; pair < (repeats ? test->choice_count - 1 : 1); pair++)
            copies[count++] = (struct copy){i, pair, false};
        if (is_reference || test->kind == TEST_ABX)
            copies[count++] = (struct copy){i, 0, true};
    }
    draw_order(order, count);
    for (size_t i = 0; i < count; i++)
        export->copies[order[i]] = copies[i];
    export->copy_count = count;
}

/* Names what a trial plays: in its list, in the sound's data and in the key. */
static void add_slot(struct export *export, const struct test_trial *trial, size_t choice,
                     bool open, json_t *list, json_t *key)
{
    char id[DIGEST_TEXT];
    draw_id(id);
    json_array_append_new(list, json_string(id));
    json_object_set_new(key, id, json_integer((json_int_t)choice));
    json_object_set_new(export->slots[trial->sound], id,
                        json_integer((json_int_t)copy_of(export, choice, trial->pair, open)));
}

/* A name for a pair of a sound, which does not tell which one it is. */
static void name_pair(const struct export *export, const struct test_trial *trial,
                      char id[DIGEST_TEXT])
{
    char text[DIGEST_TEXT + 48];
    snprintf(text, sizeof text, "%s %zu %zu",
             json_string_value(json_object_get(export->key, "salt")), trial->sound, trial->pair);
    digest_of_text(text, id);
    id[ID_DIGITS] = '\0';
}

static void add_trial(struct export *export, const struct test_trial *trial)
{
    const struct listening_test *test = &export->test;
    bool training = test->sounds[trial->sound].training;
    json_t *open = json_array(), *hidden = json_array(), *slots = json_object();
    size_t order[TEST_CHOICES_MOST] = {0};
    char id[DIGEST_TEXT], pair[DIGEST_TEXT];
    for (size_t i = 0; i < trial->choice_count && test->kind == TEST_ABX; i++)
        add_slot(export, trial, trial->choices[i], true, open, slots);
    if (test->reference != SIZE_MAX)
        add_slot(export, trial, test->reference, true, open, slots);
    name_pair(export, trial, pair);
    draw_order(order, trial->choice_count);
    if (test->kind == TEST_PREFERENCE) { /* the page changes the order from round to round */
        order[0] = (size_t)pair[0] % 2;
        order[1] = 1 - order[0];
    }
    for (size_t i = 0; i < trial->choice_count; i++)
        add_slot(export, trial, trial->choices[order[i]], false, hidden, slots);
    draw_id(id);
    json_object_set_new(json_object_get(export->key, "trials"), id,
                        json_pack("{s:I, s:b, s:o}", "sound", (json_int_t)trial->sound, "training",
                                  training, "slots", slots));
    json_array_append_new(json_object_get(export->page, "trials"),
                          json_pack("{s:s, s:I, s:b, s:o, s:o, s:s, s:I}", "id", id, "sound",
                                    (json_int_t)trial->sound, "training", training, "open", open,
                                    "hidden", hidden, "pair", pair, "round",
                                    (json_int_t)trial->round));
}

/* Adds all trials in random order, those of training sounds first. */
static enum status add_trials(struct export *export)
{
    size_t training = 0, count = export->trial_count, *order = calloc(count, sizeof *order);
    if (!order)
        return fail_memory("a test");
    while (training < count && export->test.sounds[export->trials[training].sound].training)
        training++;
    draw_order(order, training);
    for (size_t i = 0; i < training; i++)
        add_trial(export, &export->trials[order[i]]);
    memset(order, 0, count * sizeof *order);
    draw_order(order, count - training);
    for (size_t i = training; i < count; i++)
        add_trial(export, &export->trials[training + order[i - training]]);
    free(order);
    return STATUS_OK;
}

/* ---- files of the page ---- */

/* Writes a file of the page: `make` writes its content. */
static enum status write_file(const struct export *export, const char *name,
                              enum status (*make)(const void *context, FILE *file),
                              const void *context)
{
    char *path;
    if (asprintf(&path, "%s/%s", export->folder.hidden, name) < 0)
        return fail_memory("a page");
    FILE *file = fopen(path, "wxe");
    free(path);
    enum status status = file ? make(context, file) : STATUS_OK;
    if (status == STATUS_OK && (!file || fflush(file) != 0 || atomic_file_sync(fileno(file)) != 0))
        status = fail_errno(errno, "cannot write %s/%s", export->settings->folder, name);
    if (file)
        fclose(file);
    return status;
}

static enum status put_page_file(const void *context, FILE *file)
{
    const struct embedded_file *own = context;
    (void)fwrite(own->bytes, 1, own->size, file);
    return STATUS_OK;
}

static enum status put_test(const void *context, FILE *file)
{
    char *text = json_dumps(((const struct export *)context)->page, JSON_COMPACT);
    if (!text)
        return fail_memory("a page");
    fprintf(file, "halo_test(%s);\n", text);
    free(text);
    return STATUS_OK;
}

struct data_file {
    const struct export *export;
    size_t sound;
    const struct stimulus *stimulus;
};

/* Makes the bytes of a version, masked by the words after `mask`. */
static void make_bytes(const float *samples, size_t count, uint32_t mask, unsigned char *bytes)
{
    static const double full = 8388607;
    for (size_t i = 0; i < count; i++) {
        long value = lrint(fmin(fmax((double)samples[i], -1), 1) * full);
        for (size_t b = 0; b < SAMPLE_BYTES; b++)
            bytes[SAMPLE_BYTES * i + b] = (unsigned char)((unsigned long)value >> 8 * b);
    }
    for (size_t i = 0; i < SAMPLE_BYTES * count; i++) {
        if (i % 4 == 0) {
            mask ^= mask << 13;
            mask ^= mask >> 17;
            mask ^= mask << 5;
        }
        bytes[i] ^= (unsigned char)(mask >> 8 * (i % 4));
    }
}

static enum status put_copy(const struct data_file *data, size_t copy, FILE *file)
{
    const struct export *export = data->export;
    const size_t count = data->stimulus->frames * export->stimuli.channels;
    const size_t size = SAMPLE_BYTES * count;
    const size_t length = sodium_base64_encoded_len(size, sodium_base64_VARIANT_ORIGINAL);
    uint32_t mask = 1 + randombytes_uniform(UINT32_MAX);
    unsigned char *bytes = malloc(size);
    char *text = malloc(length);
    if (bytes && text) {
        make_bytes(data->stimulus->samples[export->copies[copy].choice], count, mask, bytes);
        sodium_bin2base64(text, length, bytes, size, sodium_base64_VARIANT_ORIGINAL);
        fprintf(file, "%s{\"mask\": %u, \"data\": \"%s\"}", copy ? ",\n" : "", mask, text);
    }
    bool made = bytes && text;
    free(bytes);
    free(text);
    return made ? STATUS_OK : fail_memory("a page");
}

static enum status put_data(const void *context, FILE *file)
{
    const struct data_file *data = context;
    char *slots = json_dumps(data->export->slots[data->sound], JSON_COMPACT);
    if (!slots)
        return fail_memory("a page");
    fprintf(file, "halo_sound(%zu, {\"slots\": %s, \"pcm\": [\n", data->sound, slots);
    free(slots);
    for (size_t i = 0; i < data->export->copy_count; i++)
        TRY(put_copy(data, i, file));
    fputs("]});\n", file);
    return STATUS_OK;
}

/* ---- the sounds ---- */

static json_t *matches_json(const struct export *export, const struct stimulus *stimulus)
{
    json_t *array = json_array();
    for (size_t i = 0; i < export->test.choice_count; i++) {
        const struct level_match *match = &stimulus->matches[i];
        json_array_append_new(array, json_pack("{s:f, s:o, s:I}", "gain_db", match->gain_db,
                                               "loudness", trial_log_number(match->loudness),
                                               "later", (json_int_t)match->later));
    }
    return array;
}

static void tell(const struct export *export, size_t sound, const struct stimulus *stimulus)
{
    static const double usual = 15; /* BS.1534-3 recommends about 12 seconds */
    const struct listening_test *test = &export->test;
    double seconds = (double)stimulus->frames / (double)export->stimuli.rate;
    for (size_t i = 0; i < test->choice_count; i++) {
        char text[400];
        level_match_describe(&stimulus->matches[i], test->choices[i].name, export->stimuli.rate,
                             test->align, text, sizeof text);
        note_detail("%s as %s", test->sounds[sound].name, text);
    }
    if (test->kind == TEST_MUSHRA && seconds > usual)
        note("%s takes %.1f s; listeners remember about 12 s: set `from` and `to`",
             test->sounds[sound].name, seconds);
}

static enum status add_sound(struct export *export, size_t sound)
{
    char name[32];
    struct stimulus stimulus;
    const struct data_file data = {export, sound, &stimulus};
    snprintf(name, sizeof name, "data/%02zu.js", sound + 1);
    enum status status = stimulus_make(&export->stimuli, sound, &stimulus);
    if (status == STATUS_OK)
        status = write_file(export, name, put_data, &data);
    if (status == STATUS_OK) {
        tell(export, sound, &stimulus);
        json_array_append_new(
            json_object_get(export->page, "sounds"),
            json_pack("{s:I, s:s}", "frames", (json_int_t)stimulus.frames, "file", name));
        json_array_append_new(json_object_get(export->key, "sounds"),
                              json_pack("{s:s, s:b, s:o}", "name", export->test.sounds[sound].name,
                                        "training", export->test.sounds[sound].training, "match",
                                        matches_json(export, &stimulus)));
    }
    stimulus_free(&stimulus);
    return status;
}

/* ---- the key ---- */

static void add_choices(struct export *export)
{
    const struct listening_test *test = &export->test;
    json_t *choices = json_object_get(export->key, "choices");
    for (size_t i = 0; i < test->choice_count; i++) {
        json_t *choice = json_pack("{s:s}", "name", test->choices[i].name);
        if (i == test->reference)
            json_object_set_new(choice, "reference", json_true());
        if (test->choices[i].lowpass > 0)
            json_object_set_new(choice, "anchor", json_real(test->choices[i].lowpass));
        json_array_append_new(choices, choice);
    }
    json_object_set(export->key, "files_sha256", export->stimuli.files);
}

/* Computes the commitment and gives it to page and key. */
static enum status commit(struct export *export)
{
    char commitment[DIGEST_TEXT];
    TRY(trial_log_commit(export->key, commitment));
    json_object_set_new(export->key, "commitment", json_string(commitment));
    return json_object_set_new(export->page, "commitment", json_string(commitment)) == 0
               ? STATUS_OK
               : fail_memory("a key");
}

/* ---- all of it ---- */

static json_t *questions(const struct listening_test *test, const char *name)
{
    json_t *own = json_object_get(test->root, name);
    return own ? json_incref(own) : json_array();
}

static enum status prepare(struct export *export)
{
    const struct listening_test *test = &export->test;
    char salt[DIGEST_TEXT];
    digest_draw_secret(salt);
    const char *kind = test_kind_names[test->kind];
    if (!json_object_get(test->root, "title"))
        json_object_set_new(test->root, "title", json_string("Listening test"));
    const json_t *title = json_object_get(test->root, "title"),
                 *instructions = json_object_get(test->root, "instructions"),
                 *languages = json_object_get(test->root, "languages"),
                 *listeners = json_object_get(test->root, "listeners");
    export->key = json_pack("{s:s, s:s, s:s, s:O, s:s, s:[], s:[], s:{}, s:O*}", "halo", "key",
                            "version", HALO_VERSION, "kind", kind, "title", title, "salt", salt,
                            "choices", "sounds", "trials", "listeners", listeners);
    export->page =
        json_pack("{s:s, s:O, s:O?, s:I, s:I, s:b, s:s?, s:[], s:[]}", "kind", kind, "title", title,
                  "instructions", instructions, "rate", (json_int_t)export->stimuli.rate,
                  "channels", (json_int_t)export->stimuli.channels, "remarks",
                  json_is_true(json_object_get(test->root, "remarks")), "listener",
                  export->settings->listener, "sounds", "trials");
    if (!export->key || !export->page)
        return fail_memory("a page");
    json_object_set_new(export->page, "languages",
                        languages ? json_incref((json_t *)languages) : json_pack("[s]", "en"));
    json_object_set_new(export->page, "before", questions(test, "before"));
    json_object_set_new(export->page, "after", questions(test, "after"));
    for (size_t i = 0; i < test->sound_count; i++)
        export->slots[i] = json_object();
    return STATUS_OK;
}

static enum status fill(struct export *export)
{
    char *data;
    if (asprintf(&data, "%s/data", export->folder.hidden) < 0)
        return fail_memory("a page");
    int error = mkdir(data, 0777) == 0 ? 0 : errno;
    free(data);
    if (error)
        return fail_errno(error, "cannot write %s", export->settings->folder);
    TRY(prepare(export));
    list_copies(export);
    TRY(test_trials(&export->test, &export->trials, &export->trial_count));
    TRY(add_trials(export));
    for (size_t i = 0; i < export->test.sound_count; i++)
        TRY(add_sound(export, i));
    add_choices(export);
    TRY(commit(export));
    for (const struct embedded_file *own = page_files; own->name; own++)
        TRY(write_file(export, own->name, put_page_file, own));
    return write_file(export, "test.js", put_test, export);
}

/* Gives the page its name, then the key. */
static enum status keep(struct export *export, struct atomic_file *file, const char *name)
{
    char *text = json_dumps(export->key, JSON_INDENT(1));
    size_t size = text ? strlen(text) : 0;
    enum status status = text ? STATUS_OK : fail_memory("a key");
    if (status == STATUS_OK &&
        (fchmod(file->fd, 0600) != 0 || write(file->fd, text, size) != (ssize_t)size))
        status = fail_errno(errno, "cannot write %s", name);
    free(text);
    int error = status == STATUS_OK ? atomic_folder_keep(&export->folder) : 0;
    if (error)
        status = fail_errno(error, "cannot write %s", export->settings->folder);
    if (status != STATUS_OK)
        return status;
    status = atomic_file_keep(file, name);
    if (status != STATUS_OK)
        atomic_folder_undo(&export->folder);
    return status;
}

static bool is_page(const char *folder)
{
    static const char call[] = "halo_test({\"kind\":";
    char *path, text[sizeof call] = "";
    if (asprintf(&path, "%s/test.js", folder) < 0)
        return false;
    FILE *file = fopen(path, "re");
    free(path);
    if (!file)
        return false;
    (void)!fread(text, 1, sizeof call - 1, file);
    fclose(file);
    return strcmp(text, call) == 0;
}

/* A folder that is replaced must be a page: another one would be lost with all its files. Answers
 * need the key of their page. */
static enum status check_folder(const struct export_settings *settings, const char *answers)
{
    struct stat about;
    if (access(answers, F_OK) == 0)
        return fail(CAUSE_EXISTS, "%s has answers to this page; move it away, with the page's key",
                    answers);
    if (lstat(settings->folder, &about) != 0)
        return STATUS_OK;
    if (!settings->force)
        return fail(CAUSE_EXISTS, "%s exists; --force replaces a page", settings->folder);
    return is_page(settings->folder)
               ? STATUS_OK
               : fail(CAUSE_EXISTS, "%s exists and is no page of a test; choose another name",
                      settings->folder);
}

static enum status export_to(struct export *export, const char *key, const char *renders,
                             const char *answers)
{
    const struct export_settings *settings = export->settings;
    struct atomic_file file;
    TRY(check_folder(settings, answers));
    TRY(test_file_read(settings->test, &export->test));
    TRY(digest_start());
    enum status status = atomic_file_open(&file, key, settings->force);
    if (status == STATUS_OK)
        status = atomic_folder_open(&export->folder, settings->folder);
    if (status == STATUS_OK)
        status = atomic_folder_open(&export->renders, renders);
    if (status == STATUS_OK)
        status = atomic_folder_make(&export->folder);
    if (status == STATUS_OK)
        status = atomic_folder_make(&export->renders);
    /* sounds are rendered in the folder of the test */
    char *absolute = status == STATUS_OK ? realpath(export->renders.hidden, NULL) : NULL;
    if (status == STATUS_OK && !absolute)
        status = fail_errno(errno, "cannot write %s", renders);
    if (status == STATUS_OK)
        status = stimuli_render(&export->test, absolute, settings->quiet, &export->stimuli);
    if (status == STATUS_OK)
        status = fill(export);
    if (status == STATUS_OK)
        status = keep(export, &file, key);
    free(absolute);
    if (file.fd >= 0)
        close(file.fd);
    atomic_file_discard(&file);
    return status;
}

enum status export_page(const struct export_settings *given, size_t *trials)
{
    struct export_settings settings = *given;
    struct export export = {.settings = &settings, .folder = {.held = -1}, .renders = {.held = -1}};
    char *folder = strdup(given->folder), *key = NULL, *renders = NULL, *answers = NULL;
    enum status status = STATUS_OK;
    for (size_t end = folder ? strlen(folder) : 0; end > 1 && folder[end - 1] == '/';)
        folder[--end] = '\0'; /* the key stands beside the folder, not in it */
    settings.folder = folder;
    if (!folder || asprintf(&key, "%s.key", folder) < 0 ||
        asprintf(&renders, "%s.renders", folder) < 0 ||
        asprintf(&answers, "%s.answers", folder) < 0)
        status = fail_memory("a page");
    if (status == STATUS_OK)
        status = export_to(&export, key, renders, answers);
    if (trials)
        *trials = export.trial_count;
    atomic_folder_close(&export.renders);
    atomic_folder_close(&export.folder);
    for (size_t i = 0; i < TEST_SOUNDS_MOST; i++)
        json_decref(export.slots[i]);
    json_decref(export.stimuli.files);
    json_decref(export.page);
    json_decref(export.key);
    free(export.trials);
    test_file_free(&export.test);
    free(key);
    free(renders);
    free(answers);
    free(folder);
    return status;
}
