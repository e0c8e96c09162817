#include "base/task.h"

#include "base/thread.h"

#include <string.h>

static bool change(struct task *task, enum task_state from, enum task_state to)
{
    return atomic_compare_exchange_strong(&task->state, &from, to);
}

static void *task_main(void *argument)
{
    struct task *task = argument;
    char notes[TASK_REASON];
    if (task->is_quiet)
        log_capture_notes(notes, sizeof notes);
    const struct log_keeper before = log_keep_in(task->reason, sizeof task->reason);
    enum status status = task->work(task);
    log_keep_again(&before);
    log_capture_notes(NULL, 0);
    if (status == STATUS_OK)
        task->reason[0] = '\0';
    else if (!*task->reason)
        strcpy(task->reason, "it was interrupted");
    if (atomic_exchange(&task->state, TASK_DONE) == TASK_GIVEN_UP)
        task->destroy(task);
    return NULL;
}

enum status task_start(struct task *task, const char *thread, const char *what,
                       enum status (*work)(struct task *task), void (*destroy)(struct task *task))
{
    task->work = work;
    task->destroy = destroy;
    int error = thread_start(&task->thread, thread, THREAD_ORDINARY, task_main, task);
    if (error == 0)
        return STATUS_OK;
    destroy(task);
    return fail(CAUSE_NO_MEMORY, "cannot start a thread for %s: %s", what, thread_error(error));
}

bool task_is_done(const struct task *task)
{
    return atomic_load(&task->state) == TASK_DONE;
}

void task_release(struct task *task)
{
    if (!task)
        return;
    pthread_t thread = task->thread;
    atomic_store(&task->is_cancelled, true);
    if (change(task, TASK_WORKS, TASK_GIVEN_UP)) {
        pthread_detach(thread);
        return;
    }
    pthread_join(thread, NULL);
    task->destroy(task);
}

enum status task_hold(struct task *task)
{
    return change(task, TASK_WORKS, TASK_HOLDS) ? STATUS_OK : STATUS_INTERRUPTED;
}

void task_let_go(struct task *task)
{
    change(task, TASK_HOLDS, TASK_WORKS);
}
