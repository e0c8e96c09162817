/* The options of halo batch. */
#ifndef HALO_BATCH_OPTIONS_H
#define HALO_BATCH_OPTIONS_H

#include "base/program.h"
#include "render/render_options.h"

struct gather_device_kind;
struct kaldi_recordings;

struct batch_options {
    struct render_options render; /* all jobs' defaults; also folder, name pattern and seed */
    const char *list; /* path of the jobs: JSON lines, or a manifest of the kind `from` */
    enum batch_from {
        BATCH_FROM_JOBS,
        BATCH_FROM_KALDI,
        BATCH_FROM_LHOTSE,
        BATCH_FROM_NEMO,
    } from;
    const char *segments; /* Kaldi's segments file: parts of recordings; NULL: whole recordings */
    struct kaldi_recordings *recordings; /* Kaldi: recordings read from `list` */
    const char *glob;                    /* pattern of input files, instead of `list`; NULL: none */
    const char *masks; /* path of a list of masks; each job gets one of them; NULL: none */
    size_t masks_at;   /* the number of stages before that mask */
    struct string_list mask_list; /* masks read from `masks` */
    const char *shard;            /* K/N or N; NULL: a scheduler's variables, or all jobs */
    const char *report;           /* path of the report; NULL: none */
    size_t retries;
    size_t memory;       /* MiB for masks; 0: a quarter of the machine's */
    bool allow_commands; /* run commands in a wav.scp (entries that end in |) */
    bool force;          /* replace files that no batch wrote */
    bool json;           /* the summary as JSON on standard output */
    const struct gather_device_kind *device_kind; /* NULL: GPUs */
};

extern const struct command command_batch;

/* halo batch, with a struct batch_options (batch_run.c). */
MUST_CHECK enum status batch_run(void *options);

/* halo batch status (batch_status.c). */
extern const struct command command_batch_status;

#endif
