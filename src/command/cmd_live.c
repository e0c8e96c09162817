#include "command/cmd_live.h"

#include "base/stop.h"
#include "live/live_session.h"

enum status cmd_live(int argc, char **argv)
{
    struct live_options options;
    enum status status = live_options_parse(&options, argc, argv);
    if (status == STATUS_OK && options.play.help) {
        live_options_print_help();
    } else if (status == STATUS_OK) {
        note_verbosity(options.play.verbosity);
        stop_watch();
        status = live_session_run(&options);
    }
    live_options_free(&options);
    return status;
}
