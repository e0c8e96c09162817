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
    static const char *const names[] = {
        [CAUSE_OTHER] = "other",
        [CAUSE_USAGE] = "usage",
        [CAUSE_MISSING] = "missing",
        [CAUSE_EXISTS] = "exists",
        [CAUSE_NOT_PERMITTED] = "not permitted",
        [CAUSE_DAMAGED] = "damaged",
        [CAUSE_UNSUPPORTED] = "unsupported",
        [CAUSE_NO_SPACE] = "no space",
        [CAUSE_READ_ONLY] = "read-only",
        [CAUSE_NO_MEMORY] = "no memory",
        [CAUSE_TEMPORARY] = "temporary",
        [CAUSE_BUSY] = "busy",
        [CAUSE_DEVICE] = "device",
        [CAUSE_NO_GPU] = "no GPU",
        [CAUSE_SOME_FAILED] = "some failed",
        [CAUSE_INTERRUPTED] = "interrupted",
    };
    return names[cause];
}
