#include "chain/chain_save.h"

#include "base/atomic_file.h"
#include "base/atomic_folder.h"
#include "base/files_read.h"
#include "base/plural.h"
#include "base/printable.h"
#include "base/text_stream.h"
#include "chain/chain_collect.h"
#include "chain/chain_file.h"
#include "chain/chain_options.h"
#include "chain/stage_paths.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the words of a saved state ---- */

struct state_args {
    struct arg_list list;
    char folder[PATH_MAX]; /* folder of the chain */
};

static enum status add_read(void *context, const char *link, const char *target)
{
    (void)link;
    struct state_args *state = context;
    char *word = NULL, *path = stage_path_near(state->folder, target);
    if (path && asprintf(&word, "@reads=%s", path) < 0)
        word = NULL;
    free(path);
    if (!word || !arg_list_has(&state->list, word))
        return arg_list_add(&state->list, word);
    free(word);
    return STATUS_OK;
}

/* The words for the state of stage `number` (from 1) in a chain at `path`. States were saved in the
 * folder `states`, which becomes `path`.state. */
static enum status state_args(const struct stage *stage, size_t number, const char *path,
                              const char *states, struct arg_list *args)
{
    struct state_args state = {0};
    char folder[PATH_MAX], *word;
    const char *slash = strrchr(path, '/');
    if ((size_t)snprintf(folder, sizeof folder, "%s/%zu", states, number) >= sizeof folder)
        return fail(CAUSE_UNSUPPORTED, "cannot write %.40s...: its name is too long", path);
    if (access(folder, F_OK) != 0) /* the plugin had nothing to save */
        return STATUS_OK;
    snprintf(state.folder, sizeof state.folder, "%.*s", slash ? (int)(slash - path) + 1 : 1,
             slash ? path : ".");
    if (asprintf(&word, "@state=%s.state/%zu", slash ? slash + 1 : path, number) < 0)
        word = NULL;
    enum status status = arg_list_add(&state.list, word);
    if (status == STATUS_OK)
        status = stage->ops->files->links(stage, folder, add_read, &state);
    *args = state.list;
    return status;
}

/* ---- the text ---- */

static void print_comment(const struct stage *stage, size_t number, FILE *stream)
{
    const struct stage_info info = stage_describe(stage);
    fprintf(stream, "# %zu: ", number);
    if (info.name)
        fprintf(stream, "%s, ", printable(info.name)); /* printable() also makes it one line */
    fprintf(stream, "%zu channel%s in, %zu out", stage->inputs, plural_s(stage->inputs),
            stage->outputs);
    if (info.taps > 0)
        fprintf(stream, ", %zu tap%s", info.taps, plural_s(info.taps));
    fprintf(stream, "\n");
}

struct printer {
    FILE *stream;
    char folder[PATH_MAX];       /* folder of the chain */
    bool names_whole_paths;      /* print absolute paths; false: paths relative to the folder */
    struct chain_copies *copies; /* name these copies; NULL: name the files themselves */
};

/* The words of a stage for the chain file. */
static enum status args_for(struct printer *printer, const struct stage *stage,
                            struct arg_list *args)
{
    char **spec = spec_split(stage->text);
    enum status status = spec ? STATUS_OK : fail_memory("a chain");
    for (size_t i = 0; status == STATUS_OK && spec[i]; i++)
        status = arg_list_add(args,
                              stage_paths_replace(stage->ops, spec, i,
                                                  printer->names_whole_paths ? stage_path_whole
                                                                             : stage_path_to_folder,
                                                  printer->folder));
    free(spec);
    return status;
}

/* Whether a text needs no quotes in YAML: none of these characters at the beginning, no ": " or "
 * #", no blank at either end. */
static bool is_plain(const char *text)
{
    size_t length = strlen(text);
    bool begins_well = *text && (!strchr(" -?:,[]{}#&*!|>'\"%@`", *text) ||
                                 (*text == '-' && text[1] && text[1] != ' '));
    return begins_well && !strchr(" :", text[length - 1]) && !strstr(text, ": ") &&
           !strstr(text, " #");
}

/* Print a character that is not ASCII or not printable as an escape. */
static void print_escape(const char *text, size_t length, FILE *stream)
{
    unsigned long code = (unsigned char)*text & (length == 1 ? 0x7fU : 0x7fU >> length);
    for (size_t i = 1; i < length; i++)
        code = code << 6 | ((unsigned char)text[i] & 0x3fU);
    fprintf(stream, code > 0xffff ? "\\U%08lX" : code > 0xff ? "\\u%04lX" : "\\x%02lX", code);
}

static enum status print_scalar(const char *text, FILE *stream)
{
    char quote = '\0';
    for (const char *at = text; *at; at++)
        quote = *at < ' ' || *at > '~' ? '"' : quote;
    if (!quote && !is_plain(text))
        quote = '\'';
    if (quote)
        fputc(quote, stream);
    for (size_t length; *text; text += length) {
        length = printable_utf8(text);
        if (length == 0)
            return fail(CAUSE_UNSUPPORTED,
                        "cannot write a chain: its texts are UTF-8, and %s is not",
                        printable(text));
        if (*text < ' ' || *text > '~') {
            print_escape(text, length, stream);
            continue;
        }
        if (quote && (*text == quote || (quote == '"' && *text == '\\')))
            fputc(quote == '"' ? '\\' : quote, stream);
        fputc(*text, stream);
    }
    if (quote)
        fputc(quote, stream);
    return STATUS_OK;
}

