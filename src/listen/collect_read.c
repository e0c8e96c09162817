#include "listen/collect_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct collect_kind_row collect_kinds[COLLECT_KINDS] = {
    [COLLECT_ABX] = {"abx", 1, .columns = "x,answer,right"},
    [COLLECT_RANKING] = {"ranking", 0, 1, 5, 1, 5, "choice,rating", "mean rating, 1 to 5"},
    [COLLECT_PREFERENCE] = {"preference", 2, .columns = "first,second,preferred"},
    [COLLECT_MUSHRA] = {"mushra", 0, 0, 100, 0, 100, "choice,value", "mean rating, 0 to 100"},
    [COLLECT_BS1116] = {"bs1116", 2, 1, 5, -4, 4, "choice,value",
                        "mean difference from the reference, in grades"}};

static bool is_same(const json_t *a, const json_t *b, const char *name)
{
    return strcmp(collect_text(a, name), collect_text(b, name)) == 0;
}

/* ---- rows ---- */

/* The next row, without ratings: the trial `number` of a file. keep_trial counts the row. */
static struct collect_trial *next_trial(const struct collect *all, const struct collect_file *file,
                                        size_t person, size_t number)
{
    struct collect_trial *trial = &all->trials[all->trial_count];
    *trial = (struct collect_trial){.file = (size_t)(file - all->files),
                                    .person = person,
                                    .number = number,
                                    .remark = "",
                                    .preferred = COLLECT_NONE};
    for (size_t i = 0; i < COLLECT_CHOICES_MOST; i++)
        trial->ratings[i] = NAN;
    return trial;
}

static void keep_trial(struct collect *all)
{
    const struct collect_trial *trial = &all->trials[all->trial_count++];
    all->persons[trial->person].trials++;
    all->persons[trial->person].hits += trial->first == trial->second;
}

/* Files of a listener count together. A file without a listener counts under its path. */
static size_t find_person(struct collect *all, const struct collect_file *file)
{
    const char *who = collect_text(file->root, "listener");
    size_t at = 0;
    who = *who ? who : file->path;
    while (at < all->people && strcmp(all->persons[at].who, who) != 0)
        at++;
    if (at == all->people) {
        json_t *row = json_pack("{s:o}", "listener", json_text(who));
        all->persons[all->people++] = (struct collect_person){.who = who, .row = row};
        json_array_append_new(json_object_get(all->report, "listeners"), row);
    }
    return at;
}

/* ---- logs ---- */

/* `choice`: one of a log, a text or an object. */
static const char *name_of(const json_t *choice)
{
    return json_is_string(choice) ? json_string_value(choice) : collect_text(choice, "name");
}

/* Members that all logs of a test have in common. Folders and gains may differ, since they depend
 * on the machine and its device. */
static json_t *setup_of(const json_t *root)
{
    const json_t *settings = json_object_get(root, "settings");
    json_t *choices = json_array(), *files = json_object(), *one;
    const char *path;
    size_t index;
    json_array_foreach(json_object_get(root, "choices"), index, one)
    {
        const char *name = name_of(one), *slash = strrchr(name, '/');
        json_array_append_new(choices, json_pack("[s,s]", slash ? slash + 1 : name,
                                                 collect_text(one, "taps_sha256")));
    }
    json_object_foreach(json_object_get(settings, "files_sha256"), path, one)
    {
        json_object_set_new(files, json_is_string(one) ? json_string_value(one) : path,
                            json_true());
    }
    return json_pack(
        "{s:o, s:o, s:O*, s:O*, s:O*, s:O*}", "choices", choices, "files", files, "masks",
        json_object_get(root, "masks"), "region", json_object_get(settings, "region"), "match",
        json_object_get(settings, "match"), "align", json_object_get(settings, "align"));
}

static enum status check_log(const struct collect *all, const struct collect_file *log)
{
    if (log->replay.fault[0])
        return fail(CAUSE_DAMAGED, "%s was changed after the test: %s; leave it out", log->path,
                    log->replay.fault);
    if (!log->replay.finished)
        return fail(CAUSE_OTHER, "%s is incomplete; finish its test with --resume, or leave it out",
                    log->path);
    json_t *own = setup_of(log->root), *first = setup_of(all->model->root);
    bool same = json_equal(own, first);
    json_decref(own);
    json_decref(first);
    return same ? STATUS_OK
                : fail(CAUSE_OTHER,
                       "%s has other sounds, masks or settings than %s; collect them apart",
                       log->path, all->model->path);
}

