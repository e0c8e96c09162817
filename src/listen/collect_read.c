#include "listen/collect_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows ---- */

/* Adds a row without ratings, the trial `number` of a file. NULL: no memory. */
static struct collect_trial *add_trial(struct collect *all, const struct collect_file *file,
                                       size_t person, size_t number)
{
    if (all->trial_count == all->trial_space) {
        size_t space = 2 * all->trial_space + 64;
        struct collect_trial *more = realloc(all->trials, space * sizeof *more);
        if (!more)
            return NULL;
        all->trials = more;
        all->trial_space = space;
    }
    struct collect_trial *trial = &all->trials[all->trial_count++];
    *trial = (struct collect_trial){.file = (size_t)(file - all->files),
                                    .person = person,
                                    .number = number,
                                    .remark = "",
                                    .preferred = COLLECT_NONE};
    for (size_t i = 0; i < COLLECT_CHOICES_MOST; i++)
        trial->ratings[i] = NAN;
    all->persons[person].trials++;
    return trial;
}

/* Files of a listener count together. A file without a listener counts under its path. */
static size_t find_person(struct collect *all, const struct collect_file *file)
{
    const char *who = collect_text(file->root, "listener");
    who = *who ? who : file->path;
    size_t at = 0;
    while (at < all->people && strcmp(all->persons[at].who, who) != 0)
        at++;
    all->people += at == all->people;
    all->persons[at].who = who;
    return at;
}

/* ---- logs ---- */

