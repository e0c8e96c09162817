#include "batch/batch_list.h"

#include "base/atomic_file.h"

#include <stdlib.h>

static const char *const from_names[] = {"jobs", "kaldi", "lhotse", "nemo", NULL};

/* Parse --masks. Its position among the stages is where each job gets its mask. */
static enum status parse_masks(void *options, const struct option_row *row, const char *value)
{
    struct batch_options *batch = options;
    (void)row;
    batch->masks = value;
    batch->masks_at = batch->render.chain.stages.count;
    return STATUS_OK;
}

static const struct option_row rows[] = {
    OPT_OUT_DIR(struct batch_options, render.out_dir,
                "where outputs go, with the journal of what is done\n"
                "(DIR/.halo-batch); required"),
    OPT_OUT_NAME(struct batch_options, render.name,
                 "what outputs are called whose job has no \"out\": {name}\n"
                 "(default) is that of the input, {stem} and {ext} its parts,\n"
                 "{dir} its folder, {id} the job's id"),
    OPT_CHOICE("from", "KIND", struct batch_options, from, from_names,
               "what LIST is: jobs (default), kaldi (a wav.scp), lhotse\n"
               "(cuts) or nemo (a manifest); the outputs are listed as the\n"
               "same kind in DIR"),
    OPT_FILE("segments", "FILE", struct batch_options, segments,
             "with --from kaldi: parts of the recordings in LIST, with an\n"
             "id, a recording, its start and its end a line"),
    OPT_STRING("glob", "PATTERN", struct batch_options, glob,
               "instead of LIST: the files of that pattern, as 'in/*.wav'"),
    OPT_PARSE("masks", "LIST", parse_masks,
              "masks, one a line, alone or after an id, as in rirs.scp:\n"
              "a stage that is another one of them for each job, by its id\n"
              "and --seed",
              .is_file = true),
    OPT_SEED(struct batch_options, render.seed,
             "for what is drawn at random by it and the job's id: one of\n"
             "--masks, --gain -6..0, where --noise begins; default: 0"),
    OPT_STRING("shard", "K/N", struct batch_options, shard,
               "do the jobs of shard K of N, by their ids; --shard N takes K\n"
               "from SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX"),
    OPT_FILE("report", "FILE", struct batch_options, report,
             "write what became of each job as JSON lines, and a summary"),
    OPT_INTEGER("retries", "N", struct batch_options, retries, 0, 100,
                "try a job again where the failure may pass, such as an error\n"
                "of the disk; default: 1"),
    OPT_INTEGER("memory", "MIB", struct batch_options, memory, 1, 1 << 24,
                "for masks that are kept; default: a quarter of the memory\n"
                "that the machine and its control group (a container) allow"),
    OPT_FLAG("reproducible", struct batch_options, render.chain.reproducible,
             "the bytes of halo render --reproducible for each job: no GPU"),
    OPT_FLAG("allow-commands", struct batch_options, allow_commands,
             "run the commands in a wav.scp; otherwise they are refused"),
    OPT_FLAG("force", struct batch_options, force, "replace files in DIR that no batch wrote",
             .letter = 'f'),
    OPT_NO_SYNC,
    OPT_FLAG("json", struct batch_options, json, "print the summary as JSON"),
    OPT_VALUE("quiet", struct batch_options, render.verbosity, VERBOSITY_QUIET, "print only errors",
              .letter = 'q'),
    OPT_VALUE("verbose", struct batch_options, render.verbosity, VERBOSITY_VERBOSE,
              "print more: what was chosen, and why", .letter = 'v'),
    {0},
};

static const struct option_group groups[] = {
    {.heading = "stages of all jobs that have none of their own, in the order given",
     .make_rows = chain_options_stages,
     .parse = chain_options_parse_stage,
     .offset = offsetof(struct batch_options, render.chain)},
    {.heading = "options of all jobs",
     .rows = chain_options_rows,
     .offset = offsetof(struct batch_options, render.chain)},
    {.rows = render_options_sound_rows, .offset = offsetof(struct batch_options, render)},
    {.heading = "options of the batch", .rows = rows},
    {0},
};

