/* Why a call failed: what programs read, such as batch's retry, libhalo and --json. Threads: any.
 */
#ifndef HALO_CAUSE_H
#define HALO_CAUSE_H

enum cause {
    CAUSE_OTHER,
    CAUSE_USAGE,         /* the command line, a job, or an argument of a call */
    CAUSE_MISSING,       /* a file, a plugin or a program is not there */
    CAUSE_EXISTS,        /* halo would have replaced a file */
    CAUSE_NOT_PERMITTED, /* by the system's permissions */
    CAUSE_DAMAGED,       /* the content of a file breaks the rules of its format */
    CAUSE_UNSUPPORTED,   /* halo, this build, or a format has no way to do it */
    CAUSE_NO_SPACE,
    CAUSE_READ_ONLY, /* a disk */
    CAUSE_NO_MEMORY, /* or no thread */
    CAUSE_TEMPORARY, /* the same call may succeed later: I/O errors, too many open files */
    CAUSE_BUSY,      /* what was begun before is not over */
    CAUSE_DEVICE,    /* a GPU, a sound device or its server */
    CAUSE_NO_GPU,    /* none can be used at all */
    CAUSE_SOME_FAILED,
    CAUSE_INTERRUPTED, /* by a signal */
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
