#include "listen/listen_session.h"

#include "signal/audio.h"

#include <math.h>
#include <poll.h>

static const double GAIN_STEP_DB = 1, GAIN_LEAST_DB = -60, GAIN_MOST_DB = 24;
static const double STEP = 1, PAGE = 10; /* seconds of a seek */

static void send(struct listen_session *session, enum live_control what, double value)
{
    const struct live_event event = {.what = what, .value = value};
    if (!live_send(session->live, &event))
        listen_notify(session, "too many changes wait: one was left out");
}

void listen_control_leave(struct listen_session *session)
{
    if (!session->leaving)
        send(session, LIVE_END, 0);
    session->leaving = true;
}

static void set_dry(struct listen_session *session, bool dry)
{
    if (session->dry != dry)
        send(session, LIVE_DRY, dry);
    session->dry = dry;
}

static void choose(struct listen_session *session, size_t choice)
{
    if (choice >= session->chain.choice_count) {
        listen_notify(session, "there is no mask %zu", choice + 1);
        return;
    }
    set_dry(session, false);
    listen_switch_to(session, choice);
}

/* In a test the limiter must not have anything to do, since masks would differ by that. */
static void add_gain(struct listen_session *session, double db)
{
    double most = listen_options_test(session->options) ? 0 : GAIN_MOST_DB;
    session->gain_db = fmin(most, fmax(GAIN_LEAST_DB, session->gain_db + db));
    send(session, LIVE_GAIN, audio_from_db(session->gain_db));
}

static void seek(struct listen_session *session, double seconds)
{
    double rate = (double)session->info.rate;
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
        listen_notify(session, "no picture in a blind ranking");
    else
        listen_show_picture(session, !session->picture);
}

static void take_key(struct listen_session *session, int key)
{
    bool test = listen_options_test(session->options);
    if (session->leaving || listen_trial_key(session, key) || seek_by_key(session, key))
        return;
    if (!test && live_controls_key(&session->controls, key))
        return;
    if (key == '[' || key == ']') {
        add_gain(session, key == ']' ? GAIN_STEP_DB : -GAIN_STEP_DB);
    } else if (key == 'm') {
        session->muted = !session->muted;
        send(session, LIVE_MUTE, session->muted);
    } else if (key == 'p') {
        toggle_picture(session);
    } else if (key == 'q') {
        listen_control_leave(session);
    } else if (!test && (key == ' ' || key == '0')) { /* 0, as the screen lists it */
        set_dry(session, key == '0' || !session->dry);
    } else if (!test && key >= '1' && key <= '9') {
        choose(session, (size_t)(key - '1'));
    }
}

void listen_control_wait(struct listen_session *session, int milliseconds)
{
    struct pollfd fd = {.fd = view_key_fd(session->view), .events = POLLIN};
    bool end = fd.fd < 0;
    int key;
    (void)poll(&fd, 1, milliseconds);
    while ((key = view_key(session->view)) != VIEW_KEY_NONE)
        take_key(session, key);
    if (end && listen_trial_runs(session)) {
        listen_notify(session, "there is nobody to answer any more: the test ends here");
        listen_trial_stop(session);
    }
}
