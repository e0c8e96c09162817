#include "listen/listen_session.h"

#include <math.h>
#include <poll.h>

static const double STEP = 1, PAGE = 10; /* seconds of a seek */

static void choose(struct listen_session *session, size_t choice)
{
    if (choice >= session->stream.chain.choice_count) {
        view_message(session->stream.view, "there is no mask %zu", choice + 1);
        return;
    }
    stream_session_set_dry(&session->stream, false);
    listen_switch_to(session, choice);
}

static void seek(struct listen_session *session, double seconds)
{
    double rate = (double)session->stream.info.rate;
    double at = (double)player_position(session->player) + seconds * rate;
    player_seek(session->player, (uint64_t)llround(fmax(0, at)));
}

/* False: it is none that moves about in the sound. */
static bool seek_by_key(struct listen_session *session, int key)
{
    static const struct {
        int key;
        double seconds;
    } moves[] = {
        {VIEW_KEY_LEFT, -STEP},     {VIEW_KEY_RIGHT, STEP},    {VIEW_KEY_DOWN, -PAGE},
        {VIEW_KEY_UP, PAGE},        {VIEW_KEY_PAGE_UP, -PAGE}, {VIEW_KEY_PAGE_DOWN, PAGE},
        {VIEW_KEY_HOME, -INFINITY},
    };
    for (size_t i = 0; i < sizeof moves / sizeof *moves && session->player; i++)
        if (moves[i].key == key) {
            seek(session, moves[i].seconds);
            return true;
        }
    return false;
}

static void toggle_picture(struct listen_session *session)
{
    if (session->options->blind > 0) /* its letters are none of these masks' */
        view_message(session->stream.view, "no picture in a blind ranking");
    else
        listen_show_picture(session, !session->picture);
}

static void handle_key(struct listen_session *session, int key)
{
    struct stream_session *stream = &session->stream;
    if (stream->leaving || listen_trial_key(session, key) || seek_by_key(session, key) ||
        stream_session_key(stream, key))
        return;
    if (key == 'p')
        toggle_picture(session);
    else if (!stream->blind && key >= '1' && key <= '9')
        choose(session, (size_t)(key - '1'));
}

void listen_control_wait(struct listen_session *session, int milliseconds)
{
    struct pollfd fd = {.fd = view_key_fd(session->stream.view), .events = POLLIN};
    bool end = fd.fd < 0;
    int key;
    (void)poll(&fd, 1, milliseconds);
    while ((key = view_key(session->stream.view)) != VIEW_KEY_NONE)
        handle_key(session, key);
    if (end && listen_trial_runs(session)) {
        view_message(session->stream.view,
                     "there is nobody to answer any more: the test ends here");
        listen_trial_stop(session);
    }
}
