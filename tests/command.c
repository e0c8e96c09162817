#include "command.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];

static void remove_folder(void)
{
    char line[128];
    snprintf(line, sizeof line, "rm -rf '%s'", folder);
    if (chdir("/") != 0 || system(line) != 0)
        fprintf(stderr, "cannot remove %s\n", folder);
}

const char *command_folder(void)
{
    if (folder[0])
        return folder;
    snprintf(folder, sizeof folder, "/tmp/halo-test-XXXXXX");
    if (!mkdtemp(folder)) {
        perror("mkdtemp");
        abort();
    }
    setenv("HALO", HALO_PROGRAM, 1);
    setenv("FILTERS", HALO_FILTERS, 1);
    setenv("WAV", HALO_WAV, 1);
    atexit(remove_folder);
    return folder;
}

static void slurp(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "rb");
    size_t length = file ? fread(text, 1, size - 1, file) : 0;
    text[length] = '\0';
    if (file)
        fclose(file);
}

struct command_result command_run(const char *format, ...)
{
    struct command_result result;
    char line[4096], wrapped[8192], path[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    command_folder();
    snprintf(wrapped, sizeof wrapped, "cd '%s' && { %s\n} >.out 2>.err </dev/null", folder, line);
    int status = system(wrapped);
    result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    snprintf(path, sizeof path, "%s/.out", folder);
    slurp(path, result.out, sizeof result.out);
    snprintf(path, sizeof path, "%s/.err", folder);
    slurp(path, result.err, sizeof result.err);
    return result;
}

size_t command_lines(const char *text)
{
    size_t lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}
