/* What a plugin prints: notes with its name before each line, with --verbose, until it is too much;
 * and its last line, for the message about its end. And what it complains of, which is a warning.
 * Threads: one at a time for a struct; any for plugin_output_warn. */
#ifndef HALO_PLUGIN_OUTPUT_H
#define HALO_PLUGIN_OUTPUT_H

#include <stddef.h>

enum { OUTPUT_LINE = 1024, OUTPUT_LAST = 120, OUTPUT_MOST = 20 /* lines that are shown */ };

struct plugin_output {
    const char *name; /* of the plugin; not owned. NULL: no notes */
    size_t length, lines;
    char line[OUTPUT_LINE];
    char last[OUTPUT_LAST]; /* the last line that was not empty; "" if none */
};

void plugin_output_init(struct plugin_output *output, const char *name);

/* Take what it printed. Control characters become spaces. */
void plugin_output_take(struct plugin_output *output, const char *bytes, size_t count);

/* A line about the plugin of this name, which begins it unless it does so already. Printed once in
 * a run: all instances say the same, and so does the one whose latency is measured beforehand. */
void plugin_output_warn(const char *name, const char *line);

/* It will print no more: an unfinished line counts, and the lines left out are counted. */
void plugin_output_end(struct plugin_output *output);

#endif
