#include "api/api_call.h"

#include "base/build_info.h"
#include "base/printable.h"

#include <stdio.h>
#include <string.h>

pthread_mutex_t api_gpu_lock = PTHREAD_MUTEX_INITIALIZER;

const char *halo_version(void)
{
    return HALO_VERSION;
}

unsigned halo_version_number(void)
{
    return HALO_VERSION_NUMBER;
}

/* Drops messages of the library's threads. No call waits for them. */
static void drop(void *context, const char *line)
{
    (void)context;
    (void)line;
}

void api_begin_alone(struct api_call *call)
{
    call->notes[0] = '\0';
    call->before = log_keep_failure(&call->failure);
    log_capture_notes(call->notes, sizeof call->notes);
    call->locale = (struct plain_locale){0};
}

void api_begin(struct api_call *call)
{
    messages_to(drop, NULL);
    api_begin_alone(call);
    call->locale = plain_locale_begin();
}

static enum halo_status code_of(enum cause cause)
{
    return cause == CAUSE_USAGE       ? HALO_USAGE
           : cause == CAUSE_NO_MEMORY ? HALO_NO_MEMORY
           : cause == CAUSE_BUSY      ? HALO_BUSY
           : cause == CAUSE_NO_GPU    ? HALO_NO_GPU
                                      : HALO_FAILED;
}

enum halo_status api_end(struct api_call *call, enum status status, struct halo_error *error)
{
    enum halo_status result = status == STATUS_OK ? HALO_OK : code_of(call->failure.cause);
    char text[HALO_ERROR_BYTES] = ""; /* both ends of a message that is too long */
    log_capture(text, sizeof text);
    if (status != STATUS_OK)
        status = fail_again(&call->failure);
    log_capture_notes(NULL, 0);
    log_keep_again(&call->before);
    plain_locale_end(call->locale);
    if (error) {
        error->status = result;
        printable_copy(error->text, sizeof error->text, text);
    }
    return result;
}

enum status api_read_struct(const void *given, void *own, size_t size, const char *what)
{
    size_t there;
    memset(own, 0, size);
    if (!given)
        return STATUS_OK;
    memcpy(&there, given, sizeof there);
    if (there < sizeof there || there > 1 << 16)
        return fail(CAUSE_USAGE, "%s has no size: set it to sizeof", what);
    memcpy(own, given, there < size ? there : size);
    for (size_t i = size; i < there; i++)
        if (((const char *)given)[i])
            return fail(CAUSE_USAGE, "%s asks for what this version, %s, does not know", what,
                        HALO_VERSION);
    return STATUS_OK;
}
