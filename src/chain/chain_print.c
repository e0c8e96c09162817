/* Prints a chain's file. */
#include "chain/chain_file.h"

#include "base/plural.h"
#include "base/printable.h"
#include "chain/chain_collect.h"
#include "chain/chain_state.h"
#include "chain/chain_tempo.h"
#include "chain/stage_paths.h"

#include <stdlib.h>
#include <string.h>

static void print_comment(const struct stage *stage, size_t number, FILE *stream)
{
    const struct stage_info info = stage_describe(stage);
    fprintf(stream, "# %zu: ", number);
    if (info.name)
        fprintf(stream, "%s, ", printable(info.name)); /* one line, too */
    fprintf(stream, "%zu channel%s in, %zu out", stage->inputs, plural_s(stage->inputs),
            stage->outputs);
    if (info.taps > 0)
        fprintf(stream, ", %zu tap%s", info.taps, plural_s(info.taps));
    fprintf(stream, "\n");
}

struct printer {
    FILE *stream;
    char folder[PATH_MAX];       /* of the chain */
    bool names_whole_paths;      /* not relative to the folder */
    struct chain_copies *copies; /* those to name; NULL: the files themselves */
};

/* The words of a stage for the chain, each for free(), NULL-terminated. */
static enum status args_for(struct printer *printer, const struct stage *stage, char ***result)
{
    char **spec = spec_split(stage->text);
    size_t count = 0, done = 0;
    while (spec && spec[count])
        count++;
    char **args = spec ? calloc(count + 1, sizeof *args) : NULL;
    while (args && done < count &&
           (args[done] = stage_paths_replace(stage->ops, spec, done,
                                             printer->names_whole_paths ? stage_path_whole
                                                                        : stage_path_to_folder,
                                             printer->folder)))
        done++;
    free(spec);
    *result = args;
    return args && done == count ? STATUS_OK : fail_memory("a chain");
}

static void free_args(char **args)
{
    for (char **word = args; args && *word; word++)
        free(*word);
    free(args);
}

static bool has_option(char *const *args, const char *word)
{
    for (size_t i = 0; args && args[i]; i++)
        if (strcmp(args[i], word) == 0)
            return true;
    return false;
}

/* Without quotes YAML takes none of these at the beginning, and no ": ", " #" or blank at an end.
 */
static bool is_plain(const char *text)
{
    size_t length = strlen(text);
    bool begins_well = *text && (!strchr(" -?:,[]{}#&*!|>'\"%@`", *text) ||
                                 (*text == '-' && text[1] && text[1] != ' '));
    return begins_well && !strchr(" :", text[length - 1]) && !strstr(text, ": ") &&
           !strstr(text, " #");
}

/* What is no ASCII, and what does not show, as an escape. */
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

/* The words of `state` replace those of an older state. */
static enum status print_entry(const struct stage *stage, char *const *args, char *const *state,
                               FILE *stream)
{
    bool has_any = false;
    fprintf(stream, "- %s: ", stage->ops->option);
    TRY(print_scalar(args[0], stream));
    fputc('\n', stream);
    for (char *const *word = args + 1; *word; word++)
        if (!state || (strncmp(*word, "@state=", 7) != 0 && !has_option(state, *word)))
            TRY(print_option(*word, &has_any, stream));
    for (; state && *state; state++)
        TRY(print_option(*state, &has_any, stream));
    return STATUS_OK;
}

static enum status print_stage(struct printer *printer, const struct stage *stage, char **state,
                               bool is_other)
{
    char **args = NULL;
    enum status status = printer->copies
                             ? chain_collect_args(printer->copies, stage, printer->folder, &args)
                             : args_for(printer, stage, &args);
    if (status == STATUS_OK)
        status = print_entry(stage, args, state, printer->stream);
    if (is_other)
        fputs("  or: true\n", printer->stream);
    free_args(args);
    return status;
}

static void print_head(const struct stage_list *list, FILE *stream)
{
    fprintf(stream, "halo-chain: %d\n", CHAIN_VERSION);
    chain_tempo_print(list, stream);
    fprintf(stream, "stages:%s\n", list->count ? "" : " []");
}

enum status chain_file_print(const struct stage_list *list, const char *path, const char *states,
                             struct chain_copies *copies, FILE *stream)
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
        char **state = NULL;
        print_comment(stage, i + 1, stream);
        if (states && stage_describe(stage).keeps_state)
            status = chain_state_args(stage, i + 1, path, states, &state);
        if (status == STATUS_OK)
            status = print_stage(&printer, stage, state, false);
        chain_state_free(state);
    }
    return status;
}

static enum status print_others(struct printer *printer, const struct stage *first,
                                const struct chain_live *live)
{
    struct stage other = *first;
    for (size_t i = 0; i < live->other_count; i++) {
        other.text = (char *)live->others[i];
        TRY(print_stage(printer, &other, NULL, true));
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
        TRY(print_stage(&printer, &list->stages[i], NULL, false));
        if (i == live->stage)
            TRY(print_others(&printer, &list->stages[i], live));
    }
    fprintf(stream, "live:\n  mask: %zu\n  dry: %s\n  gain: %.9g\n", live->mask,
            live->dry ? "true" : "false", live->gain_db);
    return STATUS_OK;
}