/* The name of a choice, without folders. */
static const char *base_name(const json_t *choice)
{
    const char *name =
        json_is_string(choice) ? json_string_value(choice) : collect_text(choice, "name");
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

/* Whether two lists name the same choices. Folders and gains may differ: they depend on the machine
 * and its device. */
static bool same_choices(const json_t *a, const json_t *b)
{
    bool same = json_array_size(a) == json_array_size(b);
    for (size_t i = 0; i < json_array_size(a); i++) {
        const json_t *one = json_array_get(a, i), *other = json_array_get(b, i);
        same = same && strcmp(base_name(one), base_name(other)) == 0 &&
               strcmp(collect_text(one, "taps_sha256"), collect_text(other, "taps_sha256")) == 0;
    }
    return same;
}

/* 0 for abx, whose logs have no such number. */
static json_int_t masks_of_log(const json_t *root)
{
    return json_integer_value(json_object_get(root, "masks"));
}

static bool has_file(json_t *files, const char *digest)
{
    const char *path;
    json_t *own;
    json_object_foreach(files, path, own)
    {
        if (json_is_string(own) && strcmp(json_string_value(own), digest) == 0)
            return true;
    }
    return false;
}

/* Whether two tests read the same files, in whatever folders, and have the same settings. */
static bool same_settings(const json_t *a, const json_t *b)
{
    static const char *const names[] = {"region", "match", "align"};
    const json_t *one = json_object_get(a, "settings"), *other = json_object_get(b, "settings");
    json_t *files = json_object_get(one, "files_sha256"), *digest,
           *others = json_object_get(other, "files_sha256");
    bool same = json_object_size(files) == json_object_size(others);
    const char *path;
    json_object_foreach(files, path, digest)
    {
        same = same && json_is_string(digest) && has_file(others, json_string_value(digest));
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const json_t *its = json_object_get(one, names[i]);
        const json_t *theirs = json_object_get(other, names[i]);
        same = same && ((!its && !theirs) || json_equal(its, theirs));
    }
    return same;
}

static enum status check_log(const struct collect *all, const struct collect_file *log)
{
    const json_t *first = all->model->root;
    if (log->replay.fault[0])
        return fail(CAUSE_DAMAGED, "%s was changed after the test: %s; leave it out", log->path,
                    log->replay.fault);
    if (!log->replay.finished)
        return fail(CAUSE_OTHER, "%s is incomplete; finish its test with --resume, or leave it out",
                    log->path);
    if (!same_choices(json_object_get(log->root, "choices"), json_object_get(first, "choices")) ||
        masks_of_log(log->root) != masks_of_log(first) || !same_settings(log->root, first))
        return fail(CAUSE_OTHER,
                    "%s has other sounds, masks or settings than %s; collect them apart", log->path,
                    all->model->path);
    return STATUS_OK;
}

static enum status describe_logs(struct collect *all)
{
    const json_t *choices = json_object_get(all->model->root, "choices");
    all->choices = all->kind == COLLECT_ABX ? 2 : (size_t)masks_of_log(all->model->root);
    for (size_t i = 0; i < all->choices; i++) {
        const json_t *choice = json_array_get(choices, i);
        json_t *name = json_is_object(choice) ? json_object_get(choice, "name") : (json_t *)choice;
        json_array_append_new(all->names, json_is_string(name) ? json_incref(name)
                                                               : json_sprintf("choice %zu", i + 1));
    }
    return json_array_size(all->names) == all->choices ? STATUS_OK : fail_memory("collecting logs");
}

static void take_judgement(const struct collect *all, const json_t *event, const char *draws,
                           struct collect_trial *trial)
{
    const char *name = collect_text(event, "event"), *prefer = collect_text(event, "prefer");
    if (all->kind == COLLECT_ABX && strcmp(name, "answer") == 0)
        trial->second = collect_text(event, "answer")[0] == 'B';
    else if (all->kind == COLLECT_PREFERENCE && strcmp(name, "prefer") == 0)
        trial->preferred = *prefer == 'A'   ? trial->first
                           : *prefer == 'B' ? trial->second
                                            : COLLECT_NONE;
    else if (all->kind == COLLECT_RANKING && strcmp(name, "rate") == 0)
        trial->ratings[draws[collect_text(event, "sound")[0] - 'A'] - '1'] =
            json_number_value(json_object_get(event, "rating"));
}

/* Draws of a log's trial; sets the choices that they determine. */
static const char *draws_of(const struct collect *all, const char *draws,
                            struct collect_trial *trial)
{
    bool is_abx = all->kind == COLLECT_ABX;
    size_t width = is_abx ? 1 : all->kind == COLLECT_PREFERENCE ? 3 : all->choices + 1;
    draws += (trial->number - 1) * width;
    trial->first = (size_t)(draws[0] - (is_abx ? 'A' : '1'));
    if (!is_abx)
        trial->second = (size_t)(draws[1] - '1');
    return draws;
}

/* The last judgement before a trial's confirmation is the one that counts. The log was repeated, so
 * that its events are right. */
static enum status take_log(struct collect *all, const struct collect_file *log, size_t person)
{
    const struct trial *test = log->replay.trial;
    size_t index, answered = 0;
    double began = NAN;
    const json_t *event;
    struct collect_trial *trial = NULL;
    all->early += test->answered < test->planned;
    json_array_foreach(json_object_get(log->root, "events"), index, event)
    {
        const char *name = collect_text(event, "event");
        double time = json_number_value(json_object_get(event, "time"));
        if (answered == test->answered)
            break;
        if (!trial && !(trial = add_trial(all, log, person, answered + 1)))
            return fail_memory("collecting logs");
        take_judgement(all, event, draws_of(all, test->key.draws, trial), trial);
        if (strcmp(name, "resume") == 0)
            began = NAN;
        else if ((strcmp(name, "listen") == 0 || strcmp(name, "switch") == 0) && isnan(began))
            began = time;
        if (strcmp(name, "confirm") == 0) {
            trial->seconds = time - began;
            began = NAN;
            trial = NULL;
            answered++;
        }
    }
    return STATUS_OK;
}

/* ---- answers ---- */

/* Checks that the commitment is the digest of salt, blank and the rest of the key as text. */
static enum status check_key(const json_t *key, const char *path)
{
    char digest[DIGEST_TEXT] = "", *whole = NULL;
    json_t *bare = json_copy((json_t *)key);
    json_object_del(bare, "salt");
    json_object_del(bare, "commitment");
    char *text = bare ? trial_log_text(bare) : NULL;
    json_decref(bare);
    if (!text || asprintf(&whole, "%s %s", collect_text(key, "salt"), text) < 0) {
        free(text);
        return fail_memory("a test's key");
    }
    digest_of_text(whole, digest);
    free(whole);
    free(text);
    if (strcmp(digest, collect_text(key, "commitment")) != 0)
        return fail(CAUSE_DAMAGED,
                    "the key in %s was changed after the test; use the original file", path);
    return STATUS_OK;
}

/* Finds the key of answers: their member, or another file. */
static enum status find_key(const struct collect *all, const struct collect_file *file,
                            const json_t **key)
{
    const char *commitment = collect_text(file->root, "commitment");
    *key = json_object_get(file->root, "key");
    if (*key) {
        TRY(check_key(*key, file->path));
        if (strcmp(collect_text(*key, "commitment"), commitment) != 0)
            return fail(CAUSE_DAMAGED, "%s has the key of another test; leave it out", file->path);
        return STATUS_OK;
    }
    for (size_t i = 0; i < all->file_count; i++)
        if (all->files[i].is_key &&
            strcmp(collect_text(all->files[i].root, "commitment"), commitment) == 0)
            *key = all->files[i].root;
    return *key ? STATUS_OK
                : fail(CAUSE_MISSING,
                       "%s has no key; also name its test's key, the file FOLDER.key", file->path);
}

static enum status describe_answers(struct collect *all, const json_t *key)
{
    const json_t *choices = json_object_get(key, "choices"), *choice;
    size_t index;
    all->sounds = json_object_get(key, "sounds");
    all->choices = json_array_size(choices);
    json_array_foreach((json_t *)choices, index, choice)
    {
        json_array_append_new(all->names, json_string(collect_text(choice, "name")));
        if (json_is_true(json_object_get(choice, "reference")))
            all->reference = index;
        if (json_integer_value(json_object_get(choice, "anchor")) == 7000)
            all->anchor = index;
    }
    if (all->choices < 2 || all->choices > COLLECT_CHOICES_MOST ||
        (all->kind == COLLECT_ABX && all->choices > 2) ||
        (collect_is_rated(all) && all->reference == COLLECT_NONE))
        return fail(CAUSE_UNSUPPORTED, "the key of %s has choices that halo cannot report",
                    all->model->path);
    return STATUS_OK;
}

/* The choice of a sound, a number in the key; COLLECT_NONE: there is no such choice. */
static size_t choice_of(const struct collect *all, const json_t *number)
{
    json_int_t at = json_is_integer(number) ? json_integer_value(number) : -1;
    return at >= 0 && (size_t)at < all->choices ? (size_t)at : COLLECT_NONE;
}

/* Finds the choices that the trial showed. A trial shows each of its choices once; an ABX trial
 * shows X. Returns a fault, or NULL. */
static const char *take_shown(const struct collect *all, const json_t *said, json_t *slots,
                              size_t *shown)
{
    unsigned expected = 0, found = 0;
    size_t index, count = 0;
    const char *id;
    json_t *number;
    const json_t *slot;
    json_object_foreach(slots, id, number)
    {
        expected |= 1U << choice_of(all, number);
    }
    json_array_foreach(json_object_get(said, "shown"), index, slot)
    {
        size_t choice = choice_of(all, json_object_get(slots, json_string_value(slot)));
        if (choice == COLLECT_NONE)
            return "it shows an unknown sound";
        if (found >> choice & 1)
            return "it shows a sound twice";
        found |= 1U << choice;
        shown[count++] = choice;
    }
    bool is_whole = all->kind == COLLECT_ABX ? count == 1 : found == expected && count > 1;
    if (all->kind == COLLECT_PREFERENCE || all->kind == COLLECT_BS1116)
        is_whole = is_whole && count == 2;
    return is_whole ? NULL : "it does not show the sounds of its trial";
}

/* Returns a fault, or NULL. */
static const char *take_ratings(const struct collect *all, const json_t *said, const size_t *shown,
                                struct collect_trial *trial)
{
    bool fine = all->kind == COLLECT_BS1116;
    double least = fine ? 1 : 0, most = fine ? 5 : 100, highest = 0;
    const json_t *ratings = json_object_get(said, "ratings"), *rating;
    size_t index;
    if (json_array_size(ratings) != json_array_size(json_object_get(said, "shown")))
        return "it does not rate each sound";
    json_array_foreach((json_t *)ratings, index, rating)
    {
        double value = json_number_value(rating);
        if (!json_is_number(rating) || value < least || value > most ||
            (fine && fabs(10 * value - round(10 * value)) > 1e-6))
            return "a rating is not on the scale";
        trial->ratings[shown[index]] = value;
        highest = fmax(highest, value);
    }
    if (fine && (highest < most || isnan(trial->ratings[all->reference])))
        return "no sound was taken for the reference";
    return NULL;
}

/* Takes the judgement of a trial. Returns a fault, or NULL. */
static const char *take_said(const struct collect *all, const json_t *said, json_t *slots,
                             struct collect_trial *trial)
{
    const json_t *value = json_object_get(said, all->kind == COLLECT_ABX ? "answer" : "preferred");
    json_int_t place = json_is_integer(value) ? json_integer_value(value) : -1;
    bool is_none = all->kind == COLLECT_PREFERENCE && json_is_null(value);
    size_t shown[COLLECT_CHOICES_MOST] = {0};
    const char *fault = take_shown(all, said, slots, shown);
    if (fault || collect_is_rated(all))
        return fault ? fault : take_ratings(all, said, shown, trial);
    if (place != 0 && place != 1 && !is_none)
        return "its answer is neither of the two";
    trial->first = shown[0];
    trial->second = all->kind == COLLECT_ABX ? (size_t)place : shown[1];
    trial->preferred = is_none ? COLLECT_NONE : shown[place];
    return NULL;
}

/* Takes an answer to a trial, which is `key` in the key. Returns a fault, or NULL. */
static const char *take_answer(const struct collect *all, const json_t *said, const json_t *key,
                               struct collect_trial *trial)
{
    const json_t *sound = json_object_get(key, "sound"),
                 *seconds = json_object_get(said, "seconds");
    json_int_t at = json_integer_value(sound);
    if (!json_is_integer(sound) || at < 0 || (size_t)at >= json_array_size(all->sounds))
        return "its sound is unknown";
    if (!json_is_number(seconds) || json_number_value(seconds) < 0)
        return "its duration is no time";
    trial->sound = (size_t)at;
    trial->seconds = json_number_value(seconds);
    trial->remark = collect_text(said, "remark");
    return take_said(all, said, json_object_get(key, "slots"), trial);
}

static enum status take_trials(struct collect *all, const struct collect_file *file, size_t person,
                               const json_t *trials, json_t *seen)
{
    size_t index, number = 0;
    const json_t *said;
    json_array_foreach(json_object_get(file->root, "trials"), index, said)
    {
        const char *id = collect_text(said, "trial");
        const json_t *key = json_object_get(trials, id);
        const char *fault = !key                        ? "it is not in the key"
                            : json_object_get(seen, id) ? "it is there twice"
                                                        : NULL;
        struct collect_trial *trial = fault ? NULL : add_trial(all, file, person, ++number);
        if (trial)
            fault = take_answer(all, said, key, trial);
        if (fault)
            return fail(CAUSE_DAMAGED, "trial %zu of %s is wrong: %s; leave the file out",
                        index + 1, file->path, fault);
        if (!trial || json_object_set_new(seen, id, json_true()) != 0)
            return fail_memory("collecting answers");
        if (json_is_true(json_object_get(key, "training"))) {
            all->trial_count--;
            all->persons[person].trials--;
            number--;
        }
    }
    return STATUS_OK;
}

static enum status take_answers(struct collect *all, const struct collect_file *file, size_t person)
{
    const json_t *key, *complete = json_object_get(file->root, "complete");
    struct collect_person *listener = &all->persons[person];
    if (strcmp(collect_text(file->root, "commitment"),
               collect_text(all->model->root, "commitment")) != 0)
        return fail(CAUSE_OTHER, "%s is of another test than %s; collect them apart", file->path,
                    all->model->path);
    TRY(find_key(all, file, &key));
    if (strcmp(collect_text(key, "kind"), collect_text(file->root, "kind")) != 0 ||
        !json_is_boolean(complete) || !*collect_text(file->root, "id"))
        return fail(CAUSE_DAMAGED, "%s does not fit its key; leave it out", file->path);
    if (file == all->model)
        TRY(describe_answers(all, key));
    all->early += json_is_false(complete);
    const json_t *before = json_object_get(file->root, "before"),
                 *after = json_object_get(file->root, "after");
    listener->before = before ? before : listener->before;
    listener->after = after ? after : listener->after;
    json_t *seen = json_object();
    enum status status = take_trials(all, file, person, json_object_get(key, "trials"), seen);
    json_decref(seen);
    return status;
}

/* ---- all files ---- */

const char *const collect_kind_names[COLLECT_KINDS] = {"abx", "ranking", "preference", "mushra",
                                                       "bs1116"};

static const char *kind_of(const struct collect_file *file)
{
    return collect_text(file->root, file->is_answers ? "kind" : "test");
}

/* A text that identifies the test that a listener took. */
static const char *mark_of(const struct collect_file *file)
{
    return file->is_answers ? collect_text(file->root, "id") : trial_log_head(file->replay.log);
}

/* Checks that a file is of the kind of the first one, and is not there twice. */
static enum status check_beside(const struct collect *all, const struct collect_file *file)
{
    if (file->is_answers != all->model->is_answers ||
        strcmp(kind_of(file), kind_of(all->model)) != 0)
        return fail(CAUSE_OTHER, "%s is of another kind of test than %s; collect them apart",
                    file->path, all->model->path);
    for (const struct collect_file *other = all->files; other < file; other++)
        if (!other->is_key && strcmp(mark_of(other), mark_of(file)) == 0)
            return fail(CAUSE_OTHER, "%s is the same %s as %s; leave one out", file->path,
                        file->is_answers ? "test" : "log", other->path);
    return STATUS_OK;
}

static enum status load(struct collect_file *file)
{
    bool cut = false;
    TRY(trial_log_load(file->path, false, &file->root, &cut));
    const char *what = collect_text(file->root, "halo");
    file->is_answers = strcmp(what, "answers") == 0;
    file->is_key = strcmp(what, "key") == 0;
    if (file->is_key || file->is_answers) {
        if (cut)
            return fail(CAUSE_DAMAGED, "the end of %s is missing; get the file again", file->path);
        return file->is_key ? check_key(file->root, file->path) : STATUS_OK;
    }
    json_decref(file->root);
    file->root = NULL;
    enum status status = trial_replay_init(&file->replay, file->path, false);
    file->root = file->replay.root;
    return status;
}

static enum status take(struct collect *all, const struct collect_file *file)
{
    TRY(check_beside(all, file));
    if (!file->is_answers)
        TRY(check_log(all, file));
    if (file == all->model && !file->is_answers)
        TRY(describe_logs(all));
    size_t person = find_person(all, file), before = all->trial_count;
    all->tests++;
    TRY((file->is_answers ? take_answers : take_log)(all, file, person));
    return all->trial_count > before
               ? STATUS_OK
               : fail(CAUSE_OTHER, "%s has no answers; leave it out", file->path);
}

enum status collect_read(const char *const *paths, size_t count, struct collect *all)
{
    *all = (struct collect){.file_count = count,
                            .files = calloc(count, sizeof *all->files),
                            .persons = calloc(count, sizeof *all->persons),
                            .names = json_array(),
                            .reference = COLLECT_NONE,
                            .anchor = COLLECT_NONE};
    if (!all->files || !all->persons || !all->names)
        return fail_memory("collecting logs");
    TRY(digest_start());
    for (size_t i = 0; i < count; i++) {
        struct collect_file *file = &all->files[i];
        file->path = paths[i];
        TRY(load(file));
        all->model = all->model || file->is_key ? all->model : file;
    }
    if (!all->model)
        return fail(CAUSE_OTHER, "%s is a key; also name answers of its test", paths[0]);
    while (all->kind < COLLECT_KINDS &&
           strcmp(collect_kind_names[all->kind], kind_of(all->model)) != 0)
        all->kind++;
    if (all->kind == COLLECT_KINDS || (all->model->is_answers && all->kind == COLLECT_RANKING))
        return fail(CAUSE_UNSUPPORTED, "%s is of a kind of test that halo cannot report",
                    all->model->path);
    for (size_t i = 0; i < count; i++)
        if (!all->files[i].is_key)
            TRY(take(all, &all->files[i]));
    return STATUS_OK;
}

void collect_free(struct collect *all)
{
    for (size_t i = 0; all->files && i < all->file_count; i++) {
        struct collect_file *file = &all->files[i];
        if (file->is_answers || file->is_key)
            json_decref(file->root);
        trial_replay_free(&file->replay);
    }
    free(all->files);
    free(all->persons);
    free(all->trials);
    json_decref(all->names);
}
