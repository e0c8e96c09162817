#include "view/view.h"

#include "base/monotonic.h"
#include "view/view_kind.h"

#include <stdarg.h>
#include <stdio.h>

enum { LINE_MOST = 400 }; /* bytes of a message */

static const struct view_kind *const kinds[] = {
    [VIEW_SCREEN] = &view_screen,
    [VIEW_PLAIN] = &view_plain,
    [VIEW_JSON] = &view_json,
};

enum status view_open(enum view_choice choice, double interval, struct view **result)
{
    if (choice == VIEW_AUTO)
        choice = view_screen_possible() ? VIEW_SCREEN : VIEW_PLAIN;
    const struct view_kind *kind = kinds[choice];
    struct view *view;
    enum status status = kind->open(&view);
    if (status != STATUS_OK)
        return status;
    view->kind = kind;
    view->interval_given = interval > 0;
    view->interval = view->interval_given && choice != VIEW_SCREEN ? interval : kind->interval;
    *result = view;
    return STATUS_OK;
}

void view_close(struct view *view)
{
    if (view)
        view->kind->close(view);
}

void view_show(struct view *view, const struct live_status *status)
{
    double now = monotonic_seconds();
    if (now < view->next)
        return;
    /* The next by the clock, so that lines do not drift; from now on after a pause. */
    view->next += view->interval;
    if (view->next <= now)
        view->next = now + view->interval;
    struct live_status shown = live_status_to_show(status);
    view->kind->show(view, &shown);
}

void view_message(struct view *view, const char *format, ...)
{
    char line[LINE_MOST];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (view)
        view->kind->message(view, line);
    else
        note("%s", line);
}

int view_key(struct view *view)
{
    return view->kind->key(view);
}

int view_key_fd(const struct view *view)
{
    return view->kind->key_fd(view);
}
