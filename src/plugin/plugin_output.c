#include "plugin/plugin_output.h"

#include "base/status.h"

#include <ctype.h>
#include <stdio.h>
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
    if (output->lines++ < OUTPUT_MOST)
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

void plugin_output_end(struct plugin_output *output)
{
    end_line(output);
    if (output->lines > OUTPUT_MOST)
        note_detail("%s says: %zu more lines", output->name, output->lines - OUTPUT_MOST);
    output->lines = 0;
}
