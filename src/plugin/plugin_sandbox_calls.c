/* The part of the sandbox that seccomp makes: which system calls fail with EPERM. */
#include "plugin/plugin_sandbox.h"

#ifdef HALO_WITH_SECCOMP

#include "plugin/seccomp_library.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Calls that libseccomp may be too old to know have the same number on all processors. */
struct forbidden_call {
    const char *name;
    int number;
};

static const struct forbidden_call forbidden[] = {
    /* other programs and processes */
    {"execve", 0},
    {"execveat", 0},
    {"fork", 0},
    {"vfork", 0},
    {"ptrace", 0},
    {"process_vm_readv", 0},
    {"process_vm_writev", 0},
    {"process_madvise", 440},
    {"process_mrelease", 448},
    {"kcmp", 0},
    {"pidfd_open", 434},
    {"pidfd_getfd", 438},
    {"pidfd_send_signal", 424},
    {"tkill", 0},
    {"unshare", 0},
    {"setns", 0},
    /* the network: what socketpair() makes has no names */
    {"socket", 0},
    {"connect", 0},
    {"bind", 0},
    {"listen", 0},
    {"accept", 0},
    {"accept4", 0},
    /* memory that does not count as the process's, or is shared with others */
    {"memfd_create", 0},
    {"memfd_secret", 447},
    {"shmget", 0},
    {"shmat", 0},
    {"shmctl", 0},
    {"msgget", 0},
    {"msgsnd", 0},
    {"msgrcv", 0},
    {"msgctl", 0},
    {"semget", 0},
    {"semop", 0},
    {"semtimedop", 0},
    {"semctl", 0},
    {"mq_open", 0},
    {"mq_unlink", 0},
    /* what Landlock leaves free: whose a file is, who may use it, and when it was used */
    {"chmod", 0},
    {"fchmod", 0},
    {"fchmodat", 0},
    {"fchmodat2", 452},
    {"chown", 0},
    {"fchown", 0},
    {"lchown", 0},
    {"fchownat", 0},
    {"setxattr", 0},
    {"lsetxattr", 0},
    {"fsetxattr", 0},
    {"setxattrat", 463},
    {"removexattr", 0},
    {"lremovexattr", 0},
    {"fremovexattr", 0},
    {"removexattrat", 466},
    {"file_setattr", 469},
    {"utime", 0},
    {"utimes", 0},
    {"futimesat", 0},
    {"utimensat", 0},
    {"name_to_handle_at", 0},
    {"open_by_handle_at", 0},
    /* what others do with their files */
    {"inotify_init", 0},
    {"inotify_init1", 0},
    {"fanotify_init", 0},
    /* the system */
    {"mount", 0},
    {"umount2", 0},
    {"pivot_root", 0},
    {"chroot", 0},
    {"open_tree", 428},
    {"open_tree_attr", 467},
    {"move_mount", 429},
    {"fsopen", 430},
    {"fsconfig", 431},
    {"fsmount", 432},
    {"fspick", 433},
    {"mount_setattr", 442},
    {"quotactl", 0},
    {"quotactl_fd", 443},
    {"swapon", 0},
    {"swapoff", 0},
    {"bpf", 0},
    {"perf_event_open", 0},
    {"userfaultfd", 0},
    {"io_uring_setup", 425},
    {"io_uring_enter", 426},
    {"io_uring_register", 427},
    {"add_key", 0},
    {"request_key", 0},
    {"keyctl", 0},
    {"init_module", 0},
    {"finit_module", 0},
    {"delete_module", 0},
    {"kexec_load", 0},
    {"kexec_file_load", 0},
    {"reboot", 0},
    {"syslog", 0},
    {"acct", 0},
    {"settimeofday", 0},
    {"clock_settime", 0},
    {"clock_adjtime", 0},
    {"adjtimex", 0},
    {"sethostname", 0},
    {"setdomainname", 0},
    {"vhangup", 0},
    {"iopl", 0},
    {"ioperm", 0},
    {"modify_ldt", 0},
    {"migrate_pages", 0},
    {"move_pages", 0},
};

