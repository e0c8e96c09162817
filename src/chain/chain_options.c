#include "chain/chain_options.h"

#include "chain/chain_file.h"
#include "convolve/convolver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MOST = 1024 };

static enum status parse_stage(void *context, const struct option_row *row, const char *value)
{
    struct chain_options *options = context;
    return stage_list_add(&options->stages, stage_ops_named(row->name), value, NULL);
}

static enum status parse_chain(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    return chain_file_load(value, &((struct chain_options *)context)->stages);
}

static enum status parse_align(void *context, const struct option_row *row, const char *value)
{
    static const char *const names[] = {"causal", "centre", NULL};
    size_t choice = 0;
    enum status status = options_choose(row->name, value, names, &choice);
    ((struct chain_options *)context)->settings.align =
        choice ? MASK_ALIGN_CENTRE : MASK_ALIGN_CAUSAL;
    return status;
}

static enum status parse_truncated(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct chain_options *)context)->settings.allow_truncated = true;
    return STATUS_OK;
}

static enum status parse_isolate(void *context, const struct option_row *row, const char *value)
{
    (void)value;
    ((struct chain_options *)context)->settings.isolate =
        strcmp(row->name, "isolate") == 0 ? ISOLATE_ON : ISOLATE_OFF;
    return STATUS_OK;
}

static enum status parse_backend(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    ((struct chain_options *)context)->settings.convolver.backend = value;
    if (convolver_backend_exists(value))
        return STATUS_OK;
    char list[64] = "auto";
    for (size_t i = 0; convolver_backend_name(i); i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), ", %s",
                 convolver_backend_name(i));
    return fail(STATUS_USAGE, "--backend is one of %s, not '%s'", list, value);
}

static enum status parse_kernel(void *context, const struct option_row *row, const char *value)
{
    static const char *const names[] = {"auto",   "basic",    "constant", "tiled",
                                        "cached", "register", "fft",      NULL};
    size_t choice = 0;
    enum status status = options_choose(row->name, value, names, &choice);
    ((struct chain_options *)context)->settings.convolver.gpu.kernel =
        choice ? names[choice] : NULL;
    return status;
}

static enum status take_gpu_mode(void *context, const struct option_row *row, const char *value)
{
    static const char *const names[] = {"auto", "resident", "graph", NULL};
    size_t choice = GPU_MODE_AUTO;
    enum status status = options_choose(row->name, value, names, &choice);
    ((struct chain_options *)context)->settings.convolver.gpu.mode = (enum gpu_mode)choice;
    return status;
}

static enum status parse_devices(void *context, const struct option_row *row, const char *value)
{
    uint64_t *devices = &((struct chain_options *)context)->settings.convolver.gpu.devices;
    *devices = strcmp(value, "all") == 0 ? UINT64_MAX : 0;
    for (const char *at = value; *devices != UINT64_MAX;) {
        char *end;
        unsigned long device = strtoul(at, &end, 10);
        if (end == at || *at == '-' || device >= 64 || (*end && *end != ','))
            return fail(STATUS_USAGE, "--%s is all, or numbers of GPUs such as 0,2, not '%s'",
                        row->name, value);
        *devices |= UINT64_C(1) << device;
        if (!*end)
            break;
        at = end + 1;
    }
    return STATUS_OK;
}

static enum status parse_threads(void *context, const struct option_row *row, const char *value)
{
    return options_parse_number(row->name, value, 1, THREADS_MOST,
                                &((struct chain_options *)context)->threads);
}

static const struct option_row chain_rows[] = {
    {"chain", 0, "FILE", "the stages that FILE lists (halo chain --help)", parse_chain},
    {"align", 0, "ALIGN",
     "causal (default of files), or centre: time zero at the\n"
     "mask's middle tap, as textbook kernels index (default of\n"
     "symmetric masks that are made: lowpass:1000)",
     parse_align},
    {"backend", 0, "NAME",
     "auto (default), cpu, cuda, or direct: slow, and the truth\n"
     "the others are tested against",
     parse_backend},
    {"kernel", 0, "NAME",
     "the GPU's: auto (default), basic, constant, tiled,\n"
     "cached, register (masks of up to 16384 taps) or fft;\n"
     "this and the next two imply --backend cuda",
     parse_kernel},
    {"gpu-mode", 0, "MODE",
     "auto (default): long blocks; resident or graph: block by\n"
     "block, as a live stream would be",
     take_gpu_mode},
    {"devices", 0, "LIST", "GPUs that share out the channels: 0 (default), 0,2 or all",
     parse_devices},
    {"isolate", 0, NULL,
     "run plugins in processes of their own, so that one that\n"
     "crashes or hangs takes nothing with it: default of files;\n"
     "live it is left out then, and each comes a block later",
     parse_isolate},
    {"no-isolate", 0, NULL,
     "run plugins in halo's process: default live. One that\n"
     "crashes or hangs then ends halo: nothing can be done",
     parse_isolate},
    {"threads", 0, "N", "processors to use; all by default, two in a stream", parse_threads},
    {"allow-truncated", 0, NULL, "take a file that is shorter than its header says",
     parse_truncated},
};
enum { CHAIN_ROWS = sizeof chain_rows / sizeof *chain_rows };

size_t chain_options_stages(struct option_row *rows)
{
    size_t stages = 0;
    for (const struct stage_ops *ops; (ops = stage_ops_at(stages)); stages++)
        rows[stages] = (struct option_row){ops->option, 0, ops->argument, ops->help, parse_stage};
    return stages;
}

size_t chain_options_rest(struct option_row *rows)
{
    memcpy(rows, chain_rows, sizeof chain_rows);
    return CHAIN_ROWS;
}

void chain_options_init(struct chain_options *options)
{
    *options = (struct chain_options){.settings = {.convolver = {.backend = "auto"}}};
}

void chain_options_free(struct chain_options *options)
{
    stage_list_free(&options->stages);
}

/* What one says of a GPU must be meant for one, and go together. */
enum status chain_options_check(const struct chain_options *options, size_t block)
{
    const struct convolver_settings *convolver = &options->settings.convolver;
    const struct gpu_settings *gpu = &convolver->gpu;
    bool named = gpu->kernel || gpu->mode != GPU_MODE_AUTO || gpu->devices != 0;
    bool other = strcmp(convolver->backend, "auto") != 0 && strcmp(convolver->backend, "cuda") != 0;
    if (named && other)
        return fail(STATUS_USAGE,
                    "--kernel, --gpu-mode and --devices are a GPU's: they do not go with "
                    "--backend %s",
                    convolver->backend);
    if (gpu->mode == GPU_MODE_AUTO)
        return STATUS_OK;
    if (gpu->kernel)
        return fail(STATUS_USAGE, "--kernel is for long blocks: it does not go with --gpu-mode "
                                  "resident or graph, which have a kernel of their own");
    if (gpu->devices & (gpu->devices - 1))
        return fail(STATUS_USAGE, "--gpu-mode resident and graph take one GPU; name one with "
                                  "--devices");
    if (block > GPU_LIVE_BLOCK_MOST)
        return fail(STATUS_USAGE,
                    "--gpu-mode resident and graph take blocks of up to %d frames, not %zu",
                    GPU_LIVE_BLOCK_MOST, block);
    return STATUS_OK;
}
