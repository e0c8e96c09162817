/* The threads that share a job: each piece is done once and by a worker of the right number, nobody
 * is at work after the end, and no thread is there that has nothing to do. */
#include "base/workers.h"
#include "signal/audio.h"
#include "suite.h"

#include <dirent.h>
#include <malloc.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum { PIECES = 60, JOBS = 3000, THREADS = 5 };

struct job {
    atomic_uint done[PIECES];
    atomic_uint at_work[THREADS]; /* scratch memory is one thread's at a time */
    atomic_uint clashes;
    atomic_uint together; /* pieces that are to begin before any ends */
};

static void do_piece(void *context, size_t piece, size_t worker)
{
    struct job *job = context;
    if (worker >= THREADS || atomic_fetch_add(&job->at_work[worker], 1) > 0)
        atomic_fetch_add(&job->clashes, 1);
    atomic_fetch_add(&job->done[piece], 1);
    if (worker < THREADS)
        atomic_fetch_sub(&job->at_work[worker], 1);
}

/* Jobs of any number of pieces, one straight after the other: who was woken for one comes when the
 * next has begun, or when there is none. */
static void run_jobs(struct workers *workers, size_t most)
{
    for (size_t n = 0; n < JOBS; n++) {
        struct job job = {0};
        size_t pieces = n * 7919 % (most + 1);
        workers_run(workers, pieces, do_piece, &job);
        ck_assert_uint_eq(atomic_load(&job.clashes), 0);
        for (size_t w = 0; w < THREADS; w++)
            ck_assert_uint_eq(atomic_load(&job.at_work[w]), 0);
        for (size_t p = 0; p < PIECES; p++)
            ck_assert_uint_eq(atomic_load(&job.done[p]), p < pieces);
    }
}

START_TEST(pieces_are_done_once)
{
    for (size_t count = 1; count <= THREADS; count++) {
        struct workers *now, *later;
        ck_assert_int_eq(workers_create(count, &now), STATUS_OK);
        ck_assert_int_eq(workers_create_for_later(count, &later), STATUS_OK);
        ck_assert_uint_eq(workers_count(now), count);
        ck_assert_uint_eq(workers_count(later), count);
        run_jobs(now, PIECES);
        run_jobs(later, 3); /* threads are started one after the other */
        run_jobs(later, PIECES);
        workers_destroy(now);
        workers_destroy(later);
    }
}

/* Ends when all pieces of the job are under way: each has a thread to itself. */
static void meet(void *context, size_t piece, size_t worker)
{
    struct job *job = context;
    (void)worker;
    atomic_fetch_add(&job->done[piece], 1);
    atomic_fetch_sub(&job->together, 1);
    while (atomic_load(&job->together) > 0)
        ;
}

static size_t threads_of_process(void)
{
    size_t count = 0;
    DIR *tasks = opendir("/proc/self/task");
    ck_assert_ptr_nonnull(tasks);
    for (const struct dirent *task; (task = readdir(tasks));)
        count += task->d_name[0] != '.';
    closedir(tasks);
    return count;
}

/* The kernel lists for a moment who has just ended. */
static size_t settled_threads(void)
{
    size_t least = threads_of_process();
    for (int i = 0; i < 100; i++) {
        const struct timespec moment = {.tv_nsec = 1000000};
        nanosleep(&moment, NULL);
        size_t now = threads_of_process();
        least = now < least ? now : least;
    }
    return least;
}

START_TEST(threads_start_when_a_piece_is_for_them)
{
    struct workers *workers;
    ck_assert_int_eq(workers_create(2, &workers), STATUS_OK);
    workers_destroy(workers); /* ThreadSanitizer starts one of its own beside the first */
    size_t before = settled_threads();
    ck_assert_int_eq(workers_create_for_later(THREADS, &workers), STATUS_OK);
    for (size_t pieces = 0; pieces <= THREADS; pieces++) {
        struct job job = {.together = (unsigned)pieces};
        workers_run(workers, pieces, meet, &job);
        ck_assert_uint_eq(threads_of_process() - before, pieces > 1 ? pieces - 1 : 0);
    }
    for (size_t pieces = 0; pieces <= THREADS; pieces++) {
        struct job job = {.together = (unsigned)pieces};
        workers_run(workers, pieces, meet, &job); /* of the threads that sleep, some are woken */
    }
    workers_destroy(workers);
    while (threads_of_process() > before) /* the kernel lists who has just ended */
        sched_yield();
}

START_TEST(a_job_of_a_moment_wakes_nobody)
{
    struct workers *workers;
    ck_assert_int_eq(workers_create_for_later(THREADS, &workers), STATUS_OK);
    ck_assert_ptr_null(workers_worth(workers, 0));
    ck_assert_ptr_null(workers_worth(workers, 1e3));
    ck_assert_ptr_null(workers_worth(NULL, 1e9));
    ck_assert_ptr_eq(workers_worth(workers, 1e9), workers);
    workers_destroy(workers);
}

START_TEST(rows_are_cleared_to_their_end)
{
    enum { ROWS = 7, FRAMES = 3 * 65536 + 5, BEHIND = 3 };
    struct workers *workers;
    float *rows[ROWS];
    ck_assert_int_eq(workers_create_for_later(THREADS, &workers), STATUS_OK);
    for (size_t r = 0; r < ROWS; r++) {
        rows[r] = audio_alloc_unset(FRAMES + BEHIND);
        ck_assert_ptr_nonnull(rows[r]);
        for (size_t i = 0; i < FRAMES + BEHIND; i++)
            rows[r][i] = 1;
    }
    audio_clear_rows(rows, ROWS, FRAMES, workers);
    for (size_t r = 0; r < ROWS; r++) {
        ck_assert(audio_is_silent(rows[r], FRAMES));
        for (size_t i = FRAMES; i < FRAMES + BEHIND; i++)
            ck_assert(rows[r][i] == 1);
        free(rows[r]);
    }
    workers_destroy(workers);
}

/* Among others on the heap, whose pages it shares. */
START_TEST(what_is_freed_by_all_has_neighbours)
{
    enum { COUNT = (1 << 25) + 3, NEAR = 999 };
    struct workers *workers;
    char before[NEAR], *beside[2];
    memset(before, 'x', sizeof before);
    ck_assert_int_eq(workers_create_for_later(THREADS, &workers), STATUS_OK);
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 30); /* a sanitizer's allocator takes no options */
    for (size_t n = 0; n < 3; n++) {
        beside[0] = malloc(NEAR);
        float *samples = audio_alloc_unset(COUNT);
        beside[1] = malloc(NEAR);
        ck_assert(beside[0] && samples && beside[1]);
        for (size_t i = 0; i < COUNT; i++)
            samples[i] = 1;
        memset(beside[0], 'x', NEAR);
        memset(beside[1], 'x', NEAR);
        audio_free(samples, COUNT, workers);
        for (size_t b = 0; b < 2; b++) {
            ck_assert_mem_eq(beside[b], before, NEAR);
            free(beside[b]);
        }
    }
    audio_free(NULL, COUNT, workers);
    workers_destroy(workers);
}