static void describe_logs(struct collect *all)
{
    const json_t *choices = json_object_get(all->model->root, "choices");
    const json_t *masks = json_object_get(all->model->root, "masks"); /* Logs of abx have none. */
    all->choices = masks ? (size_t)json_integer_value(masks) : 2;
    for (size_t i = 0; i < all->choices; i++)
        json_array_append_new(all->names, json_string(name_of(json_array_get(choices, i))));
}

/* Takes a judgement. `draws`: those of the log. */
static void take_judgement(const struct collect *all, const json_t *event, const char *draws,
                           struct collect_trial *trial)
{
    const char *name = collect_text(event, "event"), *prefer = collect_text(event, "prefer");
    const size_t before = trial->number - 1;
    if (all->kind == COLLECT_ABX) {
        trial->first = draws[before] == 'B';
        if (strcmp(name, "answer") == 0)
            trial->second = collect_text(event, "answer")[0] == 'B';
    } else if (all->kind == COLLECT_PREFERENCE) {
        trial->first = (size_t)(draws[before * 3] - '1');
        trial->second = (size_t)(draws[before * 3 + 1] - '1');
        if (strcmp(name, "prefer") == 0)
            trial->preferred = *prefer == 'A'   ? trial->first
                               : *prefer == 'B' ? trial->second
                                                : COLLECT_NONE;
    } else if (strcmp(name, "rate") == 0) {
        draws += before * (all->choices + 1) + (size_t)(collect_text(event, "sound")[0] - 'A');
        trial->ratings[*draws - '1'] = json_number_value(json_object_get(event, "rating"));
    }
}

/* The last judgement before a trial's confirmation is the one that counts. The log was repeated, so
 * that its events are right. */
static enum status take_log(struct collect *all, const struct collect_file *log, size_t person)
{
    const struct trial *test = log->replay.trial;
    size_t index;
    const json_t *event;
    TRY(check_log(all, log));
    if (log == all->model)
        describe_logs(all);
    struct collect_trial *trial = next_trial(all, log, person, 1);
    all->early += test->answered < test->planned;
    json_array_foreach(json_object_get(log->root, "events"), index, event)
    {
        if (trial->number > test->answered)
            break;
        take_judgement(all, event, test->key.draws, trial);
        if (strcmp(collect_text(event, "event"), "confirm") == 0) {
            trial->seconds = test->seconds[trial->number - 1];
            keep_trial(all);
            trial = next_trial(all, log, person, trial->number + 1);
        }
    }
    return STATUS_OK;
}

/* ---- answers ---- */

static enum status check_key(const json_t *key, const char *path)
{
    char commitment[DIGEST_TEXT];
    TRY(trial_log_commit(key, commitment));
    return strcmp(commitment, collect_text(key, "commitment")) == 0
               ? STATUS_OK
               : fail(CAUSE_DAMAGED,
                      "the key in %s was changed after the test; use the original file", path);
}

/* The key of answers: their member, or another file. NULL: there is none. */
static const json_t *key_of(const struct collect *all, const struct collect_file *file)
{
    const json_t *key = json_object_get(file->root, "key");
    for (size_t i = 0; !key && i < all->file_count; i++)
        if (all->files[i].is_key && is_same(all->files[i].root, file->root, "commitment"))
            key = all->files[i].root;
    return key;
}

static enum status describe_answers(struct collect *all, const json_t *key)
{
    const json_t *choice;
    size_t index;
    all->sounds = json_object_get(key, "sounds");
    json_array_foreach(json_object_get(key, "choices"), index, choice)
    {
        json_array_append_new(all->names, json_string(collect_text(choice, "name")));
        if (json_is_true(json_object_get(choice, "reference")))
            all->reference = index;
        if (json_number_value(json_object_get(choice, "anchor")) == 7000)
            all->anchor = index;
    }
    all->choices = json_array_size(all->names);
    if (all->choices < 2 || all->choices > (all->kind == COLLECT_ABX ? 2 : COLLECT_CHOICES_MOST) ||
        (collect_is_rated(all) && all->reference >= all->choices))
        return fail(CAUSE_UNSUPPORTED, "the key of %s has choices that halo cannot report",
                    all->model->path);
    return STATUS_OK;
}

/* A number from 0 to below `bound`; `bound`: anything else. */
static size_t index_of(const json_t *number, size_t bound)
{
    json_int_t at = json_is_integer(number) ? json_integer_value(number) : -1;
    return at >= 0 && (size_t)at < bound ? (size_t)at : bound;
}

