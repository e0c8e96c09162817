#include "server_rig.h"

#include "base/monotonic.h"
#include "command.h"
#include "suite.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAUSE = 5 /* ms */ };

/* Ctrl-C in the terminal goes to the test, and the keeper ends with it. */
static void become_keeper(int life, int answer, const char *const *keeper)
{
    if (setpgid(0, 0) != 0 || dup2(life, STDIN_FILENO) < 0 || dup2(answer, 4) < 0)
        _exit(126);
    execvp(keeper[0], (char *const *)keeper);
    _exit(127);
}

void server_rig_start(struct server_rig *rig, const char *const *keeper)
{
    int life[2], answer[2];
    ck_assert_int_eq(pipe2(life, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(answer, O_CLOEXEC), 0);
    rig->keeper = fork();
    ck_assert_int_ge(rig->keeper, 0);
    if (rig->keeper == 0)
        become_keeper(life[0], answer[1], keeper);
    close(life[0]);
    close(answer[1]);
    rig->life = life[1];
    char text[16] = "";
    ck_assert_int_gt(read(answer[0], text, sizeof text - 1), 0);
    close(answer[0]);
    rig->server = (pid_t)strtol(text, NULL, 10);
    ck_assert_int_gt(rig->server, 1);
}

void server_rig_end(struct server_rig *rig, int number)
{
    if (rig->keeper == 0)
        return;
    if (rig->server > 1)
        kill(rig->server, number);
    close(rig->life);
    waitpid(rig->keeper, NULL, 0);
    rig->keeper = rig->server = 0;
}

int64_t server_rig_deadline(void)
{
    return monotonic_ns() + COMMAND_PATIENCE * INT64_C(1000000000);
}

void server_rig_pause(void)
{
    const struct timespec pause = {.tv_nsec = PAUSE * 1000000};
    nanosleep(&pause, NULL);
}

void server_rig_wait(int64_t deadline, const char *missing)
{
    ck_assert_msg(monotonic_ns() < deadline, "there is none: %s", missing);
    server_rig_pause();
}