static int number_of_call(const struct forbidden_call *call)
{
    int number = seccomp_syscall_resolve_name(call->name);
    return number == __NR_SCMP_ERROR && call->number ? call->number : number;
}

/* Negative: not a call of this processor. */
static int forbid(scmp_filter_ctx filter)
{
    int error = 0;
    for (size_t i = 0; error == 0 && i < sizeof forbidden / sizeof *forbidden; i++) {
        int number = number_of_call(&forbidden[i]);
        if (number >= 0)
            error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0);
    }
    return error;
}

/* The kernel looks at 32 bits of most arguments, whatever stands above them. */
#define UNLESS(CALL, ARGUMENT, VALUE) {SCMP_SYS(CALL), {ARGUMENT, SCMP_CMP_NE, VALUE, 0}}
#define IF_BITS(CALL, ARGUMENT, MASK, VALUE)                                                       \
    {                                                                                              \
        SCMP_SYS(CALL),                                                                            \
        {                                                                                          \
            ARGUMENT, SCMP_CMP_MASKED_EQ, MASK, VALUE                                              \
        }                                                                                          \
    }

/* Calls that depend on an argument; each row is a case that fails. */
static int forbid_cases(scmp_filter_ctx filter)
{
    const uint64_t self = (uint64_t)getpid();
    const struct {
        int call;
        struct scmp_arg_cmp when;
    } cases[] = {
        IF_BITS(clone, 0, CLONE_THREAD, 0),
        UNLESS(kill, 0, self),
        UNLESS(tgkill, 0, self),
        UNLESS(rt_sigqueueinfo, 0, self),
        UNLESS(rt_tgsigqueueinfo, 0, self),
        UNLESS(prlimit64, 0, 0), /* itself */
        UNLESS(setpriority, 0, PRIO_PROCESS),
        UNLESS(personality, 0, UINT32_MAX), /* asks */
        /* A pair of datagram sockets (SOCK_RAW is another word for them) could send to a name. */
        UNLESS(socketpair, 0, AF_UNIX),
        IF_BITS(socketpair, 1, 0xf, SOCK_DGRAM),
        IF_BITS(socketpair, 1, 0xf, SOCK_RAW),
        /* Signals sent by the kernel, and what is typed into a terminal. */
        IF_BITS(fcntl, 1, UINT32_MAX, F_SETOWN),
        IF_BITS(fcntl, 1, UINT32_MAX, F_SETOWN_EX),
        IF_BITS(ioctl, 1, UINT32_MAX, TIOCSTI),
    };
    int error = 0;
    for (size_t i = 0; error == 0 && i < sizeof cases / sizeof *cases; i++)
        error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), cases[i].call, 1, cases[i].when);
    return error;
}

/* It cannot be looked into; without it the C library takes clone. */
static int forbid_clone3(scmp_filter_ctx filter)
{
    enum { CLONE3 = 435 };
    return seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), CLONE3, 0);
}

bool sandbox_offers_calls(void)
{
    const uint32_t action = SECCOMP_RET_ERRNO;
    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

enum status sandbox_prepare_calls(void)
{
    return library_open(&seccomp_library);
}

enum status sandbox_enter_calls(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int error = filter ? 0 : -ENOMEM;
    if (error == 0) /* calls of other processors, such as those of 32 bits */
        error = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));
    if (error == 0) /* a tree instead of a list */
        error = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (error == 0)
        error = forbid(filter);
    if (error == 0)
        error = forbid_cases(filter);
    if (error == 0)
        error = forbid_clone3(filter);
    if (error == 0)
        error = seccomp_load(filter); /* sets no_new_privs */
    if (filter)
        seccomp_release(filter);
    return error ? fail_errno(-error, "cannot keep a plugin from system calls (seccomp)")
                 : STATUS_OK;
}

#else

bool sandbox_offers_calls(void)
{
    return false;
}

enum status sandbox_prepare_calls(void)
{
    return STATUS_OK;
}

enum status sandbox_enter_calls(void)
{
    return fail(CAUSE_UNSUPPORTED, "halo was built without libseccomp");
}

#endif
