/* Sounds of many jobs on a GPU at once: right to -130 dB for any lengths, masks, channels and
 * histories; masks that do not all fit; devices that fail. Skipped without a GPU. */
#include "command.h"
#include "convolve/gather.h"
#include "gpu/gpu.h"
#include "mask/mask_share.h"
#include "sound.h"
#include "suite.h"
#include "truth.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JOBS = 48, CHANNELS_MOST = 3, BOUND_DB = -130, NEAR_DB = -115 };

struct job {
    struct gather *gather;
    const struct mask *mask;
    size_t channels, frames, before;
    float *in[CHANNELS_MOST], *out[CHANNELS_MOST]; /* in: with the history */
    bool done, is_near;
    pthread_t thread;
};

static struct gather *make(size_t mask_bytes)
{
    int numbers[GPU_MOST], count = 0;
    ck_assert_int_eq(gpu_count(&count), STATUS_OK);
    for (int i = 0; i < count; i++)
        numbers[i] = i;
    const struct gather_settings settings = {&gather_cuda, (size_t)count, numbers, mask_bytes};
    struct gather *gather = NULL;
    ck_assert_int_eq(gather_create(&settings, &gather), STATUS_OK);
    return gather;
}

static void job_init(struct job *job, struct gather *gather, const struct mask *mask, uint64_t seed,
                     size_t frames)
{
    *job = (struct job){.gather = gather, .mask = mask, .channels = mask->inputs, .frames = frames};
    job->before = seed % 3 ? 0 : mask->taps - 1;
    for (size_t c = 0; c < job->channels; c++) {
        job->in[c] = calloc(job->before + frames, sizeof(float));
        job->out[c] = calloc(frames, sizeof(float));
        truth_noise(seed * 8 + c, job->in[c], job->before + frames);
    }
}

static void job_free(struct job *job)
{
    for (size_t c = 0; c < job->channels; c++) {
        free(job->in[c]);
        free(job->out[c]);
    }
}

static void *job_run(void *context)
{
    struct job *job = context;
    struct gather_mask *mask = NULL;
    const float *in[CHANNELS_MOST];
    if (gather_mask_take(job->gather, job->mask, &mask) != STATUS_OK)
        return NULL; /* not done */
    for (size_t c = 0; c < job->channels; c++)
        in[c] = job->in[c] + job->before;
    const struct gather_work work = {.mask = mask,
                                     .inputs = job->channels,
                                     .outputs = job->channels,
                                     .history = (const float *const *)job->in,
                                     .in = in,
                                     .out = job->out,
                                     .before = job->before,
                                     .frames = job->frames};
    float peak = 0;
    job->is_near = gather_is_near(&work, &peak); /* convolver_gathered.c leaves it to the CPU */
    job->done = gather_convolve(job->gather, &work);
    gather_mask_give_back(mask);
    return NULL;
}

/* Of an output: relative to max|x| sum|h|. */
static double error_of(const struct job *job, size_t output)
{
    double **rows = truth_render(job->mask, job->in, job->before + job->frames);
    double norm = 0, worst = 1e-30;
    for (size_t p = 0; p < job->mask->path_count; p++)
        for (size_t k = 0; k < job->mask->taps; k++)
            norm += fabs(job->mask->coefficients[job->mask->paths[p].column * job->mask->taps + k]);
    norm /= (double)job->channels;
    for (size_t i = 0; i < job->frames; i++)
        worst = fmax(worst, fabs((double)job->out[output][i] - rows[output][job->before + i]));
    return 20 * log10(worst / norm);
}

static void expect_right(const struct job *job)
{
    for (size_t c = 0; c < job->channels; c++) {
        double error_db = error_of(job, c);
        if (getenv("HALO_TEST_SHOW")) {
            printf("%zu taps, %zu frames after %zu: %.1f dB\n", job->mask->taps, job->frames,
                   job->before, error_db);
            continue;
        }
        ck_assert_msg(error_db <= (job->is_near ? NEAR_DB : BOUND_DB),
                      "%g dB: %zu taps, %zu frames after %zu", error_db, job->mask->taps,
                      job->frames, job->before);
    }
}

static void run_jobs(struct job *jobs, bool all_done)
{
    for (size_t j = 0; j < JOBS; j++)
        ck_assert_int_eq(pthread_create(&jobs[j].thread, NULL, job_run, &jobs[j]), 0);
    for (size_t j = 0; j < JOBS; j++) {
        pthread_join(jobs[j].thread, NULL);
        ck_assert(jobs[j].done || !all_done);
        if (jobs[j].done)
            expect_right(&jobs[j]);
    }
}

