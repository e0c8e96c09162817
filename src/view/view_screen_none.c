/* In place of view_screen.c where there is no ncurses. */
#include "view/view_kind.h"

static enum status none_open(struct view **view)
{
    (void)view;
    return fail(STATUS_FAILED, "cannot show a screen: halo was built without ncurses");
}

bool view_screen_possible(void)
{
    return false;
}

const struct view_kind view_screen = {.open = none_open};
