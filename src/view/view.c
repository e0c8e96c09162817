#include "view/view_kind.h"

#include "base/build_info.h"
#include "base/monotonic.h"
#include "base/terminal.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What terminals send for special keys (ECMA-48, as in xterm). */
static const struct {
    const char *bytes;
    int key;
} sequences[] = {
    {"\033[A", VIEW_KEY_UP},
    {"\033OA", VIEW_KEY_UP},
    {"\033[B", VIEW_KEY_DOWN},
    {"\033OB", VIEW_KEY_DOWN},
    {"\033[C", VIEW_KEY_RIGHT},
    {"\033OC", VIEW_KEY_RIGHT},
    {"\033[D", VIEW_KEY_LEFT},
    {"\033OD", VIEW_KEY_LEFT},
    {"\033[H", VIEW_KEY_HOME},
    {"\033OH", VIEW_KEY_HOME},
    {"\033[F", VIEW_KEY_END},
    {"\033OF", VIEW_KEY_END},
    {"\033[5~", VIEW_KEY_PAGE_UP},
    {"\033[6~", VIEW_KEY_PAGE_DOWN},
    {"\177", VIEW_KEY_BACKSPACE},
    {"\b", VIEW_KEY_BACKSPACE},
    {"\r", '\n'},
};

/* A background process reads no keys. */
static void open_keys(struct view_keys *keys)
{
    *keys = (struct view_keys){.ended = false};
    if (!isatty(STDIN_FILENO))
        return;
    keys->ended = !terminal_is_ours();
    if (keys->ended)
        return;
    terminal_keep(NULL);
    terminal_take_keys();
}

/* Standard input stays blocking, since other processes may share it. */
static void fill(struct view_keys *keys)
{
    struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
    size_t capacity = sizeof keys->bytes - keys->count;
    if (keys->ended || capacity == 0 || poll(&ready, 1, 0) <= 0)
        return;
    ssize_t got = read(STDIN_FILENO, keys->bytes + keys->count, capacity);
    if (got > 0)
        keys->count += (size_t)got;
    else if (got == 0 || (errno != EINTR && errno != EAGAIN))
        keys->ended = true;
}

static int consume(struct view_keys *keys, size_t bytes, int key)
{
    keys->count -= bytes;
    memmove(keys->bytes, keys->bytes + bytes, keys->count);
    return key;
}

/* One UTF-8 character; invalid bytes count as one each. */
static int next_character(struct view_keys *keys)
{
    unsigned char first = keys->bytes[0];
    size_t length = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (length > keys->count)
        length = 1;
    int key = length == 1 ? first : first & (0x7f >> length);
    for (size_t i = 1; i < length; i++)
        key = key << 6 | (keys->bytes[i] & 0x3f);
    return consume(keys, length, key);
}

static int next_key(struct view_keys *keys)
{
    if (keys->count < 8)
        fill(keys);
    if (keys->count == 0)
        return VIEW_KEY_NONE;
    for (size_t i = 0; i < sizeof sequences / sizeof *sequences; i++) {
        size_t length = strlen(sequences[i].bytes);
        if (length <= keys->count && memcmp(keys->bytes, sequences[i].bytes, length) == 0)
            return consume(keys, length, sequences[i].key);
    }
    return next_character(keys);
}

enum { LINE_MOST = 1400 };                 /* bytes of a message */
enum { TICK_LEAST = 25, TICK_MOST = 200 }; /* milliseconds */

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
    if (!kind)
        return fail(CAUSE_UNSUPPORTED, "cannot show a screen: halo was built without ncurses");
    struct view *view = calloc(1, kind->size);
    if (!view)
        return fail_memory("the view");
    enum status status = kind->open ? kind->open(view) : STATUS_OK;
    if (status != STATUS_OK) {
        free(view);
        return status;
    }
    view->kind = kind;
    view->interval_given = interval > 0;
    view->interval = view->interval_given && choice != VIEW_SCREEN ? interval : kind->interval;
    if (!kind->key)
        open_keys(&view->keys);
    *result = view;
    return STATUS_OK;
}

void view_close(struct view *view)
{
    if (!view)
        return;
    if (view->kind->close)
        view->kind->close(view);
    else
        terminal_restore();
    free(view);
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
    shown.late = shown.lost = 0; /* a long mask may have more */
    shown.load_now = shown.load_p99 = shown.load_worst = NAN;
    return shown;
}

int view_tick(const struct view *view)
{
    int half = (int)fmin(1e3 * view->interval / 2, TICK_MOST);
    return half > TICK_LEAST ? half : TICK_LEAST;
}

bool view_is_due(const struct view *view)
{
    return monotonic_seconds() >= view->next;
}

void view_show(struct view *view, const struct live_status *status)
{
    double now = monotonic_seconds();
    if (now < view->next)
        return;
    /* By the clock, so that lines do not drift; restarted after a pause. */
    view->next += view->interval;
    if (view->next <= now)
        view->next = now + view->interval;
    struct live_status shown = view_visible(status);
    view->kind->show(view, &shown);
}

int view_columns(const struct view *view)
{
    return view && view->kind->width ? view->kind->width() : INT_MAX;
}

int view_rows(const struct view *view)
{
    return view && view->kind->height ? view->kind->height() : INT_MAX;
}

static void show_line(struct view *view, void (*print)(const char *format, ...), const char *format,
                      va_list arguments)
{
    char line[LINE_MOST];
    vsnprintf(line, sizeof line, format, arguments);
    if (view && view->kind->message)
        view->kind->message(view, line);
    else
        print("%s", line);
}

void view_message(struct view *view, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    show_line(view, note, format, arguments);
    va_end(arguments);
}

void view_warning(struct view *view, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    show_line(view, warning, format, arguments);
    va_end(arguments);
}

int view_key(struct view *view)
{
    return view->kind->key ? view->kind->key(view) : next_key(&view->keys);
}

int view_key_fd(const struct view *view)
{
    return view->keys.ended ? -1 : STDIN_FILENO;
}
