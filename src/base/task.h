/* A task: work on a thread without real-time priority. Its owner takes the result when it is done,
 * or gives it up: the thread then frees the task when the work returns, since a disk can be slow and
 * a network file can hang.
 *
 * `struct task` is the first member of an object on the heap. Threads: the owner's, except for what
 * the work calls. */
#ifndef HALO_TASK_H
#define HALO_TASK_H

#include "base/status.h"

#include <pthread.h>
#include <stdatomic.h>

enum { TASK_REASON = 1000 /* bytes, with its 0 */ };

enum task_state { TASK_WORKS, TASK_HOLDS, TASK_DONE, TASK_GIVEN_UP };

struct task {
    bool is_quiet;            /* notes and warnings of the work are dropped */
    atomic_bool is_cancelled; /* the owner wants no result; read by the work */
    char reason[TASK_REASON]; /* why the work of a done task failed; "": it did not */
    enum status (*work)(struct task *task);
    void (*destroy)(struct task *task);
    pthread_t thread;
    _Atomic(enum task_state) state;
};

/* Starts `work` for "a mask" (`what`) on a thread of that name. `destroy` frees the object, also if
 * there is no thread. Errors: memory. */
MUST_CHECK enum status task_start(struct task *task, const char *thread, const char *what,
                                  enum status (*work)(struct task *task),
                                  void (*destroy)(struct task *task));

bool task_is_done(const struct task *task);

/* Frees a done task, or gives up another one. Returns when the work no longer holds anything. NULL
 * is ignored. */
void task_release(struct task *task);

/* The work calls them around its use of what the owner may free after task_release. Fails if the
 * owner has given the task up. */
MUST_CHECK enum status task_hold(struct task *task);
void task_let_go(struct task *task);

#endif
