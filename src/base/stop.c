#include "base/stop.h"

#include "base/monotonic.h"
#include "base/realtime.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t caught = 0;

enum { HALF_FILES_MOST = 4 };
enum { AGAIN = 1 /* seconds */, AT_ONCE = 10000000 /* ns */ };
static const char *_Atomic half_files[HALF_FILES_MOST];
static atomic_bool watching = false;
static void (*volatile tidy_up)(void) = NULL;
static bool is_the_end = false;

/* There is no SA_RESTART, so that a blocked read or write returns and the flag is checked. */
static struct sigaction caught_by(void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    return action;
}

static void do_nothing(int number, siginfo_t *signal, void *context)
{
    (void)number;
    (void)signal;
    (void)context;
}

/* Starts a timer whose signals interrupt later calls. The first signal may have come between a
 * check of the flag and a call that waits, such as opening a FIFO without a writer. Signals to
 * other threads do not delay the timer. */
static void interrupt_again(void)
{
    const struct sigaction action = caught_by(do_nothing);
    const struct timeval again = {.tv_sec = AGAIN};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){again, again}, NULL);
}

static void end_now(int number)
{
    for (size_t i = 0; i < HALF_FILES_MOST; i++)
        if (half_files[i])
            unlink(half_files[i]);
    if (tidy_up)
        tidy_up();
    signal(number, SIG_DFL);
    raise(number);
}

static void end_with_a_line(int number, siginfo_t *signal, void *context)
{
    (void)signal;
    (void)context;
    static const char line[] = "halo: stopped\n";
    if (write(STDERR_FILENO, line, sizeof line - 1) < 0) {
        /* the pipe is not read any more */
    }
    end_now(number);
}

/* timeout(1) sends a signal to its child, and at once to the group, which includes the child. That
 * is one request to end, not two; a second request would end the program without its report. Keys
 * come from the terminal and have no sending process. Two of them are always two requests. */
static void catch_signal(int number, siginfo_t *signal, void *context)
{
    static volatile int64_t first;
    static volatile pid_t first_sender;
    pid_t sender = signal->si_code == SI_USER ? signal->si_pid : 0;
    int64_t now = monotonic_ns();
    (void)context;
    if (caught && !(sender != 0 && sender == first_sender && now - first <= AT_ONCE))
        end_now(number);
    if (caught)
        return;
    first = now;
    first_sender = sender;
    interrupt_again(); /* before other threads see the flag and interrupt as well */
    caught = number;
}

static void replace(const char *path, const char *by)
{
    for (size_t i = 0; i < HALF_FILES_MOST; i++)
        if (atomic_compare_exchange_strong(&half_files[i], &(const char *){path}, by))
            return;
}

void stop_remove(const char *path)
{
    replace(NULL, path);
}

void stop_leave(const char *path)
{
    replace(path, NULL);
}

void stop_before_end(void (*tidy)(void))
{
    tidy_up = tidy;
}

/* In the library, signals belong to the host program. */
void stop_allow_interrupt(void)
{
    if (!atomic_load(&watching))
        return;
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &own, NULL);
}

void stop_interrupt(pthread_t thread)
{
    pthread_kill(thread, SIGALRM);
}

static void handle_by(void (*handler)(int, siginfo_t *, void *))
{
    const struct sigaction action = caught_by(handler);
    const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction before;
        /* nohup and background shells ignore some of these signals. Those stay ignored. */
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
}

void stop_begin(void)
{
    handle_by(end_with_a_line);
}

void stop_watch(void)
{
    handle_by(catch_signal);
    atomic_store(&watching, true);
    /* write() then reports a broken pipe as an error. */
    signal(SIGPIPE, SIG_IGN);
}

HALO_REALTIME bool stop_requested(void)
{
    return caught != 0;
}

int stop_code(void)
{
    enum { BY_SIGNAL = 128 };
    return BY_SIGNAL + (int)caught;
}

void stop_is_the_end(void)
{
    is_the_end = true;
}

bool stop_was_the_end(void)
{
    return is_the_end && caught != 0;
}

void stop_raise_again(void)
{
    if (caught == 0)
        return;
    signal(caught, SIG_DFL);
    raise(caught);
}
