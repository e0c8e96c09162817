#include "view/view_keys.h"

#include "base/terminal.h"
#include "view/view.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

/* What terminals send for keys that are no characters (ECMA-48 as xterm does it). */
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

void view_keys_open(struct view_keys *keys)
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

int view_keys_fd(const struct view_keys *keys)
{
    return keys->ended ? -1 : STDIN_FILENO;
}

/* Standard input stays blocking, since others may share it. */
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

static int take(struct view_keys *keys, size_t bytes, int key)
{
    keys->count -= bytes;
    memmove(keys->bytes, keys->bytes + bytes, keys->count);
    return key;
}

/* A character of UTF-8; what is none counts byte by byte. */
static int take_character(struct view_keys *keys)
{
    unsigned char first = keys->bytes[0];
    size_t length = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (length > keys->count)
        length = 1;
    int key = length == 1 ? first : first & (0x7f >> length);
    for (size_t i = 1; i < length; i++)
        key = key << 6 | (keys->bytes[i] & 0x3f);
    return take(keys, length, key);
}

int view_keys_next(struct view_keys *keys)
{
    if (keys->count < 8)
        fill(keys);
    if (keys->count == 0)
        return VIEW_KEY_NONE;
    for (size_t i = 0; i < sizeof sequences / sizeof *sequences; i++) {
        size_t length = strlen(sequences[i].bytes);
        if (length <= keys->count && memcmp(keys->bytes, sequences[i].bytes, length) == 0)
            return take(keys, length, sequences[i].key);
    }
    return take_character(keys);
}