static void run_mixture(uint64_t seed, size_t mask_bytes, bool all_done)
{
    static const size_t taps[] = {1, 2, 31, 500, 1023, 1024, 4000, 8160, 8161, 16000, 24000, 70001};
    enum { MASKS = sizeof taps / sizeof *taps };
    struct mask *masks[MASKS];
    struct job jobs[JOBS];
    struct gather *gather = make(mask_bytes);
    for (size_t m = 0; m < MASKS; m++) {
        masks[m] = truth_noise_mask(seed + m, 1 + m % CHANNELS_MOST, taps[m]);
        ck_assert_int_eq(mask_share_begin(masks[m], NULL, NULL), STATUS_OK);
    }
    for (size_t j = 0; j < JOBS; j++)
        job_init(&jobs[j], gather, masks[(j * 7 + seed) % MASKS], seed + j,
                 j % 5 ? 1 + (seed + j * 7919) % 60000 : 1 + j);
    run_jobs(jobs, all_done);
    for (size_t j = 0; j < JOBS; j++)
        job_free(&jobs[j]);
    for (size_t m = 0; m < MASKS; m++)
        mask_share_end(masks[m]);
    gather_destroy(gather);
}

START_TEST(each_length_is_right)
{
    static const size_t taps[] = {25, 500, 1000, 2000, 3000, 4000, 4001, 6000, 8160, 12000, 20000};
    struct gather *gather = make(0);
    for (size_t t = 0; t < sizeof taps / sizeof *taps; t++)
        for (uint64_t seed = 2; seed < 4; seed++)
            for (size_t frames = 700; frames < 60000; frames *= 8) {
                struct mask *mask = truth_noise_mask(t, 1, taps[t]);
                struct job job;
                ck_assert_int_eq(mask_share_begin(mask, NULL, NULL), STATUS_OK);
                job_init(&job, gather, mask, seed, frames);
                job_run(&job);
                ck_assert(job.done);
                expect_right(&job);
                job_free(&job);
                mask_share_end(mask);
            }
    gather_destroy(gather);
}

START_TEST(sounds_at_once_are_right)
{
    for (uint64_t seed = 1; seed <= 5; seed++)
        run_mixture(seed, 0, true);
}

START_TEST(masks_come_and_go)
{
    run_mixture(11, (size_t)1 << 20, true);
}

/* An offset, which noise hides: as loud as is left to single precision. */
START_TEST(steady_sounds_are_right)
{
    struct mask *mask = truth_noise_mask(5, 1, 16000);
    struct job jobs[JOBS];
    struct gather *gather = make(0);
    for (size_t k = 0; k < mask->taps * mask->columns; k++)
        mask->coefficients[k] = fabs(mask->coefficients[k]) * (k % 5 < 2 ? -1 : 1);
    for (size_t j = 0; j < JOBS; j++) {
        job_init(&jobs[j], gather, mask, j, 20000 + 999 * j);
        for (size_t i = 0; i < jobs[j].before + jobs[j].frames; i++)
            jobs[j].in[0][i] = 1;
    }
    run_jobs(jobs, true);
    for (size_t j = 0; j < JOBS; j++)
        job_free(&jobs[j]);
    gather_destroy(gather);
}

/* With one device jobs say so, with several the others do them. */
START_TEST(a_device_that_fails_costs_nothing)
{
    int count = 0;
    ck_assert_int_eq(gpu_count(&count), STATUS_OK);
    static const char *const faults[] = {"0", "1:lost", "2:memory"};
    setenv("HALO_GPU_FAULT_DEVICE", "0", 1);
    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++) {
        setenv("HALO_GPU_FAULT", faults[f], 1);
        run_mixture(21 + f, 0, count > 1);
    }
    unsetenv("HALO_GPU_FAULT");
    unsetenv("HALO_GPU_FAULT_DEVICE");
}

/* As a command: the GPU's outputs are those of the CPU, to the last bit of 16 or nearly. */
START_TEST(a_batch_of_files)
{
    enum { FILES = 40 };
    command_done("mkdir in");
    FILE *jobs = fopen(command_path("jobs"), "w");
    for (int i = 0; i < FILES; i++) {
        char name[32];
        snprintf(name, sizeof name, "in/%d.wav", i);
        sound_noise_file(name, (uint64_t)i, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 16000, 1,
                         (size_t)(8000 + 4001 * i));
        snprintf(name, sizeof name, "r%d.wav", i % 7);
        if (i < 7)
            sound_noise_file(name, (uint64_t)i + 99, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 16000, 1,
                             (size_t)(2000 + 3000 * i));
        fprintf(jobs, "{\"in\": \"in/%d.wav\", \"out\": \"%d.wav\", \"mask\": \"%s,gain=-40\"}\n",
                i, i, name);
    }
    fclose(jobs);
    command_done("$HALO batch jobs -O D --backend cuda --devices all -q --report R");
    command_done("$HALO batch jobs -O E --backend cpu -q");
    for (int i = 0; i < FILES; i++) {
        char name[32];
        snprintf(name, sizeof name, "D/%d.wav", i);
        struct sound made = sound_load(name);
        *name = 'E';
        struct sound right = sound_load(name);
        ck_assert_uint_eq(made.block.frames, right.block.frames);
        for (size_t f = 0; f < right.block.frames; f++)
            ck_assert_float_le(fabsf(made.block.data[0][f] - right.block.data[0][f]),
                               1.01f / 32768);
    }
    command_done("HALO_GPU_FAULT=1:lost $HALO batch jobs -O F --backend cuda -q && "
                 "for i in D/*.wav; do test -s F/${i##*/} || exit 1; done");
}

int main(void)
{
    if (!gpu_is_there()) {
        puts("no GPU here: batches on it are not tested");
        return 77;
    }
    return suite_run();
}
