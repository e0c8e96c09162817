/* Why a call failed: what programs read, such as batch's retry, libhalo and --json. Threads: any.
 */
#ifndef HALO_CAUSE_H
#define HALO_CAUSE_H

enum cause {
    CAUSE_OTHER,
    CAUSE_USAGE,         /* The command line, a job, or an argument of a call is wrong. */
    CAUSE_MISSING,       /* A file, a plugin or a program is not there. */
    CAUSE_EXISTS,        /* halo would have replaced a file. */
    CAUSE_NOT_PERMITTED, /* The system's permissions forbid it. */
    CAUSE_DAMAGED,       /* The content of a file breaks the rules of its format. */
    CAUSE_UNSUPPORTED,   /* halo, this build, or a format has no way to do it. */
    CAUSE_NO_SPACE,      /* A disk is full. */
    CAUSE_READ_ONLY,     /* A disk takes no writes. */
    CAUSE_NO_MEMORY,     /* Memory ran out, or a thread could not be started. */
    CAUSE_TEMPORARY,     /* The call may succeed later: I/O errors, too many open files. */
    CAUSE_BUSY,          /* An earlier call has not ended. */
    CAUSE_DEVICE,        /* A GPU, a sound device or a sound server failed. */
    CAUSE_NO_GPU,        /* No GPU can be used. */
    CAUSE_SOME_FAILED,   /* Some of many jobs failed. */
    CAUSE_INTERRUPTED,   /* A signal asked to stop. */
};

/* The cause of a number from <errno.h>. */
enum cause cause_of_errno(int error);

/* What is wrong with a file. */
struct flaw {
    enum cause cause;
    const char *text; /* the end of a message; NULL: nothing is wrong */
};

/* The flaw in the system's words. They are valid until this thread's next strerror(). */
struct flaw flaw_of_errno(int error);

/* "no space": the word of --json. */
const char *cause_name(enum cause cause);

#endif
