#include "base/cause.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

enum cause cause_of_errno(int error)
{
    static const struct {
        int error;
        enum cause cause;
    } rows[] = {
        {ENOENT, CAUSE_MISSING},        {ENOTDIR, CAUSE_MISSING},
        {EEXIST, CAUSE_EXISTS},         {EACCES, CAUSE_NOT_PERMITTED},
        {EPERM, CAUSE_NOT_PERMITTED},   {EFBIG, CAUSE_UNSUPPORTED},
        {ENOSYS, CAUSE_UNSUPPORTED},    {ENOTSUP, CAUSE_UNSUPPORTED},
        {ENOSPC, CAUSE_NO_SPACE},       {EDQUOT, CAUSE_NO_SPACE},
        {EROFS, CAUSE_READ_ONLY},       {ENOMEM, CAUSE_NO_MEMORY},
        {EIO, CAUSE_TEMPORARY},         {ESTALE, CAUSE_TEMPORARY},
        {EAGAIN, CAUSE_TEMPORARY},      {EMFILE, CAUSE_TEMPORARY},
        {ENFILE, CAUSE_TEMPORARY},      {ETIMEDOUT, CAUSE_TEMPORARY},
        {EBUSY, CAUSE_TEMPORARY},       {ECONNRESET, CAUSE_TEMPORARY},
        {ENETUNREACH, CAUSE_TEMPORARY},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].error == error)
            return rows[i].cause;
    return CAUSE_OTHER;
}

struct flaw flaw_of_errno(int error)
{
    return (struct flaw){cause_of_errno(error), strerror(error)};
}

const char *cause_name(enum cause cause)
{
    static const char *const names[] = {"other",         "usage",     "missing",     "exists",
                                        "not permitted", "damaged",   "unsupported", "no space",
                                        "read-only",     "no memory", "temporary",   "busy",
                                        "device",        "no GPU",    "some failed", "interrupted"};
    return names[cause];
}
