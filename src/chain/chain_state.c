#include "chain/chain_state.h"

#include "chain/stage_paths.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct state_args {
    size_t count;
    char **args;
    char folder[PATH_MAX]; /* of the chain */
};

/* Takes the word; NULL: memory. One that is there is not added again. */
static enum status add_arg(struct state_args *list, char *word)
{
    for (size_t i = 0; word && i < list->count; i++)
        if (strcmp(list->args[i], word) == 0) {
            free(word);
            return STATUS_OK;
        }
    char **more = word ? realloc(list->args, (list->count + 2) * sizeof *more) : NULL;
    if (!more) {
        free(word);
        return fail_memory("a chain");
    }
    list->args = more;
    more[list->count++] = word;
    more[list->count] = NULL;
    return STATUS_OK;
}

static enum status add_read(void *context, const char *link, const char *target)
{
    (void)link;
    struct state_args *list = context;
    char *word = NULL, *path = stage_path_near(list->folder, target);
    if (path && asprintf(&word, "@reads=%s", path) < 0)
        word = NULL;
    free(path);
    return add_arg(list, word);
}

enum status chain_state_args(const struct stage *stage, size_t number, const char *path,
                             const char *states, char ***args)
{
    struct state_args list = {0};
    char folder[PATH_MAX], *word;
    const char *slash = strrchr(path, '/');
    *args = NULL;
    if ((size_t)snprintf(folder, sizeof folder, "%s/%zu", states, number) >= sizeof folder)
        return fail(CAUSE_UNSUPPORTED, "cannot write %.40s...: its name is too long", path);
    if (access(folder, F_OK) != 0) /* it had nothing to save */
        return STATUS_OK;
    snprintf(list.folder, sizeof list.folder, "%.*s", slash ? (int)(slash - path) + 1 : 1,
             slash ? path : ".");
    if (asprintf(&word, "@state=%s.state/%zu", slash ? slash + 1 : path, number) < 0)
        word = NULL;
    enum status status = add_arg(&list, word);
    if (status == STATUS_OK)
        status = stage->ops->state_links(stage, folder, add_read, &list);
    *args = list.args;
    return status;
}

void chain_state_free(char **args)
{
    for (char **word = args; word && *word; word++)
        free(*word);
    free(args);
}