static enum status print_option(const char *word, bool *has_any, FILE *stream)
{
    fputs(*has_any ? "  - " : "  options:\n  - ", stream);
    *has_any = true;
    TRY(print_scalar(word, stream));
    fputc('\n', stream);
    return STATUS_OK;
}

/* Print the entry of a stage. The words in `state` replace those of an older state. */
static enum status print_entry(const struct stage *stage, const struct arg_list *args,
                               const struct arg_list *state, FILE *stream)
{
    bool has_any = false;
    fprintf(stream, "- %s: ", stage->ops->option);
    TRY(print_scalar(args->args[0], stream));
    fputc('\n', stream);
    for (size_t i = 1; i < args->count; i++)
        if (!state->count ||
            (strncmp(args->args[i], "@state=", 7) != 0 && !arg_list_has(state, args->args[i])))
            TRY(print_option(args->args[i], &has_any, stream));
    for (size_t i = 0; i < state->count; i++)
        TRY(print_option(state->args[i], &has_any, stream));
    return STATUS_OK;
}

static enum status print_stage(struct printer *printer, const struct stage *stage,
                               const struct arg_list *state, bool is_other)
{
    struct arg_list args = {0};
    enum status status = printer->copies
                             ? chain_collect_args(printer->copies, stage, printer->folder, &args)
                             : args_for(printer, stage, &args);
    if (status == STATUS_OK)
        status = print_entry(stage, &args, state, printer->stream);
    if (is_other)
        fputs("  or: true\n", printer->stream);
    arg_list_free(&args);
    return status;
}

static void print_head(const struct stage_list *list, FILE *stream)
{
    fprintf(stream, "halo-chain: %d\n", CHAIN_VERSION);
    chain_tempo_print(list, stream);
    fprintf(stream, "stages:%s\n", list->count ? "" : " []");
}

/* Print a chain for a file at `path`. The state of stage i (from 1) was saved in `states`/i, which
 * becomes `path`.state/i; `states` NULL: none was. If `copies` is not NULL, files are copied and
 * the chain names the copies. The caller checks the stream. */
static enum status chain_file_print(const struct stage_list *list, const char *path,
                                    const char *states, struct chain_copies *copies, FILE *stream)
{
    struct printer printer = {.stream = stream, .copies = copies};
    enum status status = chain_file_folder(path, printer.folder);
    fputs("# A chain of halo: the stages that sound goes through, in this order.\n"
          "#   halo render IN OUT --chain THIS      halo chain check THIS\n"
          "# A stage's options are those of the command line. Paths are from this folder.\n",
          stream);
    print_head(list, stream);
    for (size_t i = 0; i < list->count && status == STATUS_OK; i++) {
        const struct stage *stage = &list->stages[i];
        struct arg_list state = {0};
        print_comment(stage, i + 1, stream);
        if (states && stage_describe(stage).keeps_state)
            status = state_args(stage, i + 1, path, states, &state);
        if (status == STATUS_OK)
            status = print_stage(&printer, stage, &state, false);
        arg_list_free(&state);
    }
    return status;
}

static enum status print_others(struct printer *printer, const struct stage *first,
                                const struct chain_live *live)
{
    struct stage other = *first;
    for (size_t i = 0; i < live->other_count; i++) {
        other.text = (char *)live->others[i];
        TRY(print_stage(printer, &other, &(struct arg_list){0}, true));
    }
    return STATUS_OK;
}

enum status chain_file_print_live(const struct stage_list *list, const struct chain_live *live,
                                  FILE *stream)
{
    struct printer printer = {.stream = stream, .names_whole_paths = true};
    fputs("# A preset of halo live: a chain, the masks to choose from (or: true), and what is\n"
          "# chosen. It is a chain file, too: halo render IN OUT --chain THIS\n",
          stream);
    print_head(list, stream);
    for (size_t i = 0; i < list->count; i++) {
        print_comment(&list->stages[i], i + 1, stream);
        TRY(print_stage(&printer, &list->stages[i], &(struct arg_list){0}, false));
        if (i == live->stage)
            TRY(print_others(&printer, &list->stages[i], live));
    }
    fprintf(stream, "live:\n  mask: %zu\n  dry: %s\n  gain: %.9g\n", live->mask,
            live->dry ? "true" : "false", live->gain_db);
    return STATUS_OK;
}

/* ---- files ---- */

struct chain_save {
    struct atomic_file file;
    bool force;
    const char *path; /* path that the user gave */
    struct atomic_folder states;
    struct chain_copies copies;
    bool collects; /* copy the files of the chain */
};

