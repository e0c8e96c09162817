#include "view/view_screen.h"
#include "base/monotonic.h"
#include "base/printable.h"
#include "base/terminal.h"

#include "view/ncurses_library.h"
#include "view/terminfo_library.h"
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

enum {
    ESCAPE_MS = 25,    /* ms to wait for the rest of an escape sequence */
    ERROR_READS = 128, /* most reads of standard error at a time */
};
static const double READING_TIME = 2; /* seconds on the screen; then a message counts as read */

static void add_message(void *context, const char *text)
{
    struct screen *screen = context;
    time_t now = time(NULL);
    struct tm broken;
    pthread_mutex_lock(&screen->lock);
    struct screen_message *message = &screen->messages[screen->message_count++ % SCREEN_MESSAGES];
    message->drawn = 0;
    printable_copy(message->text, sizeof message->text, text);
    strftime(message->stamp, sizeof message->stamp, "%H:%M:%S", localtime_r(&now, &broken));
    pthread_mutex_unlock(&screen->lock);
}

static void screen_message(struct view *view, const char *text)
{
    add_message(view, text);
}

static void add_error_byte(struct screen *screen, char byte)
{
    if (byte != '\n')
        screen->error_line[screen->error_length++] = byte;
    if (byte != '\n' && screen->error_length + 1 < sizeof screen->error_line)
        return;
    screen->error_line[screen->error_length] = '\0';
    if (screen->error_length > 0)
        add_message(screen, screen->error_line);
    screen->error_length = 0;
}

/* Reads standard error and shows it line by line. Reads at most what a pipe holds. */
static void read_errors(struct screen *screen)
{
    char bytes[512];
    for (size_t i = 0; i < ERROR_READS && screen->errors >= 0; i++) {
        ssize_t got = read(screen->errors, bytes, sizeof bytes);
        if (got <= 0)
            return;
        for (ssize_t b = 0; b < got; b++)
            add_error_byte(screen, bytes[b]);
    }
}

/* Prints the messages that were not on the screen long enough. */
static void print_unread(const struct screen *screen)
{
    double now = monotonic_seconds();
    size_t count = screen->message_count;
    for (size_t i = count > SCREEN_MESSAGES ? count - SCREEN_MESSAGES : 0; i < count; i++) {
        const struct screen_message *message = &screen->messages[i % SCREEN_MESSAGES];
        if (message->drawn == 0 || now < message->drawn + READING_TIME)
            fprintf(stderr, "halo: %s\n", message->text);
    }
}

static bool screen_is_possible(void)
{
    int error;
    return isatty(STDOUT_FILENO) && terminal_is_ours() && library_is_there(&ncurses_library) &&
           library_is_there(&terminfo_library) && setupterm(NULL, STDOUT_FILENO, &error) == OK &&
           tigetstr("cup") > (char *)0 && tigetstr("clear") > (char *)0;
}

static const char *capability(char *name)
{
    const char *text = tigetstr(name);
    return text && text != (char *)-1 ? text : ""; /* the capability is absent, or not a string */
}

static void set_up(void)
{
    cbreak();
    noecho();
    terminal_let_run();
    def_prog_mode();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    curs_set(0);
    set_escdelay(ESCAPE_MS);
    screen_prepare_styles();
}

static void screen_close(struct view *view)
{
    struct screen *screen = (struct screen *)view;
    messages_to(NULL, NULL);
    read_errors(screen);
    endwin();
    terminal_restore();
    print_unread(screen);
    pthread_mutex_destroy(&screen->lock);
}

static enum status screen_open(struct view *view)
{
    struct screen *screen = (struct screen *)view;
    TRY(library_open(&ncurses_library));
    if (!screen_is_possible())
        return fail(CAUSE_UNSUPPORTED, "cannot show a screen: standard input and output are not a "
                                       "capable terminal in the foreground");
    pthread_mutex_init(&screen->lock, NULL);
    setlocale(LC_CTYPE, "");
    char farewell[128];
    snprintf(farewell, sizeof farewell, "%s%s%s%s", capability("sgr0"), capability("rmkx"),
             capability("rmcup"), capability("cnorm"));
    terminal_keep(farewell);
    if (!newterm(NULL, stdout, stdin)) {
        terminal_restore();
        pthread_mutex_destroy(&screen->lock);
        return fail(CAUSE_UNSUPPORTED, "cannot show a screen on this terminal");
    }
    set_up();
    screen->errors = terminal_take_errors();
    messages_to(add_message, screen);
    return STATUS_OK;
}

static void screen_show(struct view *view, const struct live_status *status)
{
    struct screen *screen = (struct screen *)view;
    struct winsize size;
    read_errors(screen);
    /* ncurses checks the size only when it reads keys */
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0 &&
        is_term_resized(size.ws_row, size.ws_col))
        resize_term(size.ws_row, size.ws_col);
    screen_draw(screen, status);
}

static int translate(wint_t code)
{
    static const struct {
        wint_t code;
        int key;
    } keys[] = {
        {KEY_LEFT, VIEW_KEY_LEFT},
        {KEY_RIGHT, VIEW_KEY_RIGHT},
        {KEY_UP, VIEW_KEY_UP},
        {KEY_DOWN, VIEW_KEY_DOWN},
        {KEY_PPAGE, VIEW_KEY_PAGE_UP},
        {KEY_NPAGE, VIEW_KEY_PAGE_DOWN},
        {KEY_HOME, VIEW_KEY_HOME},
        {KEY_END, VIEW_KEY_END},
        {KEY_ENTER, '\n'},
        {KEY_BACKSPACE, VIEW_KEY_BACKSPACE},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].code == code)
            return keys[i].key;
    return VIEW_KEY_NONE;
}

static int screen_key(struct view *view)
{
    (void)view;
    wint_t character;
    for (;;) {
        int got = get_wch(&character);
        if (got == ERR)
            return VIEW_KEY_NONE;
        int key = got == KEY_CODE_YES   ? translate(character)
                  : character == '\r'   ? '\n'
                  : character == '\177' ? VIEW_KEY_BACKSPACE
                                        : (int)character;
        if (key != VIEW_KEY_NONE) /* otherwise the screen was resized, or the key is unknown */
            return key;
    }
}

const struct view_kind view_screen = {
    .size = sizeof(struct screen),
    .is_possible = screen_is_possible,
    .open = screen_open,
    .show = screen_show,
    .message = screen_message,
    .key = screen_key,
    .width = screen_width,
    .height = screen_height,
    .close = screen_close,
    .interval = 0.05,
};
