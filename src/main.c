/* halo: the program around its commands. */
#include "base/json_text.h"
#include "base/stop.h"
#include "command/commands.h"

#include <fcntl.h>
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

int main(int argc, char **argv)
{
    open_standard_files();
    json_watch_memory();
    enum status status = program_run(&command_halo, argc, argv);
    if (status == STATUS_INTERRUPTED) {
        note("stopped");
        stop_raise_again();
        status = STATUS_FAILED;
    }
    if (status == STATUS_OK && (fflush(stdout) != 0 || ferror(stdout)))
        status = fail(STATUS_FAILED, "cannot write standard output");
    return (int)status;
}
