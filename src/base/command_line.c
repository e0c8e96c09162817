#include "base/command_line.h"

#include "base/printable.h"

#include <ctype.h>
#include <string.h>

enum { ARGUMENTS_KEPT = 3 }; /* whether there are more than two */

static char *const *kept_argv;
static const char *kept_arguments[ARGUMENTS_KEPT];

void command_line_keep(char *const *words)
{
    kept_argv = words;
}

void command_line_keep_argument(size_t place, const char *word)
{
    if (place < ARGUMENTS_KEPT)
        kept_arguments[place] = word;
}

const char *command_line_word(size_t index)
{
    for (size_t i = 0; kept_argv && kept_argv[i]; i++)
        if (i == index)
            return kept_argv[i];
    return NULL;
}

const char *command_line_argument(size_t index)
{
    return index < ARGUMENTS_KEPT ? kept_arguments[index] : NULL;
}

static bool is_plain(const char *word)
{
    for (const char *at = word; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("_./:=,+@%^-", *at))
            return false;
    return *word != '\0';
}

static bool is_shown(const char *word)
{
    for (size_t length = 0; *word; word += length) {
        length = printable_utf8(word);
        if (length == 0 || printable_is_control(word))
            return false;
    }
    return true;
}

/* By printf; the substitution would drop newlines at the end, but for what follows them. */
static void quote_bytes(FILE *line, const char *word)
{
    size_t length = strlen(word), end = length;
    while (end > 0 && word[end - 1] == '\n')
        end--;
    fputs("\"$(printf '", line);
    for (size_t i = 0; i < end; i++)
        if (isalnum((unsigned char)word[i]) || strchr("_./:=,+@^- ", word[i]))
            fputc(word[i], line);
        else
            fprintf(line, "\\%03o", (unsigned char)word[i]);
    fputs("')\"", line);
    for (; end < length; end++)
        fputc('?', line); /* a pattern, which finds the file */
}

void command_line_quote(FILE *line, const char *word)
{
    if (is_plain(word)) {
        fputs(word, line);
        return;
    }
    if (!is_shown(word)) {
        quote_bytes(line, word);
        return;
    }
    fputc('\'', line);
    for (const char *at = word; *at; at++)
        fputs(*at == '\'' ? "'\\''" : (const char[]){*at, '\0'}, line);
    fputc('\'', line);
}
