/* A check before libyaml, whose time grows with the square of the open brackets, and which cannot be
 * interrupted. Threads: any. */
#ifndef HALO_YAML_DEPTH_H
#define HALO_YAML_DEPTH_H

#include <stdbool.h>
#include <stddef.h>

enum { YAML_BRACKETS_MOST = 1000 };

/* Whether more brackets are open at one place than any file needs. Brackets in texts count. */
static inline bool yaml_is_too_deep(const char *text, size_t size)
{
    size_t open = 0, most = 0;
    for (size_t i = 0; i < size; i++) {
        open += text[i] == '[' || text[i] == '{';
        open -= open > 0 && (text[i] == ']' || text[i] == '}');
        most = open > most ? open : most;
    }
    return most > YAML_BRACKETS_MOST;
}

#endif
