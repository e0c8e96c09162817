/* The options of halo batch. */
#ifndef HALO_BATCH_OPTIONS_H
#define HALO_BATCH_OPTIONS_H

#include "base/program.h"
#include "render/render_options.h"

struct gather_device_kind;
struct kaldi_recordings;

struct batch_options {
    struct render_options render; /* defaults of all jobs; with the folder of all outputs, the names
                                     of those whose job names none, and the seed of all */
    const char *list;             /* of jobs: JSON lines, or a manifest of the kind `from` */
    enum batch_from {
        BATCH_FROM_JOBS,
        BATCH_FROM_KALDI,
        BATCH_FROM_LHOTSE,
        BATCH_FROM_NEMO,
    } from;
    const char *segments; /* of Kaldi: parts of the recordings in `list`; NULL: whole ones */
    struct kaldi_recordings *recordings; /* read from it */
    const char *glob;                    /* inputs instead of a list; NULL: none */
    const char *masks;            /* a list of masks, of which each job gets one; NULL: none */
    size_t masks_at;              /* the number of stages before that mask */
    struct string_list mask_list; /* read from it */
    const char *shard;            /* K/N; NULL: all, or what a scheduler says */
    const char *report;           /* a file; NULL: none */
    size_t retries;
    size_t memory;                                /* MiB for masks; 0: a quarter of the machine's */
    bool allow_commands;                          /* run what a wav.scp has before | */
    bool force;                                   /* replace files that no batch wrote */
    bool json;                                    /* the summary as JSON on standard output */
    const struct gather_device_kind *device_kind; /* NULL: GPUs */
};

extern const struct command command_batch;

/* halo batch, with a struct batch_options (batch_run.c). */
MUST_CHECK enum status batch_run(void *options);

/* halo batch status (batch_status.c). */
extern const struct command command_batch_status;

#endif
