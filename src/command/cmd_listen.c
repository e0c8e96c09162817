#include "command/cmd_listen.h"

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

enum status cmd_listen(int argc, char **argv)
{
    struct listen_options options;
    enum status status = listen_options_parse(&options, argc, argv);
    if (status == STATUS_OK && options.play.help) {
        listen_options_print_help();
    } else if (status == STATUS_OK && options.verify) {
        status = verify(options.verify);
    } else if (status == STATUS_OK) {
        note_verbosity(options.play.verbosity);
        stop_watch();
        status = options.to_file ? listen_to_file(&options) : listen_session_run(&options);
    }
    listen_options_free(&options);
    return status;
}
