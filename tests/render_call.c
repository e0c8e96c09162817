#include "render_call.h"

#include "base/atomic_file.h"
#include "base/files_read.h"
#include "base/program.h"
#include "render/render_job.h"
#include "suite.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <unistd.h>

static void add_line(void *text, const char *line)
{
    snprintf((char *)text + strlen(text), FAILURE_BYTES - strlen(text), "halo: %s\n", line);
}

static enum status print(void *context, const struct report *report)
{
    (void)context;
    report_print(report);
    return STATUS_OK;
}

static enum status render(struct render_options *options, char *words)
{
    char *rest = words, *word = strtok_r(rest, " ", &rest);
    while (word) {
        char *name = word + strlen("--"), *value = strchr(name, '=');
        word = strtok_r(rest, " ", &rest);
        if (value) {
            *value++ = '\0';
        } else if (word && strncmp(word, "--", 2) != 0) {
            value = word;
            word = strtok_r(rest, " ", &rest);
        }
        TRY(program_set(&command_render, options, name, value));
    }
    TRY(render_options_check(options));
    note_verbosity(options->verbosity);
    return render_job_run(options, &options->chain.stages,
                          &(struct render_job_settings){.report = print});
}

struct command_result render_call(const char *in, const char *out, const char *options)
{
    static char lines[2][FAILURE_BYTES];
    struct render_options own = RENDER_OPTIONS_DEFAULTS;
    struct command_result result = {.out = "", .err = lines[strcmp(in, "-") == 0]};
    enum verbosity verbosity = note_verbosity_now();
    char words[1024];
    int folder = command_enter();
    ck_assert_int_eq(atomic_file_no_sync(NULL, NULL, NULL), STATUS_OK);
    snprintf(words, sizeof words, "%s", options);
    own.input = in;
    own.output = out;
    own.force = true;
    result.err[0] = '\0';
    messages_to(add_line, result.err);
    result.code = (int)render(&own, words);
    messages_to(NULL, NULL);
    note_verbosity(verbosity);
    files_read_forget(in);
    render_options_free(&own);
    command_leave(folder);
    return result;
}

struct command_result render_done(const char *in, const char *out, const char *options, ...)
{
    char words[1024];
    va_list arguments;
    va_start(arguments, options);
    vsnprintf(words, sizeof words, options, arguments);
    va_end(arguments);
    struct command_result result = render_call(in, out, words);
    ck_assert_msg(result.code == 0, "%s %s %s: status %d\n%s", in, out, words, result.code,
                  result.err);
    return result;
}

struct command_result render_call_pipe(const char *in, const char *out, const char *options)
{
    char bytes[1 << 16];
    int ends[2], before = dup(STDIN_FILENO), file = open(command_path(in), O_RDONLY | O_CLOEXEC);
    ck_assert(before >= 0 && file >= 0 && pipe2(ends, O_CLOEXEC) == 0);
    ssize_t size = read(file, bytes, sizeof bytes);
    ck_assert(size >= 0 && size < (ssize_t)sizeof bytes);
    ck_assert_int_eq(write(ends[1], bytes, (size_t)size), size);
    ck_assert_int_eq(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    close(file);
    close(ends[0]);
    close(ends[1]);
    struct command_result result = render_call("-", out, options);
    __fpurge(stdin);
    clearerr(stdin);
    dup2(before, STDIN_FILENO);
    close(before);
    return result;
}
