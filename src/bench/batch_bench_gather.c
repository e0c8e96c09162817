/* A round from ordinary memory, through gather.h. */
#include "base/noise.h"
#include "base/stop.h"
#include "bench/batch_bench_state.h"
#include "convolve/gather.h"

#include <math.h>
#include <stdlib.h>

enum { SOUNDS_EACH = 4, THREADS_MOST = 1024 }; /* of a thread, in turn */

struct bench_job {
    struct batch_bench *bench;
    struct gather *gather;
    struct gather_mask **masks; /* of the rooms */
    uint64_t random;
    size_t lengths[SOUNDS_EACH];
    float *in[SOUNDS_EACH], *out;
    size_t sounds, frames;
    double error;
    bool lost;
};

static void convolve_one(struct bench_job *job, size_t sound, size_t room)
{
    const float *in[] = {job->in[sound]};
    float *out[] = {job->out};
    const struct gather_work work = {.mask = job->masks[room],
                                     .inputs = 1,
                                     .outputs = 1,
                                     .in = in,
                                     .out = out,
                                     .frames = job->lengths[sound]};
    job->lost = !gather_convolve(job->gather, &work);
    job->sounds++;
    job->frames += work.frames;
}

static void *run_job(void *context)
{
    struct bench_job *job = context;
    struct batch_bench *bench = job->bench;
    size_t sound = 0, room = 0;
    batch_bench_wait(bench);
    while (atomic_fetch_add(&bench->taken, 1) < bench->settings.sounds && !job->lost &&
           !stop_requested()) {
        sound = job->sounds % SOUNDS_EACH;
        room = noise_hash(job->random++) % bench->settings.rooms;
        convolve_one(job, sound, room);
    }
    if (job->sounds > 0 && !job->lost) /* the last one */
        job->error = batch_bench_error(bench->rooms[room], job->in[sound], job->out,
                                       job->lengths[sound], &job->random);
    return NULL;
}

static bool fill_job(struct bench_job *job, struct batch_bench *bench, size_t number)
{
    size_t longest = 0;
    job->bench = bench;
    job->random = noise_hash(number) | 1;
    for (size_t s = 0; s < SOUNDS_EACH; s++) {
        size_t frames = job->lengths[s] = batch_bench_frames(bench, &job->random);
        job->in[s] = malloc(frames * sizeof(float));
        for (size_t i = 0; job->in[s] && i < frames; i++)
            job->in[s][i] = noise_next(&job->random);
        longest = frames > longest ? frames : longest;
        if (!job->in[s])
            return false;
    }
    job->out = malloc(longest * sizeof(float));
    return job->out != NULL;
}

static void free_jobs(struct bench_job *jobs, size_t count)
{
    for (size_t t = 0; jobs && t < count; t++) {
        for (size_t s = 0; s < SOUNDS_EACH; s++)
            free(jobs[t].in[s]);
        free(jobs[t].out);
    }
    free(jobs);
}

static enum status run_jobs(struct batch_bench *bench, struct bench_job *jobs, size_t count,
                            struct bench_round *round)
{
    pthread_t threads[THREADS_MOST];
    TRY(batch_bench_start(bench, threads, count, run_job, jobs, sizeof *jobs));
    TRY(batch_bench_finish(bench, threads, count, &round->seconds));
    for (size_t t = 0; t < count; t++) {
        if (jobs[t].lost)
            return fail(STATUS_FAILED, "the GPUs failed: %s", gather_loss(jobs[t].gather));
        round->sounds += jobs[t].sounds;
        round->frames += jobs[t].frames;
        bench->gather_error = fmax(bench->gather_error, jobs[t].error);
    }
    return STATUS_OK;
}

static enum status gather_with(struct batch_bench *bench, struct gather *gather,
                               struct gather_mask **masks, struct bench_round *round)
{
    size_t count = bench->settings.threads < THREADS_MOST ? bench->settings.threads : THREADS_MOST;
    struct bench_job *jobs = calloc(count, sizeof *jobs);
    bool made = jobs != NULL;
    for (size_t r = 0; r < bench->settings.rooms; r++)
        TRY(gather_mask_take(gather, bench->rooms[r], &masks[r]));
    for (size_t t = 0; made && t < count; t++) {
        jobs[t].gather = gather;
        jobs[t].masks = masks;
        made = fill_job(&jobs[t], bench, t);
    }
    enum status status = made ? run_jobs(bench, jobs, count, round) : fail_memory("sounds");
    free_jobs(jobs, made ? count : 0);
    return status;
}

enum status batch_bench_gather(struct batch_bench *bench, struct bench_round *round)
{
    int numbers[BATCH_BENCH_DEVICES];
    struct gather *gather = NULL;
    struct gather_mask **masks = calloc(bench->settings.rooms, sizeof(struct gather_mask *));
    for (size_t s = 0; s < bench->station_count; s++)
        numbers[s] = bench->stations[s].device->number;
    const struct gather_settings settings = {bench->settings.kind, bench->station_count, numbers,
                                             0};
    enum status status = masks ? gather_create(&settings, &gather) : fail_memory("rooms");
    if (status == STATUS_OK)
        status = gather_with(bench, gather, masks, round);
    for (size_t r = 0; masks && r < bench->settings.rooms; r++)
        gather_mask_give_back(masks[r]);
    gather_destroy(gather);
    free((void *)masks);
    return status;
}
