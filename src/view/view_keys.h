/* Keys from standard input: a terminal whose keys come one by one, or a pipe or file each of
 * whose characters is one. Threads: the control thread's. */
#ifndef HALO_VIEW_KEYS_H
#define HALO_VIEW_KEYS_H

#include <stdbool.h>
#include <stddef.h>

struct view_keys {
    bool ended;
    unsigned char bytes[64]; /* read and not handed out */
    size_t count;
};

/* Sets the terminal up for keys; terminal_restore undoes that. From the background none
 * are read. */
void view_keys_open(struct view_keys *keys);
int view_keys_next(struct view_keys *keys);     /* as view_key */
int view_keys_fd(const struct view_keys *keys); /* as view_key_fd */

#endif
