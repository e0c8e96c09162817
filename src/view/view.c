#include "view/view.h"

#include "base/build_info.h"
#include "base/monotonic.h"
#include "base/terminal.h"
#include "view/view_kind.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINE_MOST = 400 }; /* bytes of a message */

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
    TRY(kind->open(&view));
    view->kind = kind;
    view->interval_given = interval > 0;
    view->interval = view->interval_given && choice != VIEW_SCREEN ? interval : kind->interval;
    if (!kind->key)
        view_keys_open(&view->keys);
    *result = view;
    return STATUS_OK;
}

void view_close(struct view *view)
{
    if (view && view->kind->close) {
        view->kind->close(view);
    } else if (view) {
        terminal_restore();
        free(view);
    }
}

struct live_status view_visible(const struct live_status *status)
{
    struct live_status shown = *status;
    if (!status->hidden)
        return shown;
    shown.chosen = 0;
    shown.switching = false;
    shown.control = (struct live_status_control){0};
    shown.outputs = 0;
    shown.out = NULL;
    shown.reduction_db = NAN;
    shown.load_now = shown.load_p99 = shown.load_worst = NAN;
    return shown;
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
    struct live_status shown = view_visible(status);
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
    return view->kind->key ? view->kind->key(view) : view_keys_next(&view->keys);
}

int view_key_fd(const struct view *view)
{
    return view->kind->key ? view->kind->key_fd(view) : view_keys_fd(&view->keys);
}
