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

/* Opens standard descriptors that are closed. Otherwise the next open file would get such a
 * descriptor, and messages would be written to it. Writing to closed standard output still fails,
 * so that nobody believes that the output was kept. */
static void open_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR) != fd)
            _exit(STATUS_FAILED);
}

/* Checks that all standard output was written. Otherwise the program fails. */
static enum status end_output(enum status status)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    if (status != STATUS_OK)
        return status;
    int error = fflush(stdout) != 0 ? errno : 0;
    if (!error && !ferror(stdout))
        return STATUS_OK;
    if (poll(&out, 1, 0) > 0 && (out.revents & POLLERR)) { /* the reader of the pipe has ended */
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    return error ? fail_errno(error, "cannot write standard output")
                 : fail(CAUSE_OTHER, "cannot write standard output");
}

/* Reports the signal that stopped halo, once. Whatever failed after the signal may have failed
 * because of it. */
static enum status report_stop(void)
{
    struct failure last;
    bool is_reported = failure_last(&last) && last.cause == CAUSE_INTERRUPTED;
    return is_reported ? STATUS_INTERRUPTED : fail(CAUSE_INTERRUPTED, "stopped");
}

int main(int argc, char **argv)
{
    open_standard_files();
    /* the plugins own the signals of a process that runs plugins; halo ends it */
    if (argc < 2 || strncmp(argv[1], "plugin-", strlen("plugin-")) != 0)
        stop_begin();
    signal(SIGXFSZ, SIG_IGN); /* a file beyond the size limit makes write() fail */
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
