#include "plugin/plugin_output.h"

#include "base/status.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void plugin_output_init(struct plugin_output *output, const char *name)
{
    *output = (struct plugin_output){.name = name};
}

static void end_line(struct plugin_output *output)
{
    while (output->length > 0 && output->line[output->length - 1] == ' ')
        output->length--;
    output->line[output->length] = '\0';
    const char *line = output->line + strspn(output->line, " ");
    output->length = 0;
    if (!*line)
        return;
    snprintf(output->last, sizeof output->last, "%s", line);
    if (output->lines++ < OUTPUT_MOST && output->name)
        note_detail("%s says: %s", output->name, line);
}

void plugin_output_take(struct plugin_output *output, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] == '\n' || output->length == OUTPUT_LINE - 1)
            end_line(output);
        if (bytes[i] != '\n')
            output->line[output->length++] = iscntrl((unsigned char)bytes[i]) ? ' ' : bytes[i];
    }
}

/* ---- warnings ---- */

enum { WARNINGS_MOST = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *warnings[WARNINGS_MOST]; /* lock: printed so far */
static size_t warning_count;          /* lock */

/* Takes the line. Whether it is new, and there are not too many. */
static bool remember(char *line)
{
    pthread_mutex_lock(&lock);
    bool is_new = warning_count < WARNINGS_MOST;
    for (size_t i = 0; is_new && i < warning_count; i++)
        is_new = strcmp(warnings[i], line) != 0;
    if (is_new)
        warnings[warning_count++] = line;
    pthread_mutex_unlock(&lock);
    if (!is_new)
        free(line);
    return is_new;
}

void plugin_output_warn(const char *name, const char *line)
{
    char *text;
    bool is_named = strncmp(line, name, strlen(name)) == 0;
    if (asprintf(&text, "%s%s%s", is_named ? "" : name, is_named ? "" : ": ", line) < 0)
        return;
    if (remember(text))
        warning("%s", text);
}

void plugin_output_end(struct plugin_output *output)
{
    end_line(output);
    if (output->lines > OUTPUT_MOST && output->name)
        note_detail("%s says: %zu more lines", output->name, output->lines - OUTPUT_MOST);
    output->lines = 0;
}
