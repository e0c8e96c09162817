/* Runs a program as on a system that lacks what halo's sandbox is made of; for test_plugin_sandbox.
 *
 *   without landlock|seccomp|namespaces PROGRAM [ARGUMENTS]
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LANDLOCK_CREATE_RULESET = 444 };

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define ANY_BIT(bits, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, yes, no)
#define ANSWER(value) BPF_STMT(BPF_RET | BPF_K, value)

/* Call `number` is unknown. */
static int forget(unsigned number)
{
    struct sock_filter lines[] = {LOAD(nr), EQUAL(number, 0, 1), ANSWER(SECCOMP_RET_ERRNO | ENOSYS),
                                  ANSWER(SECCOMP_RET_ALLOW)};
    const struct sock_fprog filter = {.len = sizeof lines / sizeof *lines, .filter = lines};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

/* No process in a new namespace of users (on little-endian processors). */
static int forget_namespaces(void)
{
    struct sock_filter lines[] = {LOAD(nr),
                                  EQUAL(SYS_clone, 0, 3),
                                  LOAD(args[0]),
                                  ANY_BIT(CLONE_NEWUSER, 0, 1),
                                  ANSWER(SECCOMP_RET_ERRNO | EPERM),
                                  ANSWER(SECCOMP_RET_ALLOW)};
    const struct sock_fprog filter = {.len = sizeof lines / sizeof *lines, .filter = lines};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

int main(int argc, char **argv)
{
    if (argc < 3 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return 1;
    int failed = strcmp(argv[1], "landlock") == 0  ? forget(LANDLOCK_CREATE_RULESET)
                 : strcmp(argv[1], "seccomp") == 0 ? forget(SYS_seccomp)
                                                   : forget_namespaces();
    if (failed == 0)
        execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 1;
}
