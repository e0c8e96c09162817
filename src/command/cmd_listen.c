#include "base/stop.h"
#include "listen/listen_file.h"
#include "listen/listen_session.h"
#include "listen/trial_verify.h"

#include <stdio.h>

static enum status verify(const char *log)
{
    const char *fault = NULL;
    enum status status = trial_verify(log, &fault);
    if (status == STATUS_OK && fault)
        return fail(STATUS_FAILED, "%s is not as the test left it: %s", log, fault);
    if (status == STATUS_OK)
        printf("%s: the key is the one of the commitment, and the result follows from the "
               "answers\n",
               log);
    return status;
}

enum status listen_run(void *context)
{
    struct listen_options *options = context;
    if (options->verify)
        return verify(options->verify);
    enum status status = listen_options_check(options);
    if (status != STATUS_OK)
        return status;
    note_verbosity(options->play.verbosity);
    stop_watch();
    return options->to_file ? listen_to_file(options) : listen_session_run(options);
}
