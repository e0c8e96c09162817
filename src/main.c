/* halo: the program around its commands. */
#include "base/failure_json.h"
#include "base/json_text.h"
#include "base/stop.h"
#include "command/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* A closed standard descriptor would be reused by the next open file, and messages written to it.
 * What is written to closed standard output fails, so that nobody takes it for kept. */
static void open_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR) != fd)
            _exit(STATUS_FAILED);
}

/* Standard output is complete, or it is a failure. */
static enum status end_output(enum status status)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    if (status != STATUS_OK)
        return status;
    int error = fflush(stdout) != 0 ? errno : 0;
    if (!error && !ferror(stdout))
        return STATUS_OK;
    if (poll(&out, 1, 0) > 0 && (out.revents & POLLERR)) { /* nobody reads that pipe */
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    return error ? fail_errno(error, "cannot write standard output")
                 : fail(CAUSE_OTHER, "cannot write standard output");
}

/* What failed after a signal may have failed by it: the signal is the reason, once. */
static enum status report_stop(void)
{
    struct failure last;
    bool is_reported = failure_last(&last) && last.cause == CAUSE_INTERRUPTED;
    return is_reported ? STATUS_INTERRUPTED : fail(CAUSE_INTERRUPTED, "stopped");
}

int main(int argc, char **argv)
{
    open_standard_files();
    /* The signals of a process for plugins are the plugins' own; halo ends it. */
    if (argc < 2 || strncmp(argv[1], "plugin-", strlen("plugin-")) != 0)
        stop_begin();
    signal(SIGXFSZ, SIG_IGN); /* a file beyond a limit of its size is an error of write() */
    json_watch_memory();
    failure_json_begin(argv);
    enum status status = end_output(program_run(&command_halo, argc, argv));
    bool failed = status != STATUS_OK;
    bool stopped = stop_requested() && (failed || stop_was_the_end());
    int code = stopped ? stop_code() : (int)status;
    if (stopped && failed)
        status = report_stop();
    if (status != STATUS_OK && failure_json_print(code) != STATUS_OK)
        code = STATUS_FAILED;
    if (stopped)
        stop_raise_again();
    return stopped ? STATUS_FAILED : code;
}
