#include "base/command_line.h"

#include "base/printable.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { ARGUMENTS_KEPT = 3 }; /* whether there are more than two */

static char *const *kept_argv;
static size_t kept_count;
static bool *are_arguments; /* of each word; NULL: no memory, or no words */
static size_t searched;     /* words up to the last argument */
static const char *kept_arguments[ARGUMENTS_KEPT];

void command_line_keep(char *const *words)
{
    kept_argv = words;
    for (kept_count = 0; words[kept_count];)
        kept_count++;
    are_arguments = calloc(kept_count + 1, sizeof *are_arguments);
}

/* They come in the order of the words. */
void command_line_keep_argument(size_t place, const char *word)
{
    size_t at = searched;
    while (at < kept_count && kept_argv[at] != word)
        at++;
    if (are_arguments && at < kept_count)
        are_arguments[searched = at] = true;
    if (place < ARGUMENTS_KEPT)
        kept_arguments[place] = word;
}

const char *command_line_word(size_t index)
{
    return index < kept_count ? kept_argv[index] : NULL;
}

bool command_line_is_argument(size_t index)
{
    return are_arguments && index < kept_count && are_arguments[index];
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