/* Finds the choices that the trial showed. A trial shows each of its choices once; an ABX trial
 * shows X. Returns a fault, or NULL. */
static const char *take_shown(const struct collect *all, const json_t *said, json_t *slots,
                              size_t *shown)
{
    unsigned expected = 0, found = 0;
    size_t index, count = 0, right = collect_kinds[all->kind].shown;
    const char *id;
    const json_t *slot;
    json_t *number;
    json_object_foreach(slots, id, number)
    {
        expected |= 1U << index_of(number, all->choices);
    }
    json_array_foreach(json_object_get(said, "shown"), index, slot)
    {
        size_t choice = index_of(json_object_get(slots, json_string_value(slot)), all->choices);
        if (choice == all->choices)
            return "it shows an unknown sound";
        if (found >> choice & 1)
            return "it shows a sound twice";
        found |= 1U << choice;
        shown[count++] = choice;
    }
    if ((right > 0 && count != right) || (all->kind != COLLECT_ABX && found != expected))
        return "it does not show the sounds of its trial";
    return NULL;
}

/* Returns a fault, or NULL. */
static const char *take_ratings(const struct collect *all, const json_t *said, const size_t *shown,
                                struct collect_trial *trial)
{
    const struct collect_kind_row *kind = &collect_kinds[all->kind];
    const bool fine = all->kind == COLLECT_BS1116;
    const json_t *ratings = json_object_get(said, "ratings"), *rating;
    double highest = 0;
    size_t index;
    if (json_array_size(ratings) != json_array_size(json_object_get(said, "shown")))
        return "it does not rate each sound";
    json_array_foreach((json_t *)ratings, index, rating)
    {
        double value = json_number_value(rating);
        if (!json_is_number(rating) || value < kind->least || value > kind->most ||
            (fine && fabs(10 * value - round(10 * value)) > 1e-6))
            return "a rating is not on the scale";
        trial->ratings[shown[index]] = value;
        highest = fmax(highest, value);
    }
    if (fine && (highest < kind->most || isnan(trial->ratings[all->reference])))
        return "no sound was taken for the reference";
    return NULL;
}

/* Takes an answer to a trial, which is `key` in the key. Returns a fault, or NULL. */
static const char *take_answer(const struct collect *all, const json_t *said, const json_t *key,
                               struct collect_trial *trial)
{
    const json_t *seconds = json_object_get(said, "seconds");
    const json_t *value = json_object_get(said, all->kind == COLLECT_ABX ? "answer" : "preferred");
    size_t sounds = json_array_size(all->sounds), place = index_of(value, 2);
    size_t shown[COLLECT_CHOICES_MOST] = {0};
    if (!key)
        return "it is not in the key";
    trial->sound = index_of(json_object_get(key, "sound"), sounds);
    trial->seconds = json_number_value(seconds);
    trial->remark = collect_text(said, "remark");
    if (trial->sound == sounds)
        return "its sound is unknown";
    if (!json_is_number(seconds) || trial->seconds < 0)
        return "its duration is no time";
    const char *fault = take_shown(all, said, json_object_get(key, "slots"), shown);
    if (fault || collect_is_rated(all))
        return fault ? fault : take_ratings(all, said, shown, trial);
    if (place == 2 && (all->kind == COLLECT_ABX || !json_is_null(value)))
        return "its answer is neither of the two";
    trial->first = shown[0];
    trial->second = all->kind == COLLECT_ABX ? place : shown[1];
    trial->preferred = place == 2 ? COLLECT_NONE : shown[place];
    return NULL;
}

static enum status take_trials(struct collect *all, const struct collect_file *file, size_t person,
                               const json_t *key)
{
    const json_t *list = json_object_get(file->root, "trials"), *said;
    size_t index, number = 1;
    json_array_foreach((json_t *)list, index, said)
    {
        struct collect_trial *trial = next_trial(all, file, person, number);
        const json_t *own =
            json_object_get(json_object_get(key, "trials"), collect_text(said, "trial"));
        const char *fault = take_answer(all, said, own, trial);
        for (size_t i = 0; i < index && !fault; i++)
            fault = is_same(json_array_get(list, i), said, "trial") ? "it is there twice" : NULL;
        if (fault)
            return fail(CAUSE_DAMAGED, "trial %zu of %s is wrong: %s; leave the file out",
                        index + 1, file->path, fault);
        if (json_is_true(json_object_get(own, "training")))
            continue;
        keep_trial(all);
        number++;
    }
    return STATUS_OK;
}

