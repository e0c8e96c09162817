#include "view/view.h"

#include "base/build_info.h"
#include "base/monotonic.h"
#include "view/view_kind.h"
#include <stdio.h>

enum { LINE_MOST = 400 }; /* bytes of what view_notify tells */

static const struct view_kind *const kinds[] = {
#ifdef HALO_WITH_SCREEN
    [VIEW_SCREEN] = &view_screen,
#endif
    [VIEW_PLAIN] = &view_plain,
    [VIEW_JSON] = &view_json,
};

enum status view_open(enum view_choice choice, double interval, struct view **result)
{
    const struct view_kind *screen = kinds[VIEW_SCREEN];
    if (choice == VIEW_AUTO)
        choice = screen && screen->is_possible() ? VIEW_SCREEN : VIEW_PLAIN;
    const struct view_kind *kind = kinds[choice];
    struct view *view;
    if (!kind)
        return fail(STATUS_FAILED, "cannot show a screen: halo was built without ncurses");
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

void view_message(struct view *view, const char *text)
{
    view->kind->message(view, text);
}

void view_notify(struct view *view, const char *format, va_list arguments)
{
    char line[LINE_MOST];
    vsnprintf(line, sizeof line, format, arguments);
    if (view)
        view_message(view, line);
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
