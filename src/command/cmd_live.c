#include "base/stop.h"
#include "live/live_session.h"

enum status live_run(void *context)
{
    struct live_options *options = context;
    TRY(live_options_check(options));
    options->play.device.wants_input = true;
    note_verbosity(options->play.verbosity);
    stop_watch();
    return live_session_run(options);
}
