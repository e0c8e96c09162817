#include "base/short_list.h"

#include <stdio.h>
#include <string.h>

void short_list_add(struct short_list *list, const char *name)
{
    size_t length = strlen(list->text);
    if (list->count++ < SHORT_LIST_MOST)
        snprintf(list->text + length, sizeof list->text - length, "%s%s", length ? ", " : "", name);
}

const char *short_list_text(struct short_list *list, const char *more)
{
    size_t length = strlen(list->text);
    if (list->count == 0)
        snprintf(list->text, sizeof list->text, "none");
    if (list->count > SHORT_LIST_MOST)
        snprintf(list->text + length, sizeof list->text - length, " and %zu more%s",
                 list->count - SHORT_LIST_MOST, more);
    return list->text;
}
