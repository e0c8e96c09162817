#include "view/distinct_name.h"
#include "view/view_screen.h"

#include "base/terminal.h"
#include "view/ncurses_library.h"

#include <langinfo.h>
#include <stdarg.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

enum { TEXT_MOST = SCREEN_MESSAGE_MOST }; /* bytes of one print */
enum { PAIR_GOOD = 1, PAIR_WARN, PAIR_BAD, PAIR_BAR, PAIR_ALARM };

static attr_t attributes[STYLES];
static short pairs[STYLES];

static const struct screen_glyphs unicode = {"█", "▒", "·", "┃", "│", "▶", "▷", "…"};
static const struct screen_glyphs ascii = {"#", "=", ".", "|", ":", ">", "~", ".."};

const struct screen_glyphs *screen_glyphs(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? &unicode : &ascii;
}

/* Colours are optional: every state is legible without them. */
void screen_prepare_styles(void)
{
    attributes[STYLE_DIM] = A_DIM;
    attributes[STYLE_BOLD] = attributes[STYLE_CHOSEN] = A_BOLD;
    attributes[STYLE_BAD] = A_BOLD;
    attributes[STYLE_BAR] = attributes[STYLE_ALARM] = A_REVERSE | A_BOLD;
    if (terminal_refuses_colours() || !has_colors() || start_color() == ERR)
        return;
    short ground = use_default_colors() == OK ? -1 : COLOR_BLACK;
    init_pair(PAIR_GOOD, COLOR_GREEN, ground);
    init_pair(PAIR_WARN, COLOR_YELLOW, ground);
    init_pair(PAIR_BAD, COLOR_RED, ground);
    init_pair(PAIR_BAR, COLOR_WHITE, COLOR_BLUE);
    init_pair(PAIR_ALARM, COLOR_WHITE, COLOR_RED);
    pairs[STYLE_GOOD] = pairs[STYLE_CHOSEN] = PAIR_GOOD;
    pairs[STYLE_WARN] = PAIR_WARN;
    pairs[STYLE_BAD] = PAIR_BAD;
    pairs[STYLE_BAR] = PAIR_BAR;
    pairs[STYLE_ALARM] = PAIR_ALARM;
    attributes[STYLE_BAR] = attributes[STYLE_ALARM] = A_BOLD;
}

static void to_wide(const char *text, wchar_t *wide, size_t size, int *columns)
{
    mbstate_t state = {0};
    size_t count = 0;
    *columns = 0;
    for (int width; *text && count + 1 < size; *columns += width)
        text += next_column(text, &state, &wide[count++], &width);
    wide[count] = L'\0';
}

int screen_columns(const char *text)
{
    wchar_t wide[TEXT_MOST];
    int columns;
    to_wide(text, wide, TEXT_MOST, &columns);
    return columns;
}

size_t screen_fitting(const char *text, int columns)
{
    mbstate_t state = {0};
    size_t at = 0, blank = 0;
    int used = 0;
    while (text[at]) {
        wchar_t character;
        int width;
        size_t bytes = next_column(text + at, &state, &character, &width);
        used += width;
        if (used > columns)
            return blank > 0 ? blank : at > 0 ? at : bytes;
        if (text[at] == ' ')
            blank = at;
        at += bytes;
    }
    return at;
}

static int fitting(const wchar_t *wide, int capacity, int *columns)
{
    int count = 0;
    *columns = 0;
    while (wide[count] && *columns + wcwidth(wide[count]) <= capacity)
        *columns += wcwidth(wide[count++]);
    return count;
}

static void put(struct pen *pen, enum screen_style style, const char *text)
{
    wchar_t wide[TEXT_MOST];
    int columns;
    if (pen->row < 0 || pen->row >= LINES || pen->column >= pen->right)
        return;
    if (pen->over != STYLE_PLAIN)
        style = pen->over;
    to_wide(text, wide, TEXT_MOST, &columns);
    int count = fitting(wide, pen->right - pen->column, &columns);
    attr_set(attributes[style], pairs[style], NULL);
    mvaddnwstr(pen->row, pen->column, wide, count);
    attr_set(A_NORMAL, 0, NULL);
    pen->column += columns;
}

void pen_print(struct pen *pen, enum screen_style style, const char *format, ...)
{
    char text[TEXT_MOST];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    put(pen, style, text);
}

void pen_repeat(struct pen *pen, enum screen_style style, const char *glyph, int times)
{
    for (int i = 0; i < times; i++)
        put(pen, style, glyph);
}