static enum status take_answers(struct collect *all, const struct collect_file *file, size_t person)
{
    static const char *const kept[] = {"before", "after"};
    const json_t *key = key_of(all, file), *complete = json_object_get(file->root, "complete");
    if (!is_same(file->root, all->model->root, "commitment"))
        return fail(CAUSE_OTHER, "%s is of another test than %s; collect them apart", file->path,
                    all->model->path);
    if (!key)
        return fail(CAUSE_MISSING, "%s has no key; also name its test's key, the file FOLDER.key",
                    file->path);
    if (!is_same(key, file->root, "commitment") || !is_same(key, file->root, "kind") ||
        !json_is_boolean(complete) || !*collect_text(file->root, "id"))
        return fail(CAUSE_DAMAGED, "%s does not fit its key; leave it out", file->path);
    if (file == all->model)
        TRY(describe_answers(all, key));
    all->early += json_is_false(complete);
    for (size_t i = 0; i < 2; i++)
        json_object_set(all->persons[person].row, kept[i], json_object_get(file->root, kept[i]));
    return take_trials(all, file, person, key);
}

/* ---- all files ---- */

static enum status load(struct collect_file *file)
{
    bool cut = false;
    TRY(trial_log_load(file->path, false, &file->root, &cut));
    const char *what = collect_text(file->root, "halo");
    file->is_answers = strcmp(what, "answers") == 0;
    file->is_key = strcmp(what, "key") == 0;
    if (file->is_key || file->is_answers) {
        const json_t *key = file->is_key ? file->root : json_object_get(file->root, "key");
        file->kind = collect_text(file->root, "kind");
        file->mark = collect_text(file->root, "id");
        if (cut)
            return fail(CAUSE_DAMAGED, "the end of %s is missing; get the file again", file->path);
        return key ? check_key(key, file->path) : STATUS_OK;
    }
    json_decref(file->root);
    file->root = NULL;
    TRY(trial_replay_init(&file->replay, file->path, false));
    file->root = file->replay.root;
    file->kind = collect_text(file->root, "test");
    file->mark = trial_log_head(file->replay.log);
    return STATUS_OK;
}

/* Takes a file if it is of the kind of the first one, and not there twice. */
static enum status take(struct collect *all, const struct collect_file *file)
{
    size_t before = all->trial_count;
    if (file->is_answers != all->model->is_answers || strcmp(file->kind, all->model->kind) != 0)
        return fail(CAUSE_OTHER, "%s is of another kind of test than %s; collect them apart",
                    file->path, all->model->path);
    for (const struct collect_file *other = all->files; other < file; other++)
        if (!other->is_key && strcmp(other->mark, file->mark) == 0)
            return fail(CAUSE_OTHER, "%s is the same %s as %s; leave one out", file->path,
                        file->is_answers ? "test" : "log", other->path);
    all->tests++;
    TRY((file->is_answers ? take_answers : take_log)(all, file, find_person(all, file)));
    return all->trial_count > before
               ? STATUS_OK
               : fail(CAUSE_OTHER, "%s has no answers; leave it out", file->path);
}

/* Loads the files and makes room for their trials; a log has more events than trials. */
static enum status load_all(struct collect *all, const char *const *paths)
{
    size_t trials = 0;
    TRY(digest_start());
    for (size_t i = 0; i < all->file_count; i++) {
        struct collect_file *file = &all->files[i];
        file->path = paths[i];
        TRY(load(file));
        all->model = all->model || file->is_key ? all->model : file;
        trials +=
            json_array_size(json_object_get(file->root, file->is_answers ? "trials" : "events"));
    }
    all->trials = calloc(trials + 1, sizeof *all->trials);
    all->room = calloc(trials + 2 * all->file_count, sizeof *all->room);
    return all->trials && all->room ? STATUS_OK : fail_memory("collecting trials");
}

enum status collect_read(const char *const *paths, size_t count, struct collect *all)
{
    all->file_count = count;
    all->files = calloc(count, sizeof *all->files);
    all->persons = calloc(count, sizeof *all->persons);
    all->names = json_array();
    all->reference = all->anchor = COLLECT_NONE;
    if (!all->files || !all->persons || !all->names)
        return fail_memory("collecting files");
    TRY(load_all(all, paths));
    if (!all->model)
        return fail(CAUSE_OTHER, "%s is a key; also name answers of its test", paths[0]);
    while (all->kind < COLLECT_KINDS &&
           strcmp(collect_kinds[all->kind].name, all->model->kind) != 0)
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
    free(all->room);
    json_decref(all->names);
    json_decref(all->report);
}