/* Whether a folder has only folders with numbers as names, as halo makes them. */
static bool holds_states(const char *folder)
{
    DIR *listing = opendir(folder);
    bool only = listing != NULL;
    errno = 0;
    for (struct dirent *entry; only && (entry = readdir(listing));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            only = strspn(entry->d_name, "0123456789") == strlen(entry->d_name);
    only = only && errno == 0; /* readdir() reached the end, without an error */
    if (listing)
        closedir(listing);
    return only;
}

/* Check that the folder of states can be replaced, if it exists. */
static enum status check_place(const struct chain_save *save, bool needed)
{
    struct stat stats;
    if (lstat(save->states.path, &stats) != 0)
        return STATUS_OK;
    if (!save->force)
        return needed ? fail(CAUSE_EXISTS, "%s exists; --force replaces it", save->states.path)
                      : STATUS_OK;
    if (files_read_below(save->states.path))
        return fail(CAUSE_EXISTS, "cannot replace %s: %s", save->states.path, FILES_READ_ADVICE);
    if (S_ISDIR(stats.st_mode) && holds_states(save->states.path))
        return STATUS_OK;
    return fail(CAUSE_EXISTS, "cannot replace %s: it holds other files than states",
                save->states.path);
}

static enum status save_states(struct chain_save *save, const struct stage_list *list)
{
    char folder[PATH_MAX];
    for (size_t i = 0; i < list->count; i++) {
        const struct stage *stage = &list->stages[i];
        if (!stage_describe(stage).keeps_state)
            continue;
        if (!save->states.hidden)
            TRY(atomic_folder_make(&save->states));
        if ((size_t)snprintf(folder, sizeof folder, "%s/%zu", save->states.hidden, i + 1) >=
            sizeof folder)
            return fail(CAUSE_UNSUPPORTED, "cannot write %.40s...: its name is too long",
                        save->states.path);
        TRY(stage->ops->files->save(stage->filter, folder));
    }
    return save->collects && save->states.hidden ? chain_copies_replace_links(save->states.hidden)
                                                 : STATUS_OK;
}

static enum status print_file(struct chain_save *save, const struct stage_list *list)
{
    FILE *stream = fdopen(save->file.fd, "w");
    enum status status = stream ? chain_file_print(list, save->path, save->states.hidden,
                                                   save->collects ? &save->copies : NULL, stream)
                                : STATUS_OK;
    int error = text_stream_finish(stream);
    if (!stream)
        close(save->file.fd);
    return status == STATUS_OK && error ? fail_errno(error, "cannot write %s", save->path) : status;
}

enum status chain_save_create(const char *path, bool force, bool collects,
                              const struct stage_list *list, struct chain_save **result)
{
    if (strcmp(path, "-") == 0)
        return fail(CAUSE_USAGE, "a chain is saved in a file, not on standard output");
    struct chain_save *save = calloc(1, sizeof *save);
    if (!save)
        return fail_memory("a chain");
    save->file.fd = save->file.held = save->states.held = save->copies.folder.held = -1;
    save->collects = collects;
    save->force = force;
    save->path = path;
    char states[PATH_MAX];
    bool any_state = false;
    for (size_t i = 0; i < list->count; i++)
        any_state |= stage_describe(&list->stages[i]).keeps_state;
    enum status status = STATUS_OK;
    if ((size_t)snprintf(states, sizeof states, "%s.state", path) >= sizeof states)
        status = fail(CAUSE_UNSUPPORTED, "cannot write %.40s...: its name is too long", path);
    if (status == STATUS_OK)
        status = atomic_folder_open(&save->states, states);
    if (status == STATUS_OK)
        status = check_place(save, any_state);
    if (status == STATUS_OK && collects)
        status = chain_copies_open(&save->copies, path, force);
    if (status == STATUS_OK)
        status = atomic_file_open(&save->file, path, force);
    if (status == STATUS_OK)
        status = save_states(save, list);
    if (status == STATUS_OK)
        status = print_file(save, list);
    if (status != STATUS_OK)
        goto fail;
    *result = save;
    return STATUS_OK;
fail:
    chain_save_destroy(save);
    return status;
}

static enum status keep_states(struct chain_save *save)
{
    TRY(check_place(save, save->states.hidden));
    int error = save->states.hidden || save->force ? atomic_folder_keep(&save->states) : 0;
    return error ? fail_errno(error, "cannot write %s", save->states.path) : STATUS_OK;
}

/* Renames states and copies before the chain, so that the chain never names missing files. */
enum status chain_save_keep(struct chain_save *save)
{
    enum status status = save->collects ? chain_copies_keep(&save->copies) : STATUS_OK;
    if (status == STATUS_OK)
        status = keep_states(save);
    if (status == STATUS_OK)
        status = atomic_file_keep(&save->file, save->path);
    if (save->file.temporary) { /* the chain did not get its name */
        atomic_folder_undo(&save->states);
        chain_copies_undo(&save->copies);
    }
    return status;
}

void chain_save_destroy(struct chain_save *save)
{
    if (!save)
        return;
    atomic_folder_close(&save->states);
    chain_copies_close(&save->copies);
    atomic_file_discard(&save->file);
    free(save);
}