static void free_batch_options(void *options)
{
    struct batch_options *batch = options;
    for (size_t i = 0; i < batch->mask_list.count; i++)
        free((char *)batch->mask_list.values[i]);
    free(batch->mask_list.values);
    kaldi_recordings_destroy(batch->recordings);
    render_options_free(&batch->render);
}

const struct command command_batch = {
    .name = "halo batch",
    .summary = "filter many sound files, resumably",
    .brief =
        "usage: halo batch LIST|FOLDER -O DIR [stages and options]\n"
        "       halo batch status DIR\n"
        "\n"
        "Filter the sound files of a list, or of a folder and its sub-folders, as\n"
        "halo render does. A second run does what is missing or has changed.\n"
        "LIST has a job a line, and may be compressed (.gz):\n"
        "  {\"id\": \"a\", \"in\": \"a.wav\", \"out\": \"a-hall.wav\", \"mask\": \"hall.wav\"}\n"
        "Members are options of halo render; \"id\" and \"out\" may be left out.\n"
        "\n"
        "stages and options of all jobs, as of halo render:\n"
        "  -m, --mask MASK            an impulse response\n"
        "      --masks LIST           for each job one of these, drawn by --seed\n"
        "      --noise FILE           add a sound, such as FILE,snr=10\n"
        "      --tail, --format, --normalize, --rate and others\n"
        "\n"
        "options most used:\n"
        "  -O, --out-dir DIR          where outputs, journal and report are written\n"
        "      --name PATTERN         names of outputs, such as {stem}-hall.flac\n"
        "      --from KIND            what LIST is: jobs, kaldi, lhotse or nemo\n"
        "      --shard K/N            do part K of N, on one of N machines\n"
        "      --report FILE          write what became of each job as JSON lines\n"
        "  -f, --force                replace files in DIR that no batch wrote\n"
        "      --json                 print the summary as JSON\n"
        "\n"
        "exit code: 0 all done, 1 it cannot go on, 2 wrong usage, 3 some jobs failed,\n"
        "           4 try again (a full disk)\n"
        "\n"
        "examples:\n"
        "  halo batch recordings -O out --mask hall.wav\n"
        "  halo batch jobs.jsonl.gz -O out --mask hall.wav --tail none --shard 3/16\n"
        "  halo batch status out\n"
        "\n"
        "halo batch --help all lists all options, man halo describes them.",
    .usage =
        "usage: halo batch LIST|FOLDER -O DIR [stages and options]\n"
        "       halo batch status DIR\n\n"
        "Filter the sound files of a list, or of a folder and its sub-folders, each as halo render does: on the CPU with its\n"
        "bytes, on GPUs many at once. A second run does what is missing or has changed. LIST has a job a line:\n"
        "  {\"id\": \"a\", \"in\": \"a.wav\", \"out\": \"a-hall.wav\", \"mask\": \"hall.wav\", \"gain\": -3}\n"
        "and may be compressed (.gz). Members are options of halo render; \"id\" and \"out\" may\n"
        "be left out. Exit code: 0 all are done, 1 it cannot go on, 2 wrong usage, 3 some jobs failed,\n"
        "4 try again (a full disk).",
    .arguments =
        OPTION_ARGUMENTS(OPT_ARGUMENT("LIST", struct batch_options, list, 0, .is_file = true)),
    .commands = (const struct command *const[]){&command_batch_status, NULL},
    .groups = groups,
    .size = sizeof(struct batch_options),
    .defaults = &(const struct batch_options){.render = RENDER_OPTIONS_DEFAULTS, .retries = 1},
    .run = batch_run,
    .free = free_batch_options,
};
