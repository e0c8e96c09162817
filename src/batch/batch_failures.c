#include "batch/batch_failures.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

static bool says(const char *problem, const int *errors, size_t count)
{
    bool found = false;
    for (size_t i = 0; i < count; i++)
        found = found || strstr(problem, strerror(errors[i]));
    return found;
}

bool batch_disk_is_full(const char *problem)
{
    static const int errors[] = {ENOSPC, EDQUOT, EROFS};
    return says(problem, errors, sizeof errors / sizeof *errors);
}

bool batch_failure_may_pass(const char *problem)
{
    static const int errors[] = {EIO,       ESTALE, EAGAIN, EMFILE,     ENFILE,
                                 ETIMEDOUT, ENOMEM, EBUSY,  ECONNRESET, ENETUNREACH};
    return says(problem, errors, sizeof errors / sizeof *errors) ||
           strstr(problem, "not enough memory");
}

void batch_failure_report(const char *id, const struct failure *problem)
{
    const char *before = log_prefix(id ? id : "?");
    enum status printed = fail_again(STATUS_FAILED, problem);
    log_prefix(before);
    (void)printed;
}
